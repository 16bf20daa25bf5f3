// Rows of a sweep of unlike clusters, made in code.
#pragma once

#include <vector>

#include "sim/sweep/rows.hpp"

namespace accosim {

/// One axis of three rates. ddp on the whole does so many times what the part does, acco always twice.
inline SweepRows fair_rows(const std::vector<double>& ddp) {
  Heading heading{.version = "1",
                  .scenario = "mix",
                  .id = "0",
                  .points = ddp.size(),
                  .grid = true,
                  .axes = {{"/cluster/nodes/0/nics/bandwidth", {"10 Gbit/s", "20 Gbit/s", "40 Gbit/s"}}},
                  .schedules = {"ddp", "acco"},
                  .baseline = "ddp",
                  .fair = true};
  SweepRows rows{heading, {}};
  for (std::size_t i = 0; i < ddp.size(); ++i) {
    Row row{i, {i}, {}, {}, Alone{"32 A100", "64 V100", 1, 64, 100}};
    for (const double over : {ddp[i], 2.0}) {
      row.schedules.push_back({.tokens_per_second = 100 * over,
                               .over_best_synchronous = 0.5 * over,
                               .over_alone = over,
                               .over_alone_interval = Interval{over * 0.9, over * 1.1},
                               .samples_per_update = 96});
    }
    rows.rows.push_back(row);
  }
  return rows;
}

}  // namespace accosim
