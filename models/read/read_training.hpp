// The training of a scenario, and the batch of an update as it is asked for: in micro-batches of each replica, or as a
// whole.
#pragma once

#include <optional>
#include <string>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// Refuses a precision or an attention that accocal's own step does not have, in the training or in a node group.
void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention);

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics);

/// A schedule's own "micro_batch_size", in which it does the same samples an update; 0: it has the training's.
int read_own_micro_batch(ObjectReader& reader, const Training& training, const std::optional<Cluster>& cluster,
                         Balance balance);

/// Turns a "global_batch_size" into the micro-batches of each replica; reports one that they cannot share, with the
/// nearest that they can. Precondition: the cluster's GPUs are whole replicas.
void share_global_batch(Training& training, const Cluster& cluster, ObjectReader& top);

}  // namespace accosim
