// The names of an enum's values: one list beside the enum, by which a value is written, read and listed in messages.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/each.hpp"

namespace accosim {

/// A name for each value, in the order in which the enum lists them, from 0 on. An enum that has names specialises it:
///
///     enum class Overlap : std::uint8_t { kNone, kBackward };
///     template <>
///     inline constexpr const char* kNames<Overlap>[] = {"none", "backward"};
///
/// Values at the end without a name are none that a text can mean.
template <class E>
inline constexpr std::nullptr_t kNames = nullptr;

template <class E>
concept Named = requires {
  std::size(kNames<E>);
};

template <Named E>
constexpr const char* name_of(E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < std::size(kNames<E>) ? kNames<E>[index] : "";
}

/// Those with a name, in their order.
template <Named E>
const std::vector<E>& values_of() {
  static const std::vector<E> kAll = [] {
    std::vector<E> all;
    for (std::size_t i = 0; i < std::size(kNames<E>); ++i) all.push_back(static_cast<E>(i));
    return all;
  }();
  return kAll;
}

/// Their names.
template <Named E>
std::vector<std::string> names_of() {
  return {std::begin(kNames<E>), std::end(kNames<E>)};
}

/// The first value of that name.
template <Named E>
std::optional<E> value_named(std::string_view name) {
  for (const E value : values_of<E>())
    if (name == name_of(value)) return value;
  return std::nullopt;
}

}  // namespace accosim
