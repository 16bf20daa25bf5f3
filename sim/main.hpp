// What accosim's verbs share: the arguments of the command line, and files. Private to the program's main*.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/import_nccl_tests.hpp"
#include "models/text_file.hpp"
#include "reports/console.hpp"
#include "sim/run.hpp"
#include "sim/validate.hpp"

namespace accosim {

struct Arguments {
  std::string scenario;
  std::vector<std::string> sets;
  std::vector<std::string> schedules;
  std::string network = "simgrid";
  bool json = false;
  std::string trace;
  bool force = false;  ///< replaces files that are another's
  std::string convergence;
  double critical_batch = 0;
  std::string machine;  ///< of compare: what a run is predicted on
  int trace_updates = 3;
  std::string trace_ranks;
  std::string kind;
  std::vector<std::string> samples;
  std::vector<std::string> profiles;
  std::vector<std::string> clusters;
  std::string profile;  ///< of a GPU's samples, of fit and validate: the device profile to start from
  std::string output;
  NcclTestsOptions import;
  // validate
  std::string directory;
  std::string gpu_samples;  ///< folder of our own
  ValidateOptions validate;
  std::string leave_out;
  bool markdown = false;
  bool check = false;
  bool live = false;
  bool quick = false;
  std::string live_network = "netns:200 Mbit/s";
};

/// A verb of the command line with its long options, "--set" and so on.
struct VerbOptions {
  std::string name;
  std::vector<std::string> flags;
};
/// What may have been meant, as a line; empty where nothing is known to be wrong.
std::string verb_hint(const std::string& word, const std::vector<VerbOptions>& verbs);
std::string command_line_hint(const std::vector<std::string>& words, const std::vector<VerbOptions>& verbs);
/// For a verb that was given no scenario.
std::string scenario_hint(const std::string& verb);
/// What is wrong with a number of the command line, and what to write; empty when nothing is.
std::string wrong_number(const std::string& text, double least, double most, bool whole);

NetworkKind network_of(const Arguments& arguments);
ConsoleOptions console_options();

/// Throws ScenarioError when the file cannot be read.
std::string read_file(const std::string& path, std::size_t most_bytes = kMaxMeasuredBytes);

/// What nccl-tests wrote becomes a table of samples; what was left out is told on stderr.
void import_results(const Arguments& arguments);
/// Fits kernels or links to the samples; each profile or cluster named is written anew with the constants.
void fit(const Arguments& arguments);
/// Predicts the run of accocal that the arguments name, and draws both.
void compare_with_run(const Arguments& arguments);
/// False when the mean error was to be checked and is too large.
bool validate_on_this_machine(const Arguments& arguments);

}  // namespace accosim
