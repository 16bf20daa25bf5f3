// How much work each node group has: its own accumulation steps, and what training.balance chose for it. The choice is
// written into the scenario's tree with its own source, so that a resolved scenario shows it and chooses anew when it
// is read again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/overrides.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

/// The source of a value that training.balance chose.
inline constexpr const char* kBalanceSource = "balance";

/// "gradient_accumulation_steps" of a node group: a number for all GPUs of a node or a list with one for each. Empty
/// where it is absent or wrong.
std::vector<int> read_accumulation_steps(ObjectReader& group, int gpus);

/// Reports a value that is written although training.balance chooses it.
void refuse_what_balance_chooses(ObjectReader& group, const Training& training);

/// In a tree that was resolved before, where training.balance is to choose anew: gives what it chose then a value that
/// is as good as none. `source` says where the value at a JSON pointer of the file came from.
void forget_choice(JsonValue& tree, const std::function<std::string(const std::string& pointer)>& source);

/// The groups' micro-batches and steps as settings of the scenario that they were chosen for.
std::vector<Setting> choice_of(const Cluster& balanced);

}  // namespace accosim
