#include "sim/app/sweep/counted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/human.hpp"

namespace accosim {

std::optional<double> seconds_left(const PointsDone& done, std::size_t points) {
  const std::size_t quick = points - std::min(done.quick, points);
  if ((quick > 0 && done.quick == 0) || (done.waiting > 0 && done.slow == 0)) return std::nullopt;
  const auto of = [](std::size_t left, double seconds, std::size_t ended) {
    return left == 0 ? 0 : static_cast<double>(left) * seconds / static_cast<double>(ended);
  };
  return of(quick, done.quick_seconds, done.quick) + of(done.waiting, done.slow_seconds, done.slow);
}

std::string points_in_words(const PointsDone& done, std::size_t points) {
  const std::size_t over = std::min(done.quick - std::min(done.quick, done.waiting), points);
  std::string text = fmt::format("{} of {} points", over, points);
  if (const double seconds = done.quick_seconds + done.slow_seconds; over > 0 && seconds > 0)
    text += fmt::format(", {:.3g}/s", static_cast<double>(over) / seconds);
  if (const std::optional<double> left = seconds_left(done, points))
    text += fmt::format(", {} left", human_time(Seconds{*left}));
  if (done.failed > 0) text += fmt::format(", {} failed", done.failed);
  return text;
}

Counted::Counted(std::size_t points) : points_(points), shown_(fmt::format("playing {} points", points)) {}

void Counted::take_time() {
  const auto now = std::chrono::steady_clock::now();
  (slow_ ? done_.slow_seconds : done_.quick_seconds) += std::chrono::duration<double>(now - since_).count();
  since_ = now;
}

void Counted::go_on(bool slow, std::size_t waiting) {
  take_time();
  slow_ = slow;
  done_.waiting = waiting;
}

void Counted::one_more(bool failed, bool waits) {
  ++(slow_ ? done_.slow : done_.quick);
  if (slow_) --done_.waiting;
  if (waits) ++done_.waiting;
  done_.failed += failed ? 1 : 0;
}

void Counted::show() {
  take_time();
  shown_.now(points_in_words(done_, points_));
}

}  // namespace accosim
