// Do the reports on published measurements say what is in the rows, and the same each time?
#include "reports/validation_report.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/json.hpp"

namespace accosim {
namespace {

ValidationRow row(const std::string& id, double measured, double predicted) {
  ValidationRow row;
  row.id = id;
  row.group = "training step";
  row.device = "GPU";
  row.source = "who";
  row.configuration = "4 | 8";  // a character that ends a cell
  row.measured = measured;
  row.predicted = predicted;
  row.low = predicted / 1.2;
  row.high = predicted * 1.2;
  row.inferred = {"the network"};
  return row;
}

Validation sample() {
  Validation validation;
  validation.sources = {{"who", "Who measured", "http://who", "abc", "MIT", ""}};
  validation.rows = {row("who/good", 1, 1.1), row("who/bad", 1, 2)};
  validation.rows[1].explanation = "because";
  ValidationRow no = row("who/no", 0, 0);
  no.not_expressible = "no such thing";
  no.published = "3 km";
  validation.rows.push_back(no);
  validation.groups = groups_of(validation.rows, {"training step"});
  return validation;
}

template <class Write>
std::string text_of(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(ValidationMarkdown, HoldsScoresCasesReasonsAndSources) {
  const Validation validation = sample();
  const std::string page = text_of([&](std::ostream& out) { write_validation_markdown(out, validation); });
  // Errors of 10 and 100 %: mean 55 %, both too slow.
  expect_parts(page,
               {"| training step | 2 | 55.0 % | +55.0 % | +100.0 % | 50.0 % | 50.0 % | 0 | 1 |",
                "| who/good | 4 \\| 8 | A | 1.00 s | 1.10 s | +10.0 % | 917 ms to 1.32 s | 1 |  |",
                "| who/bad | 4 \\| 8 | A | 1.00 s | 2.00 s | +100.0 % | 1.67 s to 2.40 s (missed) | 1 | because |",
                "1. the network", "**no such thing** (1 case):", "- who/no: 4 \\| 8; 3 km",
                "- `who`: Who measured, <http://who>, commit abc, MIT"});
  EXPECT_EQ(page, text_of([&](std::ostream& out) { write_validation_markdown(out, validation); }));
}

TEST(ValidationJson, HoldsEverythingInSiUnits) {
  Validation validation = sample();
  validation.left_out = {{"GPU", "training step", 2, 0.5, 0.75}};
  validation.broken = {"a \"bound\""};
  const auto document = Json::parse(text_of([&](std::ostream& out) { write_validation_json(out, validation); }));
  EXPECT_EQ(document["schema"], "accosim.validate/1");
  EXPECT_NEAR(document["groups"][0]["score"]["mean_absolute_error"].number(), 0.55, 1e-12);
  EXPECT_EQ(document["groups"][0]["score"]["worst_case"], "who/bad");
  EXPECT_EQ(document["cases"].size(), 3u);
  EXPECT_EQ(document["cases"][1]["predicted"], 2);
  EXPECT_EQ(document["cases"][1]["unit"], "s");
  EXPECT_TRUE(document["cases"][2]["measured"].is_null());
  EXPECT_EQ(document["cases"][2]["not_expressible"], "no such thing");
  EXPECT_EQ(document["left_out"][0]["without"], 0.75);
  EXPECT_EQ(document["broken_bounds"][0], "a \"bound\"");
}

TEST(ValidationText, ShowsScoresAndCases) {
  Validation validation = sample();
  validation.broken = {"it broke"};
  validation.left_out_by = "device";
  validation.left_out = {{"GPU", "training step", 2, 0.5, 0.75}};
  const std::string text = text_of([&](std::ostream& out) { write_validation(out, validation, {}); });
  expect_parts(text, {"55.0%", "who/bad", "+100.0%", "missed", "holds", "3 km", "75.0%", "it broke"});
}

TEST(ValidationText, OneCaseIsToldInFull) {
  Validation validation = sample();
  validation.rows.resize(2);
  validation.rows.erase(validation.rows.begin());
  validation.groups = groups_of(validation.rows, {"training step"});
  const std::string text = text_of([&](std::ostream& out) { write_validation(out, validation, {}); });
  expect_parts(text, {"configuration  4 | 8", "inferred       the network", "note           because"});
}

}  // namespace
}  // namespace accosim
