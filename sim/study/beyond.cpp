#include "sim/study/beyond.hpp"

#include <string>
#include <utility>
#include <vector>

#include "models/spec/cluster.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

std::optional<Beyond> beyond_schedules(const WhatIf& what_if, std::size_t best) {
  const auto result_with = [&](const std::vector<std::string>& set) -> std::optional<RunResult> {
    const std::optional<Trial> trial = what_if.with(best, set);
    if (!trial) return std::nullopt;
    return run_schedule(trial->scenario, trial->spec(), what_if.evaluations());
  };
  const std::optional<RunResult> now = result_with({});
  if (!now) return std::nullopt;
  Beyond beyond;
  std::vector<const char*> settings = {"/training/implementation=compiled", "/cluster/nodes/*/attention=flash",
                                       "/training/optimizer_implementation=fused"};
  const Scenario& scenario = what_if.scenario();
  if (scenario.training.parallel.sequence) settings.push_back("/training/parallel/tensor_overlap=true");
  if (scenario.training.parallel.pipeline > 1 && !identical_ranks(scenario.cluster))
    settings.insert(settings.begin(), "/training/parallel/stage_layers=speed");
  for (const char* const each : settings) {
    std::vector<std::string> set = beyond.set;
    set.emplace_back(each);
    const std::optional<RunResult> then = result_with(set);
    const double times = then ? then->tokens_per_second / now->tokens_per_second : 0;
    const bool fits = then && (then->fits() || !now->fits());
    if (!fits || times < beyond.times * kNoticeablyFaster) continue;
    beyond = {std::move(set), times};
  }
  return beyond.set.empty() ? std::nullopt : std::optional(beyond);
}

}  // namespace accosim
