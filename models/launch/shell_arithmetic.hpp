// What stands between $(( and )): whole numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace accosim {

/// The number that a text is, in decimal digits, where "_" may part them.
std::optional<std::int64_t> whole(std::string_view text);

/// + - * / % **, comparisons, && and ||, with brackets. Nothing where it is none, a name has no number, or a number is
/// too large.
std::optional<std::int64_t> calculate(std::string_view expression,
                                      const std::function<std::optional<std::int64_t>(const std::string&)>& number_of);

}  // namespace accosim
