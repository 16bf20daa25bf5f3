// Pipelines whose passes take what a test says: a node a stage, priced and built as any other scenario, with the times
// of the stages' layers in place of the priced ones; and what its stages then did, pass by pass.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "models/price/price.hpp"
#include "sim/bodies/pipeline.hpp"
#include "sim/bodies/write.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/groups.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sample.hpp"

namespace accosim::test {

/// Times in ms.
struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int stages = 4, chunks = 1, micro_batches = 8;
  bool overlaps = false;
  double message = 0;
  std::vector<std::vector<double>> forward{}, backward{};  ///< by stage and chunk
  int group = 0;  ///< micro-batches that chunks take at once; 0: as many as there are stages
};

/// Each chunk of each stage takes f forward and b backward.
inline Pipeline even(Pipeline of, double f, double b) {
  of.forward.assign(of.stages, std::vector<double>(of.chunks, f));
  of.backward.assign(of.stages, std::vector<double>(of.chunks, b));
  return of;
}

/// Two blocks a chunk. A chunk's time is that of its layers, in parts that are not alike.
inline Costs costs_of(const Pipeline& of, const ScheduleSpec& spec = sample_schedule("ddp")) {
  Scenario scenario = sample_scenario(of.stages, 1);
  scenario.model = sample_model(2 * of.stages * of.chunks);
  Parallel& parallel = scenario.training.parallel;
  parallel.pipeline = of.stages;
  parallel.chunks = of.chunks;
  parallel.group = of.group;
  parallel.schedule = of.schedule;
  parallel.overlap_messages = of.overlaps;
  Costs costs = price(scenario, spec);
  for (RankKind& kind : costs.kinds) {
    kind.forward = kind.backward = Seconds{0};
    std::size_t layer = 0;
    for (std::size_t chunk = 0; chunk < kind.chunk_layers.size(); ++chunk) {
      const int layers = kind.chunk_layers[chunk];
      for (int i = 0; i < layers; ++i, ++layer) {
        const double part = 2. * (i + 1) / (layers * (layers + 1));
        kind.times[layer].forward = ms(part * of.forward[kind.share.stage][chunk]);
        kind.times[layer].backward = ms(part * of.backward[kind.share.stage][chunk]);
        kind.forward += kind.times[layer].forward;
        kind.backward += kind.times[layer].backward;
      }
    }
  }
  return costs;
}

/// Messages that take as long as is said, whatever else is sent.
inline void set_messages(EventGraph& graph, double message) {
  for (Group& group : graph.groups)
    for (std::size_t plan = 0; plan < group.plans.size(); ++plan)
      if (graph.requests[plan].kind == CollectiveKind::kSend) {
        group.plans[plan] = {};
        group.plans[plan].fixed = ms(message);
      }
}

/// Writes the program of a stage. The first lane computes, the second is for what a rule communicates.
using WriteStage = std::function<void(ProgramBuilder&, const Body&, const RankKind&)>;

/// The graph of what the stages write, of bodies for flights of at least so many micro-batches.
inline EventGraph graph_of(const Pipeline& of, const Costs& costs, const WriteStage& write_stage) {
  EventGraph graph;
  Tables tables;
  for (const RankKind& kind : costs.kinds) {
    const Body body = pipeline_body(kind, {}, costs.parallel, of.micro_batches);
    ProgramBuilder program(tables, {"compute", "communication"});
    write_stage(program, body, kind);
    program.mark(0, Mark::kUpdate);
    graph.programs.push_back(program.take(1));
  }
  graph.labels = tables.labels;
  graph.pace = costs.pace;
  add_groups(graph, costs, tables);
  return graph;
}

/// One flight. `written`: all rounds of it one after the other.
inline EventGraph flight_of(const Pipeline& of, bool written = false) {
  EventGraph graph = graph_of(of, costs_of(of), [&](ProgramBuilder& program, const Body& body, const RankKind&) {
    Often often{of.micro_batches};
    often.written = written;
    write(program, body, often);
  });
  set_messages(graph, of.message);
  return graph;
}

/// A pass that a stage has done, or a part of it, in ms.
struct Done {
  bool forward = true, ends = true;
  int chunk = 0;
  double begin = 0, end = 0;
};

/// By stage, in the order of time.
inline std::vector<std::vector<Done>> passes_of(const EventGraph& graph,
                                                NetworkKind network = NetworkKind::kReference) {
  std::vector<std::vector<Done>> done(graph.ranks.size());
  check_graph(graph);
  play(graph, network, [&](const Span& span) {
    const OpClass cls = graph.labels[span.label].cls;
    if (cls != OpClass::kForward && cls != OpClass::kBackward) return;
    const Op& op = graph.programs[graph.ranks[span.rank].program].lanes[span.lane][span.op];
    for (int k = 0; k < span.repeat; ++k) {
      const Seconds later = k * span.period;
      done[span.rank].push_back({cls == OpClass::kForward, op.ends_pass, op.pass / 4, 1e3 * (span.begin + later).value,
                                 1e3 * (span.end + later).value});
    }
  });
  return done;
}

/// From the first pass of a stage to the last, of all stages.
inline double time_of(const std::vector<std::vector<Done>>& stages) {
  return largest<double>(stages, [](const std::vector<Done>& passes) { return passes.back().end; });
}
inline double flight_ms(const Pipeline& of) { return time_of(passes_of(flight_of(of))); }

}  // namespace accosim::test
