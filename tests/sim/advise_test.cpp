// What advise searches and how it concludes, on spaces and figures made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "models/price/interval.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/advise/advice.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/advise/search.hpp"
#include "sim/advise/takeover.hpp"
#include "sim/knobs/form.hpp"
#include "sim/knobs/knob_table.hpp"
#include "sim/what_if/fairness.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

/// Settings beside a schedule that takes any number of micro-batches.
Scenario with_zero1(const std::string& name, std::vector<std::string> set) {
  set.insert(set.end(), {R"(/schedules=[{"name": "zero1"}])", "/baseline=zero1", "/published={}"});
  return load_scenario(name, set).scenario;
}

Knob knob_of(const std::string& name, std::size_t alternatives, bool coarse = false) {
  Knob knob{name, {}, coarse};
  for (std::size_t i = 0; i < alternatives; ++i) {
    std::string text(name);
    text += " " + std::to_string(i);
    knob.alternatives.push_back({text, {}, {"/" + name + "=" + std::to_string(i)}});
  }
  return knob;
}

/// Two schedules: 2 x 3 and 4 candidates.
CandidateSpace small_space() {
  return {{{"ddp", "ddp", false, {}, {knob_of("a", 2, true), knob_of("b", 3)}},
           {"zero1", "mine", false, {{"overlap", "\"none\""}}, {knob_of("c", 4)}}}};
}

Evaluation played(double time, double memory = 1, double sent = 1) {
  return Evaluation{.state = PointState::kPlayed,
                    .memory = memory,
                    .samples = 1,
                    .has_time = true,
                    .update_time = time,
                    .sent = sent};
}

/// Who plays each point by itself: `of` makes one of its index.
template <class Of>
auto one_by_one(const Of& of) {
  return [of](const std::vector<std::size_t>& indices, const PlayLimit&) {
    return mapped<TriedPoint>(indices, [&of](const std::size_t i) { return of(i); });
  };
}

/// Two schedules: 6 x 5 x 7 and 6 x 9 candidates.
CandidateSpace large_space() {
  return {{{"ddp", "a", false, {}, {knob_of("w", 6, true), knob_of("x", 5), knob_of("y", 7)}},
           {"zero1", "b", false, {}, {knob_of("w", 6, true), knob_of("z", 9)}}}};
}

TEST(Candidates, EachIndexIsOneCandidateAndBack) {
  const CandidateSpace space = small_space();
  ASSERT_EQ(size_of(space), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(index_of(space, candidate_of(space, i)), i);
  EXPECT_EQ(candidate_of(space, 4), (Candidate{0, {1, 1}})) << "the last knob changes fastest";
  EXPECT_EQ(candidate_of(space, 6), (Candidate{1, {0}})) << "the first of the second form";
}

TEST(Candidates, SettingsAreTheKnobsAndAScheduleOfItsOwn) {
  CandidateSpace space = small_space();
  space.forms[1].knobs[0].alternatives[2].keys = {{"overlap", "\"backward\""}, {"bucket_cap_mb", "25"}};
  space.forms[1].first = {"/first=1"};
  space.forms[1].last = {"/last=1"};
  EXPECT_EQ(choice_of(space, index_of(space, {1, {2}})).set,
            (std::vector<std::string>{
                "/first=1", "/c=2",
                R"(/schedules=[{"name": "zero1", "label": "mine", "overlap": "backward", "bucket_cap_mb": 25}])",
                "/last=1"}));
  space.forms[0].written = true;  // the scenario keeps its own schedules then
  const Choice choice = choice_of(space, index_of(space, {0, {1, 2}}));
  EXPECT_EQ(choice.set, (std::vector<std::string>{"/a=1", "/b=2"}));
  EXPECT_EQ(choice.options, "a 1, b 2");
  EXPECT_EQ(choice.coarse_options, "a 1");
}

TEST(Search, PlaysASmallSpaceAsAWhole) {
  const auto play = one_by_one([](std::size_t i) { return TriedPoint{i, played(1.0 + static_cast<double>(i)), ""}; });
  const std::vector<TriedPoint> all = search(small_space(), 10, play);
  EXPECT_TRUE(findings_of(small_space(), all, 1).exhaustive);
  ASSERT_EQ(all.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(all[i].index, i);
}

/// Costs of each alternative that add up: a change of one knob at a time then always finds the least.
class Sums {
 public:
  Sums(const CandidateSpace& space, std::uint64_t seed) : space_(space) {
    Random random(seed);
    for (const Form& form : space.forms)
      for (const Knob& knob : form.knobs)
        for (std::size_t i = 0; i < knob.alternatives.size(); ++i) costs_.push_back(random.uniform(0.1, 1));
  }
  double at(const Candidate& candidate) const {
    std::size_t first = 0;
    double sum = 0;
    for (std::size_t f = 0; f < space_.forms.size(); ++f)
      for (std::size_t k = 0; k < space_.forms[f].knobs.size(); ++k) {
        if (f == candidate.form) sum += costs_[first + candidate.at[k]];
        first += space_.forms[f].knobs[k].alternatives.size();
      }
    return sum;
  }

 private:
  const CandidateSpace& space_;
  std::vector<double> costs_;
};

TEST(Search, FindsTheLeastSumOfALargeSpaceWithinItsBudget) {
  const CandidateSpace space = large_space();
  ASSERT_EQ(size_of(space), 264U);  // 210 + 54
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Sums sums(space, seed);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < size_of(space); ++i) least = std::min(least, sums.at(candidate_of(space, i)));
    std::size_t asked = 0;
    const auto play = one_by_one([&](std::size_t i) {
      ++asked;
      return TriedPoint{i, played(sums.at(candidate_of(space, i))), ""};
    });
    const std::vector<TriedPoint> some = search(space, 100, play);
    EXPECT_FALSE(findings_of(space, some, 1).exhaustive);
    EXPECT_LE(some.size(), 100U);
    EXPECT_EQ(asked, some.size()) << "no point twice";
    double found = std::numeric_limits<double>::infinity();
    for (const TriedPoint& point : some) found = std::min(found, point.evaluation.update_time);
    EXPECT_NEAR(found, least, 1e-4 * least) << seed;
    EXPECT_EQ(search(space, 100, play).size(), some.size()) << "the same again";
  }
}

