// Statistics of errors against hand arithmetic, and bounds that must not be passed.
#include <gtest/gtest.h>

#include <cmath>

#include "models/price/interval.hpp"
#include "sim/evidence/scores.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

ValidationRow row(const std::string& id, double measured, double predicted, const std::string& group = "g") {
  ValidationRow row;
  row.id = id;
  row.group = group;
  row.device = "GPU";
  row.source = "source";
  row.measured = measured;
  row.with = {predicted, 0.9 * predicted, 1.1 * predicted};
  return row;
}

TEST(Score, MeanBiasAndWorstByHand) {
  // Errors: 11/10 - 1 = +10 %, 15/20 - 1 = -25 %, 5/4 - 1 = +25 %: mean 20 %, bias 10/3 %, the worst is the first of
  // those of 25 %. Within 20 %: one of three. Inside: 10 is in 9.9..12.1, 20 not in 13.5..16.5, 4 not in 4.5..5.5.
  const std::vector<ValidationRow> rows = {row("a", 10, 11), row("b", 20, 15), row("c", 4, 5)};
  const ValidationScore score = score_of({&rows[0], &rows[1], &rows[2]});
  EXPECT_EQ(score.cases, 3);
  EXPECT_NEAR(score.mean, 0.2, 1e-12);
  EXPECT_NEAR(score.bias, 0.1 / 3, 1e-12);
  EXPECT_NEAR(score.worst, -0.25, 1e-12);
  EXPECT_EQ(score.worst_id, "b");
  EXPECT_NEAR(score.within_20, 1.0 / 3, 1e-12);
  EXPECT_NEAR(score.interval.inside, 1.0 / 3, 1e-12);
  EXPECT_FALSE(score.mean_without);  // nobody was left out
}

/// A prediction of `value` whose log has the spread s.
ValidationPrediction spread_by(double value, double s) {
  return {value, value * std::exp(-kEightyPercent * s), value * std::exp(kEightyPercent * s)};
}

TEST(Score, LogScoreIsTheLogDensityByHand) {
  // s = 0.1 and the measurement at one s: log(0.1 x sqrt(2 pi)) + 1/2 = log(0.250663) + 0.5 = -1.383647 + 0.5. The unit
  // drops out.
  for (const double unit : {1.0, 1e-6}) {
    EXPECT_NEAR(spread_by(unit, 0.1).log_score(unit), -1.383647, 1e-6);
    EXPECT_NEAR(spread_by(unit, 0.1).log_score(unit * std::exp(0.1)), -0.883647, 1e-6);
    EXPECT_NEAR(spread_by(unit, 0.1).log_score(unit * std::exp(-0.2)), -1.383647 + 2, 1e-6);
  }
  // No prediction is surer than 0.001: log(0.001 x 2.506628) = -5.988817.
  EXPECT_NEAR(spread_by(3, 0).log_score(3), -5.988817, 1e-6);
}

TEST(Score, WidthDoesNotBuyALogScore) {
  // Of all widths the best one is that of the error itself: log(s) + (e/s)^2/2 is least at s = e.
  const double error = 0.12, best = spread_by(1, error).log_score(std::exp(error));
  for (const double s : {0.03, 0.08, 0.11, 0.13, 0.2, 0.5, 2.0})
    EXPECT_GT(spread_by(1, s).log_score(std::exp(error)), best) << s;
}

