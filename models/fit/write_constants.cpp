#include "models/fit/write_constants.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "models/fit/rounded.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

std::string microseconds(Seconds time) { return fmt::format("{:.4g} us", 1e6 * time.value); }

void set_quality(JsonValue& json, const LinkQuality& quality) {
  json.set("spread", rounded(quality.spread, 2));  // which nobody knows better
  json.set("spread_small", rounded(quality.spread_small, 2));
}

void set_nics(JsonValue& json, const Nics& nics) {
  json.set("efficiency", rounded(nics.efficiency));
  json.set("latency", microseconds(nics.latency));
  json.set("message", microseconds(nics.message));
  if (nics.collisions > 0) json.set("collisions", rounded(nics.collisions));
  if (nics.staging > BytesPerSecond{0}) json.set("staging", fmt::format("{:.4g} GB/s", 1e-9 * nics.staging.value));
  set_quality(json, nics.quality);
  if (nics.quality.nodes == 0) return;
  json.set("measured_nodes", json_number(nics.quality.nodes, {}));
  json.set("growth", rounded(nics.quality.growth, 2));
}

/// The kind that a file may leave out.
bool is_kind(const JsonValue& json, const std::string& kind, const std::string& usual) {
  const JsonValue* written = json.find("kind");
  return (written == nullptr ? usual : written->text) == kind;
}

/// The constants of a fit as members of "intra" or "nics" of a node group, with four digits.
void set_constants(JsonValue& links, const LinkFit& fit) {
  if (fit.between_nodes) return set_nics(links, fit.nics);
  const IntraLink& link = fit.intra;
  links.set("efficiency", rounded(link.efficiency));
  links.set("latency", microseconds(link.latency));
  links.set("launch", microseconds(link.launch));
  links.set("start", microseconds(link.start));
  links.set("turnaround", rounded(link.turnaround));
  if (link.crowding > 0) links.set("crowding", rounded(link.crowding));
  links.set("ll_factor", rounded(link.ll.latency));
  links.set("ll_rate", rounded(link.ll.efficiency));
  links.set("ll128_efficiency", rounded(link.ll.efficiency128));
  if (link.nvls.efficiency > 0) {
    links.set("nvls_efficiency", rounded(link.nvls.efficiency));
    links.set("nvls_launch", microseconds(link.nvls.launch));
    links.set("nvls_fill", rounded(link.nvls.fill));
  }
  links.set("all_to_all_efficiency", rounded(link.exchange.efficiency));
  links.set("all_to_all_launch", microseconds(link.exchange.launch));
  links.set("all_to_all_chunk", microseconds(link.exchange.chunk));
  set_quality(links, link.quality);
  if (link.quality.nodes == 0) return;
  links.set("measured_gpus", json_number(link.quality.nodes, {}));
  links.set("growth", rounded(link.quality.growth, 2));
}

/// What the constants were fitted to, and how far off they are there.
std::string citation_of(const LinkFit& fit, const std::string& sources) {
  if (fit.large.samples + fit.small.samples == 0)
    return fmt::format("accosim fit: {}, since nobody measured this one; a wide spread",
                       fit.between_nodes ? "the prior of all fabrics" : "what all boards share");
  std::string errors;
  for (const auto& [of, where] : {std::pair(fit.large, "from 1 MiB"), std::pair(fit.small, "below")})
    if (of.samples > 0)
      errors += fmt::format("{}{:.1f} % {}", errors.empty() ? "" : ", ", 100 * of.mean_absolute, where);
  return fmt::format("accosim fit, {} collectives of {} to {} from {}; mean error {}",
                     fit.large.samples + fit.small.samples, to_text(Bytes{fit.least}), to_text(Bytes{fit.most}),
                     sources, errors);
}

JsonValue steps_json(const std::vector<FittedSpread>& spreads) {
  JsonValue steps = json_object({}), devices = json_object({});
  for (const auto& [spread, source] : spreads) {
    JsonValue own = json_object({{"spread", rounded(spread.spread, 2)}, {"cases", spread.cases}, {"source", source}});
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
    const std::string& kind = fit.kind();
    for (const FitErrors* errors : {&fit.large, &fit.small}) check_plausible(kind, *errors);
    JsonValue& kinds = fit.between_nodes ? *root.find("nics") : object_at(*root.find("intra"), kind);
    JsonValue constants = json_object({});
    set_constants(constants, fit);
    if (const int machines = (fit.between_nodes ? fit.nics : Nics{}).quality.machines; machines > 0)
      constants.set("machines", json_number(machines, {}));
    constants.set("source", citation_of(fit, in_words({fit.sources.begin(), fit.sources.end()})));
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
    own.set("source", overheads.source);
    any = true;
  }
  if (ratios) root.set("ratios", json_object({{"spread", rounded(ratios->spread)}, {"source", ratios->source}}));
  if (!spreads.empty()) root.set("steps", steps_json(spreads));
  if (!any) throw ScenarioError({"nothing was fitted, so nothing is written: a kind of links needs 10 collectives"});
  std::string text = write_json(root) + "\n";
  read_constants(parse_json(text, "the fitted constants"));  // or every later run would fail
  return text;
}

std::string cluster_with_links(const std::string& text, const std::string& file, const std::vector<LinkFit>& fits,
                               const std::string& sources, std::optional<NcclRelease> nccl, const std::string& doubt) {
  for (const LinkFit& fit : fits)
    for (const FitErrors* errors : {&fit.large, &fit.small})
      if (doubt.empty()) check_plausible(fit.kind(), *errors);
  JsonDocument document = parse_json(text, file);
  if (!document.errors.empty()) throw ScenarioError(document.errors);
  JsonValue& root = document.root;
  JsonValue* nodes = root.kind == JsonKind::kObject ? root.find("nodes") : nullptr;
  if (nodes == nullptr || nodes->kind != JsonKind::kArray)
    throw ScenarioError({file + ": is no cluster with \"nodes\"; name a file of schema accosim.cluster/1"});
  JsonValue cited = object_at(root, "sources");
  root.erase("sources");
  root.erase("doubt");
  if (!doubt.empty()) root.set("doubt", doubt);
  if (nccl && root.find("nccl") == nullptr) root.set("nccl", to_text(*nccl));
  for (std::size_t i = 0; i < nodes->elements.size(); ++i) {
    JsonValue& group = nodes->elements[i];
    if (group.kind != JsonKind::kObject) continue;
    for (const LinkFit& fit : fits) {
      JsonValue* links = group.find(fit.between_nodes ? "nics" : "intra");
      if (links == nullptr || links->kind != JsonKind::kObject) continue;
      if (!is_kind(*links, fit.kind(), nic_kinds().front())) continue;
      set_constants(*links, fit);
      const std::string pointer = fmt::format("/nodes/{}/{}/", i, fit.between_nodes ? "nics" : "intra");
      for (const char* key : {"efficiency", "latency"}) cited.erase(pointer + key);
      cited.set(pointer + "efficiency", citation_of(fit, sources));
    }
  }
  root.set("sources", std::move(cited));
  return write_json(root) + "\n";
}

}  // namespace accosim
