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

}  // namespace accosim
