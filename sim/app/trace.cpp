// Plays the schedules once more for the trace, and writes it whole or not at all.
#include "sim/app/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "models/spec/scenario_error.hpp"
#include "reports/trace/trace_json.hpp"
#include "reports/unsteady.hpp"
#include "sim/app/shared.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

std::vector<std::string> rank_names(const Scenario& scenario) {
  return mapped<std::string>(places_of(scenario.cluster), [&](const Place& place) {
    return fmt::format("{}, node {}", scenario.cluster.nodes[place.group].devices[place.gpu].name, place.node);
  });
}

/// By rank of the graph that is played. What is resident at the worst moment is there all the time, but for the
/// activations and the loss.
std::vector<MemoryCourse> memory_courses(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps,
                                         const Folded& folded) {
  std::vector<MemoryCourse> kinds, ranks(folded.graph.ranks.size());
  for (const RankKind& kind : costs.kinds) {
    const MemoryParts parts = memory_of(kind, spec, accumulation_steps);
    const Bytes comes = parts.part(MemoryUse::kActivations) + parts.part(MemoryUse::kLogitsAndLoss);
    kinds.push_back({parts.total() - comes, comes});
  }
  for (std::size_t r = 0; r < folded.class_of.size(); ++r) ranks[folded.class_of[r]] = kinds[costs.kind_of[r]];
  return ranks;
}

/// Of so few ranks each is played by itself and drawn, with each of its links. Of more one stands for those that do the
/// same: to play and write them all would take a minute where the prediction takes a second.
constexpr std::size_t kFewRanks = 64;

struct Shown {
  Folded folded;
  RanksShown ranks;
};

/// `asked`: the ranks that are to be drawn; empty: all of few, one of each kind of many.
Shown shown_of(EventGraph graph, const std::vector<int>& asked) {
  Shown shown;
  const std::vector<Rank> all = graph.ranks;
  shown.ranks.ranks = static_cast<int>(all.size());
  for (const Rank& rank : all) shown.ranks.groups.push_back(rank.groups);
  if (all.size() > kFewRanks) {
    shown.folded = fold(std::move(graph));
  } else {
    shown.folded.graph = std::move(graph);
    for (std::size_t r = 0; r < all.size(); ++r) shown.folded.class_of.push_back(static_cast<int>(r));
  }
  shown.ranks.drawn.resize(shown.folded.graph.ranks.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::vector<int>& drawn = shown.ranks.drawn[shown.folded.class_of[r]];
    const int number = static_cast<int>(r);
    if (asked.empty() ? drawn.empty() : std::ranges::binary_search(asked, number)) drawn.push_back(number);
  }
  return shown;
}

constexpr const char* kTraceComment = "accosim trace";

}  // namespace

std::vector<Option> trace_options() {
  return {
      file_option("--trace", "Write a Chrome trace for Perfetto to this file; compressed where its name ends in .gz"),
      number_option("--trace-updates", "Number of updates in the trace", 3, 1, 1000, "--trace"),
      {.names = "--trace-ranks",
       .help =
           "Ranks in the trace, such as 0,1,8-15; default: all, and one of those that do the same where they are more "
           "than 64",
       .empty = "names no rank",
       .needs = "--trace",
       .takes = "RANKS"},
      number_option("--trace-events", "Most events of each schedule in the trace; what comes later is left out",
                    250'000, 1, 1e9, "--trace"),
  };
}

std::vector<int> chosen_ranks(const Scenario& scenario, const Arguments& arguments, const std::string& option) {
  const int ranks = static_cast<int>(places_of(scenario.cluster).size());
  const std::string& text = arguments.text(option);  // "0,1,8-15"
  std::set<int> chosen;
  std::istringstream parts(text.ends_with(',') ? text + "," : text);  // where nothing is behind the last comma
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const std::optional<int> first = whole_number(part.substr(0, dash)),
                             last = dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= ranks)
      throw ScenarioError(
          {fmt::format("{} {}: the ranks are 0 to {}; write for example 0,1,4-7", option, text, ranks - 1)});
    for (int rank = *first; rank <= *last; ++rank) chosen.insert(rank);
  }
  return {chosen.begin(), chosen.end()};
}

OutputKind trace_kind_of(const std::string& path) {
  if (!is_gzip_name(path)) return trace_kind();
  return {"a trace is JSON for Perfetto", ".gz", "\x1f\x8b", kTraceComment};
}

TraceFile::TraceFile(const std::string& path) : file_(path) {
  if (is_gzip_name(path)) packed_.emplace(file_.stream(), kTraceComment);
}

void TraceFile::commit() {
  if (packed_) packed_->finish();
  file_.commit();
}

void write_trace(const ChosenSchedules& chosen, const std::vector<RunResult>& results, const Arguments& arguments) {
  if (!arguments.given("--trace")) return;
  const Scenario& scenario = chosen.scenario;
  TraceFile file(arguments.text("--trace"));
  TraceOptions options{.max_events = arguments.whole("--trace-events"), .counters = true};
  TraceWriter writer(file.stream(), options);
  const std::vector<std::string> names = rank_names(scenario);
  const std::vector<int> asked = chosen_ranks(scenario, arguments, "--trace-ranks");
  for (std::size_t i = 0; i < chosen.indices.size(); ++i) {
    const ScheduleSpec& spec = scenario.schedules[chosen.indices[i]];
    const int steps = scenario.training.gradient_accumulation_steps;
    const Shown shown = shown_of(
        graph_of_all_flows(*results[i].costs, spec, steps, arguments.whole("--trace-updates"), results[i].pauses),
        asked);
    const EventGraph& graph = shown.folded.graph;
    const int first_pid = 1 + static_cast<int>(i * (names.size() + 1));  // the links have one, too
    writer.begin_schedule(graph, spec.label + band_in_words(results[i]), names, first_pid,
                          memory_courses(*results[i].costs, spec, steps, shown.folded), shown.ranks);
    try {
      play(fold_flows(graph), network_of(arguments), writer.sink());
      writer.end_schedule();
    } catch (const std::range_error& error) {
      throw ScenarioError({fmt::format("--trace: {}; {} takes longer", error.what(), spec.label)});
    }
  }
  writer.finish();
  file.commit();
  tell_written(arguments.text("--trace"), "trace of " + so_many(chosen.indices.size(), "schedule"));
  if (asked.empty() && names.size() > kFewRanks)
    std::cerr << "accosim: of ranks that do the same the trace holds one; ask for others with --trace-ranks\n";
  if (writer.truncated())
    std::cerr << "accosim: the trace holds its first events only; choose fewer with --trace-ranks or --trace-updates, "
                 "or allow more with --trace-events\n";
}

}  // namespace accosim
