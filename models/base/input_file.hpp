// A file that a user names, read piece by piece: a regular file or a pipe, and nothing that may never end or never
// begin.
#pragma once

#include <cstddef>
#include <string>

#include "models/base/descriptor.hpp"

namespace accosim {

inline constexpr std::size_t kMaxLineBytes = std::size_t{32} << 20;  ///< as a document of measurements may have

/// A regular file, or a pipe that is written to at least once a minute (`diff <(...) FILE` of a shell), read in order.
/// Links are followed.
class InputFile {
 public:
  explicit InputFile(const std::string& path);

  /// What is wrong, to be put behind the file's name; empty when nothing is.
  const std::string& wrong() const { return wrong_; }
  /// What the system says of a regular file; 0 of a pipe.
  std::size_t size() const { return size_; }
  /// Adds some bytes more to `text`; false at the end, or where something is wrong.
  bool read(std::string& text);
  /// The next line without its end, of at most kMaxLineBytes; false where none is left or something is wrong.
  bool line(std::string& line);
  /// Whether the last line had no end: it was cut.
  bool cut() const { return cut_; }

 private:
  Descriptor file_;
  std::string wrong_;
  bool pipe_ = false, begun_ = false, cut_ = false;
  std::size_t size_ = 0;
  std::string ahead_;  ///< read, and not yet given as a line from `at_` on
  std::size_t at_ = 0;
};

/// At most the first `bytes` of a regular file, to know it by; of anything else nothing, as it could not be read again.
std::string beginning_of(const std::string& path, std::size_t bytes);

}  // namespace accosim
