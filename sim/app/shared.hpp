// What several verbs share: the options that mean the same in each, and how they are read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/base/text_file.hpp"
#include "sim/app/verb.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// The scenario and --set.
std::vector<Option> scenario_options();
/// --network.
Option network_option(const std::string& help);
/// --force, for verbs that write a file.
Option force_option();

NetworkKind network_of(const Arguments& arguments);

/// Throws ScenarioError when the file cannot be read.
std::string read_file(const std::string& path, std::size_t most_bytes = kMaxMeasuredBytes);

}  // namespace accosim
