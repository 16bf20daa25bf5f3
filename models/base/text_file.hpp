// Input that a user names: a file or a pipe of a sensible size, and nothing that may never end or never begin.
#pragma once

#include <cstddef>
#include <string>

namespace accosim {

/// Size limits by kind of file, so that a hostile one costs at most some hundred megabytes and a second.
inline constexpr int kMaxJsonBytes = 16 * 1024 * 1024;
/// For documents of measurements, which list each sample and each span.
inline constexpr int kMaxMeasuredBytes = 32 * 1024 * 1024;
/// For a text to train on; a few copies of it are held in memory.
inline constexpr std::size_t kMaxCorpusBytes = std::size_t{1} << 30;

/// Reads a regular file, or a pipe that is written to at least once a minute (`diff <(...) FILE` of a shell), of at
/// most `most_bytes` into `text`, following links. Returns what is wrong, to be put behind the file's name; empty when
/// nothing is.
std::string read_text_file(const std::string& path, std::string& text, std::size_t most_bytes = kMaxJsonBytes);

}  // namespace accosim
