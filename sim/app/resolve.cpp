// The verb `resolve`: the scenario with everything filled in.
#include <iostream>

#include "models/read/load.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

ExitCode resolve(const Arguments& arguments) {
  std::cout << load_asked(arguments).resolved();
  return ExitCode::kDone;
}

}  // namespace

Verb resolve_verb() {
  return {.name = "resolve",
          .help = "Print the scenario with every default filled in, and where each value came from",
          .options = scenario_options(),
          .modes = {{.reads = names_of(scenario_options()), .run = resolve}}};
}

}  // namespace accosim
