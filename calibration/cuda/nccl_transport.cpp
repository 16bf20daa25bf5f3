// The collectives over NCCL, with a communicator that never blocks the host: a thread looks after it, and gives it up
// when another rank is gone or nothing ends for too long. Its kernels then end, and the next call throws.
//
// Ranks that share a device, or are in network namespaces of their own, are made to look like hosts of their own, for
// NCCL takes two ranks on one device for a mistake and would not leave the host by sockets. It is an experiment: NCCL
// does not promise that it works.
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calibration/cuda/handles.hpp"
#include "calibration/device/device_transport.hpp"
#include "calibration/ranks/elements.hpp"
#include "calibration/ranks/gather.hpp"

namespace accocal {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{100};
// A collective is on its way in less, and the compute stream may be empty until then; connections take longer.
constexpr std::chrono::milliseconds kSoon{2};
constexpr std::chrono::milliseconds kSettled{1};

std::string why(ncclResult_t result, ncclComm_t communicator) {
  const char* more = ncclGetLastError(communicator);
  const bool says_more = more != nullptr && *more != '\0';
  return fmt::format("{}{}{}", ncclGetErrorString(result), says_more ? ": " : "", says_more ? more : "");
}

void check_nccl(ncclResult_t result, const char* call) {
  if (result != ncclSuccess) throw DeviceError(fmt::format("{}: {}", call, why(result, nullptr)));
}

ncclDataType_t nccl_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return ncclFloat32;
    case ElementType::kFloat64: return ncclFloat64;
    case ElementType::kBf16: return ncclBfloat16;
    case ElementType::kInt64: return ncclInt64;
  }
  return ncclFloat32;
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

std::string network_namespace() {
  std::array<char, 64> text{};
  if (readlink("/proc/self/ns/net", text.data(), text.size() - 1) < 0) return "";
  return text.data();
}

bool all_equal(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return text == texts.front(); });
}

