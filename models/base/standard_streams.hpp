// The standard output and error as a program must find and leave them: what it says has arrived, or it has failed.
#pragma once

#include <string>
#include <string_view>

namespace accosim {

/// First thing in main(). A standard stream that is closed stays one that cannot be used, instead of becoming the next
/// file that is opened; a file that may grow no more is an error of the write rather than a signal.
void begin_standard_streams();

/// Lines for people, on the standard error, each behind `before` ("accosim: "). Whatever they repeat of documents and
/// arguments reaches no terminal as it is.
void tell(std::string_view before, const std::string& lines);
/// The lines as tell() prints them, nothing before each.
std::string printable_lines(const std::string& lines);

/// Throws BadEnvironment where what was printed could not all be written: the disk is full, the stream is closed.
void flush_standard_output();

}  // namespace accosim
