// Operands lie in one allocation, array by array: those of all launches of a rotation side by side, so that one call
// fills them.
#include "calibration/measure/measure_bench.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/base/random.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {
namespace {

constexpr std::size_t kAligned = 256;
constexpr std::size_t kMostSets = 2048;

std::size_t aligned(std::size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

bool stays(const Operand& operand, bool cold) { return operand.content == Content::kGiven || (operand.fresh && !cold); }

int count_of(double count, int least, int most) {
  return static_cast<int>(std::clamp(std::ceil(count), static_cast<double>(least), static_cast<double>(most)));
}

constexpr std::size_t kPattern = std::size_t{1} << 20;  // bytes

/// Of a type whose exponent begins at bit `shift`: random signs and mantissas, and exponents of 2^-6 to 2^-2, the first
/// of which is stored as `lowest`.
template <typename Bits>
std::vector<Bits> random_pattern(int shift, std::uint64_t lowest) {
  constexpr int kBits = 8 * sizeof(Bits);
  const std::uint64_t kept = std::uint64_t{1} << (kBits - 1) | ((std::uint64_t{1} << shift) - 1);
  std::vector<Bits> values(kPattern / sizeof(Bits));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = mixed({kBits, i});
    values[i] = static_cast<Bits>((bits & kept) | ((lowest + (bits >> 16) % 5) << shift));
  }
  return values;
}

/// `pattern` again and again.
void repeat(void* to, std::size_t bytes, const void* pattern, std::size_t size, Stream& stream) {
  size = std::min(size, bytes);
  stream.copy_to_device(to, pattern, size);
  for (std::size_t done = size; done < bytes;) {
    const std::size_t more = std::min(done, bytes - done);
    stream.copy_on_device(static_cast<char*>(to) + done, to, more);
    done += more;
  }
}

}  // namespace

const Event& Events::at(int i) {
  while (std::ssize(events_) <= i) events_.emplace_back(true);
  return events_[static_cast<std::size_t>(i)];
}

void Runner::launch(Stream& stream) {
  work_->launch(sets_[next_], stream);
  next_ = (next_ + 1) % sets_.size();
}

void Runner::batch(Stream& stream) {
  if (graphs_.empty()) {
    for (int i = 0; i < per_batch_; ++i) launch(stream);
    return;
  }
  graphs_[next_graph_].launch(stream);
  next_graph_ = (next_graph_ + 1) % graphs_.size();
}

void Bench::reserve(std::size_t bytes) {
  used_ = 0;
  if (arena_.size() >= bytes) return;
  stream_.synchronise();
  arena_ = DeviceMemory();  // before the larger one, since both may not fit
  try {
    arena_ = DeviceMemory(bytes + bytes / 8);
  } catch (const DeviceError&) {
    arena_ = DeviceMemory(bytes);
  }
}

void* Bench::place(std::size_t bytes) {
  void* at = arena_.as<char>() + used_;
  used_ += bytes;
  return at;
}

void fill(void* at, const Operand& operand, std::size_t bytes, std::uint64_t seed, Stream& stream) {
  switch (operand.content) {
    case Content::kFloat:
      fill_random(static_cast<float*>(at), bytes / sizeof(float), operand.deviation, seed, stream);
      break;
    case Content::kBf16:
      fill_random(static_cast<Bf16*>(at), bytes / sizeof(Bf16), operand.deviation, seed, stream);
      break;
    case Content::kFp16: {
      static const std::vector<std::uint16_t> kValues = random_pattern<std::uint16_t>(10, 9);
      repeat(at, bytes, kValues.data(), kPattern, stream);
      break;
    }
    case Content::kFp8: {
      static const std::vector<std::uint8_t> kValues = random_pattern<std::uint8_t>(3, 1);
      repeat(at, bytes, kValues.data(), kPattern, stream);
      break;
    }
    case Content::kZeros: stream.set_zero(at, bytes); break;
    case Content::kGiven:
      stream.copy_to_device(at, operand.given.data(), operand.given.size());
      stream.synchronise();
      break;
  }
}

Runner Bench::make_ready(const DeviceWork& work, bool cold) {
  std::size_t one = 0, rotating = 0;
  for (const Operand& operand : work.operands) {
    one += aligned(operand.bytes);
    if (!stays(operand, cold)) rotating += aligned(operand.bytes);
  }
  std::size_t sets = 1;
  if (rotating > 0) sets = std::clamp<std::size_t>((options_.beyond + rotating - 1) / rotating, 1, kMostSets);
  reserve(one + (sets - 1) * rotating);

  Runner runner;
  runner.work_ = &work;
  runner.sets_.resize(sets);
  for (const Operand& operand : work.operands) {
    const std::size_t step = aligned(operand.bytes), copies = stays(operand, cold) ? 1 : sets;
    char* first = static_cast<char*>(place(step * copies));
    fill(first, operand, step * copies, seed_++, stream_);
    for (std::size_t set = 0; set < sets; ++set) runner.sets_[set].push_back(first + (copies == 1 ? 0 : set * step));
  }

  // The first launch loads the kernel and chooses among a product's; of the next ones the time is estimated.
  constexpr int kFirst = 3;
  runner.launch(stream_);
  stream_.synchronise();
  const Event begin(true), end(true);
  stream_.record(begin);
  for (int i = 0; i < kFirst; ++i) runner.launch(stream_);
  stream_.record(end);
  stream_.synchronise();
  runner.each_ = std::max(elapsed(begin, end) / kFirst, Seconds{1e-7});
  if (runner.each_ >= options_.is_short) {
    runner.per_batch_ = count_of(options_.batch / runner.each_, 1, options_.most_nodes);
    return runner;
  }
  runner.per_batch_ = count_of(options_.replay / runner.each_, 1, options_.most_nodes);
  const int graphs = count_of(static_cast<double>(sets) / runner.per_batch_, 1, options_.most_graphs);
  for (int i = 0; i < graphs; ++i)
    runner.graphs_.emplace_back(stream_, [&] {
      for (int k = 0; k < runner.per_batch_; ++k) runner.launch(stream_);
    });
  // What the host could not launch fast enough is now seen at its own speed.
  runner.batch(stream_);
  stream_.record(begin);
  runner.batch(stream_);
  stream_.record(end);
  stream_.synchronise();
  runner.each_ = std::max(elapsed(begin, end) / runner.per_batch_, Seconds{1e-7});
  return runner;
}

std::optional<Spread> Bench::time(Runner& runner, const Effort& effort, Seconds most) {
  const Seconds one = runner.batch_time();
  int warm = count_of(effort.warm_up / one, 1, 100000);
  int batches = count_of(effort.counted / one, effort.least_batches, effort.most_batches);
  if ((warm + batches) * one > most) {
    warm = 1;
    batches = effort.least_batches;
    if ((warm + batches) * one > most) return std::nullopt;
  }
  for (int i = 0; i < warm; ++i) runner.batch(stream_);
  std::vector<double> seconds = timed(batches, stream_, events_, [&] { runner.batch(stream_); });
  for (double& each : seconds) each /= runner.per_batch();
  return spread_of(seconds);
}

}  // namespace accocal
