// The verb `list`: what comes with accosim.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/read/library.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// Those of the kind, "model" or "models", and of the name; all where these are empty. Throws BadInput.
std::vector<LibraryEntry> entries_of(const std::string& kind, const std::string& name) {
  std::vector<LibraryEntry> entries = list_library();
  for (const KnobRow& row : knob_rows()) entries.push_back({"knob", row.name, "", row.meaning});
  std::erase_if(entries, [&](const LibraryEntry& entry) {
    return !kind.empty() && kind != entry.kind && kind != entry.kind + "s";
  });
  std::vector<std::string> names = mapped<std::string>(entries, &LibraryEntry::name);
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    throw BadInput(fmt::format("list {}: has no {}{}", kind, in_quotes(name), hint(name, names)));
  std::erase_if(entries, [&](const LibraryEntry& entry) { return !name.empty() && name != entry.name; });
  return entries;
}

bool is_dated(const LibraryEntry& entry) { return entry.kind == "device" || entry.kind == "cluster"; }

std::string generation_of(const LibraryEntry& entry) {
  return entry.architecture.empty() ? "of no known generation" : printable(entry.architecture, kAllOfIt);
}

/// A line an entry, devices and clusters by generation: its name, and its description as far as there is room.
void write_lines(std::ostream& out, const std::vector<LibraryEntry>& entries, int width) {
  constexpr int kName = 30;
  std::string generation;
  out << entries.front().kind << "s\n";
  for (const LibraryEntry& entry : entries) {
    if (is_dated(entry) && std::exchange(generation, generation_of(entry)) != generation_of(entry))
      out << "  " << generation << '\n';
    std::string line = (is_dated(entry) ? "    " : "  ") + printable(entry.name, kAllOfIt) + "  ";
    line += std::string(static_cast<std::size_t>(std::max(0, kName - display_width(line))), ' ');
    constexpr int kLeast = 20;
    const int room = width - display_width(line);
    out << line << (room < kLeast ? "" : cut_to_width(entry.description, room)) << '\n';
  }
}

/// The names of each kind.
void write_names(std::ostream& out, const std::vector<LibraryEntry>& entries, int width) {
  for (auto entry = entries.begin(); entry != entries.end();) {
    const std::string kind = entry->kind;
    const auto end = std::find_if(entry, entries.end(), [&](const LibraryEntry& each) { return each.kind != kind; });
    out << fmt::format("{}{}s ({})\n", entry == entries.begin() ? "" : "\n", kind, end - entry);
    while (entry != end) {
      const std::string generation = is_dated(*entry) ? generation_of(*entry) : "";
      std::string names;
      for (; entry != end && (generation.empty() || generation_of(*entry) == generation); ++entry)
        names += (names.empty() ? "" : ", ") + printable(entry->name, kAllOfIt);
      write_wrapped(out, "  " + generation + (generation.empty() ? "" : ": "), names, width);
    }
  }
  out << "\naccosim list KIND: a line for each; accosim list KIND NAME: all of one\n";
}

/// All that is known of one.
void write_entry(std::ostream& out, const LibraryEntry& entry, int width) {
  out << entry.kind << ' ' << printable(entry.name, kAllOfIt) << '\n';
  if (is_dated(entry)) out << "  generation  " << generation_of(entry) << '\n';
  if (!entry.path.empty()) out << "  file        " << printable(entry.path, kAllOfIt) << '\n';
  write_wrapped(out, "  ", printable(entry.description, kAllOfIt), width);
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
  const std::string &kind = arguments.text("kind"), &name = arguments.text("name");
  const std::vector<LibraryEntry> entries = entries_of(kind, name);
  const int width = console_options().width;
  if (arguments.flag("--json"))
    std::cout << dump_json(list_json(entries), 1) << '\n';
  else if (kind.empty())
    write_names(std::cout, entries, width);
  else if (name.empty())
    write_lines(std::cout, entries, width);
  else
    write_entry(std::cout, entries.front(), width);
  return ExitCode::kDone;
}

}  // namespace

Verb list_verb() {
  return {.name = "list",
          .help =
              "List the devices, models, clusters and scenarios that come with accosim, and the knobs that sweep and "
              "advise can vary: their names, a line for each of a kind, or all that is said of one",
          .options = {{.names = "kind",
                       .help = "List only these",
                       .choices = {"device", "devices", "model", "models", "cluster", "clusters", "scenario",
                                   "scenarios", "knob", "knobs"}},
                      {.names = "name", .help = "Say all of this one", .needs = "kind"},
                      flag_option("--json", "One JSON document instead of text, with paths")},
          .modes = {{.reads = {"kind", "name", "--json"}, .run = list}}};
}

}  // namespace accosim
