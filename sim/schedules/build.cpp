// From a schedule to the graph of the whole cluster: one program a kind of rank, and the groups that they ask for.
#include <stdexcept>

#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Program build_program(const ScheduleInput& input, Tables& tables) {
  const std::string& name = input.spec.name;
  if (name == "ddp") return build_ddp(input, tables);
  if (name == "zero1") return build_zero1(input, tables);
  if (name == "zero2") return build_zero2(input, tables);
  if (name == "zero3") return build_zero3(input, tables);
  if (name == "dpu" || name == "wp") return build_dpu(input, tables);
  if (name == "diloco") return build_diloco(input, tables);
  if (name == "acco") return build_acco(input, tables);
  throw std::logic_error("no schedule " + name);
}

}  // namespace

EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  EventGraph graph;
  if (spec.name == "diloco") graph.updates_per_mark = spec.inner_updates;
  Tables tables;
  for (const RankKind& kind : costs.kinds) {
    graph.programs.push_back(build_program({spec, costs, kind, accumulation_steps, updates}, tables));
    graph.programs.back().memory_bandwidth = kind.device.memory_efficiency * kind.device.memory_bandwidth;
  }
  graph.labels = std::move(tables.labels);
  add_groups(graph, costs, tables);
  return graph;
}

Seconds closed_form(const ScheduleInput& input) {
  const std::string& name = input.spec.name;
  if (name == "ddp") return ddp_closed_form(input);
  if (name == "zero1") return zero1_closed_form(input);
  if (name == "zero2") return zero2_closed_form(input);
  if (name == "zero3") return zero3_closed_form(input);
  if (name == "dpu" || name == "wp") return dpu_closed_form(input);
  if (name == "diloco") return diloco_closed_form(input);
  if (name == "acco") return acco_closed_form(input);
  throw std::logic_error("no schedule " + name);
}

}  // namespace accosim