TEST(Score, IntervalsAndTheSourceLeftOutByHand) {
  // Shipped constants: errors 0 and +20 %. Without the source: +50 and -10 %, mean 30 %. Intervals there: 1.5 of
  // 1.35..1.65 misses 1; 0.9 of 0.6..1.8 holds 1. Widths 1.65/1.35 and 3: median their mean.
  std::vector<ValidationRow> rows = {row("a", 1, 1), row("b", 1, 1.2)};
  rows[0].without = ValidationPrediction{1.5, 1.35, 1.65};
  EXPECT_FALSE(score_of({&rows[0], &rows[1]}).mean_without);  // one of the two has none
  rows[1].without = ValidationPrediction{0.9, 0.6, 1.8};
  const ValidationScore score = score_of({&rows[0], &rows[1]});
  EXPECT_NEAR(score.mean, 0.1, 1e-12);
  EXPECT_NEAR(score.mean_without.value(), 0.3, 1e-12);
  EXPECT_NEAR(score.interval.inside, 0.5, 1e-12);  // 0.9..1.1 holds 1, 1.08..1.32 does not
  EXPECT_NEAR(score.interval.width, 1.1 / 0.9, 1e-12);
  EXPECT_NEAR(score.interval_without.value().inside, 0.5, 1e-12);
  EXPECT_NEAR(score.interval_without.value().width, (1.65 / 1.35 + 3) / 2, 1e-12);
  EXPECT_NEAR(score.interval_without.value().log_score,
              (rows[0].without->log_score(1) + rows[1].without->log_score(1)) / 2, 1e-12);
}

TEST(Score, RowsOfWhatIsLeftOutAreMergedByNameAndGroup) {
  // Two of "x" in g: 10 and 30 % with, 20 and 60 % without: means 20 and 40 %. Groups in their order, names sorted.
  const std::vector<LeftOutRow> rows = left_out_rows(
      {{"y", "h", 1, 0.5, 0.5}, {"x", "g", 1, 0.1, 0.2}, {"x", "h", 1, 0.7, 0.8}, {"x", "g", 1, 0.3, 0.6}}, {"h", "g"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].left_out + rows[0].group, "xh");
  EXPECT_EQ(rows[1].left_out + rows[1].group, "xg");
  EXPECT_EQ(rows[1].cases, 2);
  EXPECT_NEAR(rows[1].mean_with, 0.2, 1e-12);
  EXPECT_NEAR(rows[1].mean_without, 0.4, 1e-12);
  EXPECT_EQ(rows[2].left_out + rows[2].group, "yh");
}

TEST(Score, CountsWhatItDoesNotScore) {
  std::vector<ValidationRow> rows = {row("a", 1, 1), row("b", 1, 9), row("c", 0, 0)};
  rows[1].left_out = "a rule";
  rows[2].not_expressible = "no such thing";
  const ValidationScore score = score_of({&rows[0], &rows[1], &rows[2]});
  EXPECT_EQ(score.cases, 1);
  EXPECT_EQ(score.left_out, 1);
  EXPECT_EQ(score.not_expressible, 1);
  EXPECT_EQ(score.mean, 0);
  // Nothing to score: no division by it.
  const ValidationScore none = score_of({&rows[1], &rows[2]});
  EXPECT_EQ(none.cases, 0);
  EXPECT_EQ(none.mean, 0);
}

TEST(Score, PartsAddUpToTheirGroup) {
  // Random rows: the counts of the parts sum up to the group's, and so do count x mean and count x bias.
  Random random(11);
  std::vector<ValidationRow> rows;
  for (int i = 0; i < 200; ++i) {
    rows.push_back(row(std::to_string(i), random.uniform(1, 2), random.uniform(1, 2)));
    rows.back().device = "GPU " + std::to_string(random.integer(0, 3));
    rows.back().source = "source " + std::to_string(random.integer(0, 5));
    if (random.integer(0, 9) == 0) rows.back().left_out = "a rule";
  }
  const std::vector<ValidationGroup> groups = groups_of(rows, {"g", "empty"});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_TRUE(groups[0].series.empty());  // rows without a series belong to none
  for (const auto* parts : {&groups[0].devices, &groups[0].sources}) {
    double cases = 0, mean = 0, bias = 0, left_out = 0;
    for (const ValidationPart& part : *parts) {
      cases += part.score.cases;
      left_out += part.score.left_out;
      mean += part.score.cases * part.score.mean;
      bias += part.score.cases * part.score.bias;
    }
    EXPECT_EQ(cases, groups[0].score.cases);
    EXPECT_EQ(left_out, groups[0].score.left_out);
    EXPECT_NEAR(mean, cases * groups[0].score.mean, 1e-9);
    EXPECT_NEAR(bias, cases * groups[0].score.bias, 1e-9);
  }
}

