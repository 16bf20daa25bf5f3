// The timeline that `plot` draws and `compare --timeline` prints: its options, and its data.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/timeline_svg.hpp"
#include "sim/app/verb.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// --updates and --all-ranks, which have no meaning without the option `needed`, where one is named.
std::vector<Option> timeline_options(const std::string& needed);

/// The scenario's name, and its model and cluster.
PlotHeading heading_of(const Scenario& scenario);

/// `results` are those of the schedules of `indices`; each is played once more.
TimelinePicture timeline_picture(const Scenario& scenario, const std::vector<int>& indices,
                                 const std::vector<RunResult>& results, const Evaluations& evaluations,
                                 const Arguments& arguments);

}  // namespace accosim
