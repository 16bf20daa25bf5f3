// Results are written whole or not at all: an experiment that took minutes must not end in half a file.
#pragma once

#include <string>

namespace accosim {

/// Throws BadEnvironment where `path` could not be written; before the experiment rather than after it.
void check_writable(const std::string& path);

/// Writes a file beside `path`, then puts it in its place; what is no regular file (/dev/stdout) is written directly.
/// Throws BadEnvironment, and leaves what was there.
void write_whole(const std::string& path, const std::string& text);

}  // namespace accosim
