// A release of NCCL 2 as people and logs write it. Its minor version decides about most estimates, its patch about a
// few.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace accosim {

struct NcclRelease {
  static constexpr int kLastPatch = 99;  ///< no patch was said: the last one of the minor version

  int minor = 21;  ///< 2.21 is the one of PyTorch 2.5 and 2.6
  int patch = kLastPatch;

  auto operator<=>(const NcclRelease&) const = default;
};

/// {18, 5} of "2.18.5", {18} of "2.18"; nothing of what is no release of NCCL 2 from 2.4 to 2.40.
std::optional<NcclRelease> nccl_release(std::string_view release);

/// {27, 7} of 22707, as NCCL's library numbers 2.27.7 (and {8, 3} of 2803, in the manner of those before 2.9); nothing
/// of what is no such number.
std::optional<NcclRelease> nccl_of_code(int code);

/// Whether the release runs on GPUs of an architecture ("blackwell"...): Blackwell came with 2.25.
bool knows(const NcclRelease& release, std::string_view architecture);

/// "2.18.5", or "2.18" where no patch was said.
std::string to_text(const NcclRelease& release);

}  // namespace accosim
