// What is said of each element of a range, as one expression where a loop would say how. `of` and `is` are functions of
// an element, or members of it: mapped<std::string>(verbs, &Verb::name).
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace accosim {

/// What `of` gives of each, in their order.
template <class T, class Range, class Of>
std::vector<T> mapped(const Range& range, const Of& of) {
  std::vector<T> all;
  if constexpr (requires { std::size(range); }) all.reserve(std::size(range));
  for (const auto& each : range) all.push_back(T(std::invoke(of, each)));
  return all;
}

/// Those of which `is` holds, in their order.
template <class Range, class Is>
auto matching(const Range& range, const Is& is) {
  std::vector<std::decay_t<decltype(*std::begin(range))>> all;
  for (const auto& each : range)
    if (std::invoke(is, each)) all.push_back(each);
  return all;
}

/// The sum of what `of` gives, first to last; T{} of none.
template <class T, class Range, class Of>
T sum_of(const Range& range, const Of& of) {
  T sum{};
  for (const auto& each : range) sum += std::invoke(of, each);
  return sum;
}

/// The largest of what `of` gives; T{} where none is larger.
template <class T, class Range, class Of>
T largest(const Range& range, const Of& of) {
  T most{};
  for (const auto& each : range) most = std::max<T>(most, std::invoke(of, each));
  return most;
}

}  // namespace accosim
