// What the real training step learns from: a text as tokens, a part of it held out, and which sequences are in which
// micro-batch, which depends on nothing but a seed and the micro-batch's number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace accocal {

struct Corpus {
  std::vector<std::uint8_t> training;
  std::vector<std::uint8_t> held_out;  ///< the last tenth of the text
  int vocabulary = 0;
};

/// A token is a byte, numbered by its order among those that occur. An empty path is the text that comes with the
/// program. Throws BadInput that names the file when it cannot be read or is shorter than 1000 bytes.
Corpus read_corpus(const std::string& named);
Corpus corpus_of(std::string_view text);

/// Sequences of `length` + 1 tokens that begin anywhere in the text, drawn with replacement: a function of (seed,
/// micro_batch, place in it). A text shorter than a sequence throws BadInput.
void fill_batch(std::span<const std::uint8_t> text, int length, std::uint64_t seed, std::int64_t micro_batch,
                std::span<std::uint8_t> tokens);

/// Sequences that follow each other, evenly spaced over the text: the same ones every time, for evaluation.
void fill_evenly(std::span<const std::uint8_t> text, int length, std::span<std::uint8_t> tokens);

}  // namespace accocal
