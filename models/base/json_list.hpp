// Documents hold lists of what the program holds in vectors and maps.
#pragma once

#include <vector>

#include "models/base/json.hpp"

namespace accosim {

/// What `json_of` makes of each item, in their order.
template <typename Items, typename JsonOf>
JsonValue json_list(const Items& items, const JsonOf& json_of) {
  std::vector<JsonValue> list;
  for (const auto& item : items) list.emplace_back(json_of(item));
  return list;
}

}  // namespace accosim
