// A scenario as it is typed for a framework: a script of the shell, a TOML or statements of Python, which can be copied
// as a whole, since whatever is said about it stands in comments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/launch/form.hpp"
#include "models/launch/typed.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Of one schedule of a scenario.
struct TypedAnswer {
  LaunchForm form = LaunchForm::kMegatron;
  Typed typed{};
  std::optional<Typed> before{};  ///< the launch script that it was made from: lines that differ from it are marked
  std::string name{}, schedule{}, cluster{};
  std::string command{};            ///< that printed it
  std::vector<std::string> said{};  ///< sentences: what is otherwise than in the scenario
};
std::string typed_text(const TypedAnswer& answer);

/// "zero1: buckets "units" becomes "tensors": buckets are of whole tensors."
std::string in_words(const Replaced& each);
/// Who has a schedule that no framework has.
std::string who_has(const Scenario& scenario, const ScheduleSpec& spec);
/// What the nearest takes beside the scenario's own.
std::string cost_in_words(const RunResult& nearest, const RunResult& own);

}  // namespace accosim
