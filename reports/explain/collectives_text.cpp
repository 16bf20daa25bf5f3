// What collectives cost and why, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "reports/explain/explain_text.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

constexpr const char* kMark = "†";

/// "112 (14 between nodes)", and how often a chunk's way is gone where that is more than once.
std::string steps_of(const CollectiveRow& row) {
  std::string text = fmt::format("{:.0f}", row.steps);
  if (row.nodes > 1) text += fmt::format(" ({:.0f})", row.net_steps);
  return row.turns > 1 ? fmt::format("{} x {:.0f}", text, row.turns) : text;
}

std::string share_of(const CollectiveRow& row, Seconds term) {
  return row.alone > Seconds{0} ? fmt::format("{:.0f} %", 100 * (term / row.alone)) : "-";
}

Seconds largest_of(const CollectiveRow& row) {
  for (const auto& [name, time] : row.terms)
    if (name == row.binds) return time;
  return Seconds{0};
}

/// No message has less than the 8 B of data that LL sends at a time.
std::string message_of(const CollectiveRow& row) {
  constexpr Bytes kLeast{8};
  return row.message > Bytes{0} ? human_memory(std::max(row.message, kLeast)) : std::string("-");
}

std::string way_of(const CollectiveRow& row) { return row.algorithm + " " + row.protocol; }

/// What NCCL does otherwise for a larger message, which then takes less time.
std::string switch_between(const CollectiveRow& small, const CollectiveRow& large) {
  if (way_of(small) != way_of(large)) return fmt::format("goes from {} to {}", way_of(small), way_of(large));
  if (small.channels != large.channels) return fmt::format("goes by {} on another number of channels", way_of(small));
  return fmt::format("goes by {} for both", way_of(small));
}

/// What stands behind marked rows of a table, with their numbers of nodes.
using Switches = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_switch(Switches& switches, const CollectiveRow& small, const CollectiveRow& large) {
  const std::string what = fmt::format("{} takes longer than {}: between them NCCL {}", to_text(small.bytes),
                                       to_text(large.bytes), switch_between(small, large));
  const std::string nodes = fmt::format("{}", small.nodes);
  for (auto& [known, of] : switches)
    if (known == what) return of.push_back(nodes);
  switches.push_back({what, {nodes}});
}

void write_switches(std::ostream& out, const Switches& switches) {
  for (const auto& [what, nodes] : switches) out << fmt::format("\n{} On {} nodes {}.\n", kMark, in_words(nodes), what);
}

/// Those that have a faster way, the one that loses most first.
std::vector<CollectiveRow> by_time_lost(const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> slow;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(slow),
               [](const CollectiveRow& row) { return row.faster.has_value() && row.nodes > 1; });
  const auto lost = [](const CollectiveRow& row) {
    return static_cast<double>(row.count) * (row.alone - row.faster->alone);
  };
  std::stable_sort(slow.begin(), slow.end(),
                   [&](const CollectiveRow& a, const CollectiveRow& b) { return lost(a) > lost(b); });
  return slow;
}

}  // namespace

void write_collectives(std::ostream& out, const std::vector<CollectiveRow>& rows, const ConsoleOptions& options) {
  if (rows.empty()) return;
  Table table({left("collective"), right("times"), right("ranks", "(nodes)"), right("buffer"), right("by"),
               right("channels"), right("message"), right("steps"), right("alone"), right("bound by")});
  for (const CollectiveRow& row : rows)
    table.add(Style::kPlain, {row.name, std::to_string(row.count), fmt::format("{} ({})", row.ranks, row.nodes),
                              human_memory(row.bytes), way_of(row),
                              row.channels > 0 ? std::to_string(row.channels) : "-", message_of(row), steps_of(row),
                              human_time(row.alone), fmt::format("{}, {}", row.binds, share_of(row, largest_of(row)))});
  write_table_below(out,
                    "Each collective by itself. Steps: those on a chunk's way, between nodes in brackets, and how many "
                    "chunks follow each other. Bound by: the term that takes most of the time.",
                    table.columns(), options);
  std::set<std::string> said;
  for (const CollectiveRow& row : by_time_lost(rows))
    if (said.insert(way_of(row) + forced_by(*row.faster)).second)
      write_sentence(out, options, choice_in_words(row) + " (" + forced_by(*row.faster) + ").");
}

void write_growth(std::ostream& out, const Cluster& cluster, const std::vector<CollectiveRow>& rows) {
  const NodeGroup& node = cluster.nodes.front();
  out << fmt::format(
      "# Growth of collectives with the number of nodes\n\nNodes of {} {} with {} x {} of {}, NCCL {}. Written by "
      "`accosim explain --growth`; nothing of it is measured.\nThe band holds 80 % of machines like it; a fabric's "
      "widens beyond the nodes that it was measured on.\nA time with {} is longer than that of a larger message on as "
      "many nodes.\n",
      node.gpus, in_markdown(node.devices.front().name), node.nics.count, to_text(node.nics.bandwidth), node.nics.kind,
      to_text(cluster.nccl), kMark);
  constexpr double kEighty = 1.2816;
  const std::vector<std::optional<std::size_t>> faster = faster_though_larger(rows);
  std::string table;
  Switches switches;  // of the table under way
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveRow& row = rows[i];
    const std::string of = fmt::format("{} of {}", row.name, to_text(row.bytes));
    if (of != table) {
      write_switches(out, switches);
      switches.clear();
      out << fmt::format("\n## {}\n\n| nodes | by | channels | message | steps | time | band |", of);
      for (const auto& term : row.terms) out << " " << term.first << " |";
      out << "\n|---|---|---|---|---|---|---|";
      for (std::size_t k = 0; k < row.terms.size(); ++k) out << "---|";
      out << "\n";
    }
    table = of;
    const double factor = std::exp(kEighty * row.spread);
    if (faster[i]) add_switch(switches, row, rows[*faster[i]]);
    out << fmt::format("| {} | {} | {} | {} | {} | {}{} | {} to {} |", row.nodes, way_of(row), row.channels,
                       message_of(row), steps_of(row), human_time(row.alone), faster[i] ? std::string(" ") + kMark : "",
                       human_time(row.alone / factor), human_time(row.alone * factor));
    for (const auto& term : row.terms) out << " " << share_of(row, term.second) << " |";
    out << "\n";
  }
  write_switches(out, switches);
}

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options) {
  write_sentence(out, options, "Collectives between nodes of {}, every message played:", result.label);
  if (result.rows.empty()) write_sentence(out, options, "There are none.");
  Table table({left("collective"), right("bytes"), right("ranks"), right("nodes"), right("algorithm"),
               right("channels"), right("messages"), right("closed", "form"), right("every", "message"),
               right("closed form", "is off by")});
  for (const ByMessage& row : result.rows)
    table.add(Style::kPlain, {row.collective, human_bytes(row.bytes), std::to_string(row.ranks),
                              std::to_string(row.nodes), row.algorithm + " " + row.protocol,
                              std::to_string(row.channels), human_count(static_cast<double>(row.messages)),
                              human_time(row.closed_form), human_time(row.played), human_error(row.deviation())});
  if (!result.rows.empty()) write_table(out, table.columns(), options);
  for (const std::string& line : result.without) write_wrapped(out, "not played: ", line + ".", options.width);
}

}  // namespace accosim
