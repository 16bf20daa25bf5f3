// Does every value know its place, does every broken or hostile text get one clear line instead of a crash, and is what
// is written JSON to the byte? nlohmann's writer is the second opinion.
#include "models/base/json.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

JsonValue tree_of(const std::string& text) {
  JsonDocument document = parse_json(text, "f.json");
  EXPECT_TRUE(document.errors.empty()) << document.errors.front();
  return std::move(document.root);
}
std::string only_error(const std::string& text) {
  const JsonDocument document = parse_json(text, "f.json");
  EXPECT_EQ(document.errors.size(), 1U) << text;
  return document.errors.empty() ? "" : document.errors.front();
}
std::string place(const JsonValue& root, const char* pointer) {
  const JsonValue* value = at_pointer(root, pointer);
  return value == nullptr ? "nowhere" : text_of(value->origin);
}

// Columns count characters: "\u00fc" is one, though two bytes.
TEST(Json, EveryValueKnowsItsLineAndColumn) {
  const JsonValue root = tree_of(
      "{\n"
      "  \"a\": 1, // a comment, with \"quotes\" and {brackets}\n"
      "  \"\u00fc\": [true, null, \"x,]\\\"\", -1.5e3], /* and\n"
      "  another */ \"b\": {\"c\": {}}\n"
      "}");
  EXPECT_EQ(place(root, ""), "f.json:1:1");
  EXPECT_EQ(place(root, "/a"), "f.json:2:8");
  EXPECT_EQ(place(root, "/\u00fc"), "f.json:3:8");
  EXPECT_EQ(place(root, "/\u00fc/0"), "f.json:3:9");
  EXPECT_EQ(place(root, "/\u00fc/1"), "f.json:3:15");
  EXPECT_EQ(place(root, "/\u00fc/2"), "f.json:3:21");
  EXPECT_EQ(place(root, "/\u00fc/3"), "f.json:3:30");
  EXPECT_EQ(place(root, "/b/c"), "f.json:4:25");
  EXPECT_EQ(text_of(root.members[2].origin), "f.json:4:14");
}

