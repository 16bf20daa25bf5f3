// The collectives between ranks that are threads with streams on the played device, in the place of NCCL. On a stream a
// collective is two items: one shows the rank's buffer, the next may begin when all ranks have shown theirs. Whoever
// begins first does all of it, since the streams of all ranks then stand still.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "calibration/device/device_transport.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/ranks/elements.hpp"
#include "models/spec/schedule.hpp"
#include "tests/on_host/on_host.hpp"

namespace accocal {
namespace {

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };

struct Call {
  Kind kind;
  void* data;
  std::size_t count;
  ElementType type;
};

float sum_of(float a, float b) { return a + b; }
double sum_of(double a, double b) { return a + b; }
std::int64_t sum_of(std::int64_t a, std::int64_t b) { return a + b; }
Bf16 sum_of(Bf16 a, Bf16 b) { return to_bf16(to_float(a) + to_float(b)); }

// Element i of all ranks, in the order of the ranks.
template <typename Element>
Element total(const std::vector<Call>& calls, std::size_t i) {
  Element sum = static_cast<const Element*>(calls.front().data)[i];
  for (std::size_t rank = 1; rank < calls.size(); ++rank)
    sum = sum_of(sum, static_cast<const Element*>(calls[rank].data)[i]);
  return sum;
}

template <typename Element>
void reduce(const std::vector<Call>& calls) {
  const std::size_t count = calls.front().count;
  std::vector<Element> sums;
  sums.reserve(count);
  for (std::size_t i = 0; i < count; ++i) sums.push_back(total<Element>(calls, i));
  const std::size_t slice = count / calls.size();
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    auto* const data = static_cast<Element*>(calls[rank].data);
    if (calls[rank].kind == Kind::kAllReduce) {
      std::copy(sums.begin(), sums.end(), data);
      continue;
    }
    std::memset(calls[rank].data, 0xff, count * sizeof(Element));  // what is in no defined state is a NaN
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(rank * slice), slice, data + rank * slice);
  }
}

void gather(const std::vector<Call>& calls) {
  const std::size_t slice = calls.front().count / calls.size() * size_of(calls.front().type);
  for (std::size_t from = 0; from < calls.size(); ++from) {
    for (std::size_t to = 0; to < calls.size(); ++to) {
      if (from == to) continue;
      std::memcpy(static_cast<char*>(calls[to].data) + from * slice,
                  static_cast<const char*>(calls[from].data) + from * slice, slice);
    }
  }
}

void perform(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    const Call& first = calls.front();
    if (call.kind != first.kind || call.count != first.count || call.type != first.type)
      throw std::logic_error("ranks gave different collectives");
  }
  if (calls.front().kind == Kind::kAllGather) return gather(calls);
  switch (calls.front().type) {
    case ElementType::kFloat32: return reduce<float>(calls);
    case ElementType::kFloat64: return reduce<double>(calls);
    case ElementType::kBf16: return reduce<Bf16>(calls);
    case ElementType::kInt64: return reduce<std::int64_t>(calls);
  }
}

// Where the ranks' collectives meet, by their number.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  int ranks() const { return static_cast<int>(ranks_); }

  void show(std::int64_t number, int rank, const Call& call) {
    const std::lock_guard lock(mutex_);
    std::vector<Call>& calls = shown_[number];
    if (calls.empty()) calls.resize(ranks_, Call{call.kind, nullptr, 0, call.type});
    calls[static_cast<std::size_t>(rank)] = call;
  }
  bool ready(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    return gone_ || complete(number);
  }
  void take_part(std::int64_t number) {
    const std::lock_guard lock(mutex_);
    if (gone_) return;  // with what it has shown
    std::size_t& taken = taken_[number];
    if (taken == 0) perform(shown_[number]);
    if (++taken < ranks_) return;
    shown_.erase(number);
    taken_.erase(number);
  }
  /// A rank that has ended shows nothing more. Where it has failed, what it gave last may have gone with its streams.
  void leave() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  bool somebody_left() {
    const std::lock_guard lock(mutex_);
    return gone_;
  }

 private:
  bool complete(std::int64_t number) {
    const auto at = shown_.find(number);
    return at != shown_.end() &&
           std::all_of(at->second.begin(), at->second.end(), [](const Call& call) { return call.data != nullptr; });
  }

  std::size_t ranks_;
  std::mutex mutex_;
  std::map<std::int64_t, std::vector<Call>> shown_;
  std::map<std::int64_t, std::size_t> taken_;
  bool gone_ = false;
};

class TransportOnHost : public DeviceTransport {
 public:
  TransportOnHost(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~TransportOnHost() override { meeting_->leave(); }
  TransportOnHost(const TransportOnHost&) = delete;
  TransportOnHost& operator=(const TransportOnHost&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return meeting_->ranks(); }
  void abandon() noexcept override { meeting_->leave(); }
  void all_reduce(void* data, std::size_t count, ElementType type, Stream& stream) override {
    meet({Kind::kAllReduce, data, count, type}, stream);
  }
  void reduce_scatter(void* data, std::size_t count, ElementType type, Stream& stream) override {
    check_slices(count);
    meet({Kind::kReduceScatter, data, count, type}, stream);
  }
  void all_gather(void* data, std::size_t count, ElementType type, Stream& stream) override {
    check_slices(count);
    meet({Kind::kAllGather, data, count, type}, stream);
  }

 private:
  void check_slices(std::size_t count) const {
    if (count % static_cast<std::size_t>(size()) != 0) throw std::invalid_argument("slices of different lengths");
  }
  void meet(const Call& call, Stream& stream) {
    const std::int64_t number = next_++;
    if (meeting_->somebody_left()) throw DeviceError("another rank is gone");
    give(stream, {"a rank's part of a collective",
                  [meeting = meeting_, number, rank = rank_, call] { meeting->show(number, rank, call); }});
    give(stream, {"a collective", [meeting = meeting_, number] { meeting->take_part(number); },
                  [meeting = meeting_, number] { return meeting->ready(number); }});
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<DeviceTransport> nccl_transport(Transport& ranks) {
  // The ranks are threads, so that one's pointer is another's too.
  auto meeting = std::make_shared<Meeting>(ranks.size());
  auto place = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&meeting));
  ranks.broadcast(buffer_of(std::span(&place, 1)), 0);
  std::shared_ptr<Meeting> common = *reinterpret_cast<std::shared_ptr<Meeting>*>(static_cast<std::intptr_t>(place));
  ranks.barrier();
  return std::make_unique<TransportOnHost>(std::move(common), ranks.rank());
}

}  // namespace accocal