TEST(Search, WhatTakesLongIsHeldAgainstTheBestOfTheRest) {
  // The points of odd index take long, and their closed form is their index; the others take 5. Of those that take long
  // the two with the least are played first, since both are within 1.1 x 5; then 1 is the best, and no other is near
  // it.
  std::set<std::size_t> played_late;
  const auto play = [&](const std::vector<std::size_t>& indices, const PlayLimit& limit) {
    std::vector<TriedPoint> points;
    for (const std::size_t i : indices) {
      Evaluation each = played(i % 2 == 0 ? 5 : static_cast<double>(i));
      if (i % 2 == 1 && limit.postponed) each.state = PointState::kPostponed;
      if (i % 2 == 1 && !limit.postponed) {
        EXPECT_TRUE(limit.best.has_value());
        if (each.update_time > kHopeful * *limit.best)
          each.state = PointState::kCannotWin;
        else
          played_late.insert(i);
      }
      points.push_back({i, each, ""});
    }
    return points;
  };
  const Findings found = findings_of(small_space(), search(small_space(), 10, play), 1);
  EXPECT_EQ(played_late, (std::set<std::size_t>{1, 3}));
  EXPECT_EQ(found.cannot_win, 3U);
  EXPECT_EQ(found.points[*found.winner].index, 1U);
}

TEST(Search, OnlyWhatIsPlayedSpendsTheBudget) {
  // 264 points, of which every fourth may be played and the others are refused: 20 plays need some 80 looks, and never
  // more than ten times the budget. The least of all is found as of a space where nothing is refused.
  const CandidateSpace space = large_space();
  const auto quarter = one_by_one([](std::size_t i) {
    return i % 4 == 0 ? TriedPoint{i, played(1.0 + static_cast<double>(i)), ""} : TriedPoint{i, {}, "no"};
  });
  const Findings found = findings_of(space, search(space, 20, quarter), 1);
  EXPECT_EQ(found.simulated, 20U);
  EXPECT_GT(found.points.size(), 60U);
  EXPECT_LE(found.points.size(), 200U);
  EXPECT_EQ(found.points[*found.winner].index, 0U);
  const auto none = one_by_one([](std::size_t i) { return TriedPoint{i, {}, "no"}; });
  EXPECT_LE(search(space, 2, none).size(), 20U) << "ten looks a play";
}

/// Of small_space(): by index.
Findings findings(const std::vector<Evaluation>& evaluations, double within = 0) {
  std::vector<TriedPoint> points;
  for (const Evaluation& each : evaluations) points.push_back({points.size(), each});
  return findings_of(small_space(), points, 1, within);
}