/// Under a bound that holds.
Validation two_cases(double predicted) {
  Validation validation{.rows = {row("a", 1, 1), row("b", 1, predicted)}};
  validation.groups = groups_of(validation.rows, {"g"});
  validation.bounds = {{"g", 1, 2, {}}};
  return validation;
}

TEST(Bounds, AMeanAboveItsBoundAndALostCaseAreTold) {
  Validation validation = two_cases(1.2);  // errors 0 and 20 %: mean 10 %
  validation.bounds = {{"g", 0.11, 2, {}}};
  EXPECT_TRUE(broken_bounds(validation, {}).empty());
  validation.bounds = {{"g", 0.09, 2, {}}};
  EXPECT_EQ(broken_bounds(validation, {}),
            std::vector<std::string>{"g: the mean absolute error is 10.00 %, its bound is 9.00 %"});
  validation.bounds = {{"g", 0.11, 3, {}}};
  EXPECT_EQ(broken_bounds(validation, {}), std::vector<std::string>{"g: 2 cases are scored, there were 3"});
  validation.bounds = {{"g", 0.11, 2, {}}, {"another", 0, 100, {}}};  // not asked for this time
  EXPECT_TRUE(broken_bounds(validation, {}).empty());
}

TEST(Bounds, TheSourceLeftOutHasABoundOfItsOwn) {
  Validation validation = two_cases(1);
  for (ValidationRow& row : validation.rows) row.without = ValidationPrediction{1.3, 1.2, 1.4};
  validation.groups = groups_of(validation.rows, {"g"});
  validation.bounds = {{"g", 0, 2, 0.31}};
  EXPECT_TRUE(broken_bounds(validation, {}).empty());
  validation.bounds = {{"g", 0, 2, 0.29}};
  EXPECT_EQ(
      broken_bounds(validation, {}),
      std::vector<std::string>{"g: the mean absolute error with the source left out is 30.00 %, its bound is 29.00 %"});
  // Where nothing was left out, nothing is held to it.
  for (ValidationRow& row : validation.rows) row.without.reset();
  validation.groups = groups_of(validation.rows, {"g"});
  EXPECT_TRUE(broken_bounds(validation, {}).empty());
}

TEST(Bounds, AGroupWithoutScoredCasesNeedsNoBound) {
  Validation validation = two_cases(9);
  for (ValidationRow& row : validation.rows) row.left_out = "a simulator's";
  validation.groups = groups_of(validation.rows, {"g"});
  validation.bounds.clear();
  EXPECT_TRUE(broken_bounds(validation, {"g"}).empty());
}

TEST(Bounds, AGroupWithCasesAndNoBoundIsTold) {
  Validation validation = two_cases(1.2);
  validation.bounds = {{"another", 0, 100, {}}};
  EXPECT_EQ(broken_bounds(validation, {}),
            std::vector<std::string>{"g: no bound is given, so nothing holds it; add \"g\" to bounds.json"});
}

TEST(Bounds, ACaseOver25PercentNeedsAReason) {
  EXPECT_TRUE(broken_bounds(two_cases(1.2499), {"g"}).empty());
  EXPECT_EQ(broken_bounds(two_cases(1.26), {"g"}), std::vector<std::string>{"b: +26.0 % off without a written reason"});
  EXPECT_EQ(broken_bounds(two_cases(0.74), {"g"}), std::vector<std::string>{"b: -26.0 % off without a written reason"});
  EXPECT_TRUE(broken_bounds(two_cases(1.26), {}).empty());  // of a group that needs none
  Validation explained = two_cases(1.26);
  explained.rows[1].explanation = "the sun was shining";
  EXPECT_TRUE(broken_bounds(explained, {"g"}).empty());
}

}  // namespace
}  // namespace accosim
