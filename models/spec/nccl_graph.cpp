#include "models/spec/nccl_graph.hpp"

#include <cmath>
#include <cstdio>

namespace accosim {

bool read_pattern(const std::string& line, int& pattern, NcclGraph& graph) {
  constexpr int kMostChannels = 32;
  const std::size_t at = line.find("Pattern ");
  if (at == std::string::npos) return false;
  int cross = 0, channels = 0;
  double intra = 0, inter = 0;
  const char* const text = line.c_str() + at;
  const bool bw = std::sscanf(text, "Pattern %d, crossNic %d, nChannels %d, bw %lf/%lf", &pattern, &cross, &channels,
                              &intra, &inter) == 5;
  const bool speed = bw || std::sscanf(text, "Pattern %d, crossNic %d, nChannels %d, speed %lf/%lf", &pattern, &cross,
                                       &channels, &intra, &inter) == 5;
  if (!speed || channels < 1 || channels > kMostChannels || !(intra > 0 && std::isfinite(intra)) ||
      !(inter > 0 && std::isfinite(inter)))
    return false;
  graph = {channels, intra, inter};
  return true;
}

}  // namespace accosim
