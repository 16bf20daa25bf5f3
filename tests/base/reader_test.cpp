// Does the reader collect every mistake with its place, and write what it assumed into the tree?
#include "models/base/reader.hpp"

#include <gtest/gtest.h>

#include "models/spec/device.hpp"

namespace accosim {
namespace {

struct Read {
  JsonValue root;
  Diagnostics diagnostics;
};
Read read(const std::string& text) { return Read{parse_json(text, "f.json").root, {}}; }

TEST(Reader, GivesTypedValues) {
  Read r = read(R"({"n": 1.5, "i": 8e3, "t": "x", "b": true, "q": "3 us", "m": "80 GiB", "w": "1 GB/s", "c": "fp16"})");
  ObjectReader reader(r.root, "", r.diagnostics);
  EXPECT_EQ(reader.number("n", Range{0, 2}), 1.5);
  EXPECT_EQ(reader.integer("i", 1, 10000), 8000);
  EXPECT_EQ(reader.text("t"), "x");
  EXPECT_TRUE(reader.boolean("b"));
  EXPECT_EQ(reader.seconds("q").value, 3e-6);
  EXPECT_EQ(reader.bytes("m").value, 80.0 * (1 << 30));
  EXPECT_EQ(reader.bandwidth("w").value, 1e9);
  EXPECT_EQ(reader.choice<Dtype>("c", {Dtype::kFp16, Dtype::kBf16}), Dtype::kFp16);
  reader.finish();
  EXPECT_TRUE(r.diagnostics.errors.empty());
}

TEST(Reader, DefaultsAreWrittenIntoTheTree) {
  Read r = read("{}");
  ObjectReader reader(r.root, "", r.diagnostics);
  EXPECT_EQ(reader.integer("i", 1, 10, 7), 7);
  EXPECT_EQ(reader.seconds("s", Seconds{14e-6}).value, 14e-6);
  EXPECT_EQ(reader.choice<Dtype>("c", {Dtype::kBf16}, Dtype::kBf16), Dtype::kBf16);
  EXPECT_EQ(write_json(r.root), R"({"i": 7, "s": "14 us", "c": "bf16"})");
  EXPECT_EQ(text_of(r.root.find("i")->origin), "default");
}

TEST(Reader, CollectsEveryMistakeWithItsPlace) {
  Read r = read(
      "{\"n\": \"4\",\n \"i\": 1.5, \"j\": -1, \"b\": 1, \"w\": \"100 GB\", \"v\": 5, \"c\": \"bf61\", \"x\": "
      "\"a\\nb\"}");
  ObjectReader reader(r.root, "/top", r.diagnostics);
  reader.number("n", Range{0, 1, true});
  reader.integer("i", 1, 9);
  reader.integer("j", 0, 9);
  reader.boolean("b");
  reader.bandwidth("w");
  reader.bandwidth("v");
  reader.choice<Dtype>("c", {Dtype::kFp16, Dtype::kBf16});
  reader.text("x");
  reader.text("absent");
  reader.finish();
  const std::vector<std::string> expected = {
      "f.json:1:7 /top/n: is the text \"4\"; write a number above 0, at most 1, without quotes",
      "f.json:2:7 /top/i: is 1.5; write a whole number from 1 to 9",
      "f.json:2:17 /top/j: is -1; write a whole number from 0 to 9",
      "f.json:2:26 /top/b: is the number 1; write true or false",
      "f.json:2:34 /top/w: \"100 GB\" is an amount of data; " + how_to_write(Dimension::kBandwidth),
      "f.json:2:49 /top/v: is the number 5 without a unit; " + how_to_write(Dimension::kBandwidth),
      "f.json:2:57 /top/c: \"bf61\" is not known; did you mean \"bf16\"? write one of: \"fp16\", \"bf16\"",
      "f.json:2:70 /top/x: \"a\\nb\" holds control characters; write one line of plain text",
      "f.json:1:1 /top/absent: missing; write \"absent\": a text",
  };
  EXPECT_EQ(r.diagnostics.errors, expected);
}

// What the parser has refused is told once, whatever it is asked for.
TEST(Reader, WhatWasRefusedIsNotToldAgain) {
  const JsonDocument document = parse_json(R"({"n": NaN, "i": NaN, "t": NaN, "b": NaN, "q": NaN, "o": NaN, "l": NaN,
    "list": [1, NaN, -3]})",
                                           "f.json");
  Read r{document.root, {}};
  ObjectReader reader(r.root, "", r.diagnostics);
  reader.number("n", Range{0, 1});
  reader.integer("i", 0, 1);
  reader.text("t");
  reader.boolean("b");
  reader.seconds("q");
  ObjectReader(*reader.find("o"), "/o", r.diagnostics).text("inside");
  EXPECT_TRUE(reader.list("l", 1, 9).empty());
  EXPECT_EQ(reader.numbers("list", Range{0, 9}, 9), std::vector<double>{1});
  reader.finish();
  EXPECT_FALSE(reader.good("n"));
  EXPECT_FALSE(reader.good("list"));
  EXPECT_EQ(r.diagnostics.errors, std::vector<std::string>{"f.json:2:22 /list/2: is -3; write a number from 0 to 9"});
}

