// Random numbers that are the same on every machine: a function of a seed, never of a shared generator or of the
// standard library's distributions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace accocal {

/// SplitMix64's finaliser: neighbouring numbers give unrelated ones.
inline std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Hashes several numbers into one; their order matters.
inline std::uint64_t mixed(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t state = 0;
  for (const std::uint64_t part : parts) state = mixed(state ^ mixed(part));
  return state;
}

/// Fills `tokens` with words of a vocabulary.
inline void draw_tokens(std::uint64_t seed, int vocabulary, std::span<std::int32_t> tokens) {
  const std::uint64_t first = mixed(seed);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(mixed(first + i) % static_cast<std::uint64_t>(vocabulary));
}

/// Uniform in [0, 1).
inline double uniform_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// A standard normal number from two uniform ones (Box and Muller).
inline double normal_of(std::uint64_t bits) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform_of(bits)));
  return radius * std::cos(6.283185307179586 * uniform_of(mixed(bits)));
}

}  // namespace accocal
