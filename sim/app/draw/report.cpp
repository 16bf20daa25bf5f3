// The verb `report`: a comparison as one page, which opens anywhere and without a network.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/base/input_file.hpp"
#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "models/spec/schedule_traits.hpp"
#include "reports/page.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "sim/app/measured_run.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/sweep/rows_output.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/trace.hpp"
#include "sim/app/verbs.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/network/network.hpp"
#include "sim/player/fold.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {
namespace {

constexpr const char* kRanks = "--timeline-ranks";
constexpr const char* kUpdates = "--timeline-updates";

std::vector<Option> options() {
  return joined(joined(joined(play_options(), winner_options()), {by_option(), tuned_option(), verbose_option()}),
                {seeds_option(),
                 file_option("-o,--output", "HTML file to write", true),
                 number_option(kUpdates, "Number of updates in the timeline", 2, 1, 1000),
                 {.names = kRanks,
                  .help = "Ranks in the timeline, such as 0,1,8-15; default: at most 4 of those that differ",
                  .empty = "names no rank",
                  .takes = "RANKS"},
                 ladder_option(),
                 file_option("--measured",
                             "A run of accocal train over its prediction; the scenario is then the machine that it was "
                             "made on (accosim fit SAMPLES -o MACHINE)"),
                 force_option()});
}

/// The command that was given, without --force.
std::string command_of(const Arguments& arguments) { return command_of("report", options(), {"--force"}, arguments); }

std::vector<std::string> devices_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (const Device& device : group.devices)
      if (!contains(names, device.name)) names.push_back(device.name);
  return names;
}

struct TimelineChoice {
  std::vector<int> ranks;  ///< those to draw; empty: some of each kind that differs
  int updates = 2;
};

constexpr std::int64_t kMostSpans = 400'000;  ///< of a page, about 6 MB
constexpr std::size_t kMostRows = 4;          ///< of a schedule, where nobody asked for others

/// The rank of the folded graph behind each row, and the real rank that gives it its name: those that were asked for,
/// or one of each program and then the others that differ.
std::vector<std::pair<int, int>> drawn_ranks(const Folded& folded, const std::vector<int>& asked) {
  std::vector<std::pair<int, int>> rows;
  std::set<int> classes, programs;
  const auto add = [&](int rank) {
    const int one = folded.class_of[rank];
    if (classes.insert(one).second) rows.emplace_back(one, rank);
  };
  for (const int rank : asked) add(rank);
  if (!asked.empty()) return rows;
  const int ranks = static_cast<int>(folded.class_of.size());
  for (int rank = 0; rank < ranks; ++rank)
    if (programs.insert(folded.graph.ranks[folded.class_of[rank]].program).second) add(rank);
  for (int rank = 0; rank < ranks && rows.size() < kMostRows; ++rank) add(rank);
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

/// " (A100-SXM4-80GB)" where the GPUs are not all of one kind.
std::string device_of(const Cluster& cluster, const std::vector<Place>& places, int rank) {
  std::set<std::string> kinds;
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices) kinds.insert(device_name(cluster, device));
  if (kinds.size() < 2) return "";
  const Place& place = places[rank];
  return fmt::format(" ({})", device_name(cluster, cluster.nodes[place.group].devices[place.gpu]));
}

