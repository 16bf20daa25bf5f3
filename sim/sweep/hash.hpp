// Names for long texts that are never read back.
#pragma once

#include <cstdint>
#include <string_view>

namespace accosim {

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace accosim
