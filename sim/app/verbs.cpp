// The list of accosim's verbs.
#include "sim/app/verbs.hpp"

namespace accosim {

std::vector<Verb> all_verbs() {
  return {compare_verb(),
          run_verb(),
          explain_verb(),
          plot_verb(),
          report_verb(),
          diff_verb(),
          advise_verb(),
          sweep_verb(),
          merge_verb(),
          resolve_verb(),
          list_verb(),
          fit_verb(),
          import_verb(),
          inspect_verb(),
          validate_verb(),
          completion_verb(),
          man_verb(),
          {.name = "help",
           .help = "Show the options of a verb",
           .options = {{.names = "verb", .help = "Of this verb; without it, of accosim", .takes = "VERB"}}}};
}

}  // namespace accosim
