// A user's choice that cannot run is refused here, as NCCL does: it would wait for a way that it does not have.
#include "models/read/read_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/base/text.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

/// The text of a release. A number is one too, "2.20" by its digits: --set takes what looks like one for it.
std::string release(ObjectReader& reader, const char* key) {
  if (JsonValue* const value = reader.find(key); value != nullptr && value->kind == JsonKind::kNumber)
    value->kind = JsonKind::kText;
  return reader.text(key, {}, 20);
}

NcclRelease read_release(ObjectReader& cluster, const NcclRelease& usual) {
  if (!cluster.has("nccl")) return usual;
  const std::string text = release(cluster, "nccl");
  if (!cluster.good("nccl")) return usual;
  if (const std::optional<NcclRelease> said = nccl_release(text)) return *said;
  cluster.fail("nccl", fmt::format("is no release of NCCL 2 from 2.4 on; write \"{}\" or \"2.27.5\"", to_text(usual)));
  return usual;
}

/// The newest architecture of the cluster's GPUs that `release` does not know; empty where it knows all.
std::string unknown_to(const NcclRelease& release, const Cluster& cluster) {
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices)
      if (!knows(release, device.architecture)) return device.architecture;
  return {};
}

/// That of the training's PyTorch, or the usual one; with GPUs that it does not know the first that fits PyTorch and
/// them.
NcclRelease usual_release(const Training& training, const Cluster& cluster) {
  const NcclRelease usual = training.pytorch ? nccl_of_pytorch(*training.pytorch) : Cluster{}.nccl;
  return unknown_to(usual, cluster).empty() ? usual : NcclRelease{27, 5};  // of PyTorch 2.9
}

bool all_groups(const Cluster& cluster, bool (*holds)(const NodeGroup&)) {
  return std::ranges::all_of(cluster.nodes, holds);
}

/// A switch inside the node that reduces.
bool reduces(const NodeGroup& group) {
  const bool hopper = std::ranges::all_of(group.devices, [](const Device& device) {
    return device.architecture == "hopper" || device.architecture == "blackwell";
  });
  return hopper && group.gpus > 2 && group.intra.nvls.efficiency > 0;
}
bool has_one_gpu(const NodeGroup& group) { return group.gpus == 1; }
bool has_ll(const NodeGroup& group) { return group.gpus == 1 || group.intra.ll.efficiency > 0; }
bool has_ll128(const NodeGroup& group) { return group.gpus == 1 || group.intra.ll.efficiency128 > 0; }
bool has_nvlink(const NodeGroup& group) { return group.gpus == 1 || !is_over_pcie(group.intra.kind); }
/// Adapters behind the GPUs' own switches.
bool is_beside(const NodeGroup& group) {
  return group.nics.beside_gpus && data_path(group.nics.kind) == DataPath::kDirect;
}
bool is_one_node(const Cluster& cluster) { return node_count(cluster) == 1; }
bool any_has_simple_alone(const Cluster& cluster) {
  return std::ranges::any_of(cluster.nodes, [&](const NodeGroup& group) {
    return has_simple_alone(group.nics.kind, capability_of(group), cluster.nccl.minor);
  });
}

/// Why NCCL has no such algorithm there and what to write instead; empty where it has one.
std::string lacking_algorithm(const std::string& algorithm, const Cluster& cluster) {
  const bool nvls = algorithm == "nvls" || algorithm == "nvlstree";
  if (nvls && !all_groups(cluster, reduces))
    return "needs Hopper GPUs behind an NVSwitch that reduces, three or more on every node; write \"tree\"";
  if (algorithm == "nvlstree" && !all_groups(cluster, [](const NodeGroup& each) { return each.nics.kind != "tcpx"; }))
    return "is off over tcpx, for which Google says NCCL_NVLS_ENABLE=0; write \"tree\"";
  if (algorithm == "nvls" && !is_one_node(cluster)) return "is for one node; write \"nvlstree\"";
  if (algorithm == "nvls" && cluster.nccl.minor < 17) return "came with NCCL 2.17; write \"ring\"";
  if (algorithm == "nvlstree" && cluster.nccl.minor < 18) return "came with NCCL 2.18; write \"tree\"";
  if (algorithm == "pat" && !all_groups(cluster, has_one_gpu)) return "is for nodes of one GPU; write \"ring\"";
  if (algorithm == "pat" && cluster.nccl.minor < 23) return "came with NCCL 2.23; write \"ring\"";
  if (algorithm == "collnet" && !cluster.collnet)
    return "needs switches that reduce; write \"collnet\": true in the cluster, or \"tree\" here";
  if (is_one_node(cluster) && algorithm != "ring" && algorithm != "tree" && algorithm != "nvls")
    return "is between nodes; write \"ring\"";
  return {};
}

