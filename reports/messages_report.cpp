#include "reports/messages_report.hpp"

#include <fmt/format.h>

#include <functional>
#include <ostream>
#include <string>

#include "models/base/json.hpp"
#include "reports/human.hpp"

namespace accosim {

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options) {
  write_wrapped(out, "", fmt::format("Collectives between nodes of {}, every message played:", result.label),
                options.width);
  if (result.rows.empty()) write_wrapped(out, "", "There are none.", options.width);
  std::vector<Column> columns;
  const auto add = [&](const char* head, const char* sub_head,
                       const std::function<std::string(const ByMessage&)>& text) {
    Column column{head, sub_head, {}, columns.empty()};
    for (const ByMessage& row : result.rows) column.cells.push_back(Cell{text(row)});
    columns.push_back(column);
  };
  add("collective", "", [](const ByMessage& row) { return row.collective; });
  add("bytes", "", [](const ByMessage& row) { return human_bytes(row.bytes); });
  add("ranks", "", [](const ByMessage& row) { return fmt::format("{}", row.ranks); });
  add("nodes", "", [](const ByMessage& row) { return fmt::format("{}", row.nodes); });
  add("algorithm", "", [](const ByMessage& row) { return row.algorithm + " " + row.protocol; });
  add("channels", "", [](const ByMessage& row) { return fmt::format("{}", row.channels); });
  add("messages", "", [](const ByMessage& row) { return human_count(static_cast<double>(row.messages)); });
  add("closed", "form", [](const ByMessage& row) { return human_time(row.closed_form); });
  add("every", "message", [](const ByMessage& row) { return human_time(row.played); });
  add("closed form", "is off by", [](const ByMessage& row) { return human_error(row.deviation()); });
  if (!result.rows.empty()) write_table(out, columns, options);
  for (const std::string& line : result.without) write_wrapped(out, "not played: ", line + ".", options.width);
}

void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results) {
  std::vector<JsonValue> schedules;
  for (const CollectivesByMessage& result : results) {
    std::vector<JsonValue> rows;
    for (const ByMessage& row : result.rows)
      rows.push_back(json_object({{"collective", row.collective},
                                  {"bytes", row.bytes.value},
                                  {"ranks", row.ranks},
                                  {"nodes", row.nodes},
                                  {"algorithm", row.algorithm},
                                  {"protocol", row.protocol},
                                  {"channels", row.channels},
                                  {"messages", row.messages},
                                  {"closed_form_s", row.closed_form.value},
                                  {"every_message_s", row.played.value},
                                  {"closed_form_error", row.deviation()}}));
    schedules.push_back(json_object({{"label", result.label}, {"collectives", rows}, {"not_played", result.without}}));
  }
  out << dump_json(json_object({{"schema", "accosim.messages/1"}, {"schedules", schedules}}), 2) << '\n';
}

}  // namespace accosim
