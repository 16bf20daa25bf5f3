// Is this a build with the address sanitizer? It takes memory of its own and much more time, so some limits differ.
#pragma once

#include <gtest/gtest.h>

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

/// All that a test can ask: in a plain build, and under the sanitizers where it is this test's turn among ten, which
/// ACCOSIM_THOROUGH_TURN (0 to 9) gives. Else it runs a part of what takes long, since they look for what any case
/// shows.
inline bool thorough() {
  if constexpr (!kSanitized) return true;
  const char* const turn = std::getenv("ACCOSIM_THOROUGH_TURN");
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  if (turn == nullptr || test == nullptr) return false;
  const std::string name = std::string(test->test_suite_name()) + "." + test->name();
  return static_cast<int>(std::hash<std::string>{}(name) % 10) == std::atoi(turn);
}

/// Random cases of a property: all where the tests are thorough, else one in `share`, which is more than 5 where a case
/// takes long.
inline int cases(int all, int share = 5) { return thorough() ? all : (all + share - 1) / share; }

}  // namespace accosim