PageTimeline page_timeline(const Scenario& scenario, const ScheduleSpec& spec, const RunResult& result,
                           const TimelineChoice& choice, std::int64_t most_spans, NetworkKind network) {
  const int phase = updates_per_mark(spec);
  constexpr int kFilling = 2;  // updates until a pipeline of rounds is full
  TimelineWindow window{.first = std::max(kFilling, phase),
                        .count = (choice.updates + phase - 1) / phase * phase,
                        .most_spans = most_spans,
                        .under_way = true};
  Folded folded = fold(graph_for_trace(*result.costs, spec, scenario.training.gradient_accumulation_steps,
                                       updates_for(window, phase), result.pauses));
  const std::vector<Place> places = places_of(scenario.cluster);
  PageTimeline one{.label = result.label, .timeline = {}, .rows = {}};
  window.ranks.assign(folded.graph.ranks.size(), false);
  for (const auto& [folded_rank, rank] : drawn_ranks(folded, choice.ranks)) {
    const auto at = static_cast<std::size_t>(folded_rank);
    const int like_it = folded.graph.ranks[at].multiplicity - 1;
    window.ranks[at] = true;
    one.rows.push_back(
        {folded_rank, fmt::format("rank {}{}{}", rank, like_it > 0 ? fmt::format(" and {} like it", like_it) : "",
                                  device_of(scenario.cluster, places, rank))});
  }
  one.timeline = played_timeline(std::move(folded.graph), window, network);
  return one;
}

/// Each schedule played once more, equal ranks once: one a result, of steady updates.
std::vector<PageTimeline> page_timelines(const ChosenSchedules& chosen, const std::vector<RunResult>& results,
                                         const TimelineChoice& choice, NetworkKind network) {
  const std::int64_t most = kMostSpans / static_cast<std::int64_t>(std::max<std::size_t>(1, results.size()));
  std::vector<PageTimeline> timelines;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ScheduleSpec& spec = chosen.scenario.schedules[chosen.indices[i]];
    timelines.push_back(page_timeline(chosen.scenario, spec, results[i], choice, most, network));
  }
  return timelines;
}

/// All ranks of a graph of which each stands for itself.
std::vector<PageRow> rows_of_all(const EventGraph& graph) {
  std::vector<PageRow> rows;
  for (int rank = 0; rank < static_cast<int>(graph.ranks.size()); ++rank)
    rows.push_back({rank, fmt::format("rank {}", rank)});
  return rows;
}

/// All but the timelines and the run.
Page page_of(const ChosenSchedules& chosen, std::vector<RunResult> results, const Evaluations& evaluations,
             const Arguments& arguments) {
  const Scenario& scenario = chosen.scenario;
  Page page;
  page.command = command_of(arguments);
  page.network = arguments.text("--network");
  page.results = std::move(results);
  page.tuned = chosen.tuned;
  page.standing = standing_of(scenario, page.results, winner_rule_of(arguments), evaluations, page.tuned);
  page.fair = fair_comparison(scenario, page.results, evaluations, page.tuned);
  page.breakdowns = breakdowns_of(scenario, chosen.indices, page.results, evaluations);
  page.errors = shipped_known_errors(devices_of(scenario));
  return page;
}

ExitCode write(const Scenario& scenario, const Page& page, const std::string& path) {
  WholeFile file(path);
  write_page(file.stream(), scenario, page);
  file.commit();
  tell_written(path, "page of " + so_many(page.results.size(), "schedule"));
  return ExitCode::kDone;
}

ExitCode report_schedules(const Arguments& arguments) {
  const std::string& path = arguments.text("--output");
  ChosenSchedules chosen = load_chosen(arguments, {{"--output", path, page_kind()}}, {});
  const TimelineChoice choice{chosen_ranks(chosen.scenario, arguments, kRanks), arguments.whole(kUpdates)};
  const Evaluations evaluations(network_of(arguments));
  add_tuned(chosen, evaluations, arguments);
  std::optional<Ladder> ladder;
  if (arguments.given("--ladder"))
    ladder = while_shown("playing the schedules between",
                         [&] { return ladder_asked_for(chosen.scenario, evaluations, arguments, chosen.tuned); });
  std::vector<RunResult> results = over_seeds(chosen, evaluations, arguments, [&](const Scenario& scenario) {
    return compare(scenario, chosen.indices, evaluations, chosen.tuned);
  });
  const Progress progress("drawing the page");
  Page page = page_of(chosen, std::move(results), evaluations, arguments);
  page.timelines = page_timelines(chosen, page.results, choice, network_of(arguments));
  if (chosen.scenario.training.parallel.pipeline > 1)
    page.pipelines = pipeline_charts(chosen.scenario, chosen.indices, evaluations);
  page.ladder = std::move(ladder);
  return write(chosen.scenario, page, path);
}

