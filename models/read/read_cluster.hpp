// A cluster from its object in the expanded tree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// What every device can do: for a cluster of which only the links are asked for.
Training any_training();

/// The keys of a node group that a balance chooses for each schedule, which then nobody may write.
std::vector<const char*> chosen_by(Balance balance);
/// Node groups take precision, attention and micro-batch size from the training where they do not say.
std::optional<Cluster> read_cluster(JsonValue& value, const std::string& pointer, const Training& training,
                                    Diagnostics& diagnostics);

}  // namespace accosim
