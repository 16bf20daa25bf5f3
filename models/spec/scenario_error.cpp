#include "models/spec/scenario_error.hpp"

#include <fmt/format.h>

#include <utility>

namespace accosim {
namespace {

constexpr std::size_t kMostErrors = 100;

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

std::vector<std::string> at_most(std::vector<std::string> errors) {
  if (errors.size() <= kMostErrors) return errors;
  const std::size_t more = errors.size() - kMostErrors;
  errors.resize(kMostErrors);
  errors.push_back(fmt::format("... and {} more errors", more));
  return errors;
}

}  // namespace

ScenarioError::ScenarioError(std::vector<std::string> all)
    : std::runtime_error(joined(at_most(all))), errors(at_most(std::move(all))) {}

}  // namespace accosim
