// A release of NCCL 2 as people and logs write it. Its minor version is what decides about estimates.
#pragma once

#include <optional>
#include <string_view>

namespace accosim {

/// 18 of "2.18" and of "2.18.5"; nothing of what is no release of NCCL 2 from 2.4 to 2.40.
std::optional<int> nccl_minor(std::string_view release);

/// 27 of 22707, as NCCL's library numbers 2.27.7 (and 2.8.3 as 2803, in the manner of those before 2.9); nothing of
/// what is no such number.
std::optional<int> nccl_minor_of_code(int code);

}  // namespace accosim
