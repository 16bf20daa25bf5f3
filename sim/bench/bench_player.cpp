// How many ops a second are built and played on one core: chains of compute on three sizes, and a data-parallel step of
// 100 layers with 25 all-reduces on up to 16,384 ranks that each keep their own position. Prints a table; judges
// nothing.
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "sim/graph/builder.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"

namespace accosim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// `ranks` ranks, each a chain of `ops` compute ops. A handful of programs whose durations differ, so that the ranks'
/// events interleave.
EventGraph chains(int ranks, int ops) {
  Tables tables;
  EventGraph graph;
  constexpr int kPrograms = 7;
  for (int p = 0; p < kPrograms; ++p) {
    ProgramBuilder program(tables, {"compute"});
    for (int i = 0; i < ops; ++i)
      program.compute(0, "op", OpClass::kForward, Seconds{1e-3 * (1 + 0.1 * p + 0.01 * (i % 13))});
    graph.programs.push_back(program.take(1));
  }
  for (int r = 0; r < ranks; ++r) graph.ranks.push_back({r % kPrograms, {}, 1});
  graph.labels = tables.labels;
  return graph;
}

/// One data-parallel step: so many layers forward and backward, an all-reduce after every `each` layers' backward,
/// nodes of 8. With `interfering` every all-reduce slows the backward beside it. With `core` all nodes share a link,
/// without which SimGrid is not asked.
struct Step {
  int ranks = 0;
  bool interfering = false, core = false;
  int layers = 100, each = 4;
};
EventGraph data_parallel_step(const Step& step) {
  const auto [ranks, interfering, core, layers, each] = step;
  Tables tables;
  EventGraph graph;
  ProgramBuilder program(tables, {"compute", "communication"});
  for (int i = 0; i < layers; ++i) program.compute(0, "forward", OpClass::kForward, Seconds{1e-3});
  OpRef reduced{1, -1};
  Work work{0.7, 0.3, {}};
  for (std::size_t i = 0; i < work.waves.size(); ++i) work.waves[i] = 1 + 0.01 * kHeld[i];
  for (int i = 0; i < layers; ++i) {
    const OpRef filled = program.compute(0, "backward", OpClass::kBackward, Seconds{2e-3}, {}, 0, work);
    if (i % each == each - 1)
      reduced = program.collective(1, "all-reduce", {CollectiveKind::kAllReduce, Bytes{1e8}}, {filled});
  }
  program.compute(0, "optimizer", OpClass::kOptimizer, Seconds{1e-3}, {reduced});
  program.mark(0, Mark::kUpdate);
  graph.programs.push_back(program.take(1));
  graph.labels = tables.labels;
  Group world;
  Plan plan{Seconds{1e-3}, Seconds{1e-3}, {}, Bytes{2e8}};
  plan.sms = interfering ? 24 : 0;
  plan.memory_traffic = BytesPerSecond{interfering ? 2e11 : 0};
  graph.programs[0].memory_bandwidth = BytesPerSecond{1.5e12};
  for (int r = 0; r < ranks; ++r) {
    world.members.push_back(r);
    graph.ranks.push_back({0, {0}, 1});
  }
  const int nodes = ranks / 8;
  for (int n = 0; n < nodes; ++n) {
    graph.links.push_back({"out", BytesPerSecond{5e10}});
    graph.links.push_back({"in", BytesPerSecond{5e10}});
  }
  if (core) graph.links.push_back({"core", BytesPerSecond{5e10 * nodes}});
  for (int n = 0; n < nodes; ++n) {
    graph.paths.push_back({{2 * n, 2 * ((n + 1) % nodes) + 1}});
    if (core) graph.paths.back().links.push_back(2 * nodes);
    plan.flows.push_back({n, Bytes{2e8}});
  }
  world.plans.push_back(plan);
  graph.groups.push_back(world);
  return graph;
}

/// The same of 40 layers, each reduced by itself, where no two ranks take the same time.
EventGraph jittered_step(int ranks) {
  EventGraph graph = data_parallel_step({.ranks = ranks, .interfering = true, .layers = 40, .each = 1});
  graph.pace.unsteady.jitter = {0.05, 0.02, Distribution::kLognormal};
  graph.pace.sequence_length = 1;
  graph.pace.micro_batch_size = {1};
  graph.pace.lengths = {{LengthCost{1, 1, 1, Flops{1}, Flops{1}}}};
  return graph;
}

void report(const std::string& name, double built, double played, const Played& result) {
  fmt::print("{:<52} {:>10} ops  build {:>7.3f} s  play {:>7.3f} s  {:>6.2f} M ops/s\n", name, result.ops, built,
             played, 1e-6 * static_cast<double>(result.ops) / (built + played));
  std::fflush(stdout);
}

template <typename Build>
void bench(const std::string& name, NetworkKind network, const Build& build) {
  const double start = now();
  const EventGraph graph = build();
  const double built = now();
  const Played result = play(graph, network, {});
  report(name, built - start, now() - built, result);
}

}  // namespace
}  // namespace accosim

int main() {
  using namespace accosim;
  bench("compute chains, 64 ranks x 16,000", NetworkKind::kReference, [] { return chains(64, 16000); });
  bench("compute chains, 1,024 ranks x 3,000", NetworkKind::kReference, [] { return chains(1024, 3000); });
  bench("compute chains, 16,384 ranks x 300", NetworkKind::kReference, [] { return chains(16384, 300); });
  for (const int ranks : {256, 2048, 16384}) {
    bench(fmt::format("100 layers, 25 all-reduces, {} ranks, reference", ranks), NetworkKind::kReference,
          [&] { return fold_flows(data_parallel_step({.ranks = ranks})); });
    bench(fmt::format("the same over a shared core, {} ranks, simgrid", ranks), NetworkKind::kSimgrid,
          [&] { return fold_flows(data_parallel_step({.ranks = ranks, .core = true})); });
  }
  for (const int ranks : {2048, 16384})
    bench(fmt::format("the same with interference, {} ranks, reference", ranks), NetworkKind::kReference,
          [&] { return fold_flows(data_parallel_step({.ranks = ranks, .interfering = true})); });
  bench("every flow played, 2048 ranks, simgrid", NetworkKind::kSimgrid,
        [] { return data_parallel_step({.ranks = 2048, .core = true}); });
  for (const int ranks : {256, 1024})
    bench(fmt::format("40 layers, 40 all-reduces, jitter, {} ranks", ranks), NetworkKind::kSimgrid,
          [&] { return fold_flows(jittered_step(ranks)); });
}
