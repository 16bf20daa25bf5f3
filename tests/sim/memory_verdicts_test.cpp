// Do the verdicts' ways out, set as they say, leave the memory that they say? And are the runs among them, which all
// ran, not called unfit?
#include "sim/evidence/memory_verdicts.hpp"

#include <gtest/gtest.h>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

const std::vector<VerdictRow>& rows() {
  static const std::string kFolder = data_dir() + "/scenarios/validation";
  static const std::vector<VerdictRow> kRows =
      memory_verdicts(load_verdict_cases(kFolder + "/memory-verdicts.json"), load_published(kFolder), data_dir());
  return kRows;
}

KindMemory memory_of(const VerdictCase& of, const std::vector<std::string>& more) {
  std::vector<std::string> settings = of.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  const Scenario scenario = load_scenario(data_dir() + "/" + of.scenario, settings).scenario;
  for (const ScheduleSpec& spec : scenario.schedules) {
    if (spec.label != of.schedule) continue;
    const Costs costs = price(scenario, spec);
    return least_likely(memory_by_kind(costs, spec, scenario.training.gradient_accumulation_steps));
  }
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
    try {
      memory_verdicts({of}, none, data_dir());
    } catch (const ScenarioError& error) {
      return error.errors.front();
    }
    return std::string();
  };
  EXPECT_EQ(told({"a run", "", {}, "", "source/case"}),
            "\"a run\": there is no \"source/case\"; name a schedule of the scenario, or a case of the folder");
  EXPECT_NE(told({"a run", "scenarios/paper/finetune_1x8_a100.json", {}, "fsdp", ""}).find("no \"fsdp\""),
            std::string::npos);
}

}  // namespace
}  // namespace accosim
