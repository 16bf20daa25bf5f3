// What repeats in a list, so that it can be shown once.
#pragma once

#include <cstddef>

namespace accosim {

/// Elements that follow each other `times` times, `length` of them; 1 of 1 for one that does not repeat.
struct Repeats {
  std::size_t begin = 0, length = 1, times = 1;

  std::size_t end() const { return begin + length * times; }
};

/// The repeats from `begin` on that save the most rows, in a list that ends at `end`; of equal ones the shortest.
/// same(at, length) says whether the element at `at`, of repeats that begin at `begin`, is like the one `length`
/// before.
template <typename Same>
Repeats repeats_at(std::size_t begin, std::size_t end, const Same& same) {
  constexpr std::size_t kLongest = 64;
  Repeats best{begin};
  std::size_t most = 0;
  for (std::size_t length = 1; length <= kLongest && begin + 2 * length <= end; ++length) {
    std::size_t at = begin + length;
    while (at < end && same(at, length)) ++at;
    const std::size_t times = (at - begin) / length;
    const std::size_t rows = length > 1 ? length + 1 : 1;  // with the line above those that repeat
    if (times > 1 && times * length > rows && times * length - rows > most) {
      most = times * length - rows;
      best = {begin, length, times};
    }
  }
  return best;
}

}  // namespace accosim
