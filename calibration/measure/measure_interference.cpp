// What two pieces of work take from each other: a kernel alone, then beside something on the other stream, which has
// high priority, as communication has.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "calibration/device/kernels.hpp"
#include "calibration/measure/measure_items.hpp"

namespace accocal {
namespace {

using Values = std::vector<double>;

double median_of(const Values& values) { return spread_of(values).median; }

void sleep_for(Seconds time) { std::this_thread::sleep_for(std::chrono::duration<double>(time.value)); }

/// Times of the kernel's batches beside the other, and what the other lost; 0 where that cannot be told.
struct Together {
  Values seconds;  ///< of one launch
  double other_slowdown = 0;
};

/// Batches between events, without a wait of the host.
class Batches {
 public:
  Batches(Runner& runner, int count, Bench& bench) : runner_(runner), count_(count), bench_(bench) {}

  void give() {
    give_timed(count_, bench_.stream(), bench_.events(), [&] { runner_.batch(bench_.stream()); });
  }
  const Event& event(int i) const { return bench_.events().at(i); }
  const Event& last() const { return event(count_); }
  int count() const { return count_; }
  /// Of one launch in batch i.
  double seconds(int i) const { return elapsed(event(i), event(i + 1)).value / runner_.per_batch(); }
  Values all() const {
    Values values;
    for (int i = 0; i < count_; ++i) values.push_back(seconds(i));
    return values;
  }

 private:
  Runner& runner_;
  int count_;
  Bench& bench_;
};

/// Beside a kernel that goes on until it is stopped: hold_multiprocessors or stream_memory.
class Endless {
 public:
  explicit Endless(const BesideCase& one) : one_(one), stop_(sizeof(std::int32_t)) {
    if (one_.what != Beside::kStreamMemory) return;
    from_ = DeviceMemory(one_.amount);
    to_ = DeviceMemory(one_.amount);
    moved_ = DeviceMemory(sizeof(std::uint64_t));
    fill_random(from_.as<float>(), one_.amount / sizeof(float), 1.0F, 5, stream_);
    stream_.set_zero(to_.data(), one_.amount);
    stream_.synchronise();
  }

  ~Endless() { *flag() = 1; }
  Endless(const Endless&) = delete;
  Endless& operator=(const Endless&) = delete;

  void start(Seconds limit) {
    *flag() = 0;
    if (one_.what == Beside::kStreamMemory) {
      stream_.set_zero(moved_.data(), sizeof(std::uint64_t));
      stream_.record(begin_);
      stream_memory(to_.data(), from_.data(), one_.amount, one_.blocks, flag(), limit, moved_.as<std::uint64_t>(),
                    stream_);
    } else {
      stream_.record(begin_);
      hold_multiprocessors(one_.blocks, flag(), limit, stream_);
    }
    stream_.record(end_);
  }
  bool ended() const { return end_.done(); }
  void stop() {
    *flag() = 1;
    stream_.synchronise();
  }
  /// From start to end.
  Seconds lasted() const { return elapsed(begin_, end_); }
  double moved() {
    std::uint64_t bytes = 0;
    if (moved_.size() == 0) return 0;
    stream_.copy_to_host(&bytes, moved_.data(), sizeof(bytes));
    stream_.synchronise();
    return static_cast<double>(bytes);
  }
  /// Bytes per second with nothing beside it; 0 where it moves none.
  double rate_alone(Seconds time) {
    start(20 * time);
    sleep_for(time);
    stop();
    const double bytes = moved();
    return bytes > 0 ? bytes / lasted().value : 0;
  }

 private:
  volatile std::int32_t* flag() const { return stop_.as<std::int32_t>(); }

  BesideCase one_;
  Stream stream_{Stream::Priority::kHigh};
  Event begin_{true}, end_{true};
  PinnedMemory stop_;
  DeviceMemory from_, to_, moved_;
};

Together beside_endless(Endless& other, double rate_alone, Batches& batches, Seconds alone, Lab lab) {
  for (const double patience : {10.0, 100.0}) {
    other.start(patience * alone + Seconds{5e-3} + lab.efforts.settle);
    sleep_for(lab.efforts.settle);
    batches.give();
    lab.bench.stream().synchronise();
    const bool early = other.ended();
    other.stop();
    if (early) continue;
    Together together{.seconds = batches.all()};
    if (rate_alone > 0) {
      // Before and after the kernel's batches the other was alone.
      const double beside = elapsed(batches.event(0), batches.last()).value;
      const double moved = other.moved() - rate_alone * (other.lasted().value - beside);
      if (moved > 0) together.other_slowdown = rate_alone * beside / moved;
    }
    return together;
  }
  throw NotMeasured("what it was to run beside had ended first");
}

/// Beside pieces of work, one after the other: copies, or optimizer steps.
class Pieces {
 public:
  explicit Pieces(const BesideCase& one) : one_(one) {
    if (one_.what == Beside::kAdamW) {
      work_ = work_of(KernelCase{.kind = StepKernel::kAdamw, .count = one_.amount});
      for (const Operand& operand : work_.operands) {
        memory_.emplace_back(operand.bytes);
        at_.push_back(memory_.back().data());
        fill(at_.back(), operand, operand.bytes, 3, stream_);
      }
    } else {
      host_ = PinnedMemory(one_.amount);
      memory_.emplace_back(one_.amount);
      at_.push_back(memory_.back().data());
      fill_random(memory_.back().as<float>(), one_.amount / sizeof(float), 1.0F, 3, stream_);
      stream_.copy_to_host(host_.as<void>(), at_.back(), one_.amount);  // no zeros either way
    }
    stream_.synchronise();
  }

