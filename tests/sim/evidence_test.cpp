// Do the overheads of training steps come out of steps that were made with them, and the shipped ones of the shipped
// cases?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/collectives/collective_query.hpp"
#include "models/price/interval.hpp"
#include "models/price/kernel.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"
#include "sim/evidence/fit_steps.hpp"
#include "sim/evidence/fits_of_runs.hpp"
#include "sim/evidence/live.hpp"
#include "sim/evidence/memory_verdicts.hpp"
#include "sim/evidence/ratios.hpp"
#include "sim/evidence/refit.hpp"
#include "sim/evidence/step_spreads.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

const Published& shipped() {
  static const Published kPublished = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  return kPublished;
}

StepSample made(const std::string& architecture, Implementation implementation, bool flash_1, Random& random) {
  StepSample sample;
  sample.flops_per_watt = architecture == "hopper" ? 1.413 : architecture == "ampere" ? 0.78 : kHeldBackFrom;
  sample.implementation = implementation;
  sample.flash_1 = flash_1;
  sample.products = random.uniform(1, 10);
  sample.memory = random.uniform(0.2, 5);
  sample.attention = random.uniform(0.2, 3);
  sample.others = random.uniform(0, 1);
  sample.rest = random.uniform(0, 1);
  const double memory = implementation == Implementation::kFused ? 0.8 : 1.4;
  // 1 + 0.2 ln(x / 0.4167): ln(1.413 / 0.4167) = 1.2212, ln(0.78 / 0.4167) = 0.6269, ln 1 = 0.
  const double product = architecture == "hopper" ? 1.24424 : architecture == "ampere" ? 1.12538 : 1;
  sample.measured = product * sample.products + memory * sample.memory + (flash_1 ? 1.6 : 1) * sample.attention +
                    sample.others + sample.rest;
  return sample;
}

TEST(FitSteps, FindsTheOverheadsThatMadeTheSteps) {
  Random random(5);
  std::vector<StepSample> samples;
  for (int i = 0; i < 120; ++i)
    samples.push_back(made(i % 3 == 0   ? "volta"
                           : i % 3 == 1 ? "ampere"
                                        : "hopper",
                           static_cast<Implementation>(random.integer(0, 2)), random.integer(0, 1) == 1, random));
  const StepFit fit = fit_steps(samples);
  EXPECT_NEAR(fit.overheads.pytorch, 1.4, 0.02);
  EXPECT_NEAR(fit.overheads.fused, 0.8, 0.02);
  EXPECT_NEAR(fit.overheads.flash_1, 1.6, 0.03);
  EXPECT_NEAR(fit.overheads.product_slope, 0.2, 0.01);
  EXPECT_LT(fit.errors.mean_absolute, 0.01);
}

TEST(FitSteps, WithoutStepsNothingIsFitted) {
  const StepFit fit = fit_steps({});
  EXPECT_EQ(fit.overheads, Overheads{});
}

TEST(FitSteps, ASimulatorsOutputIsNoSample) {
  int simulated = 0;
  for (const PublishedCase& one : shipped().cases) {
    if (one.group != kSimulatorGroup) continue;
    EXPECT_FALSE(is_step_sample(one)) << one.id;
    simulated += one.not_expressible.empty() ? 1 : 0;
  }
  EXPECT_EQ(simulated, 240);
}

TEST(FitSteps, ShippedCasesGiveTheShippedOverheads) {
  const StepFit fit = fit_steps(step_samples(shipped(), 2, NetworkKind::kReference));
  const Overheads shipped = constants().overheads;
  // Four constants of one another's making: to 1 %. The reference network stands in for the default one.
  EXPECT_NEAR(fit.overheads.pytorch, shipped.pytorch, 0.01 * shipped.pytorch);
  EXPECT_NEAR(fit.overheads.fused, shipped.fused, 0.01 * shipped.fused);
  EXPECT_NEAR(fit.overheads.flash_1, shipped.flash_1, 0.01 * shipped.flash_1);
  EXPECT_NEAR(fit.overheads.product_slope, shipped.product_slope, 0.01 * shipped.product_slope);
}

