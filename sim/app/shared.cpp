// Scenario, network and files, as every verb takes them.
#include "sim/app/shared.hpp"

#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

std::vector<Option> scenario_options() {
  return {
      {.names = "scenario",
       .help = "Scenario file, or the name of one that accosim list shows; - is standard input",
       .required = true,
       .takes = "SCENARIO"},
      {.names = "--set",
       .help = "Replace a value: /json/pointer=value, or null to take it away; may be repeated",
       .value = Texts(),
       .takes = "/POINTER=VALUE"},
  };
}

Option network_option(const std::string& help) {
  return {.names = "--network",
          .help = help,
          .value = std::string("simgrid"),
          .choices = {"simgrid", "reference"},
          .default_shown = true};
}

Option force_option() {
  return {.names = "--force", .help = "Replace a file that this verb did not write", .value = false};
}

NetworkKind network_of(const Arguments& arguments) {
  return arguments.text("--network") == "simgrid" ? NetworkKind::kSimgrid : NetworkKind::kReference;
}

std::string read_file(const std::string& path, std::size_t most_bytes) {
  std::string text;
  const std::string wrong = read_text_file(path, text, most_bytes);
  if (!wrong.empty()) throw ScenarioError({in_quotes(path, 300) + " " + wrong});
  return text;
}

}  // namespace accosim