TEST(Findings, OfEqualCostsTheQuickerOneWins) {
  // Half as many GPUs twice as long cost as much, and hold less here.
  Evaluation few = played(2.0, 1), many = played(1.0, 9);
  few.spent_in_a_second = 3;
  many.spent_in_a_second = 6;
  EXPECT_EQ(findings({few, many}).winner, 1U);
  many.spent_in_a_second = 6.1;
  EXPECT_EQ(findings({few, many}).winner, 0U) << "dearer";
  // Of samples that are twice as long, per token.
  Evaluation longer = played(2.0, 1);
  longer.longer = 2;
  EXPECT_EQ(findings({played(1.0, 9), longer}).winner, 1U) << "as quick, and holds less";
}

TEST(Findings, WinnerSecondAndFrontOfFiguresByHand) {
  Evaluation no_room = played(0.1);
  no_room.state = PointState::kDoesNotFit;
  Evaluation grown = played(0.2);
  grown.state = PointState::kOtherBatch;
  grown.samples = 1.5;
  Evaluation tight = played(0.9, 9, 4);
  tight.verdict = FitVerdict::kTight;
  tight.caveats.fit_probability = 0.34;
  // Form 0: points 0 to 5, form 1: 6 to 9.
  const Findings found = findings({played(1.0, 9, 4), played(2.0, 5, 4), played(1.00005, 9, 5), no_room, grown,
                                   played(3.0, 5, 4), played(1.5, 8, 4), played(1.6, 8, 3), tight, played(5.0, 4, 4)});
  EXPECT_EQ(found.played, 8U);
  EXPECT_EQ(found.tight, 1U);
  EXPECT_EQ(found.do_not_fit, 1U);
  EXPECT_EQ(found.other_batch, 1U);
  EXPECT_EQ(found.winner, 0U);
  EXPECT_EQ(found.second, 6U) << "the best of the other schedule";
  EXPECT_EQ(found.next, 1U) << "2 takes longer by less than a thousandth";
  EXPECT_EQ(found.faster, (std::vector<std::size_t>{8})) << "1.11 times as fast, and hardly to fit";
  // By time, whatever the caveats: 8 (9, 4); 0 (9, 4) and 2 (9, 5) are beaten by 8; 6 (8, 4); 7 (8, 3); 1 (5, 4); 5 is
  // beaten by 1; 9 (4, 4).
  EXPECT_EQ(found.front, (std::vector<std::size_t>{8, 6, 7, 1, 9}));
  ASSERT_EQ(found.forms.size(), 2U);
  EXPECT_EQ(found.forms[0].best, 0U);
  EXPECT_EQ(found.forms[1].best, 6U);
}

TEST(Findings, ATimeWithinTheIntervalOfTheRatioIsOpen) {
  // The spread of a ratio of equal spreads is s, that of ratios alone: the 80 % interval holds 1 up to a ratio of
  // exp(1.2816 s), 1.15 of s = 0.109.
  const double most = std::exp(kEightyPercent * constants().ratio_spread);
  ASSERT_LT(1.01 * most, 1.2);
  const Findings found = findings({played(1), played(1.2), played(1.3), played(2), played(2), played(2),
                                   played(0.99 * most), played(1.01 * most), played(1.05), played(3)});
  EXPECT_EQ(found.winner, 0U);
  EXPECT_EQ(found.second, 8U);
  EXPECT_EQ(found.open, (std::vector<std::size_t>{8}));
  EXPECT_EQ(found.open_points, 2U) << "1.05 and what is just below";
}

TEST(Findings, WhatCostsLittleMoreAndIsDoneSoonerIsNamed) {
  // Money and hours of all tokens: the cheapest takes 4 h. 1 % more is done in 1 h, 1.5 % more in 30 min, 3 % more
  // in 6.
  std::vector<Evaluation> tried;
  const double spent[] = {1, 1.01, 1.015, 1.03}, hours[] = {4, 1, 0.5, 0.1};
  for (std::size_t i = 0; i < 4; ++i) {
    Evaluation each = played(spent[i]);
    each.total_time = 3600 * hours[i];
    tried.push_back(each);
  }
  EXPECT_EQ(findings(tried, 0.02).sooner, 2U);
  EXPECT_EQ(findings(tried, 0.012).sooner, 1U);
  EXPECT_EQ(findings(tried).sooner, std::nullopt);
}

