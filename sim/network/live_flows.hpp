// What is known of each live flow, by its number. Numbers ascend, and what has ended takes no room once all that
// started before it have: a long play has as much memory as it has flows at one time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace accosim {

template <class T>
class LiveFlows {
 public:
  /// `number`: greater than all before.
  void add(int number, T of) {
    if (flows_.empty()) first_ = number;
    flows_.resize(static_cast<std::size_t>(number - first_));
    flows_.emplace_back(std::move(of));
  }
  bool empty() const { return flows_.empty(); }
  bool has(int number) const {
    return number >= first_ && place(number) < flows_.size() && flows_[place(number)].has_value();
  }
  /// Of one that is live.
  const T& operator[](int number) const { return *flows_[place(number)]; }
  T take(int number) {
    const T of = *std::exchange(flows_[place(number)], std::nullopt);
    for (; !flows_.empty() && !flows_.front(); ++first_) flows_.pop_front();
    return of;
  }

 private:
  std::size_t place(int number) const { return static_cast<std::size_t>(number - first_); }

  std::deque<std::optional<T>> flows_;
  int first_ = 0;  ///< the number of flows_.front()
};

}  // namespace accosim
