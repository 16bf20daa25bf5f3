// Into how many parts a step may split its model: tensors, sequences, stages and chunks of stages.
#pragma once

#include <string>
#include <vector>

#include "models/read/load.hpp"

namespace accosim {

/// All degrees that divide the model and the cluster, the whole model first: tensors within a node, stages of equally
/// many blocks or, where the framework takes that, of one more, chunks of equally many. Where tensors are split the
/// sequence is, too, or is as the scenario has it. Of a model with experts every number of ranks that may share them.
/// What schedules, messages and orders the scenario writes stays.
std::vector<Parallel> degrees_of(const Scenario& scenario);

bool same_degrees(const Parallel& a, const Parallel& b);

/// "tensor_parallel_size 8, sequence_parallel, pipeline_parallel_size 4"; of a whole model "the whole model on each
/// GPU".
std::string degrees_in_words(const Parallel& parallel);

/// As --set takes it; what is written in "parallel" and goes with the degrees stays.
std::string degrees_setting(const LoadedScenario& written, const Parallel& parallel);

}  // namespace accosim