TEST(Findings, OfEachNumberOfNodesTheCheapestWithoutMoreCaveatsIsListed) {
  // Money: on 2 nodes 3 and 2, on 1 node 2.5 and, with gradients that are late, 1; on 4 nodes 4.
  std::vector<Evaluation> tried;
  for (const auto& [nodes, spent] :
       {std::pair(2, 3.0), std::pair(2, 2.0), std::pair(1, 2.5), std::pair(1, 1.0), std::pair(4, 4.0)}) {
    Evaluation each = played(spent);
    each.nodes = nodes;
    if (spent == 1) each.caveats.statistics = Statistics::kStaleGradients;
    tried.push_back(each);
  }
  EXPECT_EQ(findings(tried).by_nodes, (std::vector<std::size_t>{2, 1, 4}));
}

TEST(Findings, ADelayedWinnerIsHeldAgainstTheBestSynchronousOne) {
  Evaluation delayed = played(1);
  delayed.synchronous = false;
  EXPECT_EQ(findings({played(3), played(2), delayed}).synchronous, 1U);
  EXPECT_EQ(findings({played(1), played(2), delayed}).synchronous, std::nullopt) << "it wins itself";
}

TEST(Findings, ReasonsLoseTheirPlacesAndAreCounted) {
  EXPECT_EQ(reason_of("--set /schedules: is wrong: write 2"), "is wrong: write 2");
  EXPECT_EQ(reason_of("/a/b.json:3:4 /training/x: is 0; write 1"), "is 0; write 1");
  EXPECT_EQ(reason_of("took longer than 3 s: really"), "took longer than 3 s: really");
  const Findings found = findings_of(small_space(), {{0, {}, "has 30"}, {1, {}, "other"}, {2, {}, "has 32"}}, 1);
  ASSERT_EQ(found.refusals.size(), 2U) << "numbers apart they are one";
  EXPECT_EQ(found.refusals[0].points, 2U);
  EXPECT_EQ(found.refused, 3U);
  EXPECT_FALSE(found.winner.has_value());
}

TEST(Takeover, IsWhereTwoLinesCross) {
  // Times of computation and of communication at the rate f: 1 + 1/f wins at 1; 0.5 + 2/f above f = 2 (0.5 = 1/f);
  // 2.5 + 0.5/f below f = 1/3 (0.5/f = 1.5).
  const Takeovers found = takeovers_of([](double f) {
    return std::vector<std::optional<double>>{1 + 1 / f, 0.5 + 2 / f, 2.5 + 0.5 / f};
  });
  ASSERT_TRUE(found.below && found.above);
  EXPECT_EQ(found.above->by, 1U);
  EXPECT_NEAR(found.above->factor, 2, 0.02 * 2);
  EXPECT_EQ(found.below->by, 2U);
  EXPECT_NEAR(found.below->factor, 1.0 / 3, 0.02 / 3);
}

TEST(Takeover, NowhereAndWhereTheBestCannotBe) {
  const Takeovers nowhere = takeovers_of([](double f) { return std::vector<std::optional<double>>{1 / f, 2 / f}; });
  EXPECT_FALSE(nowhere.below || nowhere.above);
  // Below a quarter the best one's batch grows, so that it cannot be had.
  const Takeovers gone = takeovers_of([](double f) {
    return std::vector<std::optional<double>>{f < 0.3 ? std::nullopt : std::optional(1.0), 2.0};
  });
  ASSERT_TRUE(gone.below.has_value());
  EXPECT_NEAR(gone.below->factor, 0.3, 0.006);
  EXPECT_FALSE(gone.above.has_value());
}

std::vector<std::string> texts_of(const std::vector<Alternative>& alternatives) {
  return mapped<std::string>(alternatives, &Alternative::text);
}

TEST(Knobs, MicroBatchesKeepTheSamplesOfAnUpdate) {
  const LoadedScenario loaded = load_scenario("finetune_2x4_a100", {});  // 4 x 4 on 8 GPUs
  const std::vector<Alternative> ways = ways_to_work(loaded, {.sizes = true});
  EXPECT_EQ(texts_of(ways), (std::vector<std::string>{"micro_batch_size 4, gradient_accumulation_steps 4",
                                                      "micro_batch_size 1, gradient_accumulation_steps 16",
                                                      "micro_batch_size 2, gradient_accumulation_steps 8",
                                                      "micro_batch_size 8, gradient_accumulation_steps 2",
                                                      "micro_batch_size 16, gradient_accumulation_steps 1"}));
  EXPECT_TRUE(ways[0].set.empty());
  for (const Alternative& each : ways) EXPECT_EQ(samples_asked(with_zero1("finetune_2x4_a100", each.set)), 128);
}

