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
#include "calibration/ranks/elements.hpp"
#include "tests/on_host/on_host.hpp"

namespace accocal {
namespace {

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };

struct Call : Buffer {
  Kind kind;
};

// In the order of the ranks.
void reduce(const std::vector<Call>& calls) {
  const Call& first = calls.front();
  const std::size_t bytes = first.count * size_of(first.type), slice = bytes / calls.size();
  std::vector<char> sums(bytes);
  if (bytes == 0) return;
  std::memcpy(sums.data(), first.data, bytes);
  for (std::size_t rank = 1; rank < calls.size(); ++rank)
    add_elements(first.type, sums.data(), sums.data(), calls[rank].data, first.count);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    char* const data = static_cast<char*>(calls[rank].data);
    const bool whole = first.kind == Kind::kAllReduce;
    if (!whole) std::memset(data, 0xff, bytes);  // what is in no defined state is a NaN
    const std::size_t begin = whole ? 0 : rank * slice;
    std::memcpy(data + begin, sums.data() + begin, whole ? bytes : slice);
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
  reduce(calls);
}

// Where the ranks' collectives meet, by their number.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  int ranks() const { return static_cast<int>(ranks_); }

  void show(std::int64_t number, int rank, const Call& call) {
    const std::lock_guard lock(mutex_);
    std::vector<Call>& calls = shown_[number];
    if (calls.empty()) calls.resize(ranks_);
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
    return at != shown_.end() && std::ranges::all_of(at->second, [](const Call& call) { return call.data != nullptr; });
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
  void all_reduce(Buffer data, Stream& stream) override { meet({data, Kind::kAllReduce}, stream); }
  void reduce_scatter(Buffer data, Stream& stream) override { meet({data, Kind::kReduceScatter}, stream); }
  void all_gather(Buffer data, Stream& stream) override { meet({data, Kind::kAllGather}, stream); }

 private:
  void meet(const Call& call, Stream& stream) {
    if (call.kind != Kind::kAllReduce && call.count % static_cast<std::size_t>(size()) != 0)
      throw std::invalid_argument("slices of different lengths");
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