// Before NCCL is first used in this process. What the user has set stays, but for the name of the host, which must
// differ.
void prepare_environment(Transport& ranks) {
  const std::vector<std::string> buses = gather_texts(ranks, bus_of(current_device()));
  const std::vector<std::string> namespaces = gather_texts(ranks, network_namespace());
  const bool shared = std::set<std::string>(buses.begin(), buses.end()).size() < buses.size();
  const bool apart = !all_equal(namespaces);
  if (!shared && !apart) return;
  setenv("NCCL_HOSTID", fmt::format("accocal-rank-{}", ranks.rank()).c_str(), 1);
  setenv("NCCL_NET", "Socket", 0);
  if (!apart) setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

// Rank 0's, at every rank.
ncclUniqueId common_id(Transport& ranks) {
  static_assert(sizeof(ncclUniqueId) % sizeof(std::int64_t) == 0);
  std::array<std::int64_t, sizeof(ncclUniqueId) / sizeof(std::int64_t)> words{};
  ncclUniqueId id{};
  if (ranks.rank() == 0) {
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    std::memcpy(words.data(), &id, sizeof id);
  }
  ranks.broadcast(buffer_of(std::span(words)), 0);
  std::memcpy(&id, words.data(), sizeof id);
  return id;
}

class NcclTransport : public DeviceTransport {
 public:
  explicit NcclTransport(Transport& ranks)
      : rank_(ranks.rank()),
        size_(ranks.size()),
        timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(ranks.timeout().value))),
        device_(current_device()) {
    prepare_environment(ranks);
    ncclUniqueId id = common_id(ranks);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&communicator_, size_, id, rank_, &config);
    std::unique_lock lock(mutex_);
    settle("ncclCommInitRankConfig", result);
    lock.unlock();
    watcher_ = std::thread([this] { watch(); });
  }

  ~NcclTransport() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    if (watcher_.joinable()) watcher_.join();
    if (communicator_ == nullptr) return;
    // After a failure the others may never come.
    if (std::uncaught_exceptions() > 0) {
      ncclCommAbort(communicator_);
      return;
    }
    try {
      const std::lock_guard lock(mutex_);
      settle("ncclCommFinalize", ncclCommFinalize(communicator_));
      ncclCommDestroy(communicator_);
    } catch (const DeviceError&) {  // it has been given up; the run has ended all the same
    }
  }

  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(Buffer all, Stream& stream) override {
    give("ncclAllReduce", stream, [&](cudaStream_t to) {
      return ncclAllReduce(all.data, all.data, all.count, nccl_type(all.type), ncclSum, communicator_, to);
    });
  }
  void reduce_scatter(Buffer all, Stream& stream) override {
    const Buffer own = own_slice(all);
    give("ncclReduceScatter", stream, [&](cudaStream_t to) {
      return ncclReduceScatter(all.data, own.data, own.count, nccl_type(own.type), ncclSum, communicator_, to);
    });
  }
  void all_gather(Buffer all, Stream& stream) override {
    const Buffer own = own_slice(all);
    give("ncclAllGather", stream, [&](cudaStream_t to) {
      return ncclAllGather(own.data, all.data, own.count, nccl_type(own.type), communicator_, to);
    });
  }

  void check() override {
    const std::lock_guard lock(mutex_);
    look();
    if (!failure_.empty()) throw DeviceError(failure_);
  }

  void abandon() noexcept override {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) give_up("this rank has failed");
  }

 private:
  Buffer own_slice(Buffer all) const {
    if (all.count % static_cast<std::size_t>(size_) != 0) throw std::invalid_argument("slices of different lengths");
    const std::size_t slice = all.count / static_cast<std::size_t>(size_);
    return {static_cast<char*>(all.data) + static_cast<std::size_t>(rank_) * slice * size_of(all.type), slice,
            all.type};
  }

  template <typename Call>
  void give(const char* name, Stream& stream, Call&& call) {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw DeviceError(failure_);
    settle(name, call(stream.handle().stream));
    Event end = take_event();
    stream.record(end);
    if (pending_.empty()) moved_ = Clock::now();
    pending_.push_back(std::move(end));
  }

  // A call that does not block may go on beside us; nothing else may be asked of the communicator until it has ended.
  void settle(const char* name, ncclResult_t result) {
    const Clock::time_point begin = Clock::now();
    while (result == ncclInProgress) {
      if (Clock::now() - begin > timeout_)
        give_up(fmt::format("{}: nothing came of it in {} s", name, std::chrono::duration<double>(timeout_).count()));
      else if (Clock::now() - begin > kSoon)
        std::this_thread::sleep_for(kSettled);
      if (!failure_.empty()) throw DeviceError(failure_);
      const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &result);
      if (asked != ncclSuccess) result = asked;
    }
    if (result == ncclSuccess) return;
    give_up(fmt::format("{}: {}", name, why(result, communicator_)));
    throw DeviceError(failure_);
  }

  void give_up(const std::string& what) {
    failure_ = "NCCL: " + what;
    if (communicator_ != nullptr) ncclCommAbort(std::exchange(communicator_, nullptr));
  }

  Event take_event() {
    if (free_.empty()) return Event();
    Event event = std::move(free_.back());
    free_.pop_back();
    return event;
  }

  void watch() {
    try {
      use_device(device_);
      std::unique_lock lock(mutex_);
      while (!changed_.wait_for(lock, kLook, [this] { return stop_; })) {
        look();
        if (!failure_.empty()) return;
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) give_up(error.what());
    }
  }

  void look() {
    if (communicator_ == nullptr) return;
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
    if (asked != ncclSuccess) state = asked;
    if (state != ncclSuccess && state != ncclInProgress)
      return give_up(fmt::format("a collective of {} ranks failed, another rank is gone or the network is: {}", size_,
                                 why(state, communicator_)));
    while (!pending_.empty() && pending_.front().done()) {
      free_.push_back(std::move(pending_.front()));
      pending_.pop_front();
      moved_ = Clock::now();
    }
    if (!pending_.empty() && Clock::now() - moved_ > timeout_)
      give_up(fmt::format("no collective of {} ranks has ended for {} s; another rank is gone, or stands still", size_,
                          std::chrono::duration<double>(timeout_).count()));
  }

  int rank_, size_;
  Clock::duration timeout_;
  int device_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  ncclComm_t communicator_ = nullptr;
  std::string failure_;
  std::deque<Event> pending_;  // ends of collectives, in order
  std::vector<Event> free_;
  Clock::time_point moved_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<DeviceTransport> nccl_transport(Transport& ranks) { return std::make_unique<NcclTransport>(ranks); }

}  // namespace accocal