TEST(Knobs, MicroBatchesAreAllThatDivideTheSamplesOfAGpu) {
  // 2 x 6 are 12: also 3, 6 and 12, which are no power of two times what is written.
  const LoadedScenario loaded = load_scenario("finetune_2x4_a100", {"/published={}", "/training/micro_batch_size=2",
                                                                    "/training/gradient_accumulation_steps=6"});
  EXPECT_EQ(
      texts_of(ways_to_work(loaded, {.sizes = true})),
      (std::vector<std::string>{
          "micro_batch_size 2, gradient_accumulation_steps 6", "micro_batch_size 1, gradient_accumulation_steps 12",
          "micro_batch_size 3, gradient_accumulation_steps 4", "micro_batch_size 4, gradient_accumulation_steps 3",
          "micro_batch_size 6, gradient_accumulation_steps 2", "micro_batch_size 12, gradient_accumulation_steps 1"}));
}

TEST(Knobs, OnUnlikeGpusTheWorkIsDividedToo) {
  const LoadedScenario loaded = load_scenario("mixed_16_a100_16_v100", {});
  const double asked = samples_asked(loaded.scenario);
  std::set<std::string> balances;
  for (const Alternative& each : ways_to_work(loaded, {.sizes = true})) {
    EXPECT_EQ(samples_asked(with_zero1("mixed_16_a100_16_v100", each.set)), asked) << each.text;
    for (const ScheduleKey& key : each.keys) balances.insert(key.first + key.second);
  }
  EXPECT_EQ(balances, (std::set<std::string>{"balance\"counts\"", "balance\"speed\""}));
}

TEST(Knobs, FewerNodesAccumulateMore) {
  // 2 x 4 GPUs do 4 x 4 samples each, 128: on one node 8 micro-batches of 4. On 3 nodes of 4 GPUs 4 x 4 are 192, which
  // 2 nodes do with 6 micro-batches and 1 with 12.
  EXPECT_EQ(texts_of(ways_to_work(load_scenario("finetune_2x4_a100", {}), {.nodes = true})),
            (std::vector<std::string>{"micro_batch_size 4, gradient_accumulation_steps 4",
                                      "1 node, micro_batch_size 4, gradient_accumulation_steps 8"}));
  const LoadedScenario three = load_scenario("finetune_2x4_a100", {"/cluster/nodes/0/count=3", "/published={}"});
  EXPECT_EQ(texts_of(ways_to_work(three, {.nodes = true})),
            (std::vector<std::string>{"micro_batch_size 4, gradient_accumulation_steps 4",
                                      "2 nodes, micro_batch_size 4, gradient_accumulation_steps 6",
                                      "1 node, micro_batch_size 4, gradient_accumulation_steps 12"}));
  // Two nodes of each kind: 1 of one and 2 of the other would do 16/3 micro-batches.
  for (const Alternative& each : ways_to_work(load_scenario("mixed_16_a100_16_v100", {}), {.nodes = true}))
    EXPECT_EQ(samples_asked(with_zero1("mixed_16_a100_16_v100", each.set)),
              samples_asked(load_scenario("mixed_16_a100_16_v100", {}).scenario))
        << each.text;
}

/// Every alternative of every knob, as a sweep would set it, on scenarios of several frameworks and kinds of GPU: each
/// is taken, all are different, and only the first leaves everything as it is. Samples of an update stay.
TEST(Knobs, EveryAlternativeIsAScenarioOfAsManySamples) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  std::set<std::string> chosen;
  for (const char* const name : {"finetune_2x4_a100", "mixed_16_a100_16_v100", "two_sites_2x16_a100",
                                 "llama-2-7b_fsdp_hsdp", "straggler_4x8_a100"}) {
    const LoadedScenario loaded = load_scenario(name, {"/published={}"});
    std::vector<std::size_t> all(loaded.scenario.schedules.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const KnobRow& row : knob_rows()) {
      const Knob knob = knob_in_settings(loaded, row, all);
      ASSERT_FALSE(knob.alternatives.empty());
      EXPECT_TRUE(knob.alternatives.front().set.empty()) << row.name;
      if (knob.alternatives.size() > 1) chosen.insert(row.name);
      std::vector<Scenario> known;
      for (const Alternative& each : knob.alternatives) {
        std::vector<std::string> set{"/published={}"};
        set.insert(set.end(), each.set.begin(), each.set.end());
        Scenario scenario;
        try {
          scenario = load_scenario(name, set).scenario;
        } catch (const ScenarioError& error) {
          // Of two sites one alone has nobody to meet, and not every schedule runs in a pipeline.
          EXPECT_TRUE(std::string(row.name) == kNodesKnob || each.text.find("pipeline_parallel_size") == 0 ||
                      each.text.find(", pipeline_parallel_size") != std::string::npos)
              << name << ": " << row.name << ": " << each.text << ": " << error.what();
          continue;
        }
        EXPECT_EQ(samples_asked(scenario), samples_asked(loaded.scenario)) << name << ": " << each.text;
        EXPECT_TRUE(std::ranges::none_of(known,
                                         [&](const Scenario& other) {
                                           return other.training == scenario.training &&
                                                  other.schedules == scenario.schedules &&
                                                  other.cluster == scenario.cluster;
                                         }))
            << name << ": " << row.name << ": " << each.text;
        known.push_back(scenario);
      }
    }
  }
  EXPECT_TRUE(chosen.contains("nodes") && chosen.contains("implementation") && chosen.contains("overlap") &&
              chosen.contains("attention"));
}

