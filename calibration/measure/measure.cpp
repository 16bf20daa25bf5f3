// The launcher's side: makes the plan, starts the ranks, and turns the times of all of them into samples.
#include "calibration/measure/measure.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "calibration/base/machine.hpp"
#include "calibration/measure/measure_plan.hpp"
#include "calibration/measure/measure_rank.hpp"
#include "calibration/measure/measure_samples.hpp"
#include "calibration/ranks/namespaces.hpp"
#include "calibration/ranks/provenance.hpp"

namespace accocal {
namespace {

BytesPerSecond slowest(const LaunchOptions& launch) {
  BytesPerSecond rate{std::numeric_limits<double>::infinity()};
  for (int rank = 0; rank < launch.ranks; ++rank) rate = std::min(rate, payload_rate(launch.network, rank));
  return rate;
}

std::int64_t largest_credit(const NetworkSpec& network) {
  std::int64_t credit = 0;
  if (network.kind == NetworkKind::kNamespaces)
    for (const BytesPerSecond rate : network.rates) credit = std::max(credit, bucket_for(rate).burst);
  return credit;
}

RankPlan plan_of(const MeasureOptions& options) {
  const BytesPerSecond rate = slowest(options.launch);
  const int ranks = options.launch.ranks;
  const Seconds budget = options.quick ? std::min(options.budget, Seconds{6}) : options.budget;
  RankPlan plan;
  // The rest is for what is not a collective, and for what could not be foreseen.
  plan.cells =
      plan_cells({ranks, rate, largest_credit(options.launch.network), options.bytes, 0.7 * budget, options.quick});
  plan.hand_offs = options.quick ? 100 : 500;
  plan.elements = {1 << 16, 1 << 20, 1 << 22};
  plan.element_runs = options.quick ? 3 : 10;
  plan.training = options.training;
  plan.micro_batches = options.quick ? 10 : 50;
  plan.lengths = options.lengths;
  if (ranks > 1) {
    // A reduce-scatter and an all-gather of about 40 ms together, but not so small that latency is all there is.
    const double wanted = 0.02 * std::min(rate.value, 500e6) * ranks / (ranks - 1);
    plan.theft_bytes = static_cast<std::int64_t>(std::max(16384.0, wanted)) / 4 * 4;
    const Seconds one = 2 * expected_time(Collective::kAllGather, plan.theft_bytes, ranks, rate);
    plan.theft_runs = std::clamp(static_cast<int>(0.1 * budget / one), 5, 100);
    plan.link_runs = options.quick ? 3 : 6;
    plan.link_bytes = link_bytes(rate, ranks);
  }
  return plan;
}

void append(std::vector<JsonValue>& samples, JsonValue head, const Spread& spread) {
  put_spread(head, spread);
  samples.push_back(std::move(head));
}

/// Of what each rank does by itself: the runs of all, and the medians and percentiles of each, by which ranks are told
/// apart. These are without what its runs waited for a processor, where `waits` says it.
template <typename Values, typename Waits>
void append_by_rank(std::vector<JsonValue>& samples, JsonValue head, const std::vector<RankTimes>& times,
                    const Values& values, const Waits& waits) {
  append(samples, std::move(head), spread_of(pooled(times, values)));
  std::vector<double> medians, p10, p90, waited;
  for (const RankTimes& rank : times) {
    const std::vector<double> all = std::invoke(values, rank), wait = std::invoke(waits, rank);
    std::vector<double> own;
    for (std::size_t i = 0; i < wait.size(); ++i)
      if (all[i] > wait[i]) own.push_back(all[i] - wait[i]);  // else it waited while the clock was read
    const Spread spread = spread_of(own.empty() ? all : own);
    medians.push_back(spread.median);
    p10.push_back(spread.p10);
    p90.push_back(spread.p90);
    if (!wait.empty())
      waited.push_back(std::accumulate(wait.begin(), wait.end(), 0.0) / static_cast<double>(wait.size()));
  }
  for (const auto& [key, list] : {std::pair("by_rank_s", &medians),
                                  {"by_rank_p10_s", &p10},
                                  {"by_rank_p90_s", &p90},
                                  {"processor_wait_by_rank_s", &waited}})
    if (!list->empty()) samples.back().set(key, *list);
}

std::vector<double> no_waits(const RankTimes&) { return {}; }

/// Of each rank's way to the next; the times are the next one's.
void append_links(std::vector<JsonValue>& samples, const RankPlan& plan, std::vector<RankTimes> times) {
  std::rotate(times.begin(), times.begin() + 1, times.end());
  append_by_rank(samples, json_object({{"what", "link"}, {"bytes", plan.link_bytes}}), times, &RankTimes::link,
                 no_waits);
}

void append_elements(std::vector<JsonValue>& samples, const RankPlan& plan, const std::vector<RankTimes>& times) {
  using Runs = std::vector<double> ElementTimes::*;
  struct Kernel {
    const char* what;
    Runs times, waited;
  };
  for (std::size_t i = 0; i < plan.elements.size(); ++i)
    for (const Kernel& kernel : {Kernel{"adamw", &ElementTimes::adamw, &ElementTimes::adamw_waited},
                                 Kernel{"copy", &ElementTimes::copy, &ElementTimes::copy_waited}}) {
      const auto of = [i](Runs runs) { return [i, runs](const RankTimes& one) { return one.elements[i].*runs; }; };
      append_by_rank(samples, json_object({{"what", kernel.what}, {"elements", plan.elements[i]}}), times,
                     of(kernel.times), of(kernel.waited));
    }
}

std::vector<JsonValue> samples_of(const RankPlan& plan, const std::vector<RankTimes>& times) {
  std::vector<JsonValue> samples;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = plan.cells[i];
    const std::vector<CellTimes> ranks = mapped<CellTimes>(times, [&](const RankTimes& one) { return one.cells[i]; });
    append(samples, json_object({{"what", name_of(cell.what)}, {"bytes", cell.bytes}, {"after_idle", cell.after_idle}}),
           spread_of(run_times(ranks, cell.after_idle)));
    samples.back().set("processor_wait_p90_s", spread_of(waits(ranks)).p90);
  }
  if (plan.link_bytes > 0) append_links(samples, plan, times);
  append_by_rank(samples, json_object({{"what", "hand_off_start"}}), times, &RankTimes::hand_off_start, no_waits);
  append_by_rank(samples, json_object({{"what", "hand_off_end"}}), times, &RankTimes::hand_off_end, no_waits);
  append_elements(samples, plan, times);
  append_by_rank(
      samples, json_object({{"what", "micro_batch"}, {"parameters", times[0].parameters}, {"tokens", times[0].tokens}}),
      times, &RankTimes::micro_batch, &RankTimes::micro_batch_waited);
  for (std::size_t i = 0; i < plan.lengths.size(); ++i) {
    append(samples,
           json_object({{"what", "shorter_micro_batch"},
                        {"parameters", times[0].parameters},
                        {"tokens", std::int64_t{plan.training.gpt.sequences} * plan.lengths[i]}}),
           spread_of(pooled(times, [i](const RankTimes& one) { return one.shorter[i]; })));
  }
  if (plan.theft_bytes > 0) {
    const Theft theft = theft_of(times);
    append(samples,
           json_object({{"what", "theft"},
                        {"bytes", plan.theft_bytes},
                        {"compute_slowdown", theft.compute_slowdown},
                        {"collective_slowdown", theft.collective_slowdown},
                        {"collective_alone_s", theft.collective_alone.median},
                        {"compute_alone_s", theft.compute_alone.median}}),
           theft.collective_beside);
  }
  return samples;
}

}  // namespace

MeasureResult measure(const MeasureOptions& options) {
  const RankPlan plan = plan_of(options);
  const double idle_before = idle_share(Seconds{0.5});
  MeasureResult result;
  result.ranks =
      run_ranks(options.launch, [&](Transport& transport) { return report_of(measure_on_rank(plan, transport)); });
  if (result.ranks.code != ExitCode::kDone) return result;
  const double idle_after = idle_share(Seconds{0.5});
  std::vector<RankTimes> times;
  for (const RankEnd& end : result.ranks.ranks) times.push_back(read_report<RankTimes>(end.report));
  JsonValue document = json_object({{"schema", "accosim.samples/1"}});
  const JsonValue provenance = run_provenance(options.launch, false, false);
  for (const JsonMember& each : provenance.members) document.set(each.key, each.value);
  JsonValue& machine = *document.find("machine");
  machine.set("idle_before", std::round(idle_before * 1e3) / 1e3);
  machine.set("idle_after", std::round(idle_after * 1e3) / 1e3);
  document.set("ranks", options.launch.ranks);
  document.set("samples", samples_of(plan, times));
  result.document = dump_json(document, 1) + "\n";
  return result;
}

}  // namespace accocal
