// Input that a user names: a regular file of a sensible size, and nothing that may never end or never begin.
#pragma once

#include <cstddef>
#include <string>

namespace accosim {

/// Limits by what the file is, which keep a hostile one from costing more than some hundred megabytes and a second.
inline constexpr int kMaxJsonBytes = 16 * 1024 * 1024;
/// Of documents of measurements, which list each sample and each span.
inline constexpr int kMaxMeasuredBytes = 32 * 1024 * 1024;
/// A text that is learnt from is copied a few times.
inline constexpr std::size_t kMaxCorpusBytes = std::size_t{1} << 30;

/// Reads a regular file of at most `most_bytes` into `text`, following links. Returns what is wrong, to be put behind
/// the file's name; empty when nothing is.
std::string read_text_file(const std::string& path, std::string& text, std::size_t most_bytes = kMaxJsonBytes);

}  // namespace accosim
