// The verb `explain`: where the time of one update goes, what its collectives take message by message and on more
// nodes, which change brings how much of a gain, and what a schedule's ranks run.
#include <iostream>
#include <optional>

#include "models/base/outputs.hpp"
#include "models/base/whole_file.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "reports/explain/explain_text.hpp"
#include "reports/graph/schedule_graph.hpp"
#include "reports/ladder_text.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/explain/by_message.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// The time in which the schedule would do as many samples as from one mark of `play` to the next, which is what is
/// explained (of DiLoCo its inner updates and their meeting), if computation and communication did not slow each other:
/// it is played again with training.interference off. Absent where it is off already.
std::optional<Seconds> without_interference(const Scenario& asked, const ScheduleSpec& spec, const SteadyPlay& play,
                                            const Evaluations& evaluations) {
  if (!asked.training.interference) return std::nullopt;
  Division own = evaluations.divided(asked, spec);  // the same division, with interference or without
  own.scenario.training.interference = false;
  const auto alone = evaluations.play(own.scenario, own.spec);
  return play.folded.graph.updates_per_mark * (samples_per_update(play) / samples_per_update(*alone)) *
         alone->measured.update_time;
}

ExitCode explain_each(const Arguments& arguments) {
  const Scenario scenario = load_asked(arguments, arguments.texts("--schedule")).scenario;
  const Evaluations evaluations(network_of(arguments));
  std::vector<Explanation> explanations;
  {
    Progress progress("playing schedules");
    for (const int index : chosen_schedules(scenario, arguments.texts("--schedule"))) {
      const ScheduleSpec& spec = scenario.schedules[index];
      progress.now("playing " + spec.label);
      const auto play = evaluations.play(scenario, spec);
      explanations.push_back(explain(spec, *play));
      explanations.back().without_interference = without_interference(scenario, spec, *play, evaluations);
    }
  }
  if (arguments.flag("--json"))
    std::cout << dump_json(explanations_json(explanations)) << '\n';
  else
    print_terminal(std::cout, explanations_document(explanations), console_options());
  return ExitCode::kDone;
}

ExitCode explain_ladder(const Arguments& arguments) {
  const Scenario scenario = load_asked(arguments).scenario;
  const Ladder walked = while_shown("playing the schedules between",
                                    [&] { return ladder_asked_for(scenario, network_of(arguments), arguments); });
  if (arguments.flag("--json"))
    std::cout << dump_json(ladder_json(walked)) << '\n';
  else
    print_terminal(std::cout, ladder_document(walked), console_options());
  return ExitCode::kDone;
}

ExitCode write_growth_of(const Arguments& arguments) {
  const Scenario scenario = load_asked(arguments).scenario;
  print_markdown(std::cout, growth_page(scenario.cluster, growth_of(scenario.cluster)));
  return ExitCode::kDone;
}

ExitCode explain_messages(const Arguments& arguments) {
  const Scenario scenario = load_asked(arguments, arguments.texts("--schedule")).scenario;
  std::vector<CollectivesByMessage> results;
  {
    Progress progress("playing messages");  // off the terminal before the results are on it
    for (const int index : chosen_schedules(scenario, arguments.texts("--schedule"))) {
      progress.now("playing every message of " + scenario.schedules[index].label);
      results.push_back(by_message(scenario, scenario.schedules[index]));
    }
  }
  if (arguments.flag("--json"))
    write_by_message_json(std::cout, results);
  else
    print_terminal(std::cout, by_message_document(results), console_options());
  return ExitCode::kDone;
}

/// Beside those of what is played.
std::vector<Option> own_options() {
  return {
      ladder_option(),
      tuned_option(),
      flag_option("--growth", "Instead: what collectives on more and more such nodes cost, term by term, as Markdown",
                  {"--ladder", "--messages"}),
      flag_option("--messages",
                  "Play every message of the collectives between nodes, beside the closed forms of predictions",
                  {"--ladder"}),
      flag_option("--graph", "Print what each kind of rank runs: lanes, ops, what they wait for, loops",
                  {"--ladder", "--growth", "--messages"}),
      file_option("-o,--output", "With --graph: draw it into this file instead, .dot for Graphviz"),
      force_option(),
      json_option()};
}

ScheduleGraph graph_of(const Scenario& scenario, const ScheduleSpec& spec) {
  const Shared<Costs> costs = Evaluations(NetworkKind::kReference).costs(scenario, spec);
  const auto of_updates = [&](int updates) {
    return build(spec, costs, scenario.training.gradient_accumulation_steps, updates);
  };
  ScheduleGraph graph{spec.label, {}, of_updates(2), of_updates(0).programs, of_updates(1).programs};
  for (const RankKind& kind : costs->kinds) graph.kinds.push_back(kind.device.name);
  return graph;
}

ExitCode explain_graph(const Arguments& arguments) {
  const LoadedScenario loaded = load_asked(arguments, arguments.texts("--schedule"));
  const Scenario& scenario = loaded.scenario;
  const std::string& output = arguments.text("--output");
  check_outputs({{"--output", output, {"a graph is Graphviz's dot", ".dot", kDotBegins, ""}}}, loaded.files,
                arguments.flag("--force"));
  std::vector<ScheduleGraph> graphs;
  for (const int index : chosen_schedules(scenario, arguments.texts("--schedule")))
    graphs.push_back(graph_of(scenario, scenario.schedules[index]));
  if (arguments.given("--output")) {
    WholeFile file(output);
    write_dot(file.stream(), graphs);
    file.commit();
    tell_written(output, "graph of " + so_many(graphs.size(), "schedule"));
  } else {
    for (const ScheduleGraph& graph : graphs) {
      if (&graph != &graphs.front()) std::cout << '\n';
      write_graph(std::cout, graph, console_options());
    }
  }
  return ExitCode::kDone;
}

}  // namespace

Verb explain_verb() {
  return {
      .name = "explain",
      .help =
          "Show where the time of one update goes, what its collectives cost, which change brings how much of a "
          "gain, or what ranks run",
      .options = joined(play_options(), own_options()),
      .modes = {
          flag_mode("a graph", "--graph", scenario_and({"--schedule", "--output", "--force"}), explain_graph,
                    {"--network"}, "--graph shows what is there before anything is played; leave out --network"),
          flag_mode("messages", "--messages", scenario_and({"--schedule", "--json"}), explain_messages, {"--network"},
                    "--messages plays each collective alone, on a network of its own; leave out --network"),
          flag_mode("growth", "--growth", scenario_and({}), write_growth_of),
          flag_mode("a ladder", "--ladder", scenario_and({"--network", "--no-tuned", "--json"}), explain_ladder),
          {.of = "of schedules", .reads = names_of(joined(play_options(), {json_option()})), .run = explain_each}}};
}

}  // namespace accosim
