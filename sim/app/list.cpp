// The verb `list`: what comes with accosim.
#include <fmt/format.h>

#include <iostream>

#include "models/base/text.hpp"
#include "models/spec/scenario.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

ExitCode list(const Arguments& arguments) {
  const std::string& wanted = arguments.text("kind");
  std::string kind;
  for (const LibraryEntry& entry : list_library()) {
    if (!wanted.empty() && wanted != entry.kind && wanted != entry.kind + "s") continue;
    if (entry.kind != kind) std::cout << (kind.empty() ? "" : "\n") << entry.kind << "s\n";
    kind = entry.kind;
    std::cout << fmt::format("  {:<28} {:<46} {}\n", printable(entry.name, kAllOfIt), printable(entry.path, kAllOfIt),
                             printable(entry.description, kAllOfIt));
  }
  return ExitCode::kDone;
}

}  // namespace

Verb list_verb() {
  return {.name = "list",
          .help = "List the devices, models, clusters and scenarios that come with accosim",
          .options = {{.names = "kind",
                       .help = "List only these",
                       .choices = {"device", "devices", "model", "models", "cluster", "clusters", "scenario",
                                   "scenarios"}}},
          .modes = {{.reads = {"kind"}, .run = list}}};
}

}  // namespace accosim
