// A document from standard input, where a user writes "-" for a file.
#pragma once

#include "models/base/json.hpp"

namespace accosim {

/// What stands for standard input, and what messages call it.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "standard input";

/// All of standard input, at most kMaxJsonBytes, parsed. It can be read only once, so the process keeps its text:
/// whoever asks again gets the same document.
JsonDocument read_standard_input();

}  // namespace accosim
