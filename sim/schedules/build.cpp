// From a schedule to the graph of the whole cluster: one program a kind of rank, and the groups that they ask for.
#include <stdexcept>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/finish.hpp"
#include "sim/bodies/pipeline.hpp"
#include "sim/bodies/serial.hpp"
#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

// Each in the file of its name, and asked for here alone.
void add_zero2_update(ProgramBuilder&, const RuleInput&);
void add_diloco_update(ProgramBuilder&, const RuleInput&);
void add_local_sgd_update(ProgramBuilder&, const RuleInput&);
void add_slowmo_update(ProgramBuilder&, const RuleInput&);
void add_overlap_local_sgd_update(ProgramBuilder&, const RuleInput&);
void add_co2_update(ProgramBuilder&, const RuleInput&);
void add_eager_diloco_update(ProgramBuilder&, const RuleInput&);
void add_dpu_updates(ProgramBuilder&, const RuleInput&);
void add_streaming_diloco_updates(ProgramBuilder&, const RuleInput&);
void add_pipesgd_updates(ProgramBuilder&, const RuleInput&);
void add_sapipe_updates(ProgramBuilder&, const RuleInput&);

namespace {

/// What a row of models/spec/schedule_traits.cpp is here: the rule of its file.
struct NamedRule {
  const char* name;
  Rule rule;
  bool all = false;  ///< it writes all updates, and their marks
};
constexpr NamedRule kRules[] = {
    {"ddp", add_ddp_update},
    {"zero1", add_zero1_update},
    {"zero2", add_zero2_update},
    {"zero3", add_zero3_update},
    {"dpu", add_dpu_updates, true},
    {"wp", add_dpu_updates, true},
    {"pipesgd", add_pipesgd_updates, true},
    {"sapipe", add_sapipe_updates, true},
    {"acco", add_acco_updates, true},
    {"diloco", add_diloco_update},
    {"local_sgd", add_local_sgd_update},
    {"slowmo", add_slowmo_update},
    {"overlap_local_sgd", add_overlap_local_sgd_update},
    {"co2", add_co2_update},
    {"eager_diloco", add_eager_diloco_update},
    {"streaming_diloco", add_streaming_diloco_updates, true},
};

const NamedRule& rule_of(const ScheduleSpec& spec) {
  for (const NamedRule& each : kRules)
    if (program_of(spec) == each.name) return each;
  throw std::logic_error("no schedule " + spec.name);
}

/// Of an update, or the least of a round.
int micro_batches_of_a_flight(const ScheduleInput& input) {
  const int rounds = rounds_of(input.spec);
  return rounds == 1 || input.kind.own_steps ? input.accumulation_steps / rounds : input.spec.micro_batches_per_round;
}

Program program_for(const ScheduleInput& input, Tables& tables) {
  const NamedRule& of = rule_of(input.spec);
  const Body body = body_of(input.spec, input.costs, input.kind, micro_batches_of_a_flight(input));
  const RuleInput rule_input{input, body};
  ProgramBuilder program(tables, {"compute", "communication"});
  if (of.all) of.rule(program, rule_input);
  for (int update = 0; !of.all && update < input.updates; ++update) {
    of.rule(program, rule_input);
    end_update(program, input);
    if (update == 0) program.expect(input.updates);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// A program a kind of rank.
std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates,
                                 Tables& tables) {
  std::vector<Program> programs;
  for (const RankKind& kind : costs.kinds) {
    programs.push_back(program_for({spec, costs, kind, kind.steps(accumulation_steps), updates}, tables));
    Program& program = programs.back();
    if (costs.interference) program.streaming_sms = streaming_sms(kind.device);
    program.memory_bandwidth = kind.device.memory_efficiency * kind.device.memory_bandwidth;
  }
  return programs;
}

}  // namespace

Body body_of(const ScheduleSpec& spec, const Costs& costs, const RankKind& kind, int micro_batches) {
  Body body = kind.share.stages > 1 ? pipeline_body(kind, update_ranks(spec), costs.parallel, micro_batches)
                                    : serial_body(kind, update_ranks(spec));
  body.finish = finish_pieces(spec, costs, kind, static_cast<int>(body.lanes.size()));
  if (!body.finish.empty()) body.lanes.emplace_back("model");
  return body;
}

EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates,
                 const FewReplicas* few) {
  EventGraph graph{.updates_per_mark = updates_per_mark(spec)};
  Tables tables;
  graph.programs = programs_of(spec, costs, accumulation_steps, updates, tables);
  graph.labels = std::move(tables.labels);
  graph.pace = costs.pace;
  add_groups(graph, costs, tables, few);
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