TEST(Reader, NamesThatADocumentGaveAreListedWithoutTheirControlCharacters) {
  Read r = read(R"({"scenario": "z"})");
  ObjectReader reader(r.root, "", r.diagnostics);
  reader.one_of("scenario", {"a", "b\r\x7f"}, "");
  ASSERT_EQ(r.diagnostics.errors.size(), 1U);
  EXPECT_EQ(r.diagnostics.errors[0], R"(f.json:1:14 /scenario: "z" is not known; write one of: "a", "b\x0d\x7f")");
}

TEST(Reader, ListsAndWholeNumbersAreBounded) {
  Read r = read(R"({"a": [], "b": [1, 2, 3], "c": 4e9, "d": 4.5})");
  ObjectReader reader(r.root, "", r.diagnostics);
  EXPECT_TRUE(reader.list("a", 1, 9).empty());
  EXPECT_EQ(reader.list("b", 1, 2).size(), 2U);
  EXPECT_TRUE(reader.list("none", 0, 2).empty());
  EXPECT_EQ(reader.whole("c", 1, 1e15), 4e9);
  reader.whole("d", 1, 1e15);
  const std::vector<std::string> expected = {
      "f.json:1:7 /a: is empty; write a list of one element at least",
      "f.json:1:16 /b: has 3 elements; write 1 to 2",
      "f.json:1:42 /d: is 4.5; write a whole number from 1 to 1000000000000000",
  };
  EXPECT_EQ(r.diagnostics.errors, expected);
}

TEST(Reader, UnknownKeysAreErrorsWithTheNearestKnownKey) {
  Read r = read(R"({"micro_batch_sise": 1, "zzz": 2, "a~/": 3})");
  ObjectReader reader(r.root, "", r.diagnostics);
  reader.find("micro_batch_size");
  reader.find("precision");
  reader.finish({{"zzz", "a note"}});
  const std::vector<std::string> expected = {
      "f.json:1:2 /micro_batch_sise: unknown key; did you mean \"micro_batch_size\"?",
      "f.json:1:25 /zzz: unknown key; a note",
      "f.json:1:35 /a~0~1: unknown key; one of: \"micro_batch_size\", \"precision\"",
  };
  EXPECT_EQ(r.diagnostics.errors, expected);
}

TEST(Reader, AMisspeltRequiredKeyIsOneMistake) {
  Read r = read(R"({"bandwith": "1 GB/s"})");
  ObjectReader reader(r.root, "", r.diagnostics);
  reader.bandwidth("bandwidth");
  reader.finish();
  EXPECT_FALSE(reader.good("bandwidth"));
  EXPECT_EQ(r.diagnostics.errors,
            std::vector<std::string>{"f.json:1:2 /bandwith: unknown key; did you mean \"bandwidth\"?"});
}

TEST(Reader, WhatIsNoObjectIsOneMistake) {
  Read r = read("[1]");
  ObjectReader reader(r.root, "/x", r.diagnostics);
  reader.text("a");
  reader.integer("b", 1, 2);
  reader.bytes("c");
  reader.finish();
  EXPECT_EQ(r.diagnostics.errors, std::vector<std::string>{"f.json:1:1 /x: is an array; write an object: {...}"});
}

}  // namespace
}  // namespace accosim
