// Plays the schedules once more for the trace, and writes it whole or not at all.
#include "sim/app/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "models/base/whole_file.hpp"
#include "models/spec/scenario.hpp"
#include "reports/trace_json.hpp"
#include "reports/unsteady.hpp"
#include "sim/app/shared.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

/// "0,1,8-15", each below `ranks`.
std::vector<int> parse_ranks(const std::string& text, int ranks) {
  std::vector<int> chosen;
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t digits = 0;
    while (at + digits < text.size() && digits < 9 && text[at + digits] >= '0' && text[at + digits] <= '9') ++digits;
    const int value = digits > 0 ? std::stoi(text.substr(at, digits)) : ranks;
    at += digits;
    return value;
  };
  while (at < text.size()) {
    const int first = number();
    int last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    const bool more = at < text.size() && text[at] == ',' && at + 1 < text.size();
    if (last < first || last >= ranks || (at < text.size() && !more))
      throw ScenarioError(
          {fmt::format("--trace-ranks {}: the ranks are 0 to {}; write for example 0,1,4-7", text, ranks - 1)});
    for (int rank = first; rank <= last; ++rank) chosen.push_back(rank);
    if (more) ++at;
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace

std::vector<Option> trace_options() {
  return {
      {.names = "--trace", .help = "Write a Chrome trace for Perfetto to this file", .empty = "names no file"},
      {.names = "--trace-updates",
       .help = "Number of updates in the trace",
       .value = 3,
       .least = 1,
       .most = 1000,
       .default_shown = true,
       .needs = "--trace"},
      {.names = "--trace-ranks",
       .help = "Ranks in the trace, such as 0,1,8-15; default: all",
       .empty = "names no rank",
       .needs = "--trace"},
  };
}

std::vector<int> traced_ranks(const Scenario& scenario, const Arguments& arguments) {
  return parse_ranks(arguments.text("--trace-ranks"), static_cast<int>(places_of(scenario.cluster).size()));
}

void write_trace(const ChosenSchedules& chosen, const std::vector<RunResult>& results, const Arguments& arguments) {
  if (!arguments.given("--trace")) return;
  const Scenario& scenario = chosen.scenario;
  const std::vector<Place> places = places_of(scenario.cluster);
  const int ranks = static_cast<int>(places.size());
  std::vector<std::string> names;
  for (const Place& place : places)
    names.push_back(
        fmt::format("{}, node {}", scenario.cluster.nodes[place.group].devices[place.gpu].name, place.node));
  WholeFile file(arguments.text("--trace"));
  TraceOptions options;
  options.ranks = traced_ranks(scenario, arguments);
  TraceWriter writer(file.stream(), options);
  for (std::size_t i = 0; i < chosen.indices.size(); ++i) {
    const ScheduleSpec& spec = scenario.schedules[chosen.indices[i]];
    const EventGraph graph = graph_for_trace(*results[i].costs, spec, scenario.training.gradient_accumulation_steps,
                                             arguments.whole("--trace-updates"), results[i].pauses);
    writer.begin_schedule(graph, spec.label + band_in_words(results[i]), names, 1 + static_cast<int>(i) * ranks);
    try {
      play(graph, network_of(arguments), writer.sink());
    } catch (const std::range_error& error) {
      throw ScenarioError({fmt::format("--trace: {}; {} takes longer", error.what(), spec.label)});
    }
  }
  writer.finish();
  file.commit();
  if (writer.truncated())
    std::cerr << "accosim: the trace holds its first events only; choose fewer with --trace-ranks or --trace-updates\n";
}

}  // namespace accosim
