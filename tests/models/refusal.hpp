// What is told where something is refused.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/spec/scenario_error.hpp"

namespace accosim {

/// The lines of the ScenarioError that `attempt` throws; none where it goes through.
template <class Attempt>
std::vector<std::string> refusals_of(const Attempt& attempt) {
  try {
    attempt();
  } catch (const ScenarioError& error) {
    EXPECT_FALSE(error.errors.empty());
    return error.errors;
  }
  return {};
}

/// The same in one text.
template <class Attempt>
std::string refusal_of(const Attempt& attempt) {
  return fmt::format("{}", fmt::join(refusals_of(attempt), "\n"));
}

}  // namespace accosim
