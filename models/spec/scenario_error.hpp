// What is thrown where files or values that the user named are wrong.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace accosim {

/// Bad input. what() is all errors, one a line.
struct ScenarioError : std::runtime_error {
  explicit ScenarioError(std::vector<std::string> all);
  std::vector<std::string> errors;  ///< each "file:line:col /json/pointer: what is wrong; what would be right"
};

}  // namespace accosim
