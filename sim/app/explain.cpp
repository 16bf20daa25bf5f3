// The verb `explain`: where the time of one update goes, what its collectives take message by message and on more
// nodes, and which change brings how much of a gain.
#include <iostream>
#include <optional>

#include "reports/collectives_text.hpp"
#include "reports/explain_text.hpp"
#include "reports/ladder_text.hpp"
#include "reports/messages_report.hpp"
#include "sim/answers/by_message.hpp"
#include "sim/app/ladder_option.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/critical_path.hpp"
#include "sim/result/explained_collectives.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

Option json_option() {
  return {.names = "--json", .help = "With --ladder or --messages: one JSON document instead of text", .value = false};
}

/// The time in which the schedule would do as many samples as in an update of `play`, if computation and communication
/// did not slow each other: it is played again with training.interference off. Absent where it is off already.
std::optional<Seconds> without_interference(Scenario scenario, const ScheduleSpec& spec, const SteadyPlay& play,
                                            NetworkKind network) {
  if (!scenario.training.interference) return std::nullopt;
  scenario.training.interference = false;
  const SteadyPlay alone = play_steady(scenario, spec, play.accumulation_steps, network);
  return samples_per_update(play) / samples_per_update(alone) * alone.measured.update_time;
}

ExitCode explain_each(const Arguments& arguments) {
  const Scenario scenario = load_balanced(arguments.text("scenario"), arguments.texts("--set")).scenario;
  std::vector<Explanation> explanations;
  {
    Progress progress("playing schedules");
    for (const int index : chosen_schedules(scenario, arguments.texts("--schedule"))) {
      const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(index)];
      progress.now("playing " + spec.label);
      const SteadyPlay play =
          play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, network_of(arguments));
      explanations.push_back(explain(spec, play));
      explanations.back().without_interference = without_interference(scenario, spec, play, network_of(arguments));
    }
  }
  write_explanations(std::cout, explanations, console_options());
  return ExitCode::kDone;
}

ExitCode explain_ladder(const Arguments& arguments) {
  const Scenario scenario = load_balanced(arguments.text("scenario"), arguments.texts("--set")).scenario;
  const Ladder walked =
      while_shown("playing the schedules between", [&] { return ladder_asked_for(scenario, arguments); });
  if (arguments.flag("--json"))
    std::cout << dump_json(ladder_json(walked)) << '\n';
  else
    write_ladder(std::cout, walked, console_options());
  return ExitCode::kDone;
}

const Texts kLadderReads{"scenario", "--set", "--network", "--ladder", "--json"};

Option growth_option() {
  return {.names = "--growth",
          .help = "Instead: what collectives on more and more such nodes cost, term by term, as Markdown",
          .value = false,
          .excludes = {"--ladder", "--messages"}};
}

ExitCode write_growth_of(const Arguments& arguments) {
  const Scenario scenario = load_balanced(arguments.text("scenario"), arguments.texts("--set")).scenario;
  write_growth(std::cout, scenario.cluster, growth_of(scenario.cluster));
  return ExitCode::kDone;
}

Option messages_option() {
  return {.names = "--messages",
          .help = "Play every message of the collectives between nodes, beside the closed forms of predictions",
          .value = false,
          .excludes = {"--ladder"}};
}

ExitCode explain_messages(const Arguments& arguments) {
  const Scenario scenario = load_balanced(arguments.text("scenario"), arguments.texts("--set")).scenario;
  std::vector<CollectivesByMessage> results;
  for (const int index : chosen_schedules(scenario, arguments.texts("--schedule")))
    results.push_back(by_message(scenario, scenario.schedules[index]));
  if (arguments.flag("--json")) {
    write_by_message_json(std::cout, results);
    return ExitCode::kDone;
  }
  for (const CollectivesByMessage& result : results) write_by_message(std::cout, result, console_options());
  return ExitCode::kDone;
}

Mode of_messages() {
  return {.of = "of messages (--messages)",
          .reads = {"scenario", "--set", "--schedule", "--messages", "--json"},
          .run = explain_messages,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--messages"); },
          .refusals = {
              {"--network", "--messages plays each collective alone, on a network of its own; leave out --network"}}};
}

}  // namespace

Verb explain_verb() {
  return {.name = "explain",
          .help =
              "Show where the time of one update goes, what its collectives cost, or which change brings how much of a "
              "gain",
          .options = joined(play_options(), {ladder_option(), growth_option(), messages_option(), json_option()}),
          .modes = {of_messages(),
                    {.of = "of growth (--growth)",
                     .reads = {"scenario", "--set", "--growth"},
                     .run = write_growth_of,
                     .is_meant = [](const Arguments& arguments) { return arguments.given("--growth"); }},
                    {.of = "of a ladder (--ladder)",
                     .reads = kLadderReads,
                     .run = explain_ladder,
                     .is_meant = [](const Arguments& arguments) { return arguments.given("--ladder"); }},
                    {.of = "of schedules", .reads = names_of(play_options()), .run = explain_each}}};
}

}  // namespace accosim
