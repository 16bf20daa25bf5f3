// Standard input, where a user writes "-" for a file.
#pragma once

#include <cstddef>
#include <string>

#include "models/base/json.hpp"

namespace accosim {

/// What stands for standard input, and what messages call it.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "standard input";

/// All that is left of it, of at most `most_bytes`. Returns what is wrong, to be put behind its name; empty when
/// nothing is.
std::string read_standard_input(std::string& text, std::size_t most_bytes);

/// All of standard input, at most kMaxJsonBytes, parsed. It can be read only once, so the process keeps its text:
/// whoever asks again gets the same document.
JsonDocument read_standard_input();

}  // namespace accosim
