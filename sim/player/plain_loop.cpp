#include "sim/player/plain_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace accosim {
namespace {

constexpr double kMostRepeats = 0x1p53;  // as far as a double counts

}  // namespace

void PlainLoop::start(const Op* ops, int count, int index, double now) {
  ops_ = ops;
  count_ = count;
  index_ = index;
  factors_.clear();
  at_ = 0;
  left_ = ops[0].duration.value;
  begun_ = since_ = last_end_ = now;
  done_ = 0;
  limit_ = -1;
}

double PlainLoop::period() const {
  double sum = 0;
  for (int i = 0; i < count_; ++i) sum += ops_[i].duration.value * factor(i);
  return sum;
}

void PlainLoop::set_factors(const std::vector<double>& factors, double now, const Emit& emit) {
  settle(now, emit);
  factors_ = factors;
}

void PlainLoop::settle(double now, const Emit& emit) {
  const double period = this->period();
  if (period <= 0 && !closed()) return;  // takes no time, however often
  while (done_ != limit_) {
    if (at_begin()) {
      double fit = period > 0 ? std::floor((now - since_) / period) : std::numeric_limits<double>::infinity();
      if (closed()) fit = std::min(fit, static_cast<double>(limit_ - done_));
      if (fit > 0) {
        const auto bodies = static_cast<std::int64_t>(fit);
        double begin = since_;
        for (int i = 0; i < count_; ++i) {
          const double end = begin + ops_[i].duration.value * factor(i);
          emit(index_ + i, begin, end, bodies, period);
          begin = end;
        }
        done_ += bodies;
        since_ = begun_ = last_end_ = since_ + static_cast<double>(bodies) * period;
        continue;
      }
    }
    const double end = since_ + left_ * factor(at_);
    if (end > now) break;
    emit(index_ + at_, begun_, end, 1, 0);
    since_ = begun_ = end;
    if (++at_ == count_) {
      at_ = 0;
      ++done_;
      last_end_ = end;
    }
    left_ = ops_[at_].duration.value;
  }
  if (now > since_ && done_ != limit_ && std::isfinite(now)) {
    left_ = std::max(0.0, left_ - (now - since_) / factor(at_));
    since_ = now;
  }
}

void PlainLoop::close(double awaited, const Loop& loop) {
  const double period = this->period(), least = static_cast<double>(loop.min) * loop.stride;
  double first = since_;  // when the first body that has not begun could begin
  auto bodies = static_cast<double>(done_);
  if (!at_begin()) {
    const bool looked = done_ % loop.stride == 0 && bodies >= least;
    if (looked && last_end_ >= awaited - kTie.value) {  // what began within the tie did not
      at_ = 0;
      left_ = ops_[0].duration.value;
      since_ = last_end_;
      limit_ = done_;
      return;
    }
    first += left_ * factor(at_);
    for (int i = at_ + 1; i < count_; ++i) first += ops_[i].duration.value * factor(i);
    ++bodies;
  }
  if (period > 0) bodies += std::max(0.0, std::ceil((awaited - kTie.value - first) / period));
  bodies = std::max(least, std::ceil(bodies / loop.stride) * loop.stride);
  if (bodies > kMostRepeats)
    throw std::range_error(fmt::format("a round would take {:.3g} micro-batches, more than can be counted", bodies));
  limit_ = static_cast<std::int64_t>(bodies);
}

double PlainLoop::end() const {
  if (done_ == limit_) return last_end_;
  if (at_begin()) return since_ + static_cast<double>(limit_ - done_) * period();
  double end = since_ + left_ * factor(at_);
  for (int i = at_ + 1; i < count_; ++i) end += ops_[i].duration.value * factor(i);
  return end + static_cast<double>(limit_ - done_ - 1) * period();
}

void PlainLoop::finish(const Emit& emit) { settle(std::numeric_limits<double>::infinity(), emit); }

}  // namespace accosim
