#include "sim/explain/memory_bars.hpp"

namespace accosim {

std::vector<MemoryBar> memory_bars(const std::vector<RunResult>& results) {
  std::vector<MemoryBar> bars;
  for (const RunResult& result : results)
    for (const KindMemory& kind : result.memory_by_kind) {
      const Interval interval = resident_interval(kind.parts);
      bars.push_back({kind, result.label, Bytes{interval.low}, Bytes{interval.high}});
    }
  return bars;
}

}  // namespace accosim
