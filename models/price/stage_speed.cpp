#include "models/price/stage_speed.hpp"

#include <cstddef>

#include "models/spec/parallel.hpp"

namespace accosim {

std::vector<int> blocks_by_speed(const std::vector<StagePace>& stages, int blocks, int chunks) {
  std::vector<int> own(stages.size(), chunks);
  const auto with_another = [&](std::size_t stage) {
    return (own[stage] + 1) * stages[stage].block + stages[stage].besides;
  };
  for (int left = blocks - static_cast<int>(stages.size()) * chunks; left > 0; --left) {
    std::size_t next = 0;
    for (std::size_t stage = 1; stage < stages.size(); ++stage)
      if (with_another(stage) < with_another(next)) next = stage;
    ++own[next];
  }
  std::vector<int> shares(stages.size() * static_cast<std::size_t>(chunks));
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::vector<int> each = equal_blocks(own[stage], chunks);
    for (std::size_t chunk = 0; chunk < each.size(); ++chunk) shares[chunk * stages.size() + stage] = each[chunk];
  }
  return shares;
}

}  // namespace accosim
