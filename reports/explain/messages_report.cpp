// Collectives that were played message by message.
#include <fmt/format.h>

#include <ostream>
#include <string>
#include <utility>

#include "models/base/json_list.hpp"
#include "reports/explain/explain_text.hpp"
#include "reports/human.hpp"

namespace accosim {

void write_by_message(std::ostream& out, const CollectivesByMessage& result, const ConsoleOptions& options) {
  write_sentence(out, options, "Collectives between nodes of {}, every message played:", result.label);
  if (result.rows.empty()) write_sentence(out, options, "There are none.");
  TableOf<ByMessage> table(result.rows);
  table.add("collective", "", [](const ByMessage& row) { return row.collective; });
  table.add("bytes", "", [](const ByMessage& row) { return human_bytes(row.bytes); });
  table.add("ranks", "", [](const ByMessage& row) { return fmt::format("{}", row.ranks); });
  table.add("nodes", "", [](const ByMessage& row) { return fmt::format("{}", row.nodes); });
  table.add("algorithm", "", [](const ByMessage& row) { return row.algorithm + " " + row.protocol; });
  table.add("channels", "", [](const ByMessage& row) { return fmt::format("{}", row.channels); });
  table.add("messages", "", [](const ByMessage& row) { return human_count(static_cast<double>(row.messages)); });
  table.add("closed", "form", [](const ByMessage& row) { return human_time(row.closed_form); });
  table.add("every", "message", [](const ByMessage& row) { return human_time(row.played); });
  table.add("closed form", "is off by", [](const ByMessage& row) { return human_error(row.deviation()); });
  if (!result.rows.empty()) write_table(out, table.columns(), options);
  for (const std::string& line : result.without) write_wrapped(out, "not played: ", line + ".", options.width);
}

void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results) {
  const JsonValue schedules = json_list(results, [](const CollectivesByMessage& result) {
    JsonValue rows = json_list(result.rows, [](const ByMessage& row) {
      return json_object({{"collective", row.collective},
                          {"bytes", row.bytes.value},
                          {"ranks", row.ranks},
                          {"nodes", row.nodes},
                          {"algorithm", row.algorithm},
                          {"protocol", row.protocol},
                          {"channels", row.channels},
                          {"messages", row.messages},
                          {"closed_form_s", row.closed_form.value},
                          {"every_message_s", row.played.value},
                          {"closed_form_error", row.deviation()}});
    });
    return json_object({{"label", result.label}, {"collectives", std::move(rows)}, {"not_played", result.without}});
  });
  out << dump_json(json_object({{"schema", "accosim.messages/1"}, {"schedules", schedules}}), 2) << '\n';
}

}  // namespace accosim
