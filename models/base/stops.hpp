// Whoever stops a long piece of work (Ctrl-C, kill, the limit of a queue) is told what is kept of it and how to go on.
#pragma once

#include <stdexcept>
#include <string>

namespace accosim {

/// This process has been asked to end. what() says what is kept, once somebody who knows has said it.
class Stopped : public std::runtime_error {
 public:
  explicit Stopped(int by, const std::string& kept = "") : std::runtime_error(kept), signal(by) {}
  int signal;
};

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is noted for look_for_stop(); the next one ends the process as
/// ever, and so does the first where nobody has looked until this is gone. A forked child keeps none of it, and one
/// that is ignored stays so. There is one at a time.
class StopsNoted {
 public:
  StopsNoted();
  StopsNoted(const StopsNoted&) = delete;
  StopsNoted& operator=(const StopsNoted&) = delete;
  ~StopsNoted();
};

/// Throws Stopped where one has been noted.
void look_for_stop();

/// Ends the process as by the signal, so that a shell has 128 + its number.
[[noreturn]] void end_by(int signal);

}  // namespace accosim
