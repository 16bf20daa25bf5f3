// Files that are compressed as gzip does it (RFC 1952): written as a stream, in little memory, and read back whole.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace accosim {

/// Whether the name ends in ".gz".
bool is_gzip_name(const std::string& path);
/// Whether the bytes begin as gzip's do.
bool is_gzipped(std::string_view bytes);

/// Compresses what is written to stream(), and passes it on to `out`. Errors of `out` come through.
class GzipWriter {
 public:
  /// `comment` stands uncompressed near the begin of the file. The same text always makes the same bytes.
  GzipWriter(std::ostream& out, const std::string& comment);
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  ~GzipWriter();

  std::ostream& stream();
  /// Writes what is pending and the end of the file. Call it once, when all is written.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The text of gzipped bytes, which may be of several parts one behind the other. Returns what is wrong, to be put
/// behind the file's name; empty when nothing is. A text of more than `most_bytes` is refused, however small it was
/// compressed.
std::string gunzip(std::string_view bytes, std::string& text, std::size_t most_bytes);

}  // namespace accosim
