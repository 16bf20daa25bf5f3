// Is this a build with the address sanitizer? It takes memory of its own and much more time, so some limits differ.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#define ACCOSIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACCOSIM_SANITIZED 1
#endif
#endif
#ifndef ACCOSIM_SANITIZED
#define ACCOSIM_SANITIZED 0
#endif

namespace accosim {

inline constexpr bool kSanitized = ACCOSIM_SANITIZED != 0;

/// Whether a part of a test that takes long is due: always in a plain build, and under the sanitizers in five of ten
/// turns, which ACCOSIM_THOROUGH_TURN (0 to 9; 0 without it) gives. CI runs a fifth of the tests in a turn, so that
/// each test has a turn in five, and five parts in each of these: in ten turns all ten.
inline bool thorough(std::size_t part = 0) {
  if constexpr (!kSanitized) return true;
  const char* const turn = std::getenv("ACCOSIM_THOROUGH_TURN");
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return false;
  const std::string name = std::string(test->test_suite_name()) + "." + test->name();
  const std::size_t own = (std::hash<std::string>{}(name) + part) % 10;
  return (10 + static_cast<std::size_t>(turn == nullptr ? 0 : std::atoi(turn)) - own) % 10 < 5;
}

/// Random cases of a property: under the sanitizers one in `share`, which is more than 5 where a case takes long, since
/// sanitizers look for what any case shows.
inline int cases(int all, int share = 5) { return kSanitized ? (all + share - 1) / share : all; }

}  // namespace accosim
