#include "models/fit/write_constants.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/fit/write_links.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

JsonValue rounded(double value) {
  JsonValue json = json_number(value, {});
  json.text = fmt::format("{:.4g}", value);
  return json;
}

}  // namespace

std::string constants_with_fits(JsonDocument document, const std::vector<LinkFit>& links, const Overheads& overheads,
                                const std::string& steps) {
  read_constants(document);  // which tells what is wrong with it
  JsonValue& root = document.root;
  for (const LinkFit& fit : links) {
    const std::string& kind = fit.between_nodes ? fit.nics.kind : fit.intra.kind;
    for (const FitErrors* errors : {&fit.large, &fit.small}) check_plausible(kind, *errors);
    JsonValue& kinds = *root.find(fit.between_nodes ? "nics" : "intra");
    if (kinds.find(kind) == nullptr) kinds.set(kind, json_object({}));
    JsonValue& constants = *kinds.find(kind);
    constants.erase("source");
    set_constants(constants, fit);
    constants.set("source", json_text(citation_of(fit, in_words({fit.sources.begin(), fit.sources.end()})), {}));
  }
  JsonValue& own = *root.find("overheads");
  own.set("pytorch", rounded(overheads.pytorch));
  own.set("fused", rounded(overheads.fused));
  own.set("flash_1", rounded(overheads.flash_1));
  own.set("source", json_text(steps, {}));
  return write_json(root) + "\n";
}

}  // namespace accosim