TEST(Knobs, AnAlternativeSaysAllThatItSets) {
  const LoadedScenario loaded = load_scenario("finetune_2x4_a100", {});
  bool odd = false;
  for (const KnobRow& row : knob_rows()) {
    if (std::string(row.name) != "micro_batch") continue;
    for (const Alternative& each : knob_in_settings(loaded, row, {0, 1, 2, 3}).alternatives)
      for (const std::string& set : each.set)
        if (set == "/schedules/3/micro_batches_per_round=1") {
          odd = true;
          EXPECT_EQ(each.text, "micro_batch_size 16, gradient_accumulation_steps 1, micro_batches_per_round 1");
        }
  }
  EXPECT_TRUE(odd);
}

TEST(Knobs, RecomputationOfSomeBlocksMayBeGivenUp) {
  // recompute_every and recompute_fraction are of whole blocks, and refused beside none or selective.
  for (const char* const some : {"/training/recompute_every=2", "/training/recompute_fraction=0.5"}) {
    const std::vector<std::string> written{"/published={}", "/training/activation_recompute=full", some};
    const LoadedScenario loaded = load_scenario("finetune_2x4_a100", written);
    const Knob knob = knob_in_settings(loaded, knob_named("activation_recompute"), {});
    EXPECT_EQ(knob.alternatives.size(), 5U);
    for (const Alternative& each : knob.alternatives) {
      std::vector<std::string> set = written;
      set.insert(set.end(), each.set.begin(), each.set.end());
      EXPECT_NO_THROW(load_scenario("finetune_2x4_a100", set)) << some << " " << each.text;
    }
  }
}

TEST(Knobs, OfTwoRoundsOneIsToldItsSizeWhereTheAccumulationIsOddAndNobodyDividesIt) {
  const Alternative odd{"", {}, {"/training/gradient_accumulation_steps=5"}}, even{"", {}, {}};
  Training training{.gradient_accumulation_steps = 4};
  const ScheduleKey first{"micro_batches_per_round", "3"}, counts{"balance", "\"counts\""};
  EXPECT_EQ(rounds_key("acco", {}, odd, training), first);
  EXPECT_EQ(rounds_key("acco", {}, even, training), std::nullopt);
  EXPECT_EQ(rounds_key("zero1", {}, odd, training), std::nullopt) << "one round";
  EXPECT_EQ(rounds_key("acco", {counts}, odd, training), std::nullopt);
  EXPECT_EQ(rounds_key("acco", {}, {"", {counts}, odd.set}, training), std::nullopt);
  training.balance = Balance::kSpeed;
  EXPECT_EQ(rounds_key("acco", {}, odd, training), std::nullopt);
  EXPECT_EQ(rounds_key("acco", {{"balance", "\"none\""}}, odd, training), first);
  training.balance = Balance::kNone;
  training.gradient_accumulation_steps = 5;
  EXPECT_EQ(rounds_key("acco", {}, even, training), first) << "as it is written";
}

