// Are collectives that were played message by message shown beside their closed form, as text and as JSON?
#include <gtest/gtest.h>

#include <sstream>

#include "models/base/json.hpp"
#include "reports/explain/explain_text.hpp"

namespace accosim {
namespace {

CollectivesByMessage example() {
  ByMessage row;
  row.collective = "all_reduce";
  row.algorithm = "ring";
  row.protocol = "Simple";
  row.bytes = Bytes{2e9};
  row.ranks = 32;
  row.nodes = 4;
  row.channels = 2;
  row.messages = 15'900;
  row.closed_form = Seconds{0.033};
  row.played = Seconds{0.030};
  CollectivesByMessage result;
  result.label = "ACCO";
  result.rows = {row};
  result.without = {"all_reduce of 4 B stays in a node"};
  return result;
}

TEST(MessagesReport, ShowsBothTimesAndWhatWasNotPlayed) {
  std::ostringstream out;
  write_by_message(out, example(), {});
  const std::string text = out.str();
  for (const char* const part : {"ACCO", "all_reduce", "2.00 GB", "ring Simple", "15.9k", "33.0 ms", "30.0 ms",
                                 "+10.0 %", "not played: all_reduce of 4 B stays in a node."})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(MessagesReport, SaysWhereThereIsNone) {
  std::ostringstream out;
  CollectivesByMessage none = example();
  none.rows.clear();
  write_by_message(out, none, {});
  EXPECT_NE(out.str().find("There are none."), std::string::npos);
  EXPECT_EQ(out.str().find("closed"), std::string::npos);
}

TEST(MessagesReport, JsonReadsBack) {
  std::ostringstream out;
  write_by_message_json(out, {example()});
  const JsonDocument document = parse_json(out.str(), "written");
  ASSERT_TRUE(document.errors.empty());
  EXPECT_EQ(document.root.find("schema")->text, "accosim.messages/1");
  const JsonValue& schedule = document.root.find("schedules")->elements.at(0);
  EXPECT_EQ(schedule.find("label")->text, "ACCO");
  EXPECT_EQ(schedule.find("not_played")->elements.size(), 1u);
  const JsonValue& row = schedule.find("collectives")->elements.at(0);
  EXPECT_EQ(row.find("messages")->number, 15'900);
  EXPECT_EQ(row.find("every_message_s")->number, 0.030);
  EXPECT_NEAR(row.find("closed_form_error")->number, 0.1, 1e-12);
}

}  // namespace
}  // namespace accosim
