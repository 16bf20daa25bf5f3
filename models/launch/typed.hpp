// A scenario with one schedule as it is typed: the lines of a framework's arguments and of its file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/json.hpp"
#include "models/launch/form.hpp"

namespace accosim {

struct TypedLine {
  std::string part;                  ///< "MODEL_ARGS", the table of a TOML, "/zero_optimization" of a JSON
  std::string name;                  ///< of the argument or key, or a whole statement
  std::optional<JsonValue> value{};  ///< absent: an argument that takes none, or a statement
  std::string note{};                ///< stands behind it as a comment
};

struct Typed {
  int nodes = 1, gpus_per_node = 1;
  std::vector<TypedLine> arguments{};  ///< of the trainer
  std::vector<TypedLine> file{};       ///< of its configuration, or statements
  std::vector<std::string> remarks{};  ///< what of the scenario they do not say, a sentence each
};

/// Precondition: the scenario and its schedule are what is nearest to them in the form (nearest_to()).
Typed typed(LaunchForm form, const Scenario& scenario, const ScheduleSpec& spec);

/// What all forms ask for: `training` has the schedule's own micro-batch and chunks.
struct Typing {
  const Scenario& scenario;
  const Model& model;
  const ScheduleSpec& spec;
  Training training;
  int nodes, gpus_per_node, replicas;
  double samples, steps;  ///< of an update; updates

  Typing(const Scenario& whole, const ScheduleSpec& schedule);
};
/// What is said only where it is wanted.
inline std::optional<JsonValue> where(bool wanted, JsonValue value) {
  return wanted ? std::optional(std::move(value)) : std::nullopt;
}
/// What adapters stand beside, as Hugging Face's modules are called.
std::vector<std::string> module_names(const Lora& lora);
void type_megatron(const Typing& of, LaunchForm form, Typed& typed);  ///< and Megatron-Bridge
void type_torchtitan(const Typing& of, Typed& typed);
void type_deepspeed(const Typing& of, Typed& typed);
void type_fsdp2(const Typing& of, Typed& typed);

/// How torchtitan shares blocks among chunks: as if the first and the last had so many more than they have.
struct TitanShares {
  int first = 1, last = 1;
  int per_stage = 0;  ///< blocks of a chunk at most, where that says how many chunks there are; 0: need not be said
};
/// Nothing where it does not share them as the training does.
std::optional<TitanShares> titan_shares(int blocks, const Parallel& parallel);

}  // namespace accosim
