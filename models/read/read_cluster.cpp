// Devices, node groups and the fabric between them. What a device cannot do is found here, where the file still says
// which node group asked for it.
#include "models/read/read_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/text.hpp"
#include "models/read/other_words.hpp"
#include "models/read/parts.hpp"
#include "models/read/read_device.hpp"
#include "models/read/read_nccl.hpp"
#include "models/read/read_training.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/schedule.hpp"

namespace accosim {
namespace {

constexpr int kMaxNodeGroups = 1024;
constexpr int kMaxGpusPerNode = 1024;
constexpr int kMaxNodes = 1'048'576;
constexpr std::int64_t kMaxRanks = 1'048'576;

constexpr Range kShare{0, 1};
constexpr Range kSpread{0, 2};
constexpr Range kNvls{0, 2};
constexpr Range kFactor{0, 10};
constexpr Range kCrowding{0, 4};
constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kSize = "micro_batch_size";
constexpr int kMostLinked = 8;  // GPUs whose rings can be searched

/// Whether links join all GPUs in a ring.
bool has_ring(const std::vector<std::vector<int>>& links) {
  std::vector<std::size_t> order(links.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    bool ring = true;
    for (std::size_t i = 0; ring && i < order.size(); ++i) ring = links[order[i]][order[(i + 1) % order.size()]] > 0;
    if (ring) return true;
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return false;
}

/// Bridges that join boards in pairs carry every second step of a ring, so that half of the boards' steps share PCIe:
/// (2 / n)^c' with c' for the n that there are is (4 / n)^c.
std::string with_bridges(const std::vector<std::vector<int>>& links) {
  const auto in_pair = [](const std::vector<int>& of_one) {
    return std::ranges::count_if(of_one, [](int each) { return each > 0; }) == 1;
  };
  if (!std::ranges::all_of(links, in_pair)) return "";
  const double n = static_cast<double>(links.size()), part = std::log(n / 4) / std::log(n / 2);
  return fmt::format(R"(; half of a ring's steps go over the bridges then, so write "crowding": {})",
                     part == 0 ? std::string("0") : fmt::format("{:.2f} times the kind's", part));
}

/// NVLinks between each two of the node's GPUs: a square, symmetric list of lists.
std::vector<std::vector<int>> read_links(const JsonValue& value, ObjectReader& reader, int gpus) {
  const std::string form = fmt::format(
      "write {} lists of {} numbers, the NVLinks between each two of the node's GPUs: [[0, 2], [2, 0]]", gpus, gpus);
  const auto square = [&](const JsonValue& list) {
    return list.kind == JsonKind::kArray && list.elements.size() == static_cast<std::size_t>(gpus);
  };
  std::vector<std::vector<int>> links;
  bool good = gpus >= 2 && gpus <= kMostLinked && square(value);
  for (std::size_t i = 0; good && i < value.elements.size(); ++i) {
    good = square(value.elements[i]);
    links.emplace_back();
    for (const JsonValue& each : value.elements[i].elements) {
      good = good && each.kind == JsonKind::kNumber && each.number >= 0 && each.number <= 18 &&
             each.number == std::floor(each.number);
      links.back().push_back(good ? static_cast<int>(each.number) : 0);
    }
  }
  for (std::size_t i = 0; good && i < links.size(); ++i)
    for (std::size_t j = 0; j < links.size(); ++j) good = good && links[i][j] == links[j][i] && links[i][i] == 0;
  if (good && !has_ring(links))
    reader.fail("links", fmt::format("join no ring of the {} GPUs, so that NCCL goes over PCIe; write \"kind\": "
                                     "\"pcie\" with its bandwidth, and no \"links\"{}",
                                     gpus, with_bridges(links)));
  if (good) return links;
  reader.fail("links", "is no table of links; " + form);
  return {};
}

LinkQuality read_quality(ObjectReader& reader, const LinkQuality& usual) {
  LinkQuality quality = usual;
  quality.spread = reader.number("spread", kSpread, usual.spread);
  quality.spread_small = reader.number("spread_small", kSpread, usual.spread_small);
  return quality;
}

/// The third generation of NVSwitch came with Hopper, whatever bandwidth a variant of it has.
bool has_reducing_switch(const Device& device) {
  return device.architecture == "hopper" || device.architecture == "blackwell";
}

/// Keys that are none of links inside nodes any more, or never were.
const std::map<std::string, std::string>& intra_words() {
  static const std::map<std::string, std::string> kAll = {
      {"count", "give the bandwidth of all links of one GPU together"},
      {"chunk", "an exchange has \"all_to_all_chunk\" in its place, rings NCCL's own chunks"},
      {"ll_launch", "latencies are NCCL's times \"ll_factor\" now"},
      {"ll_latency", "latencies are NCCL's times \"ll_factor\" now"},
      {"ll_efficiency", "the rate of LL is NCCL's times \"ll_rate\" now"}};
  return kAll;
}

/// What GPUs share that reach each other over PCIe. Where sockets are told and they reach each other's memory, nothing
/// else is shared unless it is written.
void read_sockets(ObjectReader& reader, int gpus, IntraLink& link) {
  const bool over_pcie = is_over_pcie(link.kind);
  const char *const own = "socket_gpus", *const between = "between_sockets";
  const bool told = reader.has(own) || reader.has(between);
  if (told && !over_pcie) {
    for (const char* const key : {own, between})
      if (reader.has(key))
        reader.fail(key, fmt::format("is about PCIe, and {} has no CPU in between; leave it out", link.kind));
    return;
  }
  if (told) {
    link.socket_gpus = reader.integer(own, 1, kMaxGpusPerNode);
    link.between_sockets = reader.bandwidth(between);
    if (reader.good(own) && (gpus % link.socket_gpus != 0 || link.socket_gpus == gpus))
      reader.fail(own, fmt::format("is {}, which does not divide the node's {} GPUs among several sockets; write {}",
                                   link.socket_gpus, gpus,
                                   gpus % 2 == 0 ? std::to_string(gpus / 2) + ", or another divisor" : "a divisor"));
  }
  if (over_pcie) link.crowding = reader.number("crowding", kCrowding, told && link.kind == "pcie" ? 0 : link.crowding);
}

IntraLink read_intra(ObjectReader& reader, int gpus, const std::string& architecture, bool reduces) {
  const std::string kind = reader.one_of("kind", intra_kinds(), "", link_advice(intra_kinds()));
  const IntraLink usual = usual_intra(reader.good("kind") ? kind : intra_kinds().front(), architecture);
  IntraLink link = usual;
  link.bandwidth = reader.bandwidth("bandwidth");
  link.efficiency = reader.number("efficiency", kFraction, usual.efficiency);
  link.latency = reader.seconds("latency", usual.latency);
  link.launch = reader.seconds("launch", usual.launch);
  link.start = reader.seconds("start", usual.start);
  link.turnaround = reader.number("turnaround", Range{0, kMostTurnaround}, usual.turnaround);
  read_sockets(reader, gpus, link);
  link.ll.latency = reader.number("ll_factor", kFactor, usual.ll.latency);
  link.ll.efficiency = reader.number("ll_rate", kFactor, usual.ll.efficiency);
  link.ll.efficiency128 = reader.number("ll128_efficiency", kShare, usual.ll.efficiency128);
  link.nvls.efficiency = reader.number("nvls_efficiency", kNvls, reduces ? usual.nvls.efficiency : 0);
  link.nvls.launch = reader.seconds("nvls_launch", usual.nvls.launch);
  link.nvls.fill = reader.number("nvls_fill", kFactor, usual.nvls.fill);
  link.exchange.efficiency = reader.number("all_to_all_efficiency", kShare, usual.exchange.efficiency);
  link.exchange.launch = reader.seconds("all_to_all_launch", usual.exchange.launch);
  link.exchange.chunk = reader.seconds("all_to_all_chunk", usual.exchange.chunk);
  link.quality = read_quality(reader, usual.quality);
  if (reader.has("measured_gpus")) link.quality.nodes = reader.integer("measured_gpus", 1, kMaxGpusPerNode);
  if (reader.has("growth")) link.quality.growth = reader.number("growth", kSpread);
  if (JsonValue* links = reader.find("links"))
    link.links = read_links(*links, reader, gpus);
  else if (kind == "cube_mesh")
    link.links = cube_mesh();
  if (kind == "cube_mesh" && gpus > kMostLinked)
    reader.fail("kind", fmt::format("joins 8 GPUs, and the node has {}; write \"nvswitch\"", gpus));
  return link;
}

constexpr int kMostSockets = 64, kMostChannels = 64;  // NCCL's own limits

void read_sockets(ObjectReader& reader, Nics& nics) {
  if (reader.good("kind") && !is_over_tcp(nics.kind)) {
    for (const char* key : {"sockets", "socket_window"})
      if (reader.has(key)) reader.fail(key, fmt::format("is of TCP, and {} has no sockets; leave it out", nics.kind));
    return;
  }
  nics.sockets = reader.integer("sockets", 1, kMostSockets, 1);
  nics.socket_window = reader.bytes("socket_window", kSocketWindow);
  if (reader.good("socket_window") && nics.socket_window <= Bytes{0})
    reader.fail("socket_window", "lets nothing through; write \"6 MiB\"");
}

/// What NCCL's search asks of the way from GPUs to adapters.
void read_path(ObjectReader& reader, Nics& nics) {
  nics.beside_gpus = is_beside_gpus(nics.kind);
  if (reader.good("kind") && nics.kind == kOwnRings) {
    for (const char* key : {"channels", "path", "slot"})
      if (reader.has(key)) reader.fail(key, "are for NCCL's search, and accocal's own rings have none; leave it out");
    return;
  }
  if (reader.has("channels")) nics.channels = reader.integer("channels", 1, kMostChannels);
  nics.beside_gpus = reader.one_of("path", {"switch", "cpu"}, nics.beside_gpus ? "switch" : "cpu") == "switch";
  if (reader.has("slot")) nics.slot = reader.bandwidth("slot");
}

Nics read_nics(ObjectReader& reader) {
  const std::string kind = reader.one_of("kind", nic_kinds(), nic_kinds().front(), link_advice(nic_kinds()));
  const Nics usual = usual_nics(reader.good("kind") ? kind : nic_kinds().front());
  Nics nics = usual;
  nics.count = reader.integer("count", 1, 1024, 1);
  nics.bandwidth = reader.bandwidth("bandwidth");
  nics.efficiency = reader.number("efficiency", kFraction, usual.efficiency);
  nics.latency = reader.seconds("latency", usual.latency);
  nics.message = reader.seconds("message", usual.message);
  if (reader.good("kind") && reader.has("staging") && data_path(kind) == DataPath::kDirect)
    reader.fail("staging",
                fmt::format("is what hosts copy, and adapters of {} read the GPUs' memory; leave it out", kind));
  else if (usual.staging > BytesPerSecond{0} || reader.has("staging"))
    nics.staging = reader.bandwidth("staging", usual.staging);
  nics.collisions = reader.number("collisions", kShare, usual.collisions);
  nics.burst = reader.bytes("burst", Bytes{0});
  nics.quality = read_quality(reader, usual.quality);
  if (reader.has("measured_nodes")) nics.quality.nodes = reader.integer("measured_nodes", 1, kMaxNodes);
  if (reader.has("growth")) nics.quality.growth = reader.number("growth", kSpread);
  read_path(reader, nics);
  read_sockets(reader, nics);
  return nics;
}

std::vector<Device> read_devices(ObjectReader& group, int gpus) {
  std::vector<Device> devices;
  JsonValue* value = group.find("device");
  Diagnostics& diagnostics = group.diagnostics();
  if (value == nullptr) {
    if (group.value().kind == JsonKind::kObject) {
      group.fail("device", "missing; write the name of a profile such as \"A100-SXM4-80GB\", a file, or an object");
    }
    return devices;
  }
  if (value->kind != JsonKind::kArray) {
    const std::optional<Device> device = read_device(*value, group.pointer("device"), diagnostics);
    if (device) devices.assign(static_cast<std::size_t>(gpus), *device);
    return devices;
  }
  if (group.good("gpus") && value->elements.size() != static_cast<std::size_t>(gpus)) {
    group.fail("device", fmt::format("lists {} devices for {} GPUs; list one for each, or write one for all",
                                     value->elements.size(), gpus));
    return devices;
  }
  bool all = true;
  for (std::size_t i = 0; i < value->elements.size(); ++i) {
    std::optional<Device> device =
        read_device(value->elements[i], group.pointer("device") + pointer_part(i), diagnostics);
    if (device) devices.push_back(std::move(*device));
    all = all && device.has_value();
  }
  if (!all) devices.clear();
  return devices;
}

/// What the group asks for and a device of it cannot do.
void check_abilities(ObjectReader& reader, const NodeGroup& group, const Training& training) {
  if (!reader.good("precision") || !reader.good("attention")) return;
  for (const Device& device : group.devices) {
    if (group.precision == Dtype::kFp8 && !device.peak[static_cast<std::size_t>(Dtype::kBf16)]) {
      reader.fail("precision", fmt::format("fp8 leaves attention and the head in bf16, for which {} has no peak; write "
                                           "one into its profile",
                                           printable(device.name)));
      return;
    }
    if (!device.peak[static_cast<std::size_t>(group.precision)]) {
      std::string other;
      for (Dtype dtype : {Dtype::kFp16, Dtype::kBf16, Dtype::kFp32}) {
        if (other.empty() && device.peak[static_cast<std::size_t>(dtype)]) other = name_of(dtype);
      }
      reader.fail("precision", fmt::format("{} cannot compute in {} (it has a peak for {}){}", printable(device.name),
                                           name_of(group.precision), dtypes_of(device),
                                           other.empty() ? "; take another device"
                                                         : fmt::format("; write \"precision\": \"{}\" for this node "
                                                                       "group",
                                                                       other)));
      return;
    }
    const bool own_16_bits = group.precision != training.precision && bytes_of(group.precision) <= Bytes{2};
    if (training.autocast != Autocast::kNone && !own_16_bits &&
        !device.peak[static_cast<std::size_t>(dtype_of(training.autocast))]) {
      reader.fail("precision",
                  fmt::format("{} cannot compute in autocast's {} (it has a peak for {}); write a 16-bit \"precision\" "
                              "that it has for this node group, which autocast then takes",
                              printable(device.name), name_of(training.autocast), dtypes_of(device)));
      return;
    }
    if (!runs_on(device.architecture, group.attention)) {
      reader.fail(
          "attention",
          fmt::format("{} does not run on {}, which is {}; write \"attention\": {} or \"naive\" for this node group",
                      group.attention == Attention::kFlash    ? "FlashAttention 2 (flash)"
                      : group.attention == Attention::kFlash1 ? "FlashAttention 1 (flash_1)"
                                                              : "FlashAttention 3 (flash_3)",
                      printable(device.name), device.architecture,
                      runs_on(device.architecture, Attention::kFlash)
                          ? "\"flash\""
                          : "\"memory_efficient\" (PyTorch's, which runs there)"));
      return;
    }
    if (group.attention != Attention::kNaive && !device.attention && device.flash_attention_efficiency == 0) {
      reader.fail("attention", fmt::format("{} has no fused attention (flash_attention_efficiency is 0); write "
                                           "\"attention\": \"naive\" for this node group",
                                           printable(device.name)));
      return;
    }
  }
}

/// The architecture of a node's GPUs; of unlike ones the oldest.
std::string oldest_of(const std::vector<Device>& devices) {
  const auto oldest = std::ranges::min_element(devices, [](const Device& a, const Device& b) {
    return generation_of(a.architecture) < generation_of(b.architecture);
  });
  return oldest == devices.end() ? std::string() : oldest->architecture;
}

bool is_count(const JsonValue& value) {
  return value.kind == JsonKind::kNumber && value.number >= 1 && value.number <= kMaxInteger &&
         value.number == std::floor(value.number);
}

/// A number for all GPUs of a node or a list with one for each. Empty where it is absent or wrong.
std::vector<int> read_accumulation_steps(ObjectReader& group, int gpus) {
  const JsonValue* const value = group.find(kSteps);
  const auto count = static_cast<std::size_t>(gpus);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kArray) {
    const int steps = group.integer(kSteps, 1, kMaxInteger);
    return group.good(kSteps) ? std::vector<int>(count, steps) : std::vector<int>();
  }
  std::vector<int> steps;
  for (const JsonValue& each : value->elements)
    if (is_count(each)) steps.push_back(static_cast<int>(each.number));
  if (value->elements.size() == count && steps.size() == count) return steps;
  group.fail(kSteps, fmt::format("is a list that does not hold a whole number from 1 on for each of the {} GPUs; list "
                                 "{} of them, or write one number for all",
                                 gpus, gpus));
  return {};
}

/// Reports a value that is written although training.balance chooses it.
void refuse_what_balance_chooses(ObjectReader& group, const Training& training) {
  for (const char* const key : chosen_by(training.balance))
    if (group.has(key))
      group.fail(key, fmt::format("is what \"balance\": \"{}\" of the training chooses; remove it, or write "
                                  "\"balance\": \"none\"",
                                  name_of(training.balance)));
}

NodeGroup read_group(JsonValue& value, const std::string& pointer, std::size_t index, const Training& training,
                     Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  NodeGroup group{.name = reader.text("name", fmt::format("nodes-{}", index)),
                  .count = reader.integer("count", 0, kMaxNodes, 1),
                  .gpus = reader.integer("gpus", 1, kMaxGpusPerNode),
                  .precision = reader.choice("precision", training.precision, dtype_advice()),
                  .attention = reader.choice("attention", training.attention)};
  refuse_what_balance_chooses(reader, training);
  group.micro_batch_size = reader.integer(kSize, 1, kMaxInteger, training.micro_batch_size);
  group.accumulation_steps = read_accumulation_steps(reader, group.gpus);
  group.devices = read_devices(reader, group.gpus);
  if (reader.has("inner_updates")) group.inner_updates = reader.integer("inner_updates", 1, kMostInnerUpdates);
  if (reader.has("cpu")) group.cpu = reader.choice("cpu", Cpu::kIntel);
  if (reader.has("price_per_gpu_hour")) group.price_per_gpu_hour = reader.number("price_per_gpu_hour", Range{0, 1e6});
  if (reader.has("pcie_bandwidth")) group.pcie = reader.bandwidth("pcie_bandwidth");
  if (reader.has("host_memory_bandwidth")) group.host_memory = reader.bandwidth("host_memory_bandwidth");
  const std::string architecture = oldest_of(group.devices);
  const bool reduces = std::ranges::all_of(group.devices, has_reducing_switch);
  const bool inside = read_part(
      reader, "intra", [&](ObjectReader& intra) { group.intra = read_intra(intra, group.gpus, architecture, reduces); },
      intra_words());
  if (!inside && group.gpus > 1) {
    reader.fail("intra",
                "missing; a node of several GPUs needs \"intra\": {\"kind\": \"nvswitch\", \"bandwidth\": "
                "\"300 GB/s\"}");
  } else if (!inside) {  // a collective is launched there too
    const IntraLink usual = usual_intra(kLoneGpuKind, architecture);
    group.intra.start = usual.start;
    group.intra.launch = usual.launch;
    group.intra.ll.latency = usual.ll.latency;
  }
  constexpr const char* kGone = "was replaced: NCCL's own constants say it now; leave it out";
  read_part(reader, "nics", [&](ObjectReader& nics) { group.nics = read_nics(nics); },
            {{"chunk", kGone}, {"ll_latency", kGone}, {"ll_efficiency", kGone}});
  if (group.nics.kind == kOwnRings && group.gpus == 1 && !inside) group.intra = {};  // no kernel is launched
  if (group.precision == Dtype::kFp8 && training.autocast != Autocast::kNone)
    reader.fail("precision", "fp8 says itself what is cast, and the training has autocast; write another precision");
  if (group.count > 0) check_abilities(reader, group, training);
  const bool as_all = group.precision == training.precision && group.attention == training.attention;
  if (training.implementation == Implementation::kAccocal && !as_all)
    check_own_kernels(reader, group.precision, group.attention);
  reader.finish(node_group_words());
  return group;
}

Fabric read_fabric(ObjectReader& reader, std::size_t groups) {
  Fabric fabric{.latency = reader.seconds("latency", Seconds{0}),
                .oversubscription = reader.number("oversubscription", Range{1, 1e6}, 1)};
  read_part(reader, "between_groups", [&](ObjectReader& own) {
    BetweenGroups& between = fabric.between_groups.emplace();
    between.bandwidth = own.bandwidth("bandwidth");
    between.latency = own.seconds("latency", Seconds{0});
  });
  if (fabric.between_groups && groups < 2)
    reader.fail("between_groups",
                "joins node groups, and the cluster has one; write a group of \"nodes\" for each site");
  if (fabric.between_groups && fabric.oversubscription > 1)
    reader.fail("oversubscription",
                "is of one network that joins all nodes, and between_groups makes one of each group; write 1");
  return fabric;
}

/// What prices are in. It stands behind every amount, so it is short.
std::string read_currency(ObjectReader& reader, const std::vector<NodeGroup>& groups) {
  constexpr std::size_t kMost = 8;
  if (!reader.has("currency")) return "";
  std::string currency = reader.text("currency", {}, kMost);
  if (currency.find_first_of(" \t\n0123456789") != std::string::npos)
    reader.fail("currency", fmt::format("is {}; write a name without spaces and digits, such as \"USD\" or \"EUR\"",
                                        in_quotes(currency)));
  if (std::ranges::none_of(groups, [](const NodeGroup& group) { return group.price_per_gpu_hour.has_value(); }))
    reader.fail(
        "currency",
        "is what prices are in, and no node group has one; write their \"price_per_gpu_hour\", or leave it out");
  return currency;
}

/// A cost of which a part is missing would look like a small one.
void check_prices(ObjectReader& cluster, const std::vector<NodeGroup>& groups, const std::vector<JsonValue>& values) {
  const auto counts = [](const NodeGroup& group) { return group.count > 0; };
  const auto priced = [&](const NodeGroup& group) { return counts(group) && group.price_per_gpu_hour; };
  if (std::ranges::none_of(groups, priced)) return;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (counts(groups[i]) && values[i].kind == JsonKind::kObject && values[i].find("price_per_gpu_hour") == nullptr)
      cluster.diagnostics().add(values[i].origin, cluster.pointer("nodes") + pointer_part(i) + "/price_per_gpu_hour",
                                "missing; other node groups have a price: write this one's too, 0 where it costs "
                                "nothing");
}

std::vector<NodeGroup> read_nodes(ObjectReader& cluster, const Training& training) {
  std::vector<NodeGroup> groups;
  JsonValue* nodes = cluster.find("nodes");
  const std::string form = "write a list of node groups: [{\"count\": 2, \"gpus\": 8, \"device\": ...}]";
  if (nodes == nullptr || nodes->kind != JsonKind::kArray || nodes->elements.empty()) {
    const bool none = nodes == nullptr;
    cluster.fail("nodes", (none ? "missing; "
                                : std::string("is ") +
                                      (nodes->kind == JsonKind::kArray ? "empty" : noun_of(nodes->kind)) + "; ") +
                              form);
    return groups;
  }
  if (nodes->elements.size() > kMaxNodeGroups) {
    cluster.fail("nodes",
                 fmt::format("lists {} node groups; write at most {}", nodes->elements.size(), kMaxNodeGroups));
    return groups;
  }
  std::int64_t all_nodes = 0, ranks = 0;
  std::vector<std::size_t> without_nics;
  for (std::size_t i = 0; i < nodes->elements.size(); ++i) {
    const std::string at = cluster.pointer("nodes") + pointer_part(i);
    groups.push_back(read_group(nodes->elements[i], at, i, training, cluster.diagnostics()));
    all_nodes += groups.back().count;
    ranks += std::int64_t{groups.back().count} * groups.back().gpus;
    const JsonValue& group = nodes->elements[i];
    if (group.kind == JsonKind::kObject && group.find("nics") == nullptr) without_nics.push_back(i);
  }
  if (all_nodes == 0) cluster.fail("nodes", "has no node: every \"count\" is 0; write at least one above it");
  for (std::size_t i : without_nics) {
    if (all_nodes <= 1 || groups[i].count == 0) continue;
    cluster.diagnostics().add(nodes->elements[i].origin, cluster.pointer("nodes") + pointer_part(i) + "/nics",
                              "missing; in a cluster of several nodes each needs \"nics\": {\"count\": 1, "
                              "\"bandwidth\": \"100 Gbit/s\"}");
  }
  check_prices(cluster, groups, nodes->elements);
  if (ranks > kMaxRanks) {
    cluster.fail("nodes", fmt::format("has {} GPUs; write at most {}", ranks, kMaxRanks));
  }
  return groups;
}

/// Groups of no nodes are as if they were not listed.
std::vector<NodeGroup> without_absent(std::vector<NodeGroup> listed) {
  std::vector<NodeGroup> groups;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i].count == 0) continue;
    listed[i].absent_before = static_cast<int>(i - groups.size());
    groups.push_back(std::move(listed[i]));
  }
  return groups;
}

}  // namespace

