// The list of accosim's verbs.
#include "sim/app/verbs.hpp"

namespace accosim {

std::vector<Verb> all_verbs() {
  return {compare_verb(), run_verb(),      explain_verb(),
          resolve_verb(), list_verb(),     fit_verb(),
          import_verb(),  validate_verb(), {.name = "help", .help = "Show the options of a verb: accosim help VERB"}};
}

}  // namespace accosim
