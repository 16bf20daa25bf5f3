// Numbers in 4 bits: 1 of sign, 3 of exponent, none of mantissa, as Streaming DiLoCo sends its changes. A packet has
// one scale, its largest magnitude s; a code stands for 0 or for s 2^-k, k = 0 to 6, whichever is nearest. That the
// scale is one a packet and that the eighth code is 0 is a choice: the paper says neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace accocal {

/// Words of a packet of so many numbers: the scale, then 16 codes a word.
constexpr std::size_t e3m0_words(std::size_t count) { return 1 + (count + 15) / 16; }

/// `words` has e3m0_words(values.size()) of them.
void pack_e3m0(std::span<const float> values, std::span<std::int64_t> words);
/// Adds the packet's numbers, in fp32.
void add_e3m0(std::span<const std::int64_t> words, std::span<float> sum);

}  // namespace accocal
