#include "models/base/standard_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "models/base/text_file.hpp"

namespace accosim {
namespace {

/// What is wrong with it; empty when nothing is.
std::string read_to_end(std::string& text) {
  std::array<char, 1 << 16> chunk{};
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got == 0) return {};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::string("cannot be read: ") + std::strerror(errno);
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxJsonBytes)
      return fmt::format("is larger than {} MiB; no scenario is: check what is written to it", kMaxJsonBytes >> 20);
  }
}

}  // namespace

JsonDocument read_standard_input() {
  struct Input {
    std::string text, wrong;
  };
  static const Input kInput = [] {
    Input input;
    input.wrong = read_to_end(input.text);
    return input;
  }();
  if (kInput.wrong.empty()) return parse_json(kInput.text, kStandardInputName);
  JsonDocument document;
  document.errors.push_back(std::string(kStandardInputName) + " " + kInput.wrong);
  return document;
}

}  // namespace accosim
