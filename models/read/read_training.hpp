// The training of a scenario.
#pragma once

#include <optional>
#include <string>

#include "models/base/reader.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// Refuses a precision or an attention that accocal's own step does not have, in the training or in a node group.
void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention);

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics);

}  // namespace accosim
