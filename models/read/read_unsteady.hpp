// What makes the steps of a training unlike each other.
#pragma once

#include "models/base/reader.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "models/spec/unsteady.hpp"

namespace accosim {

/// "sequence_lengths", "compute_jitter", "stragglers", "pauses" and "seed" of a training.
Unsteady read_unsteady(ObjectReader& training, int sequence_length);

/// Pauses of ranks that are not there, and lengths of a model whose time is known at one length alone; `top` is the
/// scenario.
void check_unsteady(const Training& checked, const Model& model, int ranks, ObjectReader& top);

}  // namespace accosim
