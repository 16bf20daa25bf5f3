#include "reports/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

#include "reports/human.hpp"

namespace accosim {
namespace {

std::string share_of(Seconds part, Seconds whole) { return whole.value > 0 ? human_percent(part / whole) : "-"; }

/// Of what is too small to show, or what rounding leaves.
bool negligible(Seconds part, Seconds whole) { return std::fabs(part.value) <= 5e-4 * std::fabs(whole.value); }

void write_causes(std::ostream& out, const Explanation& explanation, const ConsoleOptions& options) {
  const CriticalPath& path = explanation.path;
  std::string text = fmt::format("Of {} per update of {}:", human_time(path.update_time), explanation.label);
  Seconds rest = path.update_time;
  const char* separator = " ";
  for (const auto& [cause, time] : path.causes) {
    text += fmt::format("{}{} ({}) {}", separator, human_time(time), share_of(time, path.update_time), cause);
    separator = "; ";
    rest -= time;
  }
  if (!negligible(rest, path.update_time)) {
    text +=
        fmt::format("{}{} ({}) on no op of the path", separator, human_time(rest), share_of(rest, path.update_time));
  }
  write_wrapped(out, "", text + ".", options.width);
}

void write_path(std::ostream& out, const CriticalPath& path, const ConsoleOptions& options) {
  if (path.steps.empty()) return;
  constexpr std::size_t kMost = 60;
  const std::size_t shown = path.steps.size() <= kMost ? path.steps.size() : kMost - 1;
  Column what{"critical path", "", {}, true}, rank{"rank", "", {}, false}, starts{"from", "", {}, false},
      takes{"takes", "", {}, false}, share{"share", "", {}, false};
  Seconds at, rest;
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const PathStep& step = path.steps[i];
    if (i < shown) {
      what.cells.push_back(Cell{step.count > 1 ? fmt::format("{} x {}", step.count, step.name) : step.name});
      rank.cells.push_back(Cell{fmt::format("{}", step.rank)});
      starts.cells.push_back(Cell{human_time(at)});
      takes.cells.push_back(Cell{human_time(step.duration)});
      share.cells.push_back(Cell{share_of(step.duration, path.update_time)});
      at += step.duration;
    } else {
      rest += step.duration;
    }
  }
  if (shown < path.steps.size()) {
    what.cells.push_back(Cell{fmt::format("{} more steps", path.steps.size() - shown)});
    rank.cells.push_back(Cell{""});
    starts.cells.push_back(Cell{human_time(at)});
    takes.cells.push_back(Cell{human_time(rest)});
    share.cells.push_back(Cell{share_of(rest, path.update_time)});
  }
  out << '\n';
  write_table(out, {what, rank, starts, takes, share}, options);
}

Seconds time_of(const OperatorRow& row) { return static_cast<double>(row.count) * (row.forward + row.backward); }

void write_operators(std::ostream& out, const OperatorTable& table, const ConsoleOptions& options) {
  out << '\n';
  write_wrapped(
      out, "",
      fmt::format("One micro-batch on {} takes {}, forward and backward:", table.device, human_time(table.micro_batch)),
      options.width);
  out << '\n';
  std::vector<Column> columns;
  const auto add = [&](const char* head, const char* sub_head, const std::function<std::string(const OperatorRow&)>& f,
                       const std::string& total) {
    Column column{head, sub_head, {}, columns.empty()};
    for (const OperatorRow& row : table.rows) column.cells.push_back(Cell{f(row)});
    column.cells.push_back(Cell{total, Style::kBold});
    columns.push_back(column);
  };
  Seconds sum;
  Flops flops;
  Bytes bytes;
  for (const OperatorRow& row : table.rows) {
    sum += time_of(row);
    flops += static_cast<double>(row.count) * row.flops;
    bytes += static_cast<double>(row.count) * row.bytes;
  }
  add(
      "operator", "", [](const OperatorRow& row) { return row.layer + " / " + row.name; }, "all");
  add(
      "times", "", [](const OperatorRow& row) { return fmt::format("{}", row.count); }, "");
  add(
      "all of", "them", [](const OperatorRow& row) { return human_time(time_of(row)); }, human_time(sum));
  add(
      "share", "", [&](const OperatorRow& row) { return share_of(time_of(row), table.micro_batch); },
      share_of(sum, table.micro_batch));
  add(
      "bound", "by", [](const OperatorRow& row) { return row.bound; }, "");
  add(
      "forward", "of one", [](const OperatorRow& row) { return human_time(row.forward); }, "");
  add(
      "backward", "of one", [](const OperatorRow& row) { return human_time(row.backward); }, "");
  add(
      "work", "of one", [](const OperatorRow& row) { return human_flops(row.flops); }, human_flops(flops));
  add(
      "moved", "by one", [](const OperatorRow& row) { return human_bytes(row.bytes); }, human_bytes(bytes));
  write_table(out, columns, options);
  const Seconds rest = table.micro_batch - sum;
  if (!negligible(rest, table.micro_batch)) {
    write_wrapped(out, "",
                  rest.value > 0
                      ? fmt::format("The other {} ({}) no operator explains: the GPU waits for the host to launch "
                                    "kernels, or is set to be slower than its profile.",
                                    human_time(rest), share_of(rest, table.micro_batch))
                      : fmt::format("The operators add up to {} more than the micro-batch takes.",
                                    human_time(Seconds{-rest.value})),
                  options.width);
  }
}

}  // namespace

void write_explanation(std::ostream& out, const Explanation& explanation, ConsoleOptions options) {
  write_causes(out, explanation, options);
  if (explanation.drawn_mean)
    write_wrapped(out, "",
                  fmt::format("Micro-batches are drawn: this is one update of many, whose mean is {}.",
                              human_time(*explanation.drawn_mean)),
                  options.width);
  for (const PauseResult& pause : explanation.pauses)
    write_wrapped(out, "",
                  fmt::format("The pause \"{}\" comes on top: {} each {} updates, so {} an update.", pause.name,
                              human_time(pause.cost), human_count(pause.every_updates),
                              human_time(1 / pause.every_updates * pause.cost)),
                  options.width);
  for (const std::string& note : explanation.notes) write_wrapped(out, "", note + ".", options.width);
  write_path(out, explanation.path, options);
  for (const OperatorTable& table : explanation.operators) write_operators(out, table, options);
}

}  // namespace accosim
