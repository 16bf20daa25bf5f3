// Is this a build with the address sanitizer? It takes memory of its own and much more time, so some limits differ.
#pragma once

#include <cstdlib>

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

/// All that a test can ask: in a plain build, and under the sanitizers where ACCOSIM_ALL_CASES is set, as .ci/run has
/// it one time in ten. Else they run a part of what takes them long, since they look for what any case shows.
inline bool thorough() {
  static const bool kAll = !kSanitized || std::getenv("ACCOSIM_ALL_CASES") != nullptr;
  return kAll;
}

/// Random cases of a property: all where the tests are thorough, else one in `share`, which is more than 5 where a case
/// takes long.
inline int cases(int all, int share = 5) { return thorough() ? all : (all + share - 1) / share; }

}  // namespace accosim
