// Is what the sweep of the shipped mix of A100 and V100 nodes finds what can be derived without playing? At ten points
// spread over its two axes, from closed forms of identical ranks.
//
// A100 and V100 nodes, A = 8 micro-batches a GPU, t_k forward and backward of one on a GPU of kind k; t of a V100 is
// 2.2 times that of an A100.
//
// - ddp, zero1, zero2, zero3: all ranks end an update together, and every step of it (computing, casting, stepping the
//   optimizer) takes a V100 longer. A collective begins when the last rank is there, and its ring is as fast as its
//   slowest edge, whoever waits. So an update takes what it takes identical ranks that all compute as a V100 does, with
//   the collectives of this cluster: closed_form() of that kind at the mix's costs. Exact.
// - dpu: no rank ends an update before all have computed their A micro-batches, so none ends before the V100s' closed
//   form; these look after each micro-batch whether the communication is over, so they end just then. Exact but for how
//   the looks of the A100s fall, which the communication's begin waits for: less than a millionth here.
// - acco on unlike ranks has no exact closed form: when a round's communication begins depends on when each kind looks.
//   A round lasts no shorter than for ranks that are all A100, and at most one micro-batch of an A100 longer than for
//   ranks that are all V100 (it then waits for one that is under way): bounds.
// - Of dpu and acco the A100s accumulate while they wait. Nobody computes faster than without any wait, so all samples
//   a second are at most the sum of b / t_k over the ranks; what is lost of it are swaps and ends of rounds.
//
// These hold without interference, which the shipped sweep has: communication then slows what computes beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/base/text_file.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/run.hpp"
#include "sim/sweep/summary.hpp"
#include "sim/sweep/sweep.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr int kSteps = 8, kMicroBatch = 4;
constexpr double kExact = 1e-9;

/// Nodes of V100, and the place of the adapters' rate among the sweep's 60 values from 10 to 800 Gbit/s.
const std::vector<std::pair<std::size_t, std::size_t>> kPoints = {{0, 0},  {0, 59}, {1, 12},  {2, 31}, {4, 5},
                                                                  {6, 45}, {8, 20}, {10, 52}, {13, 0}, {16, 59}};

