// Is every row of the schedules' table whole, and does the program read all of it?
#include "models/spec/schedule_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "models/read/read_schedule.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {
namespace {

Training four_steps(Framework framework = Framework::kPytorch) {
  return Training{.gradient_accumulation_steps = 4, .framework = framework};
}

std::vector<const ScheduleTraits*> all_rows() {
  std::vector<const ScheduleTraits*> rows;
  for (const ScheduleTraits& row : schedules()) rows.push_back(&row);
  for (const ScheduleTraits& row : schedules_of_frameworks()) rows.push_back(&row);
  return rows;
}

/// A framework under which the row holds.
Framework framework_of(const ScheduleTraits& row) {
  for (const Framework each : {Framework::kPytorch, Framework::kDeepspeed, Framework::kMegatron})
    if (find_schedule(row.name, each) == &row) return each;
  ADD_FAILURE() << row.name << " holds nowhere";
  return Framework::kPytorch;
}

/// An entry as it is resolved, all defaults written in.
JsonValue resolved(const ScheduleTraits& row, JsonValue entry, int stages = 1) {
  entry.set("name", row.name);
  Diagnostics diagnostics;
  Training training = four_steps(framework_of(row));
  training.parallel.pipeline = stages;
  read_schedule(entry, "/schedules/0", training, std::nullopt, diagnostics);
  EXPECT_TRUE(diagnostics.errors.empty()) << row.name << ": " << diagnostics.errors.front();
  return entry;
}

/// Entries whose resolved keys are together all of the row's: the sizes of buckets are written where there are such
/// buckets, a size of gathers where they are cut, and when shards are all-reduced in hybrid sharding; gathers beside
/// the forward pass have no size of their own. A pipeline is flushed where there is one.
std::vector<JsonValue> all_resolved(const ScheduleTraits& row) {
  JsonValue entry = json_object({});
  const bool hides = row.delayed && row.sharding != Sharding::kNothing;  // all of a round, unless told otherwise
  if (row.takes("buckets") && !hides) entry.set("buckets", "tensors");
  if (row.takes("gather_bucket_mb")) entry.set("gather_bucket_mb", 100);
  if (row.takes("all_reduce")) entry.set("shard_group", "node");
  if (row.takes("form")) entry.set("form", "code");
  std::vector<JsonValue> all{resolved(row, entry)};
  if (row.takes("pipeline_flush")) all.push_back(resolved(row, json_object({}), 2));
  if (row.takes("align_param_gather"))
    all.push_back(resolved(row, json_object({{"overlap", "backward"}, {"overlap_param_gather", true}})));
  if (row.takes("buckets") && hides)
    all.push_back(resolved(row, row.takes("offload_optimizer")
                                    ? json_object({{"offload_optimizer", true}, {"buckets", "tensors"}})
                                    : json_object({{"overlap", "backward"}, {"buckets", "tensors"}})));
  return all;
}

TEST(ScheduleTraits, EveryRowIsWhole) {
  std::set<std::string> names, titles;
  for (const ScheduleTraits& row : schedules()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(titles.insert(row.title).second) << row.name;
    // Of some it trains there is no run to be read yet.
    if (row.accocal != AccocalRuns::kNowhere) {
      EXPECT_EQ(row.trains_as, std::string(row.name)) << row.name;
    }
    EXPECT_LE(row.rounds, 2) << row.name << ": texts speak of halves";
    EXPECT_EQ(&traits_of(row.name), &row);
    // On one rank all is there once: 2 + 2 + 12 bytes, and buffers.
    EXPECT_GE(row.formula.whole + row.formula.sharded, 16) << row.name;
    EXPECT_EQ(row.sharding == Sharding::kNothing, row.formula.sharded == 0) << row.name;
    // Only what works on the last round's gradients can be early or late with them.
    if (row.lookahead != Lookahead::kNone || row.statistics == Statistics::kStaleGradients) {
      EXPECT_TRUE(row.delayed) << row.name;
    }
    EXPECT_EQ(row.rounds > 1, row.takes("micro_batches_per_round")) << row.name;
    EXPECT_EQ(row.local, row.takes("inner_updates")) << row.name;
    EXPECT_EQ(row.local, row.statistics == Statistics::kReplicasDrift) << row.name;
    EXPECT_LE(row.takes("late_communication"), row.delayed) << row.name;
  }
  EXPECT_EQ(find_schedule("zero4"), nullptr);
  EXPECT_THROW(traits_of(""), std::logic_error);
}

TEST(ScheduleTraits, EveryKeyOfARowIsReadAndNoOther) {
  std::set<std::string> keys;
  for (const ScheduleTraits& row : schedules()) keys.insert(row.keys.begin(), row.keys.end());
  for (const ScheduleTraits* row : all_rows()) {
    const std::vector<JsonValue> values = all_resolved(*row);
    for (const std::string& key : keys) {
      // Of a released code's nodes DDP is inside.
      if (row->takes("form") && !row->takes(key) && plain_schedule().takes(key)) continue;
      EXPECT_EQ(std::ranges::any_of(values, [&](const JsonValue& value) { return value.find(key); }), row->takes(key))
          << row->name << " " << key;
    }
  }
}

TEST(ScheduleTraits, ARowOfAFrameworkStandsForTheSchedulesOwn) {
  for (const ScheduleTraits& row : schedules_of_frameworks()) {
    const ScheduleTraits& own = traits_of(row.name);
    ASSERT_TRUE(row.under);
    EXPECT_EQ(find_schedule(row.name, *row.under), &row);
    EXPECT_EQ(find_schedule(row.name), &own);
    EXPECT_EQ(row.title, std::string(own.title));
    EXPECT_EQ(row.trains_as, std::string(own.trains_as));
    EXPECT_EQ(row.formula.whole, own.formula.whole);
    EXPECT_EQ(row.formula.sharded, own.formula.sharded);
    ASSERT_NE(find_schedule(row.runs_as), nullptr);
    EXPECT_EQ(row.sharding, traits_of(row.runs_as).sharding);
    ScheduleSpec spec{.name = row.name};
    EXPECT_EQ(&traits_of(spec), &own);
    EXPECT_EQ(program_of(spec), row.name);
    spec.runs_as = row.runs_as;
    EXPECT_EQ(&traits_of(spec), &row);
    EXPECT_EQ(program_of(spec), row.runs_as);
  }
}

TEST(ScheduleTraits, AKeyOfAnotherScheduleIsRefusedWithItsOwners) {
  JsonValue value = json_object({{"name", "wp"}, {"bucket_cap_mb", 25}});
  Diagnostics diagnostics;
  read_schedule(value, "/schedules/0", four_steps(), std::nullopt, diagnostics);
  ASSERT_EQ(diagnostics.errors.size(), 1U);
  EXPECT_NE(
      diagnostics.errors[0].find("it belongs to ddp, zero1, zero2, dpu, acco and sapipe, and wp has no such choice"),
      std::string::npos)
      << diagnostics.errors[0];
}

TEST(ScheduleTraits, AFormThatCannotBeSaysWhatToWrite) {
  const auto error_of = [](JsonValue entry) {
    Diagnostics diagnostics;
    read_schedule(entry, "/schedules/0", four_steps(), std::nullopt, diagnostics);
    return diagnostics.errors.empty() ? std::string("none") : diagnostics.errors.front();
  };
  const auto says = [&](JsonValue entry, const std::string& what) {
    const std::string error = error_of(std::move(entry));
    EXPECT_NE(error.find(what), std::string::npos) << what << ": " << error;
  };
  says(json_object({{"name", "dpu"}, {"overlap", "backward"}}), "write \"offload_optimizer\": true too");
  says(json_object({{"name", "dpu"}, {"offload_optimizer", true}, {"late_communication", "wait"}}), "leave it out");
  says(json_object({{"name", "acco"}, {"bucket_cap_mb", 25}}), "write \"overlap\": \"backward\" too");
  says(json_object({{"name", "acco"}, {"overlap", "backward"}, {"late_communication", "accumulate"}}),
       "write \"wait\", or \"overlap\": \"none\"");
  says(json_object({{"name", "acco"}, {"zero_stage", 4}}), "zero_stage");
  says(json_object({{"name", "acco"}, {"zero_stage", 3}, {"poll_every", 2}}), "leave it out");
  says(json_object({{"name", "acco"}, {"zero_stage", 2}, {"overlap", "backward"}}), "leave it out");
  says(json_object({{"name", "acco"}, {"zero_stage", 2}, {"late_communication", "accumulate"}}), "leave it out");
  says(json_object({{"name", "acco"}, {"zero_stage", 2}, {"estimate", "local"}}), "write \"zero_stage\": 1");
  says(json_object({{"name", "acco"}, {"estimate", "local"}, {"rollback_estimate", true}}), "leave it out");
  says(json_object({{"name", "pipesgd"}, {"delay", 0}}), "delay");
  says(json_object({{"name", "diloco"}, {"replica", "node"}, {"inner", "acco"}, {"poll_every", 2}}), "poll_every");
  EXPECT_EQ(error_of(json_object({{"name", "diloco"}, {"replica", "node"}, {"inner", "acco"}})), "none");
}

TEST(ScheduleTraits, AFormSettlesWhatFollowsFromIt) {
  const auto spec_of = [](JsonValue entry) {
    Diagnostics diagnostics;
    ScheduleSpec spec = read_schedule(entry, "/schedules/0", four_steps(), std::nullopt, diagnostics);
    EXPECT_TRUE(diagnostics.errors.empty()) << diagnostics.errors.front();
    return spec;
  };
  const ScheduleSpec host = spec_of(json_object({{"name", "dpu"}, {"offload_optimizer", true}}));
  EXPECT_EQ(host.overlap, Overlap::kBackward);
  EXPECT_EQ(sharding_of(host), Sharding::kGradients);
  EXPECT_TRUE(meets_every_micro_batch(host));
  EXPECT_FALSE(accumulates_while_waiting(host));
  const ScheduleSpec buckets = spec_of(json_object({{"name", "acco"}, {"overlap", "backward"}}));
  EXPECT_EQ(buckets.late_communication, LateCommunication::kWait);
  EXPECT_EQ(sharding_of(spec_of(json_object({{"name", "acco"}, {"zero_stage", 2}}))), Sharding::kGradients);
  EXPECT_FALSE(accumulates_while_waiting(spec_of(json_object({{"name", "pipesgd"}}))));
  EXPECT_EQ(spec_of(json_object({{"name", "sapipe"}})).buckets, Buckets::kTensors);
  const ScheduleSpec inside = spec_of(json_object({{"name", "diloco"}, {"replica", "node"}, {"inner", "acco"}}));
  EXPECT_EQ(inside.late_communication, LateCommunication::kWait);
  EXPECT_EQ(inside.micro_batches_per_round, 2);
  EXPECT_EQ(rounds_of(inside), 2);
}

TEST(ScheduleTraits, AMarkIsAnUpdateUnlessRanksMakeSomeByThemselves) {
  for (const ScheduleTraits& row : schedules()) EXPECT_EQ(updates_per_mark(row, 7), row.local ? 7 : 1) << row.name;
}

TEST(ScheduleTraits, NamesInWords) {
  EXPECT_EQ(in_words(std::vector<std::string>{}), "");
  EXPECT_EQ(in_words(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(in_words(std::vector<std::string>{"a", "b"}), "a and b");
  EXPECT_EQ(in_words({"a", "b", "c"}, " or "), "a, b or c");
}

}  // namespace
}  // namespace accosim
