#include "reports/explain/split_costs_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "models/spec/parallel_words.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

std::string share_of(Seconds part, Seconds whole) { return whole.value > 0 ? human_percent(part / whole) : "-"; }

std::string bubble_in_words(const PipelineTime& pipeline, Seconds update) {
  const Parallel& parallel = pipeline.parallel;
  const double each = pipeline.micro_batches / pipeline.flights;
  std::string text = fmt::format(
      "The pipeline's bubble takes {} ({}): in the mean a stage has so long nothing to compute between the first "
      "forward and the last backward pass of {} micro-batches",
      human_time(pipeline.bubble), share_of(pipeline.bubble, update), human_count(each));
  if (pipeline.flights > 1) text += fmt::format(", {} times an update", pipeline.flights);
  const int behind = parallel.pipeline - 1;
  const std::string form = parallel.chunks > 1
                               ? fmt::format("(p - 1)/(v m) = {}/{}", behind, human_count(parallel.chunks * each))
                               : fmt::format("(p - 1)/m = {}/{}", behind, human_count(each));
  return text +
         fmt::format(". Equal stages whose messages take no time would have {} of what they compute, which is {}.",
                     form, human_time(pipeline.closed_form));
}

std::string tail_in_words(const SplitCosts& costs) {
  std::string text = fmt::format("The tail takes {} ({}), between the last backward pass and the next forward pass",
                                 human_time(costs.tail), share_of(costs.tail, costs.update_time));
  const char* separator = ": ";
  for (const auto& [name, time] : costs.tail_parts) {
    text += fmt::format("{}{} {}", separator, human_time(time), name);
    separator = "; ";
  }
  return text + ".";
}

/// Stages that are shown alike stand in one row.
struct StageRow {
  std::vector<int> stages;
  int ranks = 0;
  std::string computing, bubble, share;
};

std::vector<StageRow> rows_of(const PipelineTime& pipeline, Seconds update) {
  std::vector<StageRow> rows;
  for (const StageTime& stage : pipeline.stages) {
    const StageRow row{{stage.stage},
                       stage.ranks,
                       human_time(stage.computing),
                       human_time(stage.bubble),
                       share_of(stage.bubble, update)};
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const StageRow& other) {
      return other.computing == row.computing && other.bubble == row.bubble && other.share == row.share;
    });
    if (same == rows.end()) {
      rows.push_back(row);
      continue;
    }
    same->stages.push_back(stage.stage);
    same->ranks += stage.ranks;
  }
  return rows;
}

void write_stages(std::ostream& out, const std::vector<StageRow>& rows, const ConsoleOptions& options) {
  TableOf<StageRow> table(rows);
  table.add("stage", "", [](const StageRow& row) { return stage_numbers(row.stages); });
  table.add("GPUs", "", [](const StageRow& row) { return human_count(row.ranks); });
  table.add("forward and", "backward", [](const StageRow& row) { return row.computing; });
  table.add("bubble", "", [](const StageRow& row) { return row.bubble; });
  table.add("share", "", [](const StageRow& row) { return row.share; });
  write_table_below(out, "", table.columns(), options);
}

void write_dimensions(std::ostream& out, const SplitCosts& costs, const ConsoleOptions& options) {
  if (costs.dimensions.empty()) return;
  TableOf<DimensionTime> table(costs.dimensions);
  table.add("along", "", [](const DimensionTime& each) { return each.name; });
  table.add("GPUs", "of a group", [](const DimensionTime& each) { return human_count(each.ranks); });
  table.add("under way", "", [](const DimensionTime& each) { return human_time(each.takes); });
  table.add("hidden", "", [](const DimensionTime& each) { return human_time(each.hidden()); });
  table.add("bare", "", [](const DimensionTime& each) { return human_time(each.bare); });
  table.add("share", "", [&](const DimensionTime& each) { return share_of(each.bare, costs.update_time); });
  write_table_below(out,
                    "Communication along each dimension in an update, mean of the GPUs. Bare: the GPU computes nothing "
                    "meanwhile; of collectives within layers (tensor), what their passes take longer for them, and so "
                    "part of forward and backward. Where two go on at once both count.",
                    table.columns(), options);
}

}  // namespace

void write_split_costs(std::ostream& out, const SplitCosts& costs, const ConsoleOptions& options) {
  if (costs.pipeline) write_sentence(out, options, bubble_in_words(*costs.pipeline, costs.update_time));
  write_sentence(out, options, tail_in_words(costs));
  if (costs.pipeline) write_stages(out, rows_of(*costs.pipeline, costs.update_time), options);
  write_dimensions(out, costs, options);
}

}  // namespace accosim
