// Every collective is: show the others one's buffer, meet, reduce one's own shard, meet, copy the others' shards, meet.
#include "calibration/ranks/local_transport.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calibration/ranks/elements.hpp"

namespace accocal {
namespace {

// Where the ranks meet and what they show each other.
class Meeting {
 public:
  explicit Meeting(int ranks) : shown(static_cast<std::size_t>(ranks)), ranks_(ranks) {}

  void wait() {
    std::unique_lock lock(mutex_);
    if (!failure_.empty()) throw TransportError(failure_);
    const std::int64_t generation = generation_;
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++generation_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return generation_ != generation || !failure_.empty(); });
    if (generation_ == generation) throw TransportError(failure_);
  }

  void fail(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = what;
    changed_.notify_all();
  }

  std::vector<Buffer> shown;  // a rank writes its own before it waits

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int ranks_;
  int waiting_ = 0;
  std::int64_t generation_ = 0;
  std::string failure_;
};

class LocalTransport : public Transport {
 public:
  LocalTransport(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.shown.size()); }

  void all_reduce(Buffer data) override {
    show(data);
    reduce_own(data);
    meeting_.wait();
    copy_others(data);
    meeting_.wait();
  }
  void reduce_scatter(Buffer data) override {
    show(data);
    reduce_own(data);
    meeting_.wait();
  }
  void all_gather(Buffer data) override {
    show(data);
    copy_others(data);
    meeting_.wait();
  }
  void broadcast(Buffer data, int root) override {
    show(data);
    if (rank_ != root) copy(data, root, {0, data.count});
    meeting_.wait();
  }
  void barrier() override { meeting_.wait(); }

 private:
  void show(Buffer data) {
    own() = data;
    meeting_.wait();
    for (const Buffer& other : meeting_.shown) {
      if (other.count != data.count || other.type != data.type) {
        // Nobody may leave with a shown buffer that others still compare.
        const std::string what = "ranks called one collective with different buffers";
        meeting_.fail(what);
        throw TransportError(what);
      }
    }
  }
  Buffer& own() { return meeting_.shown[static_cast<std::size_t>(rank_)]; }

  void copy(Buffer data, int from, Shard shard) {
    const Buffer& other = meeting_.shown[static_cast<std::size_t>(from)];
    const std::size_t size = size_of(data.type);
    std::copy_n(static_cast<const char*>(other.data) + shard.begin * size, shard.size() * size,
                static_cast<char*>(data.data) + shard.begin * size);
  }
  void copy_others(Buffer data) {
    for (int from = 0; from < size(); ++from) {
      if (from != rank_) copy(data, from, shard_of(data.count, from, size()));
    }
  }

  // In the order of the ranks. Nobody else reads or writes a rank's own shard of its own buffer but through
  // copy_others(), which comes later.
  void reduce_own(Buffer data) {
    const Shard shard = shard_of(data.count, rank_, size());
    const std::size_t element = size_of(data.type);
    const auto in = [&](const Buffer& buffer) { return static_cast<char*>(buffer.data) + shard.begin * element; };
    sum_.assign(in(meeting_.shown.front()), in(meeting_.shown.front()) + shard.size() * element);
    for (std::size_t r = 1; r < meeting_.shown.size(); ++r)
      add_elements(data.type, sum_.data(), sum_.data(), in(meeting_.shown[r]), shard.size());
    std::ranges::copy(sum_, in(data));
  }

  Meeting& meeting_;
  int rank_;
  std::vector<char> sum_;
};

}  // namespace

void run_local_ranks(int ranks, const std::function<void(Transport&)>& body) {
  if (ranks < 1) throw std::invalid_argument("at least 1 rank is needed");
  Meeting meeting(ranks);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](int rank) {
    LocalTransport transport(meeting, rank);
    try {
      body(transport);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      meeting.fail("rank " + std::to_string(rank) + " has ended: " + error.what());
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(ranks) - 1);
  for (int rank = 1; rank < ranks; ++rank) others.emplace_back(run, rank);
  run(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace accocal