Sweep shipped() {
  const std::string path = data_dir() + "/scenarios/mixes/a100_v100.sweep.json";
  std::string text;
  EXPECT_EQ(read_text_file(path, text, 100'000), "");
  Sweep sweep = read_sweep(text, path);
  sweep.fair = false;
  return sweep;
}

Sweep without_interference(Sweep sweep) {
  sweep.set.emplace_back("/training/interference=false");
  return sweep;
}

/// A point of the sweep, and what it can be derived from.
struct Point {
  Row row;
  Scenario scenario;
  std::vector<Costs> costs;  ///< one a schedule
};

Point point_at(const Sweep& sweep, const Heading& heading, std::size_t index) {
  PartCache cache;
  Point point{play_point(sweep, heading, index, NetworkKind::kSimgrid, cache), {}, {}};
  std::vector<std::string> settings = sweep.set;
  for (const std::string& setting : settings_of(heading.axes, point.row.point)) settings.push_back(setting);
  point.scenario = load_scenario(sweep.scenario, settings).scenario;
  for (const ScheduleSpec& spec : point.scenario.schedules) point.costs.push_back(price(point.scenario, spec));
  return point;
}

std::vector<Point> points_of(const Sweep& sweep) {
  const Heading heading = heading_of(sweep, NetworkKind::kSimgrid);
  std::vector<Point> points;
  for (std::size_t i = 0; i < kPoints.size(); ++i) {
    if (!thorough(i)) continue;
    const auto& [nodes, rate] = kPoints[i];
    points.push_back(point_at(sweep, heading, nodes * heading.axes[1].values.size() + rate));
  }
  return points;
}

/// An update of identical ranks of a kind: A100 first, then V100.
double closed(const Point& point, std::size_t schedule, const RankKind& kind) {
  return closed_form({point.scenario.schedules[schedule], point.costs[schedule], kind, kSteps, 1}).value;
}
const RankKind& fastest(const Point& point, std::size_t schedule) { return point.costs[schedule].kinds.front(); }
const RankKind& slowest(const Point& point, std::size_t schedule) { return point.costs[schedule].kinds.back(); }

double micro_batch(const RankKind& kind) { return (kind.forward + kind.backward).value; }

/// Samples a second if nobody ever waited: 32 A100 and 8 V100 a node.
double sum_of_rates(const Point& point, std::size_t schedule) {
  double rate = 32 * kMicroBatch / micro_batch(fastest(point, schedule));
  if (point.costs[schedule].kinds.size() > 1)
    rate += (point.costs[schedule].ranks() - 32) * kMicroBatch / micro_batch(slowest(point, schedule));
  return rate;
}

bool accumulates(const std::string& label) { return label == "dpu" || label == "acco"; }

TEST(SweepClosedForms, TenPointsAreWhatIdenticalRanksTakeOrWithinTheirBounds) {
  for (const Point& point : points_of(without_interference(shipped()))) {
    ASSERT_TRUE(point.row.done()) << point.row.failure;
    const bool alike = point.costs[0].kinds.size() == 1;
    EXPECT_EQ(alike, point.row.point[0] == 0) << "no V100";
    for (std::size_t s = 0; s < point.scenario.schedules.size(); ++s) {
      const std::string& label = point.scenario.schedules[s].label;
      SCOPED_TRACE(fmt::format("{} at point {}", label, point.row.index));
      const Metrics& figures = point.row.schedules[s];
      const double slow = closed(point, s, slowest(point, s)), fast = closed(point, s, fastest(point, s));
      if (!accumulates(label)) {
        EXPECT_NEAR(figures.update_time.value / slow, 1, kExact);
        EXPECT_EQ(figures.samples_per_update, point.costs[s].ranks() * kSteps * kMicroBatch);
        continue;
      }
      if (alike || label == "dpu") {
        // A faster rank ends an update where a micro-batch of its own ends, so the mean of N of them may be off by one
        // of its micro-batches over N.
        const RunResult played = run_schedule(point.scenario, point.scenario.schedules[s], NetworkKind::kSimgrid);
        const double ragged = micro_batch(fastest(point, s)) / (played.steady.averaged * slow);
        EXPECT_NEAR(figures.update_time.value / slow, 1, alike ? kExact : ragged);
      } else {
        EXPECT_GE(figures.update_time.value, fast);
        EXPECT_LE(figures.update_time.value, slow + 2 * micro_batch(fastest(point, s))) << "two rounds";
      }
      const double rate = figures.samples_per_update / figures.update_time.value;
      EXPECT_LE(rate, sum_of_rates(point, s));
      EXPECT_GE(rate, 0.98 * sum_of_rates(point, s));
    }
  }
}

// As it is shipped. zero1 computes and communicates one after the other, so that nothing interferes: exact. The others
// take longer than without, and lose at most what communication slows down: 16 channels hold 15 % of an A100's
// multiprocessors while they run; those that accumulate lose rate.
TEST(SweepClosedForms, InterferenceOnlySlowsTheTenPointsDown) {
  for (const Point& point : points_of(shipped()))
    for (std::size_t s = 0; s < point.scenario.schedules.size(); ++s) {
      const std::string& label = point.scenario.schedules[s].label;
      SCOPED_TRACE(fmt::format("{} at point {}", label, point.row.index));
      const Metrics& figures = point.row.schedules[s];
      if (accumulates(label)) {
        const double rate = figures.samples_per_update / figures.update_time.value;
        EXPECT_LE(rate, sum_of_rates(point, s));
        EXPECT_GE(rate, 0.93 * sum_of_rates(point, s));
        continue;
      }
      const double ratio = figures.update_time.value / closed(point, s, slowest(point, s));
      EXPECT_GE(ratio, 1 - kExact);
      EXPECT_LE(ratio, label == "zero1" ? 1 + kExact : 1 + 16.0 / 108);
    }
}

// What no code of ours is asked for. zero1 sends the gradients once around the ring and the parameters once, 2 bytes a
// parameter each: every adapter carries (N - 1) / N of 2 x 2 bytes x P (NCCL's ring crosses a node once), at the share
// of its rate that arrives. Nothing else of an update depends on the rate, so that from one rate to the next its time
// falls by bytes x (1 / rate - 1 / next rate) / share.
TEST(SweepClosedForms, Zero1sTimeFallsWithTheRateAsItsBytesSay) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const Sweep sweep = shipped();
  const Heading heading = heading_of(sweep, NetworkKind::kSimgrid);
  for (const std::size_t nodes : {0U, 3U, 16U}) {
    const std::size_t line = nodes * heading.axes[1].values.size();
    const Point slow = point_at(sweep, heading, line), fast = point_at(sweep, heading, line + 3);
    const auto zero1 = [](const Point& point) { return point.row.schedules[1].update_time.value; };
    ASSERT_EQ(heading.axes[1].values[0], "10 Gbit/s");
    ASSERT_EQ(heading.axes[1].values[3], "12.5 Gbit/s");
    constexpr double kParameters = 774'030'080;  // GPT-2 Large: 36 layers of 19,677,440, embeddings and last norm
    const double ranks = 32.0 + 8.0 * static_cast<double>(nodes);
    const double bytes = (ranks - 1) / ranks * 2 * 2 * kParameters;
    const double expected = bytes * (8 / 10e9 - 8 / 12.5e9) / slow.scenario.cluster.nodes[0].nics.efficiency;
    EXPECT_NEAR((zero1(slow) - zero1(fast)) / expected, 1, 1e-3) << nodes << " nodes of V100";
  }
}

// With 16 nodes of V100 ddp is the faster on a slow network, zero1 on a fast one. Both are exact, so the neighbouring
// rates between which their closed forms change order are those between which the sweep has them cross.
TEST(SweepClosedForms, ACrossoverIsWhereTheClosedFormsChangeOrder) {
  Sweep sweep = without_interference(shipped());
  sweep.schedules = {"ddp", "zero1"};
  sweep.set.emplace_back("/cluster/nodes/1/count=16");
  sweep.space = sweep.space.parts[1];
  const Heading heading = heading_of(sweep, NetworkKind::kSimgrid);
  SweepRows rows{heading, {}};
  std::vector<double> leads;  // of ddp
  for (std::size_t i = 0; i < heading.points; ++i) {
    const Point point = point_at(sweep, heading, i);
    leads.push_back(closed(point, 1, slowest(point, 1)) - closed(point, 0, slowest(point, 0)));
    rows.rows.push_back(point.row);
  }
  const std::vector<double> rates = numbers_of(heading.axes[0])->values;
  std::vector<std::size_t> changes;
  for (std::size_t i = 0; i + 1 < leads.size(); ++i)
    if (leads[i] > 0 && leads[i + 1] < 0) changes.push_back(i);
  ASSERT_EQ(changes.size(), 1U);
  for (const Crossover& crossover : crossovers(rows, {Score::kTokens, {}})) {
    if (crossover.above != 1) continue;  // zero1
    EXPECT_EQ(crossover.lines, 1U);
    EXPECT_GT(crossover.low, rates[changes[0]]);
    EXPECT_LT(crossover.high, rates[changes[0] + 1]);
    return;
  }
  FAIL() << "zero1 overtakes ddp nowhere";
}

}  // namespace
}  // namespace accosim
