// What collectives cost and why, as tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
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

void add_switches(Document& document, const Switches& switches) {
  for (const auto& [what, nodes] : switches)
    document.say({fmt::format("{} On {} nodes {}.", kMark, in_words(nodes), what)});
}

/// Those that have a faster way, the one that loses most first.
std::vector<CollectiveRow> by_time_lost(const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> slow;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(slow),
               [](const CollectiveRow& row) { return row.faster.has_value() && row.nodes > 1; });
  const auto lost = [](const CollectiveRow& row) {
    return static_cast<double>(row.count) * (row.alone - row.faster->alone);
  };
  std::ranges::stable_sort(slow, [&](const CollectiveRow& a, const CollectiveRow& b) { return lost(a) > lost(b); });
  return slow;
}

}  // namespace

void add_collectives(Document& document, const std::vector<CollectiveRow>& rows) {
  if (rows.empty()) return;
  Table table({left("collective"), right("times"), right("ranks", "(nodes)"), right("buffer"), right("by"),
               right("channels"), right("message"), right("steps"), right("alone"), right("bound by")});
  for (const CollectiveRow& row : rows)
    table.add({row.name, std::to_string(row.count), fmt::format("{} ({})", row.ranks, row.nodes),
               human_memory(row.bytes), way_of(row), row.channels > 0 ? std::to_string(row.channels) : "-",
               message_of(row), steps_of(row), human_time(row.alone),
               fmt::format("{}, {}", row.binds, share_of(row, largest_of(row)))});
  document.say(
      {"Each collective by itself. Steps: those on a chunk's way, between nodes in brackets, and how many chunks "
       "follow each other. Bound by: the term that takes most of the time."});
  document.table(std::move(table));
  std::set<std::string> said;
  for (const CollectiveRow& row : by_time_lost(rows))
    if (said.insert(way_of(row) + forced_by(*row.faster)).second)
      document.go_on({choice_in_words(row), " (", forced_by(*row.faster), ")."});
}

Document growth_page(const Cluster& cluster, const std::vector<CollectiveRow>& rows) {
  const NodeGroup& node = cluster.nodes.front();
  Document document;
  document.title("Growth of collectives with the number of nodes");
  document.say(
      {fmt::format("Nodes of {} {} with {} x {} of {}, NCCL {}. Written by ", node.gpus, node.devices.front().name,
                   node.nics.count, to_text(node.nics.bandwidth), node.nics.kind, to_text(cluster.nccl)),
       code("accosim explain --growth"), "; nothing of it is measured."});
  document.go_on(
      {"The band holds 80 % of machines like it; a fabric's widens beyond the nodes that it was measured on."});
  document.go_on({fmt::format("A time with {} is longer than that of a larger message on as many nodes.", kMark)});
  constexpr double kEighty = 1.2816;
  const std::vector<std::optional<std::size_t>> faster = faster_though_larger(rows);
  for (std::size_t i = 0; i < rows.size();) {
    const auto heading_of = [](const CollectiveRow& row) {
      return fmt::format("{} of {}", row.name, to_text(row.bytes));
    };
    const std::string heading = heading_of(rows[i]);
    document.heading(heading);
    Table table({"nodes", "by", "channels", "message", "steps", "time", "band"});
    for (const auto& term : rows[i].terms) table.heads.emplace_back(term.first);
    Switches switches;
    for (; i < rows.size() && heading_of(rows[i]) == heading; ++i) {
      const CollectiveRow& row = rows[i];
      const double factor = std::exp(kEighty * row.spread);
      if (faster[i]) add_switch(switches, row, rows[*faster[i]]);
      Values cells{std::to_string(row.nodes),
                   way_of(row),
                   std::to_string(row.channels),
                   message_of(row),
                   steps_of(row),
                   human_time(row.alone) + (faster[i] ? std::string(" ") + kMark : ""),
                   fmt::format("{} to {}", human_time(row.alone / factor), human_time(row.alone * factor))};
      for (const auto& term : row.terms) cells.emplace_back(share_of(row, term.second));
      table.add(std::move(cells));
    }
    document.table(std::move(table));
    add_switches(document, switches);
  }
  return document;
}

Document by_message_document(const std::vector<CollectivesByMessage>& results) {
  Document document;
  for (const CollectivesByMessage& result : results) {
    document.go_on({fmt::format("Collectives between nodes of {}, every message played:", result.label)});
    if (result.rows.empty()) document.go_on({"There are none."});
    Table table({left("collective"), right("bytes"), right("ranks"), right("nodes"), right("algorithm"),
                 right("channels"), right("messages"), right("closed", "form"), right("every", "message"),
                 right("closed form", "is off by")});
    for (const ByMessage& row : result.rows)
      table.add({row.collective, human_bytes(row.bytes), std::to_string(row.ranks), std::to_string(row.nodes),
                 row.algorithm + " " + row.protocol, std::to_string(row.channels),
                 human_count(static_cast<double>(row.messages)), human_time(row.closed_form), human_time(row.played),
                 human_error(row.deviation())});
    document.table(std::move(table), Above::kNothing);
    for (const std::string& line : result.without) document.go_on({line, "."}, "not played: ");
  }
  return document;
}

}  // namespace accosim
