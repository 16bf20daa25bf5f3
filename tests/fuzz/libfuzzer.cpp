// The parsers as libFuzzer calls them; the environment's ACCOSIM_FUZZ_PARSER names one. Half of its mutations are ours.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/parsers.hpp"

// NOLINTBEGIN(readability-identifier-naming): libFuzzer's own names.
extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
}
// NOLINTEND(readability-identifier-naming)

namespace {

const accosim::Parser& chosen() {
  static const accosim::Parser* const kParser = [] {
    const char* const name = std::getenv("ACCOSIM_FUZZ_PARSER");
    for (const accosim::Parser& each : accosim::parsers())
      if (name != nullptr && std::strcmp(each.name, name) == 0) return &each;
    std::fprintf(stderr, "ACCOSIM_FUZZ_PARSER names no parser; it may be\n");
    for (const accosim::Parser& each : accosim::parsers()) std::fprintf(stderr, "  %s\n", each.name);
    std::exit(2);
  }();
  return *kParser;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  accosim::try_parser(chosen(), std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  accosim::Random random(seed);
  if (random.integer(0, 1) == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text =
      accosim::mutated_by_form(std::string(reinterpret_cast<const char*>(data), size), chosen().form, random);
  if (text.empty() || text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::ranges::copy(text, data);
  return text.size();
}
