// How much work each node group has: its own accumulation steps, or what training.balance is to choose for each
// schedule, which then nobody may write.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// "gradient_accumulation_steps" of a node group: a number for all GPUs of a node or a list with one for each. Empty
/// where it is absent or wrong.
std::vector<int> read_accumulation_steps(ObjectReader& group, int gpus);

/// Reports a value that is written although training.balance chooses it.
void refuse_what_balance_chooses(ObjectReader& group, const Training& training);

/// In a tree that was resolved before, where training.balance is to choose: takes out what nobody wrote. `source` says
/// where the value at a JSON pointer of the file came from.
void forget_defaults(JsonValue& tree, const std::function<std::string(const std::string& pointer)>& source);

}  // namespace accosim
