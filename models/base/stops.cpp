#include "models/base/stops.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>

namespace accosim {
namespace {

constexpr std::array kStops = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kStops.size()> before;
volatile std::sig_atomic_t noted = 0;
volatile pid_t owner = 0;

/// Nothing here but what a signal handler may call.
void note(int signal) {
  if (getpid() == owner && noted == 0) {
    noted = signal;
    return;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // blocked until this returns
}

}  // namespace

StopsNoted::StopsNoted() {
  noted = 0;
  owner = getpid();
  struct sigaction noting {};
  noting.sa_handler = note;
  for (std::size_t i = 0; i < kStops.size(); ++i) {
    sigaction(kStops[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kStops[i], &noting, nullptr);
  }
}

StopsNoted::~StopsNoted() {
  for (std::size_t i = 0; i < kStops.size(); ++i) sigaction(kStops[i], &before[i], nullptr);
  if (noted != 0) std::raise(noted);
}

void look_for_stop() {
  if (noted == 0) return;
  const int signal = noted;
  noted = 0;
  throw Stopped(signal);
}

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);  // it is blocked
}

}  // namespace accosim
