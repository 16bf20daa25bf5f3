#include "models/spec/nccl_release.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace accosim {
namespace {

/// Those before 2.12 estimate as 2.12 does.
std::optional<int> known(int minor) {
  constexpr int kLeast = 4, kMost = 40;
  return minor >= kLeast && minor <= kMost ? std::optional<int>(minor) : std::nullopt;
}

}  // namespace

std::optional<int> nccl_minor(std::string_view release) {
  if (release.rfind("2.", 0) != 0) return std::nullopt;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto [rest, error] = std::from_chars(release.data() + 2, end, minor);
  const bool patch =
      rest != end && *rest == '.' && std::all_of(rest + 1, end, [](char c) { return c >= '0' && c <= '9'; });
  return error == std::errc{} && (rest == end || patch) ? known(minor) : std::nullopt;
}

std::optional<int> nccl_minor_of_code(int code) {
  constexpr int kNewFrom = 10'000, kHundred = 100, kThousand = 1000, kTen = 10;
  if (code >= kNewFrom) return code / kNewFrom == 2 ? known(code / kHundred % kHundred) : std::nullopt;
  return code / kThousand == 2 ? known(code / kHundred % kTen) : std::nullopt;
}

}  // namespace accosim
