// Fitted constants are written with as many digits as they are known to.
#pragma once

#include <fmt/format.h>

#include "models/base/json.hpp"

namespace accosim {

/// A number as it is written: a few digits are all that a fit is good for.
inline JsonValue rounded(double value, int digits = 4) {
  JsonValue json = json_number(value, {});
  json.text = fmt::format("{:.{}g}", value, digits);
  return json;
}

}  // namespace accosim
