// How far a pool of processes is with its points, on a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "sim/app/terminal.hpp"

namespace accosim {

/// Points that have ended, those that take long apart: one may take as long as a hundred others, so that the rate of
/// all says little of those that are left.
struct PointsDone {
  std::size_t quick = 0, slow = 0;  ///< a quick one may have ended in that it takes long, and waits
  double quick_seconds = 0, slow_seconds = 0;
  std::size_t waiting = 0;  ///< that take long, and may have to be played
  std::size_t failed = 0;
};
/// Seconds that the rest takes of `points`; nothing where that is not known yet.
std::optional<double> seconds_left(const PointsDone& done, std::size_t points);
/// "312 of 1020 points, 23.1/s, 31 s left, 2 failed".
std::string points_in_words(const PointsDone& done, std::size_t points);

class Counted {
 public:
  explicit Counted(std::size_t points);

  /// From now on points that take long are played, or others; `waiting` of those that do, these among them.
  void go_on(bool slow, std::size_t waiting);
  /// `waits`: that it takes long has been found out, and no more.
  void one_more(bool failed, bool waits = false);
  void show();

 private:
  void take_time();

  std::size_t points_;
  bool slow_ = false;
  PointsDone done_;
  Progress shown_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace accosim
