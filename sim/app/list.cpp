// The verb `list`: what comes with accosim.
#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/read/library.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// Those of the kind, "model" or "models"; all for an empty one.
std::vector<LibraryEntry> entries_of(const std::string& kind) {
  std::vector<LibraryEntry> entries = list_library();
  for (const KnobRow& row : knob_rows()) entries.push_back({"knob", row.name, "", row.meaning});
  std::erase_if(entries, [&](const LibraryEntry& entry) {
    return !kind.empty() && kind != entry.kind && kind != entry.kind + "s";
  });
  return entries;
}

/// A list a kind, devices and clusters by generation, each entry with its description beside its name or, where the
/// name is long, below it.
void write_list(std::ostream& out, const std::vector<LibraryEntry>& entries, int width) {
  constexpr int kName = 30;
  std::string kind, architecture;
  for (const LibraryEntry& entry : entries) {
    const bool another = entry.kind != kind;
    if (another) out << (kind.empty() ? "" : "\n") << entry.kind << "s\n";
    const bool dated = entry.kind == "device" || entry.kind == "cluster";
    if (dated && (another || entry.architecture != architecture))
      out << "  " << (entry.architecture.empty() ? "of no known generation" : printable(entry.architecture, kAllOfIt))
          << '\n';
    kind = entry.kind;
    architecture = entry.architecture;
    const std::string name = (dated ? "    " : "  ") + printable(entry.name, kAllOfIt);
    const bool beside = display_width(name) < kName;
    if (!beside) out << name << '\n';
    write_wrapped(out, fmt::format("{:<{}}", beside ? name : "", kName), printable(entry.description, kAllOfIt), width);
  }
}

JsonValue list_json(const std::vector<LibraryEntry>& entries) {
  std::vector<JsonValue> list;
  for (const LibraryEntry& entry : entries)
    list.push_back(
        json_object({{"kind", entry.kind},
                     {"name", entry.name},
                     {"path", entry.path.empty() ? JsonValue() : JsonValue(entry.path)},
                     {"architecture", entry.architecture.empty() ? JsonValue() : JsonValue(entry.architecture)},
                     {"description", entry.description}}));
  return json_object({{"schema", "accosim.list/1"}, {"entries", std::move(list)}});
}

ExitCode list(const Arguments& arguments) {
  const std::vector<LibraryEntry> entries = entries_of(arguments.text("kind"));
  if (arguments.flag("--json"))
    std::cout << dump_json(list_json(entries), 1) << '\n';
  else
    write_list(std::cout, entries, console_options().width);
  return ExitCode::kDone;
}

}  // namespace

Verb list_verb() {
  return {.name = "list",
          .help =
              "List the devices, models, clusters and scenarios that come with accosim, and the knobs that sweep and "
              "advise can vary",
          .options = {{.names = "kind",
                       .help = "List only these",
                       .choices = {"device", "devices", "model", "models", "cluster", "clusters", "scenario",
                                   "scenarios", "knob", "knobs"}},
                      flag_option("--json", "One JSON document instead of text, with paths")},
          .modes = {{.reads = {"kind", "--json"}, .run = list}}};
}

}  // namespace accosim
