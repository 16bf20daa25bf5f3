// Are two steps a pair where one knob differs and nothing else, and does the spread of their ratios come out of them?
#include "sim/evidence/ratios.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "build_info/project.hpp"
#include "models/price/interval.hpp"
#include "models/spec/constants.hpp"

namespace accosim {
namespace {

StepSettings settings(std::map<std::string, std::string> values, double samples = 64) {
  StepSettings all{std::move(values), {}, samples};
  for (const auto& [pointer, value] : all.values) all.written[pointer] = true;
  return all;
}

TEST(Ratios, ArePairsWhereOneKnobDiffers) {
  const std::string micro = "/training/micro_batch_size", steps = "/training/gradient_accumulation_steps";
  const StepSettings base = settings({{micro, "4"}, {steps, "8"}, {"/model/n_layer", "24"}});
  const auto with = [&](const std::string& pointer, const char* value) {
    StepSettings other = base;
    other.values[pointer] = value;
    other.written[pointer] = true;
    return other;
  };
  EXPECT_EQ(knob_between(base, base), "");
  EXPECT_EQ(knob_between(base, with(micro, "8")), "micro batch size");
  EXPECT_EQ(knob_between(base, with("/model/n_layer", "12")), "") << "another model";
  EXPECT_EQ(knob_between(base, with("/training/sequence_length", "12")), "") << "and other work";
  EXPECT_EQ(knob_between(base, with("/cluster/nodes/0/nics/bandwidth", "\"1 Gbit/s\"")), "") << "another network";
  EXPECT_EQ(knob_between(base, with("/cluster/nodes/0/count", "2")), kGpuCount);
  EXPECT_EQ(knob_between(base, with("/training/parallel/tensor_parallel_size", "2")), "tensor parallel size");
  EXPECT_EQ(knob_between(base, with("/schedule/name", "\"ddp\"")), "schedule");
  // Half as many micro-batches of twice the size: as many samples, one knob. Half as many alone are a knob.
  StepSettings halved = with(steps, "4");
  halved.samples = 32;
  EXPECT_EQ(knob_between(base, halved), "gradient accumulation steps");
  halved.values[micro] = "8";
  EXPECT_EQ(knob_between(base, halved), "") << "two knobs, for 32 samples are asked";
  halved.samples = 64;
  EXPECT_EQ(knob_between(base, halved), "micro batch size");
  // A default that follows from another setting is no knob.
  StepSettings derived = with(micro, "8");
  derived.values["/training/optimizer_implementation"] = "\"fused\"";
  derived.written["/training/optimizer_implementation"] = false;
  EXPECT_EQ(knob_between(base, derived), "micro batch size");
}

RatioRow pair(const std::string& publisher, double off, double apart = 0) {
  RatioRow row{publisher, "schedule", "a", "b", true, 1};
  row.predicted = {std::exp(off), 0, 0};
  row.apart = apart;
  return row;
}

TEST(Ratios, TheSpreadIsThatOfTheErrorsEachPublisherWeighingTheSame) {
  // Of b the mean square is (0.03^2 + 0.05^2) / 2 = 0.0017, of c 0.0001; of both 0.0009 = 0.03^2.
  std::vector<RatioRow> rows = {pair("b", 0.03), pair("b", 0.05), pair("c", 0.01)};
  EXPECT_NEAR(*fitted_ratio_spread(rows), 0.03, 1e-9);
  // A hundred pairs more of c as good as its one weigh no more.
  for (int i = 0; i < 100; ++i) rows.push_back(pair("c", 0.01));
  EXPECT_NEAR(*fitted_ratio_spread(rows), 0.03, 1e-9);
  // What the two times do not share is taken off: sqrt(0.05^2 - 0.03^2) = 0.04, and no spread is less than 0.001.
  EXPECT_NEAR(*fitted_ratio_spread({pair("b", 0.05, 0.03)}), 0.04, 1e-9);
  EXPECT_NEAR(*fitted_ratio_spread({pair("b", 0.03, 0.05)}), 0.001, 1e-9);
  // Other numbers of GPUs and sources that may not say how far off others are take no part.
  rows = {pair("b", 0.01), pair("c", 0.09), pair("d", 0.09)};
  rows[1].knob = kGpuCount;
  rows[2].in_spreads = false;
  EXPECT_NEAR(*fitted_ratio_spread(rows), 0.01, 1e-9);
  EXPECT_FALSE(fitted_ratio_spread(rows, "b"));
}

TEST(Ratios, AreJudgedByTheSpreadOfTheOthers) {
  // Two publishers, off by 0.01 and 0.05: the first has the spread of the second, whose interval holds it, and the
  // other way round it does not: 1.28 x 0.01 is less than 0.05. Each weighs a half, however many pairs it has.
  std::vector<RatioRow> rows = {pair("b", 0.01), pair("c", 0.05), pair("c", 0.05)};
  judge_ratios(rows);
  EXPECT_NEAR(std::log(rows[0].predicted.high / rows[0].predicted.low), 2 * kEightyPercent * 0.05, 1e-9);
  EXPECT_NEAR(std::log(rows[1].predicted.high / rows[1].predicted.low), 2 * kEightyPercent * 0.01, 1e-9);
  rows.push_back(pair("c", 0.05));
  rows.back().knob = kGpuCount;
  rows.push_back(pair("d", 0.05));
  rows.back().in_spreads = false;
  const std::vector<RatioPart> parts = ratio_parts(rows);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[1].name, "schedule");
  EXPECT_EQ(parts[2].name, kGpuCount);
  EXPECT_EQ(parts[3].name, kApart);
  EXPECT_EQ(parts[0].name, kSameGpus);
  EXPECT_EQ(parts[0].pairs, 3);
  EXPECT_EQ(parts[0].publishers, 2);
  EXPECT_DOUBLE_EQ(parts[0].interval.inside, 0.5);
  const auto error = [](double off) { return std::exp(off) - 1; };
  EXPECT_NEAR(parts[0].mean, (error(0.01) + error(0.05)) / 2, 1e-12);
}

const Published& shipped() {
  static const Published kPublished = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  return kPublished;
}

TEST(Ratios, OfMachinesThatWereMendedAreScoredApart) {
  std::vector<ValidationRow> rows;
  for (const PublishedCase& one : shipped().cases)
    if (one.source.rfind("bigscience_a100", 0) == 0) rows.push_back({one});
  int before = 0, after = 0;
  for (const RatioRow& row : ratios_of(rows, shipped())) {
    const bool early = row.a.rfind("bigscience_a100_before/", 0) == 0;
    EXPECT_NE(is_fitted(row), early) << row.a;
    EXPECT_EQ(row.b.rfind("bigscience_a100_before/", 0) == 0, early) << "no pair has one of each";
    ++(early ? before : after);
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

TEST(Ratios, AShippedSpreadThatIsNotThatOfThePairsIsTold) {
  const double shipped = constants().ratio_spread;
  EXPECT_EQ(stale_ratio_spread({pair("b", 1.009 * shipped)}), "");
  EXPECT_NE(stale_ratio_spread({pair("b", 1.02 * shipped)}).find("accosim fit"), std::string::npos);
  EXPECT_EQ(stale_ratio_spread({}), "") << "where there are no pairs, as of kernels alone";
}

TEST(Ratios, FiguresWithAsynchronousTensorParallelismAreAskedWithIt) {
  // The page's title of the one and the caption of the other name AsyncTP.
  int asked = 0;
  for (const PublishedCase& one : shipped().cases)
    if (one.id == "torchtitan_h100/llama-3.1-70b-256x-h100-2d" ||
        one.id == "torchtitan_h100/llama-3.1-405b-512x-h100-3d")
      asked += one.scenario->training.parallel.overlap_tensor ? 1 : 0;
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace accosim
