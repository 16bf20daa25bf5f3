// What a fuzzer starts from: the files that come with the project, a few small ones of kinds of which none does, what
// libFuzzer found to reach further (ten a parser), and whatever broke something before.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/parsers.hpp"

namespace accosim {

struct Seed {
  std::string name;
  std::string text;
};

/// In tests/fuzz/corpus/PARSER, of which each line of a file that ends in .lines is one, and in the tree.
std::vector<Seed> seeds_of(const Parser& parser);

/// One of tests/fuzz/corpus/PARSER.
std::string seed_named(const std::string& parser, const std::string& name);

/// Brackets within brackets, far more than may be read, alone and within a seed: too long to be kept as files.
std::vector<Seed> deep_seeds(const Parser& parser);

}  // namespace accosim