ExitCode report_run(const Arguments& arguments) {
  const std::string &path = arguments.text("--output"), &measured = arguments.text("--measured");
  const RunOnMachine both = load_run(measured, arguments.text("scenario"));
  check_outputs({{"--output", path, page_kind()}}, both.files, arguments.flag("--force"));
  warn_of_differences(both);
  RunBesidePrediction beside = predict(both, arguments.whole(kUpdates), network_of(arguments));
  const ChosenSchedules chosen{both, {0}};
  const Evaluations evaluations(network_of(arguments));
  std::vector<RunResult> results{run_schedule(both.scenario, both.scenario.schedules.front(), evaluations)};
  add_advice(results, WhatIf(both, evaluations));
  Page page = page_of(chosen, std::move(results), evaluations, arguments);
  page.run = PageRun{measured,
                     update_time(both.run),
                     beside.predicted.update_time,
                     micro_batches_per_update(both.run),
                     beside.predicted.micro_batches_per_update,
                     compare_parts(beside.measured_line, beside.predicted_line)};
  for (Timeline* const line : {&beside.predicted_line, &beside.measured_line}) {
    PageTimeline one{page.results.front().label, std::move(*line), {}, line == &beside.measured_line};
    one.rows = rows_of_all(one.timeline.graph);
    page.timelines.push_back(std::move(one));
  }
  return write(both.scenario, page, path);
}

Mode of_a_run() {
  return flag_mode("a run", "--measured",
                   {"scenario", "--network", "--output", kUpdates, "--batch-growth", "--fit-probability", "--force"},
                   report_run, {"--set", "--schedule", "--seeds", "--ladder", kRanks},
                   "--measured is of one run; leave out --set, --schedule, --seeds, --ladder and --timeline-ranks");
}

/// Whether the file holds rows of a sweep, or would by its name. Standard input is a scenario's.
bool is_rows(const std::string& path) {
  const bool named_so = std::filesystem::path(path).extension() == ".jsonl" && beginning_of(path, 1).empty();
  return path != "-" && (named_so || beginning_of(path, 64).rfind(kRowsBegin, 0) == 0);
}

ExitCode report_sweep(const Arguments& arguments) {
  const std::string &input = arguments.text("scenario"), &output = arguments.text("--output");
  check_outputs({{"--output", output, page_kind()}}, {input}, arguments.flag("--force"));
  const Merit merit = merit_of(arguments);
  const SweepRows rows = read_rows(input, [&](const Heading& heading) {
    check_page_takes(heading);
    check_score(heading, merit.by);
  });
  check_score(rows, merit.by);
  WholeFile file(output);
  const std::string played = rows.heading.command.empty() ? "" : rows.heading.command + " -o " + in_shell(input) + "\n";
  write_sweep_page(file.stream(), rows, played + command_of(arguments), merit);
  file.commit();
  tell_written(output, "page of a sweep, " + so_many(rows.rows.size(), "configuration"));
  return ExitCode::kDone;
}

Mode of_a_sweep() {
  return {.of = "of a sweep's rows",
          .reads = {"scenario", "--output", "--by", "--batch-growth", "--fit-probability", "--force"},
          .run = report_sweep,
          .is_meant = [](const Arguments& arguments) { return is_rows(arguments.text("scenario")); }};
}

Mode of_schedules() {
  Texts reads = names_of(options());
  for (const char* const other : {"--measured", "--by"}) reads.erase(std::ranges::find(reads, other));
  return {.of = "of schedules", .reads = reads, .run = report_schedules};
}

}  // namespace

Verb report_verb() {
  return {.name = "report",
          .help =
              "Write a comparison, or in place of the scenario the rows of a sweep, as one HTML page, which opens "
              "anywhere without a network",
          .options = options(),
          .modes = {of_a_run(), of_a_sweep(), of_schedules()}};
}

}  // namespace accosim