// Texts are made of random tokens with the place of each noted as it is written: an oracle with no scanner in it.
TEST(Json, PlacesAreRightInRandomTexts) {
  std::uint64_t state = 7;
  const auto next = [&](unsigned n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>(state >> 33) % n;
  };
  for (int round = 0; round < 200; ++round) {
    std::string text = "[";
    int line = 1, column = 2;
    const auto put = [&](const std::string& piece, int columns) {
      text += piece;
      column += columns;
    };
    std::vector<std::string> expected;
    const unsigned count = 1 + next(20);
    for (unsigned i = 0; i < count; ++i) {
      if (i > 0) put(",", 1);
      for (unsigned blank = next(4); blank > 0; --blank) {
        switch (next(4)) {
          case 0: put(" ", 1); break;
          case 1: put("/*\"{[\u00fc*/", 8); break;
          default:
            put(next(2) == 0 ? "// ,]}\n" : "\r\n", 0);
            ++line;
            column = 1;
        }
      }
      expected.push_back("f.json:" + std::to_string(line) + ":" + std::to_string(column));
      switch (next(5)) {
        case 0: put("\"\\\\\\\"\u00e9/*\"", 9); break;
        case 1: put("-12.5e-3", 8); break;
        case 2: put("false", 5); break;
        case 3: put("{\"k\":[]}", 8); break;
        default: put("0", 1);
      }
    }
    text += "]";
    const JsonValue root = tree_of(text);
    ASSERT_EQ(root.elements.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(text_of(root.elements[i].origin), expected[i]) << text;
  }
}

TEST(Json, NumbersKeepTheirSpelling) {
  const JsonValue root = tree_of("[80e6, 1.50, 18446744073709551615, -3]");
  EXPECT_EQ(root.elements[0].number, 80e6);
  EXPECT_EQ(write_json(root), "[80e6, 1.50, 18446744073709551615, -3]");
}

TEST(Json, DuplicateKeysAreAllFound) {
  const JsonDocument document = parse_json("{\"a\":1,\"b\":[{\"c~/\":1,\n\"c~/\":2}],\"a\":3}", "f.json");
  ASSERT_EQ(document.errors.size(), 2U);
  EXPECT_EQ(document.errors[0], "f.json:2:1 /b/0/c~0~1: the key \"c~/\" is there twice; keep one");
  EXPECT_EQ(document.errors[1], "f.json:2:11 /a: the key \"a\" is there twice; keep one");
}

// A wrong word or a key that is there twice is told, and reading goes on: what is wrong after it is told too.
TEST(Json, ReadingGoesOnAfterAWrongWordAndADuplicateKey) {
  const JsonDocument document = parse_json(
      "{\"a\": NaN, \"b\": [1, -Infinity, 1e400, 2],\n\"a\": 3, \"c\": True, \"d\": 01, \"e\": 5}", "f.json");
  const std::vector<std::string> expected = {
      "f.json:1:7 /a: NaN is not JSON and no setting of ours; write a finite number",
      "f.json:1:21 /b/1: -Infinity is not JSON and no setting of ours; write a finite number",
      "f.json:1:32 /b/2: 1e400 does not fit a number; write one below 1.8e308",
      "f.json:2:1 /a: the key \"a\" is there twice; keep one",
      "f.json:2:14 /c: True is Python; JSON has true, false and null, in lower case",
      "f.json:2:25 /d: \"01\" is not what JSON allows here; check quotes, commas and brackets",
  };
  EXPECT_EQ(document.errors, expected);
  EXPECT_TRUE(document.whole);
  EXPECT_TRUE(document.root.find("a")->refused);  // the first of the two
  ASSERT_EQ(document.root.find("b")->elements.size(), 4U);
  EXPECT_EQ(document.root.find("b")->elements[3].number, 2);
  EXPECT_EQ(document.root.find("e")->number, 5);
  EXPECT_FALSE(parse_json("{\"a\": NaN, \"b\": [1", "f.json").whole);
  EXPECT_EQ(parse_json("{\"a\": NaN, \"b\": [1", "f.json").errors.size(), 2U);
}

// What is in quotes or in a comment is no word, and the numbers that JSON allows are all numbers.
TEST(Json, OnlyWordsThatAreNoValuesAreWrong) {
  const JsonValue root = tree_of(
      "[\"NaN 1e400 \\\" Infinity\", /* NaN */ -0, 0.5, 1e308, 1E+2, -1.5e-300, 1e-400, true // 1e400\n, null]");
  EXPECT_EQ(root.elements.size(), 9U);
  for (const JsonValue& each : root.elements) EXPECT_FALSE(each.refused);
  for (const char* wrong : {"[+1]", "[.5]", "[1.]", "[1e]", "[-]", "[0x10]", "[nul]", "[1e309]", "[-1e999999999]"})
    EXPECT_EQ(only_error(wrong).substr(0, 14), "f.json:1:2 /0:") << wrong;
}

TEST(Json, BrokenTextIsOneLineThatSaysWhatIsWrong) {
  EXPECT_EQ(only_error("{\"a\":NaN}"), "f.json:1:6 /a: NaN is not JSON and no setting of ours; write a finite number");
  EXPECT_EQ(only_error("{\"a\":1e400}"), "f.json:1:6 /a: 1e400 does not fit a number; write one below 1.8e308");
  EXPECT_EQ(only_error("{\"a\":1,}"), "f.json:1:8: a comma before }; remove it");
  EXPECT_EQ(only_error("[1,\n 2"), "f.json:2:3 /2: the file ends inside an array; close it with ]");
  EXPECT_EQ(only_error("{'a':1}"), "f.json:1:2: single quotes; JSON takes double quotes only");
  EXPECT_EQ(only_error("{\"a\" 1}"), "f.json:1:6 /a: no colon between the key and its value; add one");
  EXPECT_EQ(only_error("{} x"), "f.json:1:4: text after the end of the value; remove it");
  EXPECT_EQ(only_error(""), "f.json:1:1: the file is empty; write an object: {...}");
  EXPECT_EQ(only_error("\n\n"), "f.json:3:1: no value in the file; write an object: {...}");
  EXPECT_EQ(only_error("[True]"), "f.json:1:2 /0: True is Python; JSON has true, false and null, in lower case");
}

TEST(Json, BytesThatAreNoTextAreRefusedAtTheirPlace) {
  EXPECT_EQ(only_error("\xEF\xBB\xBF{}"), "f.json:1:1: starts with a byte order mark; save it as UTF-8 without one");
  EXPECT_EQ(only_error("{\n\"na\xEFve\":1}"), "f.json:2:4: the byte 0xef is not UTF-8 text; save the file as UTF-8");
  EXPECT_EQ(only_error(std::string("{\"a\":\"\0\"}", 9)),
            "f.json:1:7: the byte 0x00 is not UTF-8 text; save the file as UTF-8");
  EXPECT_EQ(only_error("{\"\xED\xA0\x80\":1}"),  // a surrogate, which UTF-8 excludes
            "f.json:1:3: the byte 0xed is not UTF-8 text; save the file as UTF-8");
}

TEST(Json, RandomBytesNeverCrashNorLeakIntoTheMessage) {
  std::uint64_t state = 99;
  constexpr char kBytes[] = "{}[]\",:\\/*e+-.0123456789tfn \n\x80\xff\0";
  const std::string alphabet(kBytes, sizeof kBytes - 1);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    state = state * 6364136223846793005U + 1442695040888963407U;
    for (std::uint64_t n = (state >> 33) % 24; n > 0; --n) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += alphabet[(state >> 33) % alphabet.size()];
    }
    for (const std::string& error : parse_json(text, "f.json").errors) {
      EXPECT_EQ(error.rfind("f.json:", 0), 0U);
      EXPECT_EQ(first_invalid_utf8(error), error.size());
      for (char c : error) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20) << error;
    }
  }
}