TEST(StepSpreads, AreWhatErrorsHaveBeyondTheIntervals) {
  // Two steps off by 0.3 either way in logs: of a normal distribution whose mean absolute value is 0.3 the standard
  // deviation is 0.3 sqrt(pi / 2) = 0.376, and they were predicted with 0.1: sqrt(0.376^2 - 0.1^2) = 0.3625 is missing.
  EXPECT_NEAR(missing_spread({{0.3, 0.1}, {-0.3, 0.1}}), 0.3625, 1e-4);
  // One of five that is far off counts as often as it is: mean 0.2, so 0.2507, not the 0.443 of squares.
  EXPECT_NEAR(missing_spread({{0.96, 0}, {0.01, 0}, {0.01, 0}, {0.01, 0}, {0.01, 0}}), 0.2507, 1e-4);
  EXPECT_EQ(missing_spread({{0.1, 0.2}, {0, 0.2}}), 0) << "the interval is wide enough";
  EXPECT_EQ(missing_spread({}), 0);
}

TEST(StepSpreads, ShippedCasesGiveTheShippedOnes) {
  if (!thorough()) GTEST_SKIP() << "takes long under a sanitizer";
  const std::vector<FittedSpread> fitted = fit_step_spreads(shipped(), {}, 2, NetworkKind::kSimgrid);
  std::vector<StepSpread> shipped = constants().devices;
  shipped.insert(shipped.begin(), {constants().split, constants().mixed});
  ASSERT_EQ(fitted.size(), shipped.size());
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(fitted[i].spread.name, shipped[i].name);
    EXPECT_EQ(fitted[i].spread.cases, shipped[i].cases) << shipped[i].name;
    EXPECT_NEAR(fitted[i].spread.spread, shipped[i].spread, 0.02) << shipped[i].name;
  }
  EXPECT_EQ(constants().mixed.cases, 4);
}

// Is every published run asked for once, and each verdict that is wrong told?

PublishedCase case_of(const char* id, const char* group, double gib) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.name = "sample";
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{gib * 0x1p30};
  return PublishedCase{
      .id = id, .group = group, .source = "source", .scenario = std::make_shared<const Scenario>(std::move(scenario))};
}

std::vector<const PublishedCase*> all_of(const std::vector<PublishedCase>& cases) {
  return mapped<const PublishedCase*>(cases, [](const PublishedCase& one) { return &one; });
}

TEST(FitsOfRuns, ARunIsAskedForOnceHoweverManyFiguresItHas) {
  // Its time and its memory; two ratios of one run of the paper. A layer alone, and what a simulator printed, ran not.
  const std::vector<PublishedCase> cases = {
      case_of("a/one", kTrainingGroup, 80),      case_of("a/one memory", kMemoryGroup, 80),
      case_of("a/two", kTrainingGroup, 80),      case_of("a/block forward", kLayerGroup, 80),
      case_of("a/printed", kSimulatorGroup, 80), case_of("p/speedup", kPaperGroup, 80),
      case_of("p/time", kPaperGroup, 80)};
  const std::vector<RunFit> runs = fits_of_runs(all_of(cases));
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].id, "a/one");
  EXPECT_EQ(runs[1].id, "a/two");
  EXPECT_EQ(runs[2].id, "source/sample, zero1");
  for (const RunFit& run : runs) EXPECT_FALSE(run.wrong());
}

TEST(FitsOfRuns, WrongVerdictsAreCountedAndNeedAReason) {
  std::vector<PublishedCase> cases = {case_of("a/one", kTrainingGroup, 0.5), case_of("a/two", kTrainingGroup, 0.5)};
  cases[0].memory_explanation = "it was offloaded";
  const std::vector<RunFit> runs = fits_of_runs(all_of(cases));
  ASSERT_TRUE(runs[0].wrong() && runs[1].wrong());
  EXPECT_EQ(broken_fits(runs, 2),
            std::vector<std::string>{"a/two: it ran and is said not to fit, without a written reason"});
  EXPECT_EQ(broken_fits({runs[0]}, 1), std::vector<std::string>{});
  EXPECT_EQ(broken_fits({runs[0]}, 0),
            std::vector<std::string>{"of the runs that ran one is said not to fit, above the bound of 0"});
}

// Do fits that were saved, because they saw nothing of what is left out, give what fits of all the rest would?

