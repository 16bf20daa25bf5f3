#include "models/spec/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "models/base/reader.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

constexpr Range kShare{0, 1};
constexpr Range kSpread{0, 2};
constexpr Range kNvls{0, 2};
constexpr Range kOverhead{0.1, 10};
constexpr Range kFactor{0, 10};
constexpr Range kCrowding{0, 4};
constexpr int kMostGpus = 1024;  // of a node

/// Others are in proportion to it, so it is not 0.
Seconds read_latency(ObjectReader& reader) {
  constexpr Seconds kLeast{1e-9};
  const Seconds latency = reader.seconds("latency");
  if (reader.good("latency") && latency < kLeast) reader.fail("latency", "is next to nothing; write 1 ns or more");
  return latency;
}

LinkQuality read_quality(ObjectReader& reader) {
  return LinkQuality{.spread = reader.number("spread", kSpread),
                     .spread_small = reader.number("spread_small", kSpread)};
}

IntraLink read_intra(ObjectReader& reader, const std::string& kind, const std::string& generation) {
  IntraLink link{.kind = kind, .efficiency = reader.number("efficiency", kFraction), .generation = generation};
  link.latency = read_latency(reader);
  link.launch = reader.seconds("launch");
  link.start = reader.seconds("start");
  link.turnaround = reader.number("turnaround", Range{0, kMostTurnaround});
  link.crowding = reader.number("crowding", kCrowding, 0);
  link.ll = {reader.number("ll_factor", kFactor), reader.number("ll_rate", kFactor),
             reader.number("ll128_efficiency", kShare)};
  link.nvls.efficiency = reader.number("nvls_efficiency", kNvls, 0);
  if (link.nvls.efficiency > 0) {
    link.nvls.launch = reader.seconds("nvls_launch");
    link.nvls.fill = reader.number("nvls_fill", kFactor);
  }
  link.exchange = {reader.number("all_to_all_efficiency", kShare), reader.seconds("all_to_all_launch"),
                   reader.seconds("all_to_all_chunk")};
  link.quality = read_quality(reader);
  link.quality.nodes = reader.integer("measured_gpus", 0, kMostGpus, 0);
  link.quality.growth = reader.number("growth", kSpread, 0);
  return link;
}

Nics read_nics(ObjectReader& reader, const std::string& kind) {
  Nics nics{.efficiency = reader.number("efficiency", kFraction), .kind = kind};
  nics.latency = read_latency(reader);
  nics.message = reader.seconds("message");
  if (reader.has("staging")) nics.staging = reader.bandwidth("staging");
  if (reader.has("collisions")) nics.collisions = reader.number("collisions", kShare);
  nics.quality = read_quality(reader);
  constexpr int kMostMachines = 1000, kMostNodes = 1 << 20;
  nics.quality.machines = reader.integer("machines", 0, kMostMachines, 0);
  nics.quality.nodes = reader.integer("measured_nodes", 0, kMostNodes, 0);
  nics.quality.growth = reader.number("growth", kSpread, 0);
  return nics;
}

/// An object whose members are objects, each with a "source".
void read_each(ObjectReader& top, const char* key,
               const std::function<void(ObjectReader&, const std::string& name)>& read) {
  JsonValue* const all = top.find(key);
  if (all == nullptr || all->kind != JsonKind::kObject || all->members.empty())
    return top.fail(key, "missing, or no object with members; write kinds by name");
  for (JsonMember& member : all->members) {
    ObjectReader reader(member.value, top.pointer(key) + pointer_part(member.key), top.diagnostics());
    if (!reader.good()) continue;
    if (member.key.empty() || printable(member.key) != member.key)
      top.fail(key, "has a kind without a name that can be printed; name it");
    read(reader, member.key);
    reader.text("source", {}, 2000);
    reader.finish();
  }
}

StepSpread read_step_spread(ObjectReader& reader, const std::string& name) {
  StepSpread spread{name, reader.number("spread", kSpread), reader.integer("cases", 0, kMaxInteger)};
  return spread;
}