std::string lacking_protocol(const ForcedWay& way, const Cluster& cluster) {
  const bool simple_only =
      way.algorithm == "nvls" || way.algorithm == "nvlstree" || way.algorithm == "pat" || way.algorithm == "collnet";
  if (simple_only && way.protocol != "simple") return "is not one of " + way.algorithm + "'s; write \"simple\"";
  if (any_has_simple_alone(cluster) && !is_one_node(cluster) && way.protocol != "simple")
    return "is off over these adapters: bytes may overtake each other (AWS's before Hopper), or Google says "
           "NCCL_PROTO=Simple (tcpx); write \"simple\"";
  if (way.protocol == "ll" && !all_groups(cluster, has_ll)) return "is off where \"ll_rate\" is 0; write \"simple\"";
  if (way.protocol != "ll128") return {};
  if (!all_groups(cluster, has_ll) || !all_groups(cluster, has_ll128))
    return "is off where \"ll_rate\" or \"ll128_efficiency\" is 0; write \"simple\"";
  if (!all_groups(cluster, has_nvlink) || (!all_groups(cluster, is_beside) && !is_one_node(cluster)))
    return "needs NVLink between the GPUs of a node, and adapters behind the GPUs' own switches; write \"simple\" or "
           "\"ll\"";
  return {};
}

/// A name in any case, as NCCL takes it.
std::string read_name(ObjectReader& reader, const char* key, const std::vector<std::string>& names) {
  if (!reader.has(key)) return {};
  const std::string name = lower(reader.text(key, {}, 40));
  if (!reader.good(key)) return {};
  if (std::ranges::find(names, name) != names.end()) return name;
  reader.fail(key, fmt::format("{} is none of NCCL's; write {}", in_quotes(name), in_words(names, " or ")));
  return {};
}

void read_forced(JsonValue& value, ObjectReader& cluster, Cluster& into) {
  ObjectReader reader(value, cluster.pointer("tuner"), cluster.diagnostics());
  into.tuner = Tuner::kForced;
  ForcedWay& way = into.forced;
  way.algorithm = read_name(reader, "algorithm", {"ring", "tree", "nvls", "nvlstree", "pat", "collnet"});
  way.protocol = read_name(reader, "protocol", {"ll", "ll128", "simple"});
  reader.finish();
  if (!reader.has("algorithm") && !reader.has("protocol"))
    return cluster.fail("tuner",
                        "forces nothing; write {\"algorithm\": \"ring\", \"protocol\": \"simple\"}, or one of these");
  if (!way.algorithm.empty())
    if (const std::string why = lacking_algorithm(way.algorithm, into); !why.empty()) reader.fail("algorithm", why);
  if (!way.protocol.empty())
    if (const std::string why = lacking_protocol(way, into); !why.empty()) reader.fail("protocol", why);
}

