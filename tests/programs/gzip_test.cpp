// Is what was compressed read back as it was, and what was not refused?
#include "sim/app/gzip.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "tests/support/random.hpp"

namespace accosim {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 26;

std::string packed(const std::string& text, std::size_t piece = 1000) {
  std::ostringstream out;
  GzipWriter writer(out, "a comment");
  for (std::size_t at = 0; at < text.size(); at += piece) writer.stream() << text.substr(at, piece);
  writer.finish();
  return out.str();
}

TEST(Gzip, ReadsBackWhatWasWritten) {
  Random random(7);
  std::string noise;
  for (int i = 0; i < 300'000; ++i) noise += static_cast<char>(static_cast<int>(256 * random.uniform(0, 1)));
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(1 << 16, 'a'), std::string(1 << 20, 'b'), noise}) {
    const std::string bytes = packed(text);
    EXPECT_TRUE(is_gzipped(bytes));
    EXPECT_NE(bytes.substr(0, 40).find("a comment"), std::string::npos);  // by which the file is known again
    std::string back;
    EXPECT_EQ(gunzip(bytes, back, kPlenty), "");
    EXPECT_TRUE(back == text) << text.size();
    EXPECT_EQ(packed(text, 77), bytes) << "in other pieces";
  }
}

TEST(Gzip, PartsOneBehindTheOtherAreOneText) {
  std::string back;
  EXPECT_EQ(gunzip(packed("one, ") + packed("two"), back, kPlenty), "");
  EXPECT_EQ(back, "one, two");
}

TEST(Gzip, WhatIsCutOrDamagedOrTooLargeIsRefused) {
  std::string text(5000, 'a');
  text.append("the end");
  const std::string bytes = packed(text);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string back;
    EXPECT_NE(gunzip(bytes.substr(0, size), back, kPlenty).find("is cut off"), std::string::npos) << size;
  }
  std::string back, flipped = bytes;
  flipped[bytes.size() - 6] = static_cast<char>(flipped[bytes.size() - 6] ^ 1);  // of the checksum
  EXPECT_NE(gunzip(flipped, back, kPlenty).find("is damaged"), std::string::npos);
  back.clear();
  EXPECT_NE(gunzip(bytes + "more", back, kPlenty), "");
  back.clear();
  // A hundred megabytes in a hundred kilobytes.
  const std::string bomb = packed(std::string(100'000'000, '0'), 1 << 20);
  EXPECT_LT(bomb.size(), 200'000U);
  EXPECT_NE(gunzip(bomb, back, 1 << 20).find("is larger than 1 MiB when it is unpacked"), std::string::npos);
  EXPECT_LT(back.size(), 2'000'000U);
}

/// Takes no byte.
struct Full : std::streambuf {
  int_type overflow(int_type) override { throw std::runtime_error("the disk is full"); }
};

TEST(Gzip, WhatTheOtherStreamSaysComesThrough) {
  Full full;
  std::ostream out(&full);
  out.exceptions(std::ios::badbit);
  GzipWriter writer(out, "");
  EXPECT_THROW(
      {
        writer.stream() << std::string(10'000'000, 'x');
        writer.finish();
      },
      std::runtime_error);
}

TEST(Gzip, ANameSaysIt) {
  EXPECT_TRUE(is_gzip_name("a.json.gz"));
  for (const char* const name : {"", ".gz", "a.json", "a.gz.json"}) EXPECT_FALSE(is_gzip_name(name)) << name;
}

}  // namespace
}  // namespace accosim
