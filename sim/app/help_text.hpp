// What is said of the program and its verbs, from their declarations: the help on the terminal, and the parts of it
// that the man page and the completions say too.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

/// A word and what it means.
struct Explained {
  const char* word;
  const char* meaning;
};
inline constexpr const char* kProgramHelp =
    "Predicts the wall-clock time of distributed LLM training on a cluster that you describe.";
inline constexpr Explained kExitCodes[] = {
    {"0", "done"}, {"1", "bad input"}, {"2", "bad command line"}, {"3", "a bug of accosim"}, {"4", "the environment"}};
/// Of the environment.
inline constexpr Explained kVariables[] = {
    {"COLUMNS", "Width of the text, 20 to 1000 columns; else that of the terminal, else 80."},
    {"NO_COLOR", "Set to anything: no colours on a terminal. Elsewhere there never are any."},
    {"ACCOSIM_DATA_DIR", "Where the scenarios, models, clusters and profiles that come with accosim are."}};
inline constexpr Explained kExamples[] = {
    {"accosim compare finetune_2x4_a100", "Which schedule is the fastest, and by how much?"},
    {"accosim compare finetune_2x4_a100 --set '/cluster/nodes/0/nics/bandwidth=10 Gbit/s'",
     "The same on a slower network."},
    {"accosim explain finetune_2x4_a100 --schedule acco", "Where does the time of an update go?"},
    {"accosim resolve finetune_2x4_a100 | accosim compare -", "A scenario from standard input."}};

bool is_positional(const Option& option);
/// "FILE", "N", "simgrid|reference", of what has no dashes its name; empty for a flag.
std::string value_in_words(const Option& option);
/// "-o, --output FILE", "SCENARIO".
std::string option_in_words(const Option& option);
/// What it means, its default, its range, and what it needs or excludes.
std::string meaning_of(const Option& option);
/// "accosim compare SCENARIO [OPTIONS]" of the verb with this path ("import nccl-tests"); the program's for an empty
/// path.
std::string usage_of(const std::string& path, const Verb& verb);

/// `path`: the verb and those around it, "import nccl-tests".
void write_help(std::ostream& out, const std::string& path, const Verb& verb, int width);
void write_program_help(std::ostream& out, const std::vector<Verb>& verbs, int width);

}  // namespace accosim