std::vector<const char*> chosen_by(Balance balance) {
  switch (balance) {
    case Balance::kSpeed: return {kSize, kSteps};
    case Balance::kCounts: return {kSteps};
    case Balance::kNone: break;
  }
  return {};
}

std::optional<Cluster> read_cluster(JsonValue& value, const std::string& pointer, const Training& training,
                                    Diagnostics& diagnostics) {
  if (value.kind == JsonKind::kText) return std::nullopt;
  const std::size_t errors = diagnostics.errors.size();
  ObjectReader reader(value, pointer, diagnostics);
  if (value.kind != JsonKind::kObject) return std::nullopt;
  Cluster cluster;
  reader.schema("accosim.cluster/1");
  cluster.name = reader.text("name", "cluster");
  if (reader.has("description")) reader.text("description", {}, 4000);
  if (reader.has("doubt")) cluster.doubt = reader.text("doubt", {}, 4000);
  cluster.nodes = read_nodes(reader, training);
  cluster.currency = read_currency(reader, cluster.nodes);
  read_part(reader, "fabric",
            [&](ObjectReader& fabric) { cluster.fabric = read_fabric(fabric, cluster.nodes.size()); });
  read_nccl(reader, training, cluster);
  read_sources(reader);
  reader.finish();
  bool complete = diagnostics.errors.size() == errors && !holds_refused(value);
  for (const NodeGroup& group : cluster.nodes) {
    complete = complete && group.devices.size() == static_cast<std::size_t>(group.gpus);
  }
  if (!complete) return std::nullopt;
  cluster.nodes = without_absent(std::move(cluster.nodes));
  return cluster;
}

Training any_training() { return Training{.precision = Dtype::kFp32, .attention = Attention::kNaive}; }

}  // namespace accosim