TEST(Json, NestingAndNumberOfValuesAreLimited) {
  const std::string deep(16 << 20, '[');
  EXPECT_EQ(only_error(deep), "f.json:1:65: nested deeper than 64 levels; no file of ours needs more than ten");
  std::string wide = "[0";
  for (int i = 0; i < kMaxJsonValues; ++i) wide += ",0";
  EXPECT_NE(only_error(wide + "]").find("more than 200000 values"), std::string::npos);
  const std::string at_limit = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse_json(at_limit, "f.json").errors.empty());
}

TEST(Json, APipeIsReadToItsEnd) {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_json_file(pipe, "shown").errors.front(),
            "shown: is not a regular file, but a pipe that gave nothing; copy it into one");
  const int keeps = open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // so that the writer need not wait for the reader
  ASSERT_GE(keeps, 0);
  std::thread writer([&] {
    const std::string list = "[" + std::string(100'000, ' ') + "1";  // more than a pipe holds
    std::ofstream(pipe) << list << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ofstream out(pipe);
    close(keeps);
    out << ", 2]";
  });
  const JsonDocument document = read_json_file(pipe, "shown");
  writer.join();
  EXPECT_TRUE(document.errors.empty());
  EXPECT_EQ(document.root.elements.size(), 2U);
}

TEST(Json, FilesThatAreNoFilesAreRefusedUnread) {
  const Scratch scratch;
  const auto error = [](const std::string& path) {
    const JsonDocument document = read_json_file(path, "shown");
    return document.errors.empty() ? std::string() : document.errors.front();
  };
  EXPECT_EQ(error(scratch.path("none.json")), "shown: no such file; check the path");
  EXPECT_EQ(error(scratch.path(".")), "shown: is a directory; name a file in it");
  EXPECT_EQ(error("/dev/zero"), "shown: is not a regular file; copy it into one");
  EXPECT_EQ(error(scratch.write("big.json", std::string(kMaxJsonBytes + 1, '['))),
            "shown: is larger than 16 MiB; no scenario is: check that it is the right file");
}

// What could not be parsed is told with the keys on the way to it, which may hold anything.
TEST(Json, KeysArePrintedSafely) {
  const std::vector<std::string> errors = parse_json("{\"\x7f\\u001b\u009b\": [1 2]}", "f.json").errors;
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors.front().find(" /\\x7f\\x1b\\x9b/"), std::string::npos) << errors.front();
}

// Writing and reading a tree again changes nothing, whatever the keys and texts hold.
TEST(Json, WrittenTreesReadBack) {
  const std::string text =
      "{\"\": [[], {}, [[1, [2]], \"\\u0001\\n\\t\\\"\\\\\u00fc\"]], \"~/\": {\"a\": -0.5, \"b\": null}, \"t\": true}";
  const std::string once = write_json(tree_of(text));
  EXPECT_EQ(write_json(tree_of(once)), once);
  EXPECT_EQ(tree_of(once).find("")->elements[2].elements[1].text, "\x01\n\t\"\\\u00fc");
}

// A terminal obeys DEL and U+0080 to U+009F too, of which U+009B begins what moves its cursor.
TEST(JsonDump, EscapesEveryControlCharacter) {
  EXPECT_EQ(quoted_json("\x7f\u0080\u009b\u00a0\u00c2"), "\"\\u007f\\u0080\\u009b\u00a0\u00c2\"");
  EXPECT_EQ(tree_of(quoted_json("\x7f\u009b")).text, "\x7f\u009b");
}

TEST(JsonDump, IsLaidOutByTheIndent) {
  const std::optional<double> none;
  const std::vector<int> numbers = {1, 2};
  const JsonValue document = json_object({{"name", "acco"},
                                          {"fits", true},
                                          {"speedup", 1.0},
                                          {"none", none},
                                          {"numbers", numbers},
                                          {"empty", std::vector<JsonValue>()},
                                          {"inner", json_object({{"of", json_object({})}})}});
  EXPECT_EQ(dump_json(document),
            R"({"name":"acco","fits":true,"speedup":1.0,"none":null,"numbers":[1,2],"empty":[],"inner":{"of":{}}})");
  EXPECT_EQ(dump_json(document, 1),
            "{\n \"name\": \"acco\",\n \"fits\": true,\n \"speedup\": 1.0,\n \"none\": null,\n \"numbers\": [\n  1,\n  "
            "2\n ],\n"
            " \"empty\": [],\n \"inner\": {\n  \"of\": {}\n }\n}");
}

