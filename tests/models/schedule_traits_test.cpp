// Is every row of the schedules' table whole, and does the program read all of it?
#include "models/spec/schedule_traits.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "models/spec/scenario_parts.hpp"

namespace accosim {
namespace {

Training four_steps() {
  Training training;
  training.gradient_accumulation_steps = 4;
  return training;
}

/// The schedule as it is resolved, all defaults written in.
JsonValue resolved(const std::string& name) {
  JsonValue value = json_object({{"name", name}});
  // The sizes of buckets are written where there are such buckets, and a size of gathers where they are cut.
  if (traits_of(name).takes("buckets")) value.set("buckets", json_text("tensors", {}));
  if (traits_of(name).takes("gather_bucket_mb")) value.set("gather_bucket_mb", json_number(100, {}));
  Diagnostics diagnostics;
  read_schedule(value, "/schedules/0", four_steps(), std::nullopt, diagnostics);
  EXPECT_TRUE(diagnostics.errors.empty()) << name << ": " << diagnostics.errors.front();
  return value;
}

TEST(ScheduleTraits, EveryRowIsWhole) {
  std::set<std::string> names, titles;
  for (const ScheduleTraits& row : schedules()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(titles.insert(row.title).second) << row.name;
    EXPECT_EQ(row.accocal != AccocalRuns::kNowhere, row.trains_as == std::string(row.name)) << row.name;
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
    EXPECT_EQ(row.delayed, row.takes("late_communication")) << row.name;
  }
  EXPECT_EQ(find_schedule("zero4"), nullptr);
  EXPECT_THROW(traits_of(""), std::logic_error);
}

TEST(ScheduleTraits, EveryKeyOfARowIsReadAndNoOther) {
  std::set<std::string> keys;
  for (const ScheduleTraits& row : schedules()) keys.insert(row.keys.begin(), row.keys.end());
  for (const ScheduleTraits& row : schedules()) {
    const JsonValue value = resolved(row.name);
    for (const std::string& key : keys) EXPECT_EQ(value.find(key) != nullptr, row.takes(key)) << row.name << " " << key;
  }
}

TEST(ScheduleTraits, AKeyOfAnotherScheduleIsRefusedWithItsOwners) {
  JsonValue value = json_object({{"name", "acco"}, {"bucket_cap_mb", 25}});
  Diagnostics diagnostics;
  read_schedule(value, "/schedules/0", four_steps(), std::nullopt, diagnostics);
  ASSERT_EQ(diagnostics.errors.size(), 1U);
  EXPECT_NE(diagnostics.errors[0].find("it belongs to ddp, zero1 and zero2, and acco has no such choice"),
            std::string::npos)
      << diagnostics.errors[0];
}

TEST(ScheduleTraits, AMarkIsAnUpdateUnlessRanksMakeSomeByThemselves) {
  for (const ScheduleTraits& row : schedules()) EXPECT_EQ(updates_per_mark(row, 7), row.local ? 7 : 1) << row.name;
}

TEST(ScheduleTraits, NamesInWords) {
  EXPECT_EQ(in_words({}), "");
  EXPECT_EQ(in_words({"a"}), "a");
  EXPECT_EQ(in_words({"a", "b"}), "a and b");
  EXPECT_EQ(in_words({"a", "b", "c"}, " or "), "a, b or c");
}

}  // namespace
}  // namespace accosim
