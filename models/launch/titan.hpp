// What torchtitan knows by name or does by itself, for those that read its TOML and those that write it.
#pragma once

#include <span>
#include <vector>

namespace accosim {

/// A flavour of a model that is shipped (torchtitan/models/*/__init__.py, v0.2.2).
struct TitanFlavor {
  const char* name;  ///< "llama3/8B"
  const char* shipped;
};
std::span<const TitanFlavor> titan_flavors();

/// Blocks of so many chunks, the first and the last having so many fewer than an equal share of all; empty where there
/// are too few.
std::vector<int> titan_blocks(int blocks, int runs, int first, int last);

}  // namespace accosim
