// How a step splits its model, in words.
#pragma once

#include <string>
#include <vector>

#include "models/spec/parallel.hpp"

namespace accosim {

/// "tensor 8 x pipeline 16 (interleaved by 6) x data 8", of so many ranks; empty where every rank has the whole model.
std::string in_words(const Parallel& parallel, int ranks);

/// "a GPU", or "a replica of 128 GPUs": who does a micro-batch.
std::string micro_batch_owner(const Parallel& parallel);

/// Stages of a pipeline, ascending: "0", "1-14", "0,3-5".
std::string stage_numbers(const std::vector<int>& stages);
/// "stage 0", "stages 1-14".
std::string stages_in_words(const std::vector<int>& stages);

}  // namespace accosim
