#include "models/base/standard_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "models/base/system_words.hpp"

namespace accosim {

std::string read_standard_input(std::string& text, std::size_t most_bytes) {
  std::array<char, 1 << 16> chunk{};
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got == 0) return {};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "cannot be read: " + system_words(errno);
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes)
      return fmt::format("is larger than {} MiB; {}: check what is written to it", most_bytes >> 20,
                         most_bytes == kMaxJsonBytes ? "no scenario is" : "nothing that is read here is");
  }
}

JsonDocument read_standard_input() {
  struct Input {
    std::string text, wrong;
  };
  static const Input kInput = [] {
    Input input;
    input.wrong = read_standard_input(input.text, kMaxJsonBytes);
    return input;
  }();
  if (kInput.wrong.empty()) return parse_json(kInput.text, kStandardInputName);
  JsonDocument document;
  document.errors.push_back(std::string(kStandardInputName) + " " + kInput.wrong);
  return document;
}

}  // namespace accosim
