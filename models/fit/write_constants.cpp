#include "models/fit/write_constants.hpp"

#include <utility>

#include "models/fit/rounded.hpp"
#include "models/fit/write_links.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

JsonValue steps_json(const std::vector<FittedSpread>& spreads) {
  JsonValue steps = json_object({}), devices = json_object({});
  for (const auto& [spread, source] : spreads) {
    JsonValue own = json_object({});
    own.set("spread", rounded(spread.spread, 2));
    own.set("cases", json_number(spread.cases, {}));
    own.set("source", json_text(source, {}));
    (spread.name == kSplitSteps || spread.name == kMixedSteps ? steps : devices).set(spread.name, std::move(own));
  }
  if (!devices.members.empty()) steps.set("devices", std::move(devices));
  return steps;
}

}  // namespace

std::string constants_with_fits(JsonDocument document, const std::vector<LinkFit>& links,
                                const FittedOverheads& overheads, const std::vector<FittedSpread>& spreads,
                                const std::optional<FittedRatios>& ratios) {
  read_constants(document);  // which tells what is wrong with it
  JsonValue& root = document.root;
  bool any = false;
  for (const LinkFit& fit : links) {
    const std::string& kind = fit.between_nodes ? fit.nics.kind : fit.intra.kind;
    for (const FitErrors* errors : {&fit.large, &fit.small}) check_plausible(kind, *errors);
    JsonValue& kinds = fit.between_nodes ? *root.find("nics") : object_at(*root.find("intra"), kind);
    JsonValue constants = json_object({});
    set_constants(constants, fit);
    if (const int machines = (fit.between_nodes ? fit.nics : Nics{}).quality.machines; machines > 0)
      constants.set("machines", json_number(machines, {}));
    constants.set("source", json_text(citation_of(fit, in_words({fit.sources.begin(), fit.sources.end()})), {}));
    kinds.set(fit.between_nodes ? kind : fit.intra.generation, std::move(constants));
    any = true;
  }
  JsonValue& own = *root.find("overheads");
  for (const auto& [key, value] : {std::pair("pytorch", overheads.pytorch),
                                   {"fused", overheads.fused},
                                   {"flash_1", overheads.flash_1},
                                   {"product_slope", overheads.product_slope}}) {
    if (!value) continue;
    own.set(key, rounded(*value));
    own.set("source", json_text(overheads.source, {}));
    any = true;
  }
  if (ratios) root.set("ratios", json_object({{"spread", rounded(ratios->spread)}, {"source", ratios->source}}));
  if (!spreads.empty()) root.set("steps", steps_json(spreads));
  if (!any) throw ScenarioError({"nothing was fitted, so nothing is written: a kind of links needs 10 collectives"});
  std::string text = write_json(root) + "\n";
  read_constants(parse_json(text, "the fitted constants"));  // or every later run would fail
  return text;
}

}  // namespace accosim
