#include "models/base/text_file.hpp"

#include <fmt/format.h>

#include "models/base/input_file.hpp"

namespace accosim {

std::string read_text_file(const std::string& path, std::string& text, std::size_t most_bytes) {
  InputFile file(path);
  const auto too_large = [most_bytes] {
    return fmt::format("is larger than {} MiB; {}: check that it is the right file", most_bytes >> 20,
                       most_bytes == kMaxJsonBytes ? "no scenario is" : "nothing that is read here is");
  };
  if (file.wrong().empty() && file.size() > most_bytes) return too_large();
  while (file.read(text))
    if (text.size() > most_bytes) return too_large();  // it grows, or its size was no promise
  return file.wrong();
}

}  // namespace accosim