TEST(Knobs, OfManyNodeGroupsOneAtATimeHasFewerNodes) {
  // Seven groups of 8 nodes: 4, 2, 1 and 0 of each, one at a time, are 28 besides what is written; of 5^7 nobody asks.
  std::string groups;
  for (int i = 0; i < 7; ++i)
    groups += (i == 0 ? "" : ", ") + std::string(R"({"name": "g)") + std::to_string(i) +
              R"(", "count": 8, "gpus": 1, "device": "A100-SXM4-80GB", "nics": {"bandwidth": "100 Gbit/s"}})";
  const LoadedScenario loaded = load_scenario(
      "finetune_2x4_a100", {"/cluster/nodes=[" + groups + "]", "/published={}", R"(/schedules=[{"name": "zero1"}])",
                            "/baseline=zero1", "/training/gradient_accumulation_steps=42"});
  const std::size_t ways = ways_to_work(loaded, {.nodes = true}).size();
  // 56 x 42 micro-batches are whole on 49 nodes (48 each) and on 48 (49 each).
  EXPECT_GE(ways, 1U + 14);
  EXPECT_LE(ways, 1U + 28);
}

TEST(Knobs, EntriesThatDifferInOptionsAloneAreOneForm) {
  const LoadedScenario loaded = load_scenario("two_sites_2x16_a100", {});
  const CandidateSpace all = candidates_for(loaded, {}, {}, false);
  EXPECT_EQ(mapped<std::string>(all.forms, &Form::label),
            (std::vector<std::string>{"ddp", "acco", "diloco", "diloco int8", "zero1", "zero2", "zero3", "dpu", "wp",
                                      "pipesgd", "sapipe"}))
      << "ddp with large buckets is ddp; local SGD is not asked for, and its replicas drift";
  bool large = false;
  for (const Knob& knob : all.forms[0].knobs)
    for (const Alternative& each : knob.alternatives) large = large || each.text == "bucket_cap_mb 1000";
  EXPECT_TRUE(large);
  // Of a schedule whose replicas drift only how they meet is varied, which changes nothing that they learn.
  std::vector<std::string> meetings;
  for (const Knob& knob : all.forms[2].knobs)
    if (knob.name == "meeting")
      for (const Alternative& each : knob.alternatives) meetings.push_back(each.text);
  EXPECT_EQ(meetings, (std::vector<std::string>{"", "meeting hierarchical"}));
  EXPECT_EQ(candidates_for(loaded, {"local_sgd"}, {}, false).forms.size(), 1U);
  EXPECT_THROW(candidates_for(loaded, {"zero9"}, {}, false), ScenarioError);
}

TEST(Knobs, WhatNobodyWroteOfTypesIsThatOfTheDelayedSchedule) {
  // Megatron-LM's ZeRO-1 reduces gradients in fp32 by itself, and ACCO there in the parameters' bf16.
  const auto types = [](const std::string& zero1, const std::string& acco, bool over) {
    const std::vector<std::string> written{
        "/published={}", "/training/framework=megatron", "/training/precision=bf16", "/baseline=zero1",
        R"(/schedules=[{"name": "zero1")" + zero1 + R"(}, {"name": "acco")" + acco + "}]"};
    const LoadedScenario loaded = load_scenario("finetune_2x4_a100", written);
    std::vector<Axis> varied;
    if (over) varied.push_back({"micro_batch", {}});
    const CandidateSpace all = candidates_for(loaded, {"zero1", "acco", "ddp"}, varied, false);
    std::string found;
    for (std::size_t f = 0; f < all.forms.size(); ++f) {
      const Candidate first{f, std::vector<std::size_t>(all.forms[f].knobs.size(), 0)};
      std::vector<std::string> set = written;
      for (const std::string& each : choice_of(all, index_of(all, first)).set) set.push_back(each);
      const Scenario alone = load_scenario("finetune_2x4_a100", set).scenario;
      EXPECT_EQ(alone.schedules.size(), 1U);
      found += alone.schedules.front().name + " " + name_of(reduced_in(alone.schedules.front())) + " ";
    }
    return found;
  };
  for (const bool over : {false, true}) {
    EXPECT_EQ(types("", "", over), "zero1 bf16 acco bf16 ddp bf16 ") << over;
    EXPECT_EQ(types("", R"(, "gradient_dtype": "fp32")", over), "zero1 fp32 acco fp32 ddp fp32 ") << over;
    EXPECT_EQ(types(R"(, "gradient_dtype": "fp32")", "", over), "zero1 fp32 acco bf16 ddp bf16 ") << "as it is written";
  }
}

