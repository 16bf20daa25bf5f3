// The comparison's parts by hand, and the whole of it, small, end to end.
#include "calibration/converge/convergence.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "calibration/base/names.hpp"
#include "models/base/errors.hpp"
#include "models/recorded/convergence_file.hpp"
#include "tests/support/json.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

TEST(Statistics, IntervalOfFiveByHand) {
  // Mean 3, sum of squares 10, deviation sqrt(10 / 4), of the mean sqrt(10 / 4 / 5) = 0.70711; t of 4 degrees 2.132.
  const Estimate mean = mean_of(std::array<double, 5>{1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(mean.value, 3);
  EXPECT_NEAR(mean.low, 3 - 2.132 * std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(mean.high, 3 + 2.132 * std::sqrt(0.5), 1e-12);
  // One value says nothing about its spread.
  EXPECT_TRUE(std::isinf(mean_of(std::array<double, 1>{7}).high));
  EXPECT_THROW(mean_of({}), std::invalid_argument);
  // Of logarithms: the means of 1 and 4, and of 2 and 2, are 2.
  EXPECT_NEAR(geometric_mean_of(std::array<double, 2>{1, 4}).value, 2, 1e-12);
  EXPECT_NEAR(geometric_mean_of(std::array<double, 2>{2, 2}).high, 2, 1e-12);
}

TEST(Statistics, QuantilesGoOnWhereTheTableEnds) {
  // Published: 40 degrees 1.684, 120 degrees 1.658.
  EXPECT_NEAR(student_95(40), 1.684, 2e-3);
  EXPECT_NEAR(student_95(120), 1.658, 1e-3);
  for (int degrees = 1; degrees < 60; ++degrees) EXPECT_GT(student_95(degrees), student_95(degrees + 1));
}

TEST(Statistics, LineThroughPoints) {
  // Through (0, 1), (1, 3), (2, 5) exactly; moving the middle by 3 lifts the line by 1 and leaves its slope.
  const std::array<double, 3> x = {0, 1, 2};
  Line line = line_through(x, std::array<double, 3>{1, 3, 5});
  EXPECT_NEAR(line.slope, 2, 1e-12);
  EXPECT_NEAR(line.intercept, 1, 1e-12);
  line = line_through(x, std::array<double, 3>{1, 6, 5});
  EXPECT_NEAR(line.slope, 2, 1e-12);
  EXPECT_NEAR(line.intercept, 2, 1e-12);
  EXPECT_THROW(line_through(std::array<double, 2>{1, 1}, std::array<double, 2>{1, 2}), std::invalid_argument);
}

TEST(Convergence, SamplesToReachALossByHand) {
  // Smoothed over three: 6, 5, 3, 2 (the ends as they are; (6+6+3)/3 = 5, (6+3+0)/3 = 3, then 0 at the end).
  const Curve curve = {{0, 0, 6}, {1, 10, 6}, {2, 20, 3}, {3, 30, 0}};
  EXPECT_DOUBLE_EQ(samples_to_reach(curve, 7).value(), 0);
  EXPECT_DOUBLE_EQ(samples_to_reach(curve, 5).value(), 10);
  EXPECT_DOUBLE_EQ(samples_to_reach(curve, 4).value(), 15);    // half-way from 5 to 3
  EXPECT_DOUBLE_EQ(samples_to_reach(curve, 1.5).value(), 25);  // half-way from 3 to 0
  EXPECT_FALSE(samples_to_reach(curve, -1).has_value());
}

TEST(Convergence, EquivalenceNeedsTheWholeInterval) {
  EXPECT_TRUE(is_equivalent({0.001, -0.004, 0.004}));
  EXPECT_FALSE(is_equivalent({0.001, -0.002, 0.006}));
  EXPECT_FALSE(is_equivalent({-0.004, -0.006, -0.002}));
  EXPECT_FALSE(is_equivalent({0, -1, 1}));  // nothing shown
}

ConvergenceOptions small() {
  ConvergenceOptions options{.seeds = 2, .updates = 40};
  options.gpt.shape = {1, 16, 2, 16, 0};
  options.gpt.sequences = 2;
  options.gpt.held_out = 8;
  options.optimizer.learning_rate = 0.01;
  return options;
}

TEST(Convergence, SmallComparisonEndToEnd) {
  std::vector<std::string> said;
  const ConvergenceReport report = converge(small(), [&](const std::string& line) { said.push_back(line); });
  EXPECT_FALSE(said.empty());
  ASSERT_EQ(report.algorithms.size(), 17u);
  EXPECT_EQ(report.batch_samples, 8);
  const AlgorithmConvergence& ddp = report.algorithms.front();
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    ASSERT_EQ(algorithm.curves.size(), 2u) << algorithm.name;
    for (std::size_t seed = 0; seed < 2; ++seed) {
      const Curve& curve = algorithm.curves[seed];
      // The same start and the same samples for every algorithm.
      EXPECT_EQ(curve.front().loss, ddp.curves[seed].front().loss);
      EXPECT_EQ(curve.front().samples, 0);
      EXPECT_EQ(curve.back().updates, 40);
      EXPECT_EQ(curve.back().samples, 320);
      EXPECT_LT(curve.back().loss, curve.front().loss);
    }
  }
  EXPECT_EQ(report.algorithms[1].name, "zero1");
  EXPECT_EQ(report.algorithms[1].final_difference.value, 0);  // the same to the last bit
  EXPECT_NE(report.algorithms[2].final_difference.value, 0);
  EXPECT_NEAR(ddp.samples_ratio.value().value, 1, 1e-12);

  const Json document = Json::parse(convergence_json(report));
  EXPECT_EQ(document["schema"], "accosim.convergence/1");
  EXPECT_EQ(document["batch_samples"], 8);
  EXPECT_EQ(document["range"]["updates"], 40);
  EXPECT_EQ(document["algorithms"][2]["name"], "acco");
  EXPECT_TRUE(document["algorithms"][2].contains("final_loss_difference_low"));
  const std::string page = convergence_markdown(report, "curves.svg", "accocal converge");
  EXPECT_NE(page.find("![Loss, and its difference from DDP's, by algorithm](curves.svg)"), std::string::npos);
  EXPECT_NE(page.find("**acco** "), std::string::npos);
  EXPECT_EQ(convergence_svg(report).rfind("</svg>\n"), convergence_svg(report).size() - 7);

  // With another size of the model the document and the page hold both.
  ConvergenceOptions larger = larger_size(small(), 2, 40);
  EXPECT_EQ(larger.updates, 40);
  larger.gpt.shape.vocabulary = 100;
  EXPECT_NEAR(static_cast<double>(parameter_count(larger.gpt.shape)), 1e6, 1e5);
  ConvergenceReport twice = report;
  twice.parameters *= 2;
  const MeasuredConvergence read = read_convergence(convergence_json(report, &twice), "convergence.json");
  ASSERT_EQ(read.sizes.size(), 1u);
  const auto parameters = static_cast<double>(report.parameters);
  EXPECT_EQ(nearest_size(read, 1.4 * parameters).parameters, parameters);
  EXPECT_EQ(nearest_size(read, 1.5 * parameters).parameters, 2 * parameters);
  for (const MeasuredConvergence::Algorithm& algorithm : read.sizes.front().algorithms)
    EXPECT_EQ(algorithm.inner_updates, algorithm.name == "slowmo"                           ? 3
                                       : algorithm.name == "overlap_local_sgd"              ? 2
                                       : algorithm.name == "co2"                            ? 12
                                       : algorithm.name.find("diloco") != std::string::npos ? 10
                                                                                            : 0);
  EXPECT_NE(larger_markdown(twice, "larger.svg").find("| streaming_diloco-e3m0 |"), std::string::npos);

  // Threads come and go; the numbers stay.
  if (!thorough()) return;
  ConvergenceOptions one_at_a_time = small();
  one_at_a_time.jobs = 1;
  EXPECT_EQ(convergence_json(converge(one_at_a_time, [](const std::string&) {})), convergence_json(report));
}

TEST(Convergence, ARunThatDivergesIsToldAndNotAveraged) {
  // Of DDP, with which all are compared, there is nothing to report.
  ConvergenceOptions options = small();
  options.optimizer.kind = OptimizerKind::kSgd;
  options.optimizer.learning_rate = 1e30;
  const std::string said = thrown_by<BadInput>([&] { converge(options, [](const std::string&) {}); });
  EXPECT_EQ(said.rfind("DDP, which all are compared with, diverges on 2 of 2 seeds, at update ", 0), 0u) << said;
  // A rate that is given up for another.
  options.optimizer.learning_rate = 0;
  options.learning_rates = {0.01, 1e30};
  ConvergenceReport report = converge(options, [](const std::string&) {});
  EXPECT_EQ(report.options.optimizer.learning_rate, 0.01);
  EXPECT_TRUE(std::isinf(report.tuning[1].second));
  // Another algorithm has a line of its own, and no figures.
  report.algorithms.pop_back();
  report.diverged = {{"diloco", "in words", 1, 17}};
  const std::string page = convergence_markdown(report, "curves.svg", "accocal converge");
  EXPECT_NE(page.find("1e+30 (diverged)"), std::string::npos);
  EXPECT_NE(page.find("| diloco | in words | diverged on 1 of 2 seeds, at update 17 first |"), std::string::npos);
  const Json document = Json::parse(convergence_json(report));
  EXPECT_EQ(document["diverged"][0]["first_update"].number(), 17);
  EXPECT_TRUE(document["tuning"][1]["loss"].is_null());
  EXPECT_NO_THROW(read_convergence(convergence_json(report), "convergence.json"));
}

TEST(Convergence, BadOptionsSayWhatToWrite) {
  ConvergenceOptions options = small();
  options.seeds = 1;
  EXPECT_THROW(check_options(options), BadInput);
  options = small();
  options.data = "/nonexistent/text";
  EXPECT_THROW(converge(options, [](const std::string&) {}), BadInput);
}

}  // namespace
}  // namespace accocal
