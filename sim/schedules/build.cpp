// From a schedule to the graph of the whole cluster: one program a kind of rank, and the groups that they ask for.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// What a row of models/spec/schedule_traits.cpp is here: the function of its file.
struct Function {
  const char* name;
  Program (*build)(const ScheduleInput& input, Tables& tables);
};
constexpr Function kFunctions[] = {
    {"ddp", build_ddp},     {"zero1", build_zero1},   {"zero2", build_zero2},
    {"zero3", build_zero3}, {"dpu", build_dpu},       {"wp", build_dpu},
    {"acco", build_acco},   {"diloco", build_diloco}, {"local_sgd", build_local_sgd},
};

const Function& function_of(const ScheduleSpec& spec) {
  for (const Function& each : kFunctions)
    if (program_of(spec) == each.name) return each;
  throw std::logic_error("no schedule " + spec.name);
}

/// A program a kind of rank.
std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates,
                                 Tables& tables) {
  std::vector<Program> programs;
  for (const RankKind& kind : costs.kinds) {
    programs.push_back(function_of(spec).build({spec, costs, kind, kind.steps(accumulation_steps), updates}, tables));
    Program& program = programs.back();
    if (costs.interference) program.streaming_sms = streaming_sms(kind.device);
    program.memory_bandwidth = kind.device.memory_efficiency * kind.device.memory_bandwidth;
  }
  return programs;
}

}  // namespace

EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  EventGraph graph;
  graph.updates_per_mark = updates_per_mark(traits_of(spec), spec.inner_updates);
  Tables tables;
  graph.programs = programs_of(spec, costs, accumulation_steps, updates, tables);
  graph.labels = std::move(tables.labels);
  graph.pace = costs.pace;
  add_groups(graph, costs, tables);
  return graph;
}

std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  Tables tables;
  return programs_of(spec, costs, accumulation_steps, updates, tables);
}

std::vector<PlanRequest> requests_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps) {
  constexpr int kUpdates = 2;  // the first may differ
  Tables tables;
  programs_of(spec, costs, accumulation_steps, kUpdates, tables);
  return tables.plans;
}

}  // namespace accosim
