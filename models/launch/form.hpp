// The forms in which a training can be typed, a framework's flags or file each, and what each of them can say of a
// scenario: what a search may choose, and what is nearest to what it lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/read/load.hpp"

namespace accosim {

/// Megatron-LM's pretrain_gpt.py (names as of core_v0.15); torchtitan's TOML (v0.2); DeepSpeed's JSON below Hugging
/// Face's Trainer; a script of PyTorch's own around fully_shard; overrides of Megatron-Bridge.
enum class LaunchForm : std::uint8_t { kMegatron, kTorchtitan, kDeepspeed, kFsdp2, kBridge };
template <>
inline constexpr const char* kNames<LaunchForm>[] = {"megatron", "torchtitan", "deepspeed", "fsdp2", "bridge"};

Framework framework_of(LaunchForm form);
const char* title_of(LaunchForm form);  ///< "Megatron-LM", "torchtitan"...

/// Whether it can say that of the training: "/training/attention=flash".
bool can_say(LaunchForm form, const std::string& set);
/// The nearest to an entry of "schedules", with what must be written; itself where the form can say it. Precondition:
/// the schedule is synchronous.
JsonValue nearest_entry(LaunchForm form, const Training& training, const std::optional<Cluster>& cluster,
                        const JsonValue& entry);
/// Why a schedule has no such form: "torchtitan has no ACCO"; empty where it has. `entry`: as above, of any schedule.
std::string not_typed(LaunchForm form, const Training& training, const std::optional<Cluster>& cluster,
                      const JsonValue& entry);

/// What became of a choice, both as JSON, and why; `schedule`: its label, or empty: of the training.
struct Replaced {
  std::string schedule, key, was, is, why;
};
/// The nearest to a scenario that the form has.
struct Nearest {
  std::vector<std::string> set;  ///< what makes it, as --set takes it
  std::vector<Replaced> replaced;
};
/// With one synchronous schedule, an entry of "schedules" with all its keys. Throws ScenarioError where the training
/// cannot be had so, as where the samples of an update cannot be shared.
Nearest nearest_to(LaunchForm form, const LoadedScenario& loaded, JsonValue entry);
/// An entry of "schedules" with all defaults filled in; without that label the plain sharded one.
JsonValue resolved_entry(const LoadedScenario& loaded, const std::string& label);

}  // namespace accosim
