#include "reports/caveats_text.hpp"

#include <fmt/format.h>

#include <vector>

#include "models/spec/schedule_traits.hpp"

namespace accosim {

namespace {

constexpr double kMayFit = 0.1;  ///< probability from which on it is not sure that it does not fit

std::string listed(const Caveats& caveats, bool worst) {
  std::vector<std::string> texts;
  switch (caveats.statistics) {
    case Statistics::kSynchronous: break;
    case Statistics::kPartlyStale: texts.emplace_back("with some gradients one update late"); break;
    case Statistics::kStaleGradients:
      texts.push_back(caveats.updates_late == 1 ? std::string("with gradients one update late")
                                                : fmt::format("with gradients {}{} updates late", worst ? "up to " : "",
                                                              caveats.updates_late));
      break;
    case Statistics::kReplicasDrift: texts.emplace_back("with replicas that drift apart"); break;
    case Statistics::kLocalEstimate: texts.emplace_back("with estimates that differ by rank"); break;
  }
  if (caveats.batch_growth > 1)
    texts.push_back(fmt::format("at {}{:.3g} times the batch", worst ? "up to " : "", caveats.batch_growth));
  if (caveats.fit_probability < kMayFit)
    texts.emplace_back("without fitting into memory");
  else if (caveats.fit_probability < 1)
    texts.push_back(fmt::format("with a probability of {}{} to fit into memory", in_percent(caveats.fit_probability),
                                worst ? " or more" : ""));
  if (caveats.loss_unreached) texts.emplace_back("without reaching the loss in the measured runs");
  return in_words(texts);
}

}  // namespace

std::string in_words(const Caveats& caveats) { return listed(caveats, false); }

std::string worst_in_words(const Caveats& caveats) { return listed(caveats, true); }

JsonValue caveats_json(const Caveats& caveats) {
  JsonValue json = json_object({});
  if (caveats.statistics != Statistics::kSynchronous) json.set("statistics", name_of(caveats.statistics));
  if (caveats.updates_late > 1) json.set("updates_late", caveats.updates_late);
  if (caveats.batch_growth > 1) json.set("batch_inflation", caveats.batch_growth);
  if (caveats.fit_probability < 1) json.set("fit_probability", caveats.fit_probability);
  if (caveats.loss_unreached) json.set("loss_reached", false);
  return json;
}

}  // namespace accosim
