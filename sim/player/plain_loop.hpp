// A loop whose body is computations of known duration on one lane, played without an event a repetition: its progress
// is integrated, also while collectives beside it make its ops slower or let them go.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

class PlainLoop {
 public:
  /// Takes op `index` of the lane (the first of the body), times of one repetition or of several equal ones:
  /// (index, begin, end, repeat, period).
  using Emit = std::function<void(int, double, double, std::int64_t, double)>;

  /// `ops` are the `count` ops of the body, the first being `index` of its lane; they outlive the loop.
  void start(const Op* ops, int count, int index, double now);

  /// From `now` on op i of the body takes factors[i] times its duration. What has ended by then is emitted; the work
  /// done of the op under way stays done.
  void set_factors(const std::vector<double>& factors, double now, const Emit& emit);

  /// Fixes the number of bodies: the least multiple of the loop's stride, at least `min` of them, whose last body ends
  /// at `awaited` or later, or within kTie before it. Throws std::range_error where a double cannot count that many.
  void close(double awaited, const Loop& loop);
  bool closed() const { return limit_ >= 0; }
  int index() const { return index_; }
  int count() const { return count_; }

  /// When the last body ends at the present factors, once closed.
  double end() const;
  /// Emits what is left once closed.
  void finish(const Emit& emit);

 private:
  double factor(int i) const { return factors_.empty() ? 1 : factors_[i]; }
  double period() const;
  bool at_begin() const { return at_ == 0 && left_ == ops_[0].duration.value; }
  void settle(double now, const Emit& emit);

  const Op* ops_ = nullptr;
  int count_ = 0, index_ = 0;
  std::vector<double> factors_;  // empty: all 1
  int at_ = 0;                   // the op under way
  double left_ = 0;              // of its duration, at since_
  double begun_ = 0;             // when it began
  double since_ = 0;
  std::int64_t done_ = 0;    // bodies
  double last_end_ = 0;      // of a body
  std::int64_t limit_ = -1;  // bodies; -1 while open
};

}  // namespace accosim
