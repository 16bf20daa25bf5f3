// What a user chooses of the things that a picture compares: which, in which order, and what they are called.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/base/each.hpp"

namespace accosim {

/// Places in `names` of what `wanted` names, in that order: by the name or, where none is written so, all forms of that
/// schedule. All places where nothing is wanted. Throws BadInput; `option` is what the message calls it.
std::vector<std::size_t> series_named(const std::string& option, const std::vector<std::string>& names,
                                      const std::vector<std::string>& wanted);

/// The names, with the texts of `labels`, "NAME=TEXT", in their place. Throws BadInput.
std::vector<std::string> renamed(std::vector<std::string> names, const std::vector<std::string>& labels);

/// Those at these places.
template <class Item>
std::vector<Item> picked(const std::vector<Item>& all, const std::vector<std::size_t>& places) {
  return mapped<Item>(places, [&](const std::size_t place) { return all[place]; });
}

}  // namespace accosim
