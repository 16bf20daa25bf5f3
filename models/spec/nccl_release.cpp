#include "models/spec/nccl_release.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace accosim {
namespace {

/// Those before 2.12 estimate as 2.12 does.
std::optional<NcclRelease> known(int minor, int patch = NcclRelease::kLastPatch) {
  constexpr int kLeast = 4, kMost = 40;
  if (minor < kLeast || minor > kMost) return std::nullopt;
  return NcclRelease{minor, patch > NcclRelease::kLastPatch ? NcclRelease::kLastPatch : patch};
}

/// Digits alone, as far as the text goes.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end && text.front() != '-' ? std::optional<int>(value) : std::nullopt;
}

}  // namespace

std::optional<NcclRelease> nccl_release(std::string_view release) {
  if (release.rfind("2.", 0) != 0) return std::nullopt;
  release.remove_prefix(2);
  const std::size_t dot = release.find('.');
  const std::optional<int> minor = number(release.substr(0, dot));
  if (!minor || dot == std::string_view::npos) return minor ? known(*minor) : std::nullopt;
  const std::optional<int> patch = number(release.substr(dot + 1));
  return patch ? known(*minor, *patch) : std::nullopt;
}

std::optional<NcclRelease> nccl_of_code(int code) {
  constexpr int kNewFrom = 10'000, kHundred = 100, kThousand = 1000, kTen = 10;
  if (code >= kNewFrom) return code / kNewFrom == 2 ? known(code / kHundred % kHundred, code % kHundred) : std::nullopt;
  return code / kThousand == 2 ? known(code / kHundred % kTen, code % kHundred) : std::nullopt;
}

bool knows(const NcclRelease& release, std::string_view architecture) {
  constexpr int kBlackwell = 25;
  return architecture.rfind("blackwell", 0) != 0 || release.minor >= kBlackwell;
}

std::string to_text(const NcclRelease& release) {
  if (release.patch == NcclRelease::kLastPatch) return fmt::format("2.{}", release.minor);
  return fmt::format("2.{}.{}", release.minor, release.patch);
}

}  // namespace accosim