/// The texts of a knob's alternatives, but for the first, which is as written.
std::vector<std::string> alternatives_of(const LoadedScenario& loaded, const std::string& label,
                                         const std::string& name) {
  const CandidateSpace all = candidates_for(loaded, {label}, {}, false);
  std::vector<std::string> texts;
  for (const Knob& knob : all.forms[0].knobs)
    for (std::size_t i = 1; knob.name == name && i < knob.alternatives.size(); ++i)
      texts.push_back(knob.alternatives[i].text);
  return texts;
}

TEST(Knobs, AModelIsSplitUnaskedWhereItMayPay) {
  const auto work = [](const std::string& scenario, const std::vector<std::string>& sets, bool fits) {
    const CandidateSpace all = candidates_for(load_scenario(scenario, sets), {"zero1"}, {}, false, fits);
    for (const Knob& knob : all.forms[0].knobs)
      if (knob.name == "micro_batch" || knob.name == "parallel") return knob;
    return Knob{};
  };
  const auto splits = [](const Alternative& each) { return each.text.find("_parallel_size") != std::string::npos; };
  // In a node that holds it nobody asks.
  EXPECT_EQ(work("finetune_1x8_a100", {}, true).name, "micro_batch");
  // On two nodes all that split it come last, and a search does not begin with them.
  const Knob two = work("finetune_2x4_a100", {}, true);
  EXPECT_EQ(two.name, "parallel");
  ASSERT_LT(two.later, two.alternatives.size());
  for (std::size_t i = 0; i < two.alternatives.size(); ++i)
    EXPECT_EQ(splits(two.alternatives[i]), i >= two.later) << two.alternatives[i].text;
  // What fits in no other way is tried from the beginning, and what is asked for with interleaved stages too.
  const Knob unfit = work("finetune_1x8_a100", {}, false);
  EXPECT_GT(unfit.later, unfit.alternatives.size());
  const auto count = [](const Knob& knob, const char* what) {
    return std::ranges::count_if(knob.alternatives,
                                 [&](const Alternative& each) { return each.text.find(what) != std::string::npos; });
  };
  EXPECT_GT(count(unfit, "pipeline_parallel_size 8"), 0);
  EXPECT_EQ(count(unfit, "virtual_pipeline_stages"), 0);
  const Knob asked = work("finetune_1x8_a100", {R"(/training/parallel={"tensor_parallel_size": 1})"}, true);
  EXPECT_GT(count(asked, "virtual_pipeline_stages"), 0);
}

TEST(Knobs, AShardedOptimizerMayOverlapBothWays) {
  const std::string both = ", overlap_param_gather true";
  std::vector<std::string> expected = {"overlap backward, buckets units"};
  for (const char* const mib : {"25", "100", "400", "1600"})
    expected.push_back(std::string("overlap backward, bucket_cap_mb ") + mib);
  for (std::size_t i = 0; i < 5; ++i) expected.push_back(expected[i] + both);
  EXPECT_EQ(alternatives_of(load_scenario("two_sites_2x16_a100", {}), "zero1", "overlap"), expected);
  // DeepSpeed gathers after the step.
  for (const std::string& text : alternatives_of(
           load_scenario("two_sites_2x16_a100", {"/training/framework=deepspeed", "/schedules=[{\"name\": \"zero1\"}]",
                                                 "/baseline=zero1", "/published={}"}),
           "zero1", "overlap"))
    EXPECT_EQ(text.find(both), std::string::npos) << text;
}

TEST(Knobs, UnitsMayStayAfterTheBackwardPassAndShardsBeAllReducedOnce) {
  const LoadedScenario loaded = load_scenario("two_sites_2x16_a100", {});
  EXPECT_EQ(alternatives_of(loaded, "zero3", "reshard_after_backward"),
            std::vector<std::string>{"reshard_after_backward false"});
  EXPECT_EQ(alternatives_of(loaded, "zero3", "shard_group"),
            (std::vector<std::string>{"shard_group node", "shard_group node, all_reduce last_micro_batch"}));
  // ZeRO-1's states may lie in each node, too, and its gradients are added up between nodes in any case.
  EXPECT_EQ(alternatives_of(loaded, "zero1", "shard_group"), std::vector<std::string>{"shard_group node"});
  // PyTorch's zero2 has the same choices but the one that makes it zero2.
  EXPECT_EQ(alternatives_of(loaded, "zero2", "reshard_after_backward"),
            std::vector<std::string>{"reshard_after_backward false"});
  EXPECT_TRUE(alternatives_of(loaded, "zero2", "reshard_after_forward").empty());
  EXPECT_TRUE(alternatives_of(loaded, "zero2", "overlap").empty());
}

}  // namespace
}  // namespace accosim
