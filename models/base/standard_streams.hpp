// Standard output and standard error: either what a program prints arrives, or the program fails.
#pragma once

#include <string>
#include <string_view>

namespace accosim {

/// Call this first in main(). A closed standard stream stays unusable, instead of being taken over by the next file
/// that is opened; a write beyond the file size limit fails instead of raising SIGXFSZ.
void begin_standard_streams();

/// Prints lines for people on standard error, each after `before` ("accosim: "). Control characters in them, quoted
/// from documents or arguments, never reach the terminal.
void tell(std::string_view before, const std::string& lines);
/// The lines as tell() prints them, without a prefix.
std::string printable_lines(const std::string& lines);

/// Throws BadEnvironment where what was printed could not all be written: the disk is full, the stream is closed.
void flush_standard_output();

}  // namespace accosim
