// Measurements that others published, from scenarios/validation/*.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/fit/published_case.hpp"

namespace accosim {

/// Of each source's key.
std::map<std::string, std::string> publishers_of(const Published& published);

/// In the order of a report.
const std::vector<std::string>& published_groups();

/// All files of schema accosim.validation/1 in the folder. Throws ScenarioError with everything that is wrong.
Published load_published(const std::string& directory);

}  // namespace accosim
