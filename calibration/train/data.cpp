// Bytes as tokens, renumbered so that the head has no rows for bytes that do not occur.
#include "calibration/train/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/base/names.hpp"
#include "calibration/base/random.hpp"
#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/spec/shipped.hpp"

namespace accocal {
namespace {

constexpr std::size_t kLeastText = 1000;

void copy_sequence(std::span<const std::uint8_t> text, std::size_t begin, std::span<std::uint8_t> out) {
  std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
}

// Places where a sequence can begin.
std::size_t starts(std::span<const std::uint8_t> text, int length) {
  const auto needed = static_cast<std::size_t>(length) + 1;
  if (text.size() < needed) {
    throw BadInput(
        fmt::format("a text of {} tokens has no sequence of {}; write a shorter context or take a "
                    "longer text",
                    text.size(), needed));
  }
  return text.size() - needed + 1;
}

}  // namespace

Corpus corpus_of(std::string_view text) {
  if (text.size() < kLeastText)
    throw BadInput(fmt::format("a text of {} bytes; at least {} are needed", text.size(), kLeastText));
  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  Corpus corpus;
  std::array<std::uint8_t, 256> token{};
  for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
    if (occurs[byte]) token[byte] = static_cast<std::uint8_t>(corpus.vocabulary++);
  }
  const std::size_t kept = text.size() - text.size() / 10;
  for (std::size_t i = 0; i < text.size(); ++i)
    (i < kept ? corpus.training : corpus.held_out).push_back(token[static_cast<unsigned char>(text[i])]);
  return corpus;
}

Corpus read_corpus(const std::string& named) {
  const std::string path = named.empty() ? data_dir() + "/calibration/data/devils_dictionary.txt" : named;
  std::string text;
  const std::string wrong = read_text_file(path, text, kMaxCorpusBytes);
  if (!wrong.empty()) throw BadInput(fmt::format("{}: {}", printable(path, 300), wrong));
  try {
    return corpus_of(text);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", printable(path, 300), error.what()));
  }
}

void fill_batch(std::span<const std::uint8_t> text, int length, std::uint64_t seed, std::int64_t micro_batch,
                std::span<std::uint8_t> tokens) {
  const auto size = static_cast<std::size_t>(length) + 1;
  const std::size_t places = starts(text, length);
  for (std::size_t i = 0; i < tokens.size() / size; ++i) {
    const std::uint64_t drawn = mixed({seed, static_cast<std::uint64_t>(micro_batch), i});
    copy_sequence(text, drawn % places, tokens.subspan(i * size, size));
  }
}

void fill_evenly(std::span<const std::uint8_t> text, int length, std::span<std::uint8_t> tokens) {
  const auto size = static_cast<std::size_t>(length) + 1;
  const std::size_t places = starts(text, length);
  const std::size_t sequences = tokens.size() / size;
  for (std::size_t i = 0; i < sequences; ++i)
    copy_sequence(text, i * places / sequences, tokens.subspan(i * size, size));
}

}  // namespace accocal
