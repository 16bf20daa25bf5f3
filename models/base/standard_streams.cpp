// A closed stream is taken by a device that is open the wrong way round, so that using it is an error.
#include "models/base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <sstream>

#include "models/base/errors.hpp"
#include "models/base/text.hpp"

namespace accosim {

void begin_standard_streams() {
  // open() takes the lowest number that is free, which is the one that was just found closed.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF &&
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      _exit(4);
  std::signal(SIGXFSZ, SIG_IGN);
}

void tell(std::string_view before, const std::string& lines) {
  std::istringstream each(lines);
  for (std::string line; std::getline(each, line);) std::cerr << before << printable(line, kAllOfIt) << '\n';
}

std::string printable_lines(const std::string& lines) {
  std::istringstream each(lines);
  std::string out;
  for (std::string line; std::getline(each, line);) out += printable(line, kAllOfIt) + '\n';
  return out;
}

void flush_standard_output() {
  std::cout.flush();
  if (!std::cout) throw BadEnvironment("the results could not be written to the standard output");
}

}  // namespace accosim
