// Scenario, network, files and the terminal, as every verb takes them.
#include "sim/app/shared.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "models/base/text.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

std::vector<Option> scenario_options() {
  return {
      {.names = "scenario", .help = "Scenario file, or the name of one that accosim list shows", .required = true},
      {.names = "--set", .help = "Replace a value: /json/pointer=value; may be repeated", .value = Texts()},
  };
}

Option network_option(const std::string& help) {
  return {.names = "--network",
          .help = help,
          .value = std::string("simgrid"),
          .choices = {"simgrid", "reference"},
          .default_shown = true};
}

Option force_option() { return {.names = "--force", .help = "Replace a file of another kind", .value = false}; }

NetworkKind network_of(const Arguments& arguments) {
  return arguments.text("--network") == "simgrid" ? NetworkKind::kSimgrid : NetworkKind::kReference;
}

ConsoleOptions console_options() {
  ConsoleOptions options;
  options.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  constexpr int kLeast = 20;
  winsize size{};
  const char* const columns = std::getenv("COLUMNS");  // for output that goes through a pipe
  const int asked = columns != nullptr ? std::atoi(columns) : 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast)
    options.width = size.ws_col;
  else if (asked >= kLeast)
    options.width = asked;
  return options;
}

std::string read_file(const std::string& path, std::size_t most_bytes) {
  std::string text;
  const std::string wrong = read_text_file(path, text, most_bytes);
  if (!wrong.empty()) throw ScenarioError({in_quotes(path, 300) + " " + wrong});
  return text;
}

}  // namespace accosim
