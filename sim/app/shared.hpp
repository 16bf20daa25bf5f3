// What several verbs share: the options that mean the same in each, and how they are read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/base/text_file.hpp"
#include "models/read/load.hpp"
#include "sim/app/verb.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct WinnerRule;

/// The scenario, --set and what is said of a launch script.
std::vector<Option> scenario_options();
/// The names of these and of others, for a mode that reads them.
Texts scenario_and(const Texts& others);
/// The scenario of these, with the schedules of --schedule where the verb has it; what is left out is told on standard
/// error.
LoadedScenario load_asked(const Arguments& arguments, const std::vector<std::string>& only = {});
/// --network.
Option network_option(const std::string& help);
/// --force, for verbs that write a file.
Option force_option();
/// -j, --jobs: how many processes a verb may use at a time.
Option jobs_option();

NetworkKind network_of(const Arguments& arguments);

/// --batch-growth and --fit-probability, what a winner is held to.
std::vector<Option> winner_options();
WinnerRule winner_rule_of(const Arguments& arguments);

/// Throws ScenarioError when the file cannot be read.
std::string read_file(const std::string& path, std::size_t most_bytes = kMaxMeasuredBytes);
/// The same of what may be gzipped, and "-" is standard input.
std::string read_unpacked(const std::string& path, std::size_t most_bytes);

}  // namespace accosim