/// "steps": the spread of steps of split models, of mixed ones, and by device that of those with too narrow an
/// interval.
void read_step_spreads(ObjectReader& top, Constants& constants) {
  JsonValue* const steps = top.find("steps");
  if (steps == nullptr) return;
  ObjectReader reader(*steps, top.pointer("steps"), top.diagnostics());
  if (!reader.good()) return;
  for (const auto& [name, spread] :
       {std::pair(kSplitSteps, &constants.split), std::pair(kMixedSteps, &constants.mixed)}) {
    JsonValue* const written = reader.find(name);
    if (written == nullptr) continue;
    ObjectReader own(*written, reader.pointer(name), top.diagnostics());
    *spread = read_step_spread(own, name);
    own.text("source", {}, 2000);
    own.finish();
  }
  if (reader.has("devices"))
    read_each(reader, "devices", [&](ObjectReader& own, const std::string& name) {
      constants.devices.push_back(read_step_spread(own, name));
    });
  reader.finish();
}

/// Kinds of links inside nodes, each with its generations of GPUs.
void read_boards(ObjectReader& top, std::vector<IntraLink>& boards) {
  JsonValue* const all = top.find("intra");
  if (all == nullptr || all->kind != JsonKind::kObject || all->members.empty())
    return top.fail("intra", "missing, or no object with members; write kinds by name");
  ObjectReader kinds(*all, top.pointer("intra"), top.diagnostics());
  for (const JsonMember& member : all->members) {
    const std::string kind = member.key;
    read_each(kinds, kind.c_str(), [&](ObjectReader& reader, const std::string& generation) {
      const std::vector<std::string>& known = architectures();
      if (std::ranges::find(known, generation) == known.end())
        kinds.fail(kind.c_str(), fmt::format("has no generation of GPUs {}; write {}", in_quotes(generation, 40),
                                             in_words(known, " or ")));
      boards.push_back(read_intra(reader, kind, generation));
    });
  }
}

}  // namespace

Constants read_constants(JsonDocument document) {
  if (!document.whole) throw ScenarioError(document.errors);
  Diagnostics diagnostics{document.errors};
  ObjectReader top(document.root, "", diagnostics);
  top.schema("accosim.constants/1");
  top.text("description", std::string(), 2000);
  Constants constants;
  read_boards(top, constants.intra);
  read_each(top, "nics",
            [&](ObjectReader& reader, const std::string& kind) { constants.nics.push_back(read_nics(reader, kind)); });
  const auto is_lone = [](const IntraLink& link) { return link.kind == kLoneGpuKind; };
  if (top.good("intra") && std::ranges::none_of(constants.intra, is_lone))
    top.fail("intra", fmt::format("lacks \"{}\", whose launches nodes of one GPU take; add it", kLoneGpuKind));
  if (JsonValue* const overheads = top.find("overheads")) {
    ObjectReader reader(*overheads, top.pointer("overheads"), diagnostics);
    constants.overheads.pytorch = reader.number("pytorch", kOverhead);
    constants.overheads.fused = reader.number("fused", kOverhead);
    constants.overheads.flash_1 = reader.number("flash_1", kOverhead);
    constants.overheads.product_slope = reader.number("product_slope", Range{0, 3});
    reader.text("source", {}, 2000);
    reader.finish();
  } else {
    top.fail(
        "overheads",
        "missing; write an object with \"pytorch\", \"fused\", \"flash_1\", \"product_slope\" and their \"source\"");
  }
  if (JsonValue* const ratios = top.find("ratios")) {
    ObjectReader reader(*ratios, top.pointer("ratios"), diagnostics);
    constants.ratio_spread = reader.number("spread", kSpread);
    reader.text("source", {}, 2000);
    reader.finish();
  } else {
    top.fail("ratios", "missing; write an object with \"spread\" and its \"source\"");
  }
  read_step_spreads(top, constants);
  top.finish();
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return constants;
}

std::string constants_path() { return data_dir() + "/calibration/constants.json"; }

const Constants& constants() {
  static const Constants kConstants = read_constants(read_json_file(constants_path(), constants_path()));
  return kConstants;
}

}  // namespace accosim