// Integers as they are; what is no integer shows it; the least digits that read back; null for what JSON has not.
TEST(JsonDump, NumbersAreTheShortestThatReadBack) {
  const auto dumped = [](const JsonValue& value) { return dump_json(value); };
  EXPECT_EQ(dumped(3), "3");
  EXPECT_EQ(dumped(std::int64_t{-9223372036854775807}), "-9223372036854775807");
  EXPECT_EQ(dumped(std::uint64_t{18446744073709551615U}), "18446744073709551615");
  EXPECT_EQ(dumped(3.0), "3.0");
  EXPECT_EQ(dumped(-0.0), "-0.0");
  EXPECT_EQ(dumped(0.1), "0.1");
  EXPECT_EQ(dumped(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(dumped(1e-4), "0.0001");
  EXPECT_EQ(dumped(1e-5), "1e-05");
  EXPECT_EQ(dumped(1.5e-7), "1.5e-07");
  EXPECT_EQ(dumped(123456789012345.0), "123456789012345.0");
  EXPECT_EQ(dumped(1e15), "1e+15");
  EXPECT_EQ(dumped(-1.25e300), "-1.25e+300");
  EXPECT_EQ(dumped(5e-324), "5e-324");
  for (const double none : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(dumped(none), "null");
}

TEST(JsonDump, TextsMayHoldAnything) {
  EXPECT_EQ(quoted_json("a\"b\\c/\b\f\n\r\t\x01\x1f\x7f \u00fc"),
            "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f \u00fc\"");
  // A U+FFFD for as much as could have begun a character: two bytes of three, a surrogate's three one by one.
  EXPECT_EQ(quoted_json("\xE2\x82x\xED\xA0\x80\xFF\xF0\x9F\x98"), "\"\uFFFDx\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\"");
}

/// The library's text with DEL and U+0080 to U+009F escaped too.
std::string escaped_further(const std::string& written) {
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const unsigned byte = static_cast<unsigned char>(written[i]);
    const unsigned next = i + 1 < written.size() ? static_cast<unsigned char>(written[i + 1]) : 0;
    const bool c1 = byte == 0xC2 && next < 0xA0;
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", c1 ? next : byte);
    if (c1 || byte == 0x7F)
      out += escape.data();
    else
      out += written[i];
    if (c1) ++i;
  }
  return out;
}

// Bit patterns of doubles, whole and decimal ones; texts of bytes that like to go wrong.
TEST(JsonDump, IsWhatNlohmannWrites) {
  std::uint64_t state = 11;
  const auto next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 11;
  };
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t bits = next() << 11 | next() % 2048;
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    for (const double one : {number, std::floor(std::fmod(number, 1e6)), static_cast<double>(next() % 100000) / 1e3})
      ASSERT_EQ(dump_json(one), nlohmann::json(one).dump());
  }
  constexpr char kBytes[] = "a\"\\\n\x01\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xe0\xe2\xed\xef\xf0\xf4\xf5\xff";
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (std::uint64_t n = next() % 8; n > 0; --n) text += kBytes[next() % (sizeof kBytes - 1)];
    ASSERT_EQ(quoted_json(text),
              escaped_further(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
}

TEST(Json, PointersFollowRfc6901) {
  const JsonValue root = tree_of("{\"a/b\": {\"~\": [10, 11]}, \"\": 5}");
  EXPECT_EQ(at_pointer(root, "/a~1b/~0/1")->number, 11);
  EXPECT_EQ(at_pointer(root, "/")->number, 5);
  EXPECT_EQ(at_pointer(root, ""), &root);
  for (const char* nowhere : {"/a~1b/~0/2", "/a~1b/~0/01", "/a~1b/~0/-", "a", "/x", "/a~1b/~0/1/0"}) {
    EXPECT_EQ(at_pointer(root, nowhere), nullptr) << nowhere;
  }
}

// By hand: one replacement, one insertion, one swap, and "kitten" to "sitting" with its textbook 3.
TEST(Nearest, DistanceCountsSlipsOfTheKeyboard) {
  EXPECT_EQ(edit_distance("bandwidth", "bandwidth"), 0);
  EXPECT_EQ(edit_distance("bandwith", "bandwidth"), 1);
  EXPECT_EQ(edit_distance("bandwdith", "bandwidth"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Nearest, OnlyWhatIsNearIsOffered) {
  const std::vector<std::string> names = {"count", "gpus", "device"};
  EXPECT_EQ(nearest("devise", names), "device");
  EXPECT_EQ(nearest("GPUs", names), "gpus");
  EXPECT_EQ(nearest("latency", names), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), names), "");
}

}  // namespace
}  // namespace accosim