  Stream& stream() { return stream_; }
  const Event& event(int i) { return events_.at(i); }
  void give(int count) {
    give_timed(count, stream_, events_, [&] { piece(); });
  }
  double alone() {
    constexpr int kRuns = 5;
    give(1);
    return median_of(timed(kRuns, stream_, events_, [&] { piece(); }));
  }

 private:
  void piece() {
    switch (one_.what) {
      case Beside::kCopyToDevice: stream_.copy_to_device(at_[0], host_.data(), one_.amount); break;
      case Beside::kCopyToHost: stream_.copy_to_host(host_.data(), at_[0], one_.amount); break;
      default: work_.launch(at_, stream_);
    }
  }

  BesideCase one_;
  Stream stream_{Stream::Priority::kHigh};
  Events events_;
  DeviceWork work_;
  PinnedMemory host_;
  std::vector<DeviceMemory> memory_;
  std::vector<void*> at_;
};

Together beside_pieces(Pieces& other, double other_alone, Batches& batches, Seconds alone, Lab lab) {
  // Enough for a kernel that becomes ten times as slow.
  constexpr int kMostPieces = 1000;
  const int count =
      static_cast<int>(std::clamp(10 * alone.value / std::max(other_alone, 1e-7) + 2, 3.0, 1.0 * kMostPieces));
  const Event base(true);
  other.stream().record(base);
  lab.bench.stream().wait(base);
  other.give(count);
  batches.give();
  lab.bench.stream().synchronise();
  other.stream().synchronise();
  const auto at = [&](const Event& event) { return elapsed(base, event).value; };
  const double other_end = at(other.event(count)), begin = at(batches.event(0)), end = at(batches.last());
  Together together;
  for (int i = 0; i < batches.count(); ++i)
    if (at(batches.event(i + 1)) <= other_end) together.seconds.push_back(batches.seconds(i));
  Values pieces;
  for (int i = 0; i < count; ++i)
    if (at(other.event(i)) >= begin && at(other.event(i + 1)) <= end)
      pieces.push_back(elapsed(other.event(i), other.event(i + 1)).value);
  if (together.seconds.empty()) throw NotMeasured("what it was to run beside had ended first");
  if (!pieces.empty() && other_alone > 0) together.other_slowdown = median_of(pieces) / other_alone;
  return together;
}

bool is_endless(const BesideCase& one) {
  return one.what == Beside::kHoldMultiprocessors || one.what == Beside::kStreamMemory;
}

std::optional<ItemTimes> measure_beside(const InterferenceCase& one, Lab lab, Seconds most) {
  const DeviceWork work = one.is_product ? work_of(one.product, lab.products) : work_of(one.kernel);
  const bool cold = one.is_product ? one.product.cold : one.kernel.cold;
  const Effort& effort = lab.efforts.beside;
  Runner runner = lab.bench.make_ready(work, cold);
  const double wanted = effort.counted / runner.batch_time();
  const int count = static_cast<int>(std::clamp<double>(wanted, effort.least_batches, effort.most_batches));
  if (8 * count * runner.batch_time() > most) return std::nullopt;
  const std::optional<Spread> alone = lab.bench.time(runner, effort, most);
  if (!alone) return std::nullopt;
  Batches batches(runner, count, lab.bench);
  const Seconds whole = alone->median * runner.per_batch() * count * Seconds{1};
  Together together;
  if (is_endless(one.beside)) {
    Endless other(one.beside);
    const double rate = other.rate_alone(std::max(whole, Seconds{1e-3}));
    together = beside_endless(other, rate, batches, whole, lab);
  } else {
    Pieces other(one.beside);
    const double other_alone = other.alone();
    together = beside_pieces(other, other_alone, batches, whole, lab);
  }
  ItemTimes measured{spread_of(together.seconds), {}};
  measured.more = {{"alone_s", alone->median}, {"slowdown", measured.spread.median / alone->median}};
  if (together.other_slowdown > 0) measured.more.emplace_back("other_slowdown", together.other_slowdown);
  return measured;
}

}  // namespace

std::vector<MeasureItem> interference_items(const std::vector<InterferenceCase>& cases, Lab lab) {
  std::vector<MeasureItem> items;
  for (const InterferenceCase& one : cases) {
    const std::string shape = one.is_product ? text_of(one.product) : text_of(one.kernel);
    const std::string blocks = one.beside.blocks > 0 ? fmt::format(" of {} blocks", one.beside.blocks) : "";
    const char* const kernel = one.is_product ? "gemm" : name_of(one.kernel.kind);
    const char* const beside = name_of(one.beside.what);
    const Entries keys = joined({{"what", "interference"}, {"kernel", kernel}, {"shape", shape}},
                                one.is_product ? keys_of(one.product) : keys_of(one.kernel));
    items.push_back({fmt::format("{} beside {}{}", shape, beside, blocks), fmt::format("kernels beside {}", beside),
                     joined(keys, {{"beside", beside}, {"blocks", one.beside.blocks}}),
                     [one, lab](Seconds most, bool) { return measure_beside(one, lab, most); }});
  }
  return items;
}

}  // namespace accocal