/// The lines that NCCL printed of its search between nodes, one for rings and one for trees.
void read_graphs(ObjectReader& cluster, Cluster& into) {
  if (!cluster.has("nccl_graph")) return;
  constexpr int kRing = 4, kTrees = 3;
  const auto own = [](const NodeGroup& group) { return group.nics.kind == kOwnRings; };
  if (node_count(into) < 2 || std::ranges::any_of(into.nodes, own))
    return cluster.fail("nccl_graph", "is of NCCL between nodes, which this cluster has not; leave it out");
  constexpr const char* kExample =
      "Pattern 4, crossNic 0, nChannels 8, bw 24.000000/24.000000, type NVL/PXB, sameChannels 1";
  NcclGraphs graphs;
  graphs.ring.channels = graphs.tree.channels = 0;
  JsonValue* const lines = cluster.find("nccl_graph");
  if (lines->kind != JsonKind::kArray)
    return cluster.fail("nccl_graph", "is no list; write the lines that NCCL printed, each as a text");
  for (const JsonValue& each : lines->elements) {
    const std::string line = each.kind == JsonKind::kText ? each.text : std::string();
    int pattern = 0;
    NcclGraph graph;
    if (!read_pattern(line, pattern, graph))
      return cluster.fail(
          "nccl_graph",
          fmt::format("{} is no line that NCCL prints of its search, with 1 to 32 channels; write some like {}",
                      in_quotes(line, 200), in_quotes(kExample, 200)));
    NcclGraph* const into_graph = pattern == kRing                    ? &graphs.ring
                                  : pattern >= 1 && pattern <= kTrees ? &graphs.tree
                                                                      : nullptr;
    if (into_graph == nullptr) continue;  // of NVLS and CollNet
    if (into_graph->channels > 0)
      return cluster.fail("nccl_graph",
                          fmt::format("has two lines of {}; write one of each", pattern == kRing ? "rings" : "trees"));
    *into_graph = graph;
  }
  if (graphs.ring.channels == 0)
    return cluster.fail("nccl_graph",
                        "has no line of rings; write the one of \"Pattern 4\", and of \"Pattern 1\" to 3 "
                        "for trees");
  if (graphs.tree.channels == 0) graphs.tree = graphs.ring;
  into.graphs = graphs;
}

}  // namespace

NcclRelease nccl_of_pytorch(int minor) {
  constexpr std::array<int, kNewestPytorch + 1> kWheels = {14, 18, 19, 20, 20, 21, 21, 26, 27, 27};
  return {kWheels.at(static_cast<std::size_t>(minor))};
}

void read_nccl(ObjectReader& reader, const Training& training, Cluster& cluster) {
  cluster.nccl = read_release(reader, usual_release(training, cluster));
  if (const std::string unknown = unknown_to(cluster.nccl, cluster); !unknown.empty() && reader.good("nccl"))
    reader.fail("nccl", fmt::format("does not run on {} GPUs; write \"2.25\" or a later one", unknown));
  if (reader.has("collnet")) cluster.collnet = reader.boolean("collnet");
  read_graphs(reader, cluster);
  if (cluster.nodes.empty()) {  // which is a mistake of its own
    reader.find("tuner");
    return;
  }
  if (cluster.collnet && !all_groups(cluster, [](const NodeGroup& each) { return may_reduce(each.nics.kind); }))
    reader.fail("collnet", "needs switches of InfiniBand that reduce; leave it out");
  JsonValue* const tuner = reader.find("tuner");
  const bool usual =
      tuner != nullptr && tuner->kind == JsonKind::kText && tuner->text == "nccl";  // as resolve writes it
  const bool own_rings = !all_groups(cluster, [](const NodeGroup& each) { return each.nics.kind != kOwnRings; });
  if (tuner != nullptr && !usual && own_rings)
    return reader.fail("tuner", "is NCCL's, and accocal's own rings have none; leave it out");
  if (tuner != nullptr && tuner->kind == JsonKind::kObject) return read_forced(*tuner, reader, cluster);
  cluster.tuner = reader.choice("tuner", Tuner::kNccl, [](const std::string&) {
    return R"(a way is forced by {"algorithm": "ring", "protocol": "simple"}; )";
  });
  if (cluster.tuner == Tuner::kAws &&
      !all_groups(cluster, [](const NodeGroup& each) { return is_aws(each.nics.kind); }))
    reader.fail("tuner", "aws is the plugin of AWS's adapters (efa, efa_rdma); write \"nccl\"");
}

std::optional<int> read_pytorch(ObjectReader& reader) {
  if (!reader.has("pytorch")) return std::nullopt;
  const std::string text = release(reader, "pytorch");
  if (!reader.good("pytorch")) return std::nullopt;
  const bool two = text.size() >= 3 && text.rfind("2.", 0) == 0 && text[2] >= '0' && text[2] <= '0' + kNewestPytorch;
  if (two && (text.size() == 3 || text[3] == '.')) return text[2] - '0';
  reader.fail("pytorch", fmt::format("is no release whose NCCL is known; write \"2.0\" to \"2.{}\", or \"nccl\" in the "
                                     "cluster",
                                     kNewestPytorch));
  return std::nullopt;
}

}  // namespace accosim
