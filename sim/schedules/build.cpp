// From a schedule to the graph of the whole cluster: one program a kind of rank, and the groups that they ask for.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// What a row of models/spec/schedule_traits.cpp is here: the functions of its file.
struct Functions {
  const char* name;
  Program (*build)(const ScheduleInput& input, Tables& tables);
  Seconds (*closed_form)(const ScheduleInput& input);
  double (*micro_batches)(const ScheduleInput& input) = nullptr;  ///< of an update; none: those asked for
};
constexpr Functions kFunctions[] = {
    {"ddp", build_ddp, ddp_closed_form},
    {"zero1", build_zero1, zero1_closed_form},
    {"zero2", build_zero2, zero2_closed_form},
    {"zero3", build_zero3, zero3_closed_form},
    {"dpu", build_dpu, dpu_closed_form, dpu_micro_batches},
    {"wp", build_dpu, dpu_closed_form, dpu_micro_batches},
    {"acco", build_acco, acco_closed_form, acco_micro_batches},
    {"diloco", build_diloco, diloco_closed_form},
    {"local_sgd", build_local_sgd, local_sgd_closed_form},
};

const Functions& functions_of(const ScheduleSpec& spec) {
  for (const Functions& each : kFunctions)
    if (spec.name == each.name) return each;
  throw std::logic_error("no schedule " + spec.name);
}

/// A program a kind of rank.
std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates,
                                 Tables& tables) {
  std::vector<Program> programs;
  for (const RankKind& kind : costs.kinds)
    programs.push_back(functions_of(spec).build({spec, costs, kind, kind.steps(accumulation_steps), updates}, tables));
  return programs;
}

}  // namespace

EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  EventGraph graph;
  graph.updates_per_mark = updates_per_mark(traits_of(spec), spec.inner_updates);
  Tables tables;
  graph.programs = programs_of(spec, costs, accumulation_steps, updates, tables);
  for (std::size_t i = 0; i < costs.kinds.size(); ++i) {
    const Device& device = costs.kinds[i].device;
    if (costs.interference) graph.programs[i].streaming_sms = streaming_sms(device);
    graph.programs[i].memory_bandwidth = device.memory_efficiency * device.memory_bandwidth;
  }
  graph.labels = std::move(tables.labels);
  graph.pace = costs.pace;
  add_groups(graph, costs, tables);
  return graph;
}

std::vector<PlanRequest> requests_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps) {
  constexpr int kUpdates = 2;  // the first may differ
  Tables tables;
  programs_of(spec, costs, accumulation_steps, kUpdates, tables);
  return tables.plans;
}

Seconds closed_form(const ScheduleInput& input) { return functions_of(input.spec).closed_form(input); }

double closed_form_micro_batches(const ScheduleInput& input) {
  const auto counted = functions_of(input.spec).micro_batches;
  return counted == nullptr ? input.accumulation_steps : counted(input);
}

}  // namespace accosim