/// The shipped cases of a few small sources: kernels on A100 and H100, collectives on several kinds of links.
Published small_cases() {
  Published few;
  for (const PublishedSource& source : shipped().sources)
    for (const char* key : {"azure_kernels", "eleuther_cookbook", "aws_p3dn_2019", "azure_nd_h100", "coreweave_a100_32",
                            "ml_engineering_a100"})
      if (source.key == key) few.sources.push_back(source);
  for (const PublishedCase& one : shipped().cases)
    for (const PublishedSource& source : few.sources)
      if (one.source == source.key) few.cases.push_back(one);
  return few;
}

double time_with(const PublishedCase& one, const Refit& refit) {
  if (one.asked == Asked::kKernelTime)
    return kernel_time(one.kernel.kernel, refit.device(*one.kernel.device), one.kernel.dtype).value;
  Cluster cluster = *one.collective.cluster;
  for (NodeGroup& group : cluster.nodes) group = refit.links(group);
  CollectiveQuery query = one.collective;
  query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return collective_time(query).value;
}

/// Whether no case of `all` was measured inside a node on the links that are inside the case's nodes.
bool is_of_unmeasured_board(const PublishedCase& one, const Published& all) {
  if (one.asked != Asked::kCollectiveTime) return false;
  const auto board = [](const PublishedCase& each) {
    const IntraLink& link = each.collective.cluster->nodes.front().intra;
    return std::pair(link.kind, link.generation);
  };
  return std::ranges::none_of(all.cases, [&](const PublishedCase& other) {
    return other.asked == Asked::kCollectiveTime && other.collective.nodes == 1 && board(other) == board(one);
  });
}

TEST(Refits, WhatASourceHadNoPartInIsFittedOnceAndTheSame) {
  // By hand: without a source, all fits are those of a world in which its cases were never read.
  const Published published = small_cases();
  Refits refits(published);
  refits.fit_all(all_of(published.cases), 1, NetworkKind::kReference);
  for (const PublishedSource& left_out : published.sources) {
    const LeftOut out{left_out.publisher, ""};
    ASSERT_GT(refits.samples_of(out), 0) << left_out.key;
    Published rest = published;
    std::erase_if(rest.cases, [&](const PublishedCase& one) {
      for (const PublishedSource& source : published.sources)
        if (source.key == one.source) return source.publisher == left_out.publisher;
      return false;
    });
    Refits of_rest(rest);
    of_rest.fit_all(all_of(published.cases), 1, NetworkKind::kReference);
    const Refit saved = refits.without(out), fresh = of_rest.without({"nobody", "nothing"});
    // Of what stays: a kind of links that only this source measured takes a relative's, of which `rest` knows nothing.
    for (const PublishedCase& one : rest.cases) {
      if (one.asked == Asked::kNothing || is_of_unmeasured_board(one, rest)) continue;
      EXPECT_EQ(time_with(one, saved), time_with(one, fresh)) << one.id << " without " << left_out.key;
    }
  }
}

TEST(Refits, WhatNoFitSawIsNotSeen) {
  Published published = small_cases();
  Refits refits(published);
  EXPECT_EQ(refits.samples_of({"nobody", ""}), 0);
  EXPECT_GT(refits.samples_of({"", "H100-SXM"}), 0);
  for (PublishedCase& one : published.cases) one.left_out = "a rule";
  EXPECT_EQ(Refits(published).samples_of({"", "H100-SXM"}), 0);
}

// Is it told when accocal says that all went well and has left nothing to read?

TEST(Live, WhatAccocalDidNotWriteIsTold) {
  const Scratch scratch;
  LiveOptions options{.accocal = "/bin/true", .folder = scratch.path("")};
  EXPECT_EQ(thrown_by<BadEnvironment>([&] { validate_live(options); }),
            "\"" + options.folder + "/samples-2.json\" no such file; check the path");
}

// Are two steps a pair where one knob differs and nothing else, and does the spread of their ratios come out of them?

StepSettings settings(std::map<std::string, std::string> values, double samples = 64) {
  StepSettings all{std::move(values), {}, samples};
  for (const auto& [pointer, value] : all.values) all.written.insert(pointer);
  return all;
}

