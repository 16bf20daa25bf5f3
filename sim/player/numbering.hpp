// Numbers for signatures: equal ones have the same.
#pragma once

#include <cstddef>
#include <map>

namespace accosim {

/// In order of first appearance, so that numbers do not depend on how signatures are stored.
template <typename Signature>
class Numbering {
 public:
  int of(const Signature& signature) {
    const auto known = numbers_.lower_bound(signature);
    if (known != numbers_.end() && !(signature < known->first)) return known->second;
    return numbers_.emplace_hint(known, signature, static_cast<int>(numbers_.size()))->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Signature, int> numbers_;
};

}  // namespace accosim
