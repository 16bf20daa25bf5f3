#include "sim/app/sweep/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "reports/human.hpp"

namespace accosim {

Counted::Counted(std::size_t points) : points_(points), shown_(fmt::format("playing {} points", points)) {}

void Counted::one_more(bool failed) {
  ++done_;
  failed_ += failed ? 1 : 0;
}

void Counted::show() {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - since_;
  const double rate = static_cast<double>(done_) / taken.count();
  std::string text = fmt::format("{} of {} points, {:.3g}/s", done_, points_, rate);
  const std::size_t left = points_ - std::min(done_, points_);
  if (rate > 0) text += fmt::format(", {} left", human_time(Seconds{static_cast<double>(left) / rate}));
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  shown_.now(text);
}

}  // namespace accosim
