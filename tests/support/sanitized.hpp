// Is this a build with the address sanitizer? It takes memory of its own and much more time, so some limits differ.
#pragma once

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

/// Random cases of a property: all in a plain build; a fifth under the sanitizers, which look for what any case shows.
inline constexpr int cases(int all) { return kSanitized ? (all + 4) / 5 : all; }

}  // namespace accosim
