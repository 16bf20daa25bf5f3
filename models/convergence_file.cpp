// See convergence_file.hpp.
#include "models/convergence_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/scenario.hpp"

namespace accosim {
namespace {

using Json = nlohmann::json;

std::optional<double> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

MeasuredConvergence convergence_of(const Json& root) {
  MeasuredConvergence out;
  out.model = root.at("model").at("name").get<std::string>();
  out.parameters = root.at("model").at("parameters").get<double>();
  const Json& range = root.at("range");
  out.updates = range.at("updates").get<double>();
  out.samples = range.at("samples").get<double>();
  out.least_batch = range.at("batch_samples_low").get<double>();
  out.most_batch = range.at("batch_samples_high").get<double>();
  out.tokens_per_sample = range.value("tokens_per_sample", 1.0);
  out.inner_updates = range.value("inner_updates", 0);
  out.critical_batch = number(root, "critical_batch_samples").value_or(0);
  for (const Json& one : root.at("algorithms"))
    out.algorithms.push_back({one.at("name").get<std::string>(), number(one, "samples_ratio"), number(one, "low"),
                              number(one, "high"), number(one, "samples_ratio_at_least").value_or(0)});
  return out;
}

}  // namespace

MeasuredConvergence read_convergence(const std::string& text, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    return ScenarioError({fmt::format("{}: {}; name a file that accocal converge wrote", name, what)});
  };
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object() || root.value("schema", Json()) != "accosim.convergence/1")
    throw fail("is no JSON of schema accosim.convergence/1");
  MeasuredConvergence convergence;
  try {
    convergence = convergence_of(root);
  } catch (const Json::exception& error) {
    throw fail(std::string("lacks something: ") + error.what());
  }
  for (const MeasuredConvergence::Algorithm& one : convergence.algorithms) {
    const bool whole = one.samples.has_value() == one.low.has_value() && one.low.has_value() == one.high.has_value();
    if (!whole || (one.samples && !(*one.low > 0 && *one.low <= *one.samples && *one.samples <= *one.high)))
      throw fail(fmt::format("the samples of \"{}\" are no number inside its interval", one.name));
  }
  return convergence;
}

}  // namespace accosim
