// Numbers for signatures, equal ones the same: in order of first appearance, so that they depend on nothing but the
// signatures. All that were seen lie in one array behind a table of hashes; one that has a number costs no memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accosim {

class Numbering {
 public:
  /// Appends to the signature that number() ends. What has no fixed length is added with its length.
  void add(std::int64_t word) { words_.push_back(static_cast<std::uint64_t>(word)); }
  void add(double value) { words_.push_back(std::bit_cast<std::uint64_t>(value + 0.0)); }  // -0 as 0

  /// Of what was added since the last call.
  int number() {
    if (2 * begins_.size() >= table_.size()) grow();
    const std::size_t begin = begins_.back(), length = words_.size() - begin;
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = hash(begin, words_.size()) & mask;; at = (at + 1) & mask) {
      const int known = table_[at];
      if (known == kFree) {
        table_[at] = static_cast<int>(size());
        begins_.push_back(words_.size());
        return table_[at];
      }
      const std::size_t from = begins_[static_cast<std::size_t>(known)];
      const std::size_t to = begins_[static_cast<std::size_t>(known) + 1];
      if (to - from != length || !std::equal(words_.begin() + static_cast<std::ptrdiff_t>(from),
                                             words_.begin() + static_cast<std::ptrdiff_t>(to),
                                             words_.begin() + static_cast<std::ptrdiff_t>(begin)))
        continue;
      words_.resize(begin);
      return known;
    }
  }

  std::size_t size() const { return begins_.size() - 1; }

 private:
  static constexpr int kFree = -1;

  std::size_t hash(std::size_t begin, std::size_t end) const {
    std::uint64_t h = end - begin;
    for (std::size_t i = begin; i < end; ++i) {
      h = (h ^ words_[i]) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }

  void grow() {
    table_.assign(std::max<std::size_t>(16, 4 * table_.size()), kFree);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = 0; i < size(); ++i) {
      std::size_t at = hash(begins_[i], begins_[i + 1]) & mask;
      while (table_[at] != kFree) at = (at + 1) & mask;
      table_[at] = static_cast<int>(i);
    }
  }

  std::vector<std::uint64_t> words_;    // those of number i from begins_[i] on
  std::vector<std::size_t> begins_{0};  // and the next one's
  std::vector<int> table_;              // of a power of two places
};

}  // namespace accosim
