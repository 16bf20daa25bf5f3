// Sizes are taken from the small end while their fewest runs fit; what time is left goes to more runs, evenly.
#include "calibration/measure/measure_plan.hpp"

#include <algorithm>
#include <cmath>

namespace accocal {
namespace {

constexpr Seconds kHop{150e-6};  // of a loaded machine
constexpr BytesPerSecond kFastest{500e6};
constexpr int kMostRuns = 200;
constexpr int kMostRunsAfterIdle = 30;
constexpr std::int64_t kCounter = 8;
constexpr Collective kAll[] = {Collective::kReduceScatter, Collective::kAllGather, Collective::kAllReduce};

Seconds time_of_run(const Cell& cell, const PlanInputs& inputs) {
  const Seconds run = expected_time(cell.what, cell.bytes, inputs.ranks, inputs.payload_rate);
  return cell.after_idle ? run + kPause : run;
}

Seconds time_of(const Cell& cell, const PlanInputs& inputs) {
  return (cell.runs + cell.warm_up) * time_of_run(cell, inputs);
}

/// Back to back, so many that the credit is spent; a collective too small to spend it faster than it grows stops at 60.
int warm_up_runs(std::int64_t bytes, const PlanInputs& inputs) {
  const double sent = static_cast<double>(bytes) * (inputs.ranks - 1) / inputs.ranks;
  return static_cast<int>(std::clamp(std::ceil(2 * static_cast<double>(inputs.credit) / sent), 1.0, 60.0));
}

/// The fewest runs, or as many as fit into what nobody notices.
int fewest_runs(const Cell& cell, const PlanInputs& inputs) {
  constexpr Seconds kUnnoticed{0.02};
  const int least = cell.after_idle ? (inputs.quick ? 2 : 3) : (inputs.quick ? 3 : 5);
  return std::max(least, static_cast<int>(std::min(50.0, kUnnoticed / time_of_run(cell, inputs))));
}

std::vector<Cell> cells_of_size(std::int64_t bytes, const PlanInputs& inputs) {
  std::vector<Cell> cells;
  for (const Collective what : kAll) {
    if (bytes == kCounter && what != Collective::kAllReduce) continue;
    cells.push_back({what, bytes, false, 0, warm_up_runs(bytes, inputs)});
    cells.push_back({what, bytes, true, 0, 1});
  }
  for (Cell& cell : cells) cell.runs = fewest_runs(cell, inputs);
  return cells;
}

}  // namespace

Seconds expected_time(Collective what, std::int64_t bytes, int ranks, BytesPerSecond payload_rate) {
  const BytesPerSecond rate{std::min(payload_rate.value, kFastest.value)};
  const double share = static_cast<double>(ranks - 1) / ranks;
  const Seconds one = share * Bytes{static_cast<double>(bytes)} / rate + (ranks - 1) * kHop;
  return what == Collective::kAllReduce ? 2 * one : one;
}

std::int64_t link_bytes(BytesPerSecond payload_rate, int ranks) {
  constexpr double kTogether = 0.5, kShortest = 1e-3, kLongest = 5e-3, kLeast = 16384;
  constexpr int kRuns = kLinkRounds * (kLinkWarmUp + 4);  // over each edge, about
  const double time = std::clamp(kTogether / (kRuns * ranks), kShortest, kLongest);
  return static_cast<std::int64_t>(std::max(kLeast, time * std::min(payload_rate, kFastest).value)) / 4 * 4;
}

std::vector<Cell> plan_cells(const PlanInputs& inputs) {
  if (inputs.ranks < 2) return {};
  std::vector<std::int64_t> sizes = inputs.bytes;
  if (sizes.empty())
    for (std::int64_t bytes = 1024; bytes <= 64 << 20; bytes *= 4) sizes.push_back(bytes);
  std::vector<Cell> plan = cells_of_size(kCounter, inputs);
  Seconds taken = sum_of<Seconds>(plan, [&](const Cell& cell) { return time_of(cell, inputs); });
  for (const std::int64_t bytes : sizes) {
    const std::vector<Cell> more = cells_of_size(bytes, inputs);
    const Seconds time = sum_of<Seconds>(more, [&](const Cell& cell) { return time_of(cell, inputs); });
    const bool asked_for = !inputs.bytes.empty() || bytes == sizes.front();
    if (!asked_for && taken + time > inputs.budget) break;
    plan.insert(plan.end(), more.begin(), more.end());
    taken += time;
  }
  const Seconds spare{std::max(0.0, (inputs.budget - taken).value) / static_cast<double>(plan.size())};
  for (Cell& cell : plan) {
    const int most = cell.after_idle ? kMostRunsAfterIdle : kMostRuns;
    const double more = std::min(std::floor(spare / time_of_run(cell, inputs)), static_cast<double>(most));
    cell.runs = std::min(most, cell.runs + static_cast<int>(more));
  }
  return plan;
}

}  // namespace accocal