TEST(Ratios, ArePairsWhereOneKnobDiffers) {
  const std::string micro = "/training/micro_batch_size", steps = "/training/gradient_accumulation_steps";
  const StepSettings base = settings({{micro, "4"}, {steps, "8"}, {"/model/n_layer", "24"}});
  const auto with = [&](const std::string& pointer, const char* value) {
    StepSettings other = base;
    other.values[pointer] = value;
    other.written.insert(pointer);
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
  EXPECT_TRUE(holds(stale_ratio_spread({pair("b", 1.02 * shipped)}), "accosim fit"));
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

// Do the verdicts' ways out, set as they say, leave the memory that they say? And are the runs among them, which all
// ran, not called unfit?

const std::vector<VerdictRow>& rows() {
  static const std::vector<VerdictRow> kRows = memory_verdicts(
      load_verdict_cases(data_dir() + "/scenarios/validation/memory-verdicts.json"), shipped(), data_dir());
  return kRows;
}

KindMemory memory_of(const VerdictCase& of, const std::vector<std::string>& more) {
  std::vector<std::string> settings = of.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  const Scenario scenario = load_scenario(data_dir() + "/" + of.scenario, settings).scenario;
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (scenario.schedules[i].label == of.schedule) return fullest_kind(scenario, static_cast<int>(i));
  ADD_FAILURE() << of.what << " has lost its schedule";
  return {};
}

double resident(const VerdictCase& of, const std::vector<std::string>& more) {
  return memory_of(of, more).parts.total().value;
}

TEST(MemoryVerdicts, AreOfTwelveRunsOfEveryVerdict) {
  EXPECT_EQ(rows().size(), 12U);
  int of[3] = {};
  for (const VerdictRow& row : rows()) ++of[static_cast<int>(row.kind.fit.verdict)];
  for (const int rows_of_one : of) EXPECT_GE(rows_of_one, 3);
}

TEST(MemoryVerdicts, NoRunOfThePageIsSaidNotToFit) {
  int ran = 0;
  for (const VerdictRow& row : rows()) {
    if (row.of.published.empty()) continue;
    EXPECT_NE(row.kind.fit.verdict, FitVerdict::kDoesNotFit) << row.of.what;
    ++ran;
  }
  EXPECT_GE(ran, 3);
}

TEST(MemoryVerdicts, EveryWayOutIsItsSettings) {
  int compared = 0;
  for (const VerdictRow& row : rows()) {
    if (!row.of.published.empty()) continue;
    for (const WayToFit& way : row.ways.alone) {
      EXPECT_NEAR(resident(row.of, way.set), way.memory.value, 1) << row.of.what << ": " << way.change;
      EXPECT_NEAR(row.kind.parts.total().value - way.memory.value, way.saves.value, 1) << way.change;
      ++compared;
    }
    std::vector<std::string> all;
    for (const WayToFit& way : row.ways.together) {
      all.insert(all.end(), way.set.begin(), way.set.end());
      EXPECT_NEAR(resident(row.of, all), way.memory.value, 1) << row.of.what << " together: " << way.change;
    }
  }
  EXPECT_GE(compared, 30);
}

TEST(MemoryVerdicts, TheLargestMicroBatchFitsAndTheNextDoesNotSurely) {
  int compared = 0;
  for (const VerdictRow& row : rows()) {
    if (!row.of.published.empty() || row.ways.largest_micro_batch == 0) continue;
    const auto at = [&](int size) {
      return memory_of(row.of, {"/training/micro_batch_size=" + std::to_string(size)}).fit.verdict;
    };
    EXPECT_EQ(at(row.ways.largest_micro_batch), FitVerdict::kFits) << row.of.what;
    EXPECT_NE(at(row.ways.largest_micro_batch + 1), FitVerdict::kFits) << row.of.what;
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

TEST(MemoryVerdicts, ARunThatIsNotThereIsToldByItsName) {
  const Published none;
  const auto told = [&](const VerdictCase& of) {
    return thrown_by<ScenarioError>([&] { memory_verdicts({of}, none, data_dir()); });
  };
  EXPECT_EQ(told({"a run", "", {}, "", "source/case"}),
            "\"a run\": there is no \"source/case\"; name a schedule of the scenario, or a case of the folder");
  EXPECT_TRUE(holds(told({"a run", "scenarios/paper/finetune_1x8_a100.json", {}, "fsdp", ""}), "no \"fsdp\""));
}

}  // namespace
}  // namespace accosim
