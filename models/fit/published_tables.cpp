// Files of published measurements whose cases are the rows of tables.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "models/base/csv.hpp"
#include "models/base/text.hpp"
#include "models/fit/collective_samples.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/published_file.hpp"
#include "models/read/read_cluster.hpp"
#include "models/read/read_device.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;
constexpr Range kCount{0, 1e12, true};
constexpr int kMostRanks = 1 << 20;
constexpr double kMiB = 1024.0 * 1024.0;

std::optional<CsvTable> table_of(ObjectReader& reader, PublishedFile& file) {
  const std::string name = reader.text("file");
  if (!reader.good("file")) return std::nullopt;
  const fs::path path = fs::path(file.directory) / name;
  return read_csv(path.string(), (fs::path(file.shown) / name).lexically_normal().string(), reader.find("file")->origin,
                  file.diagnostics);
}

/// Sizes that are slower per byte than a smaller one by more than 3 %: see scenarios/validation/README.md.
void leave_out_misaligned(std::vector<PublishedCase>& series) {
  constexpr double kNoise = 0.97;
  for (PublishedCase& one : series)
    for (const PublishedCase& other : series) {
      const double rate = one.collective.bytes.value / one.measured;
      if (other.collective.bytes >= one.collective.bytes ||
          rate >= kNoise * other.collective.bytes.value / other.measured)
        continue;
      one.left_out =
          "moved over 3 % fewer bytes a second than a smaller size of its series: misaligned parts, or noise";
      break;
    }
}

/// What a source's way of timing adds, by collective: a time, or {"all_reduce": a time, ...}; and copies of lists of
/// tensors into one buffer and out, twice the buffer's bytes through the device's memory.
struct TimingOverheads {
  std::map<std::string, Seconds> offset;
  std::vector<std::string> copied;

  Seconds of(const std::string& collective, Bytes bytes, const Cluster& cluster) const {
    Seconds all;
    for (const std::string& name : {std::string(), collective})
      if (const auto found = offset.find(name); found != offset.end()) all += found->second;
    const Device& device = cluster.nodes.front().devices.front();
    if (std::ranges::find(copied, collective) != copied.end())
      all += 2 * bytes / (device.memory_efficiency * device.memory_bandwidth);
    return all;
  }
};

TimingOverheads read_overheads(ObjectReader& reader) {
  TimingOverheads overheads;
  JsonValue* value = reader.find("offset");
  if (value != nullptr && value->kind == JsonKind::kObject) {
    ObjectReader each(*value, reader.pointer("offset"), reader.diagnostics());
    for (const CollectiveKind kind : values_of<CollectiveKind>())
      if (each.has(name_of(kind))) overheads.offset[name_of(kind)] = each.seconds(name_of(kind));
    each.finish();
  } else {
    overheads.offset[""] = reader.seconds("offset", Seconds{0});
  }
  overheads.copied = read_texts(reader, "copied");
  for (const std::string& name : overheads.copied)
    if (!value_named<CollectiveKind>(name)) reader.fail("copied", no_collective(name));
  return overheads;
}

using Clusters = std::map<std::string, std::shared_ptr<const Cluster>>;

Clusters read_clusters(ObjectReader& top, PublishedFile& file) {
  Clusters clusters;
  JsonValue* all = top.find("clusters");
  if (all == nullptr) return clusters;
  if (all->kind != JsonKind::kObject) top.fail("clusters", "is no object; write clusters by name");
  for (JsonMember& member : all->members) {
    const std::string pointer = top.pointer("clusters") + pointer_part(member.key);
    file.references.expand_cluster(member.value, pointer);
    if (member.value.kind == JsonKind::kText) continue;  // which has been reported
    const std::optional<Cluster> cluster = read_cluster(member.value, pointer, any_training(), file.diagnostics);
    if (cluster) clusters[member.key] = std::make_shared<const Cluster>(*cluster);
  }
  return clusters;
}

std::string size_text(Bytes bytes) {
  if (bytes.value >= kMiB) return fmt::format("{} MiB", shortest(bytes.value / kMiB));
  return fmt::format("{} B", shortest(bytes.value));
}

/// Measurements that no table can hold: none of them can be asked.
void read_unasked_cases(ObjectReader& top, PublishedFile& file, const char* group) {
  read_each(top, "cases", [&](ObjectReader& reader) {
    PublishedCase one = read_case(reader, file, group);
    if (one.not_expressible.empty())
      reader.fail("not_expressible", "missing; write why it cannot be asked, or move it to a table");
    reader.finish();
    add_case(file, std::move(one), reader);
  });
}

/// What all rows of a table of collectives have in common.
struct CollectiveTable {
  PublishedCase common{};
  TimingOverheads overheads;
  bool leave_out_misaligned = false;
  bool back_to_back = false;
  std::vector<NcclRelease> releases{};  ///< that it may have been
  std::string algorithm{};              ///< "any", or the one that was forced
};

CollectiveTable read_collective_table(ObjectReader& reader, PublishedFile& file) {
  CollectiveTable table{.overheads = read_overheads(reader),
                        .leave_out_misaligned = reader.boolean("leave_out_misaligned", false),
                        .back_to_back = reader.boolean("back_to_back", false)};
  for (const std::string& text : read_texts(reader, "releases")) {
    const std::optional<NcclRelease> release = nccl_release(text);
    if (!release)
      reader.fail("releases", fmt::format("{} is no release of NCCL; write some like \"2.18\"", in_quotes(text)));
    if (release) table.releases.push_back(*release);
  }
  std::ranges::sort(table.releases);
  table.algorithm = reader.one_of("algorithm", {"any", "ring", "tree", "NVLS"}, "any");
  PublishedCase& common = table.common;
  common.source = file.source.key;
  common.url = file.source.url;
  common.asked = Asked::kCollectiveTime;
  common.in_fits = reader.boolean("in_fits", true);
  common.trust = reader.one_of("trust", {"A", "B"}, "A")[0];
  common.inferred = file.inferred;
  const std::vector<std::string> inferred = read_texts(reader, "inferred");
  common.inferred.insert(common.inferred.end(), inferred.begin(), inferred.end());
  common.explanation = reader.text("explanation", std::string(), 2000);
  common.left_out = reader.text("left_out", std::string(), 2000);
  common.not_expressible = reader.text("not_expressible", std::string(), 2000);
  return table;
}

/// Nothing where the row names none of the clusters.
std::optional<PublishedCase> read_collective_row(CsvRowReader& row, const CollectiveTable& table,
                                                 const Clusters& clusters) {
  const std::string fabric = row.text("fabric"), collective = row.text("collective");
  const auto cluster = clusters.find(fabric);
  PublishedCase one = table.common;
  if (cluster == clusters.end() && one.not_expressible.empty()) {
    row.fail("fabric", fmt::format("{} is none of the file's \"clusters\"", in_quotes(fabric)));
    return {};
  }
  one.measured = row.time().value;
  CollectiveQuery& query = one.collective;
  if (cluster != clusters.end()) {
    query.cluster = cluster->second;
    one.device = cluster->second->nodes.front().devices.front().name;
  }
  query.bytes = Bytes{row.number("bytes", kCount)};
  query.ranks = row.integer("ranks", 2, kMostRanks);
  query.nodes = row.integer("nodes", 1, kMostRanks, 1);
  query.back_to_back = table.back_to_back;
  query.releases = table.releases;
  if (query.cluster != nullptr) query.offset = table.overheads.of(collective, query.bytes, *query.cluster);
  const int here = query.ranks / query.nodes;
  const bool fits = query.cluster == nullptr ||
                    (query.nodes <= node_count(*query.cluster) && here <= query.cluster->nodes.front().gpus);
  if (here * query.nodes != query.ranks || !fits)
    row.fail("ranks", fmt::format("{} ranks on {} nodes do not fit the cluster {}", query.ranks, query.nodes,
                                  in_quotes(fabric)));
  const std::optional<CollectiveKind> kind = value_named<CollectiveKind>(collective);
  if (kind) query.kind = *kind;
  for (const Algorithm each : {Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls})
    if (table.algorithm == name_of(each)) query.only = each;
  if (!kind) row.fail("collective", no_collective(collective));
  const bool small = query.bytes.value < kMiB;
  if (query.nodes > 1)
    one.group = small ? kSmallBetweenGroup : kLargeBetweenGroup;
  else
    one.group = query.back_to_back ? (small ? kSmallBackToBackGroup : kLargeBackToBackGroup)
                                   : (small ? kSmallGroup : kLargeGroup);
  one.series = fmt::format("{}, {}, {} GPUs", fabric, collective, query.ranks);
  if (query.nodes > 1) one.series += fmt::format(" on {} nodes", query.nodes);
  one.configuration = fmt::format("{}, {}", one.series, size_text(query.bytes));
  one.published = print_quantity(one.measured, Dimension::kTime);
  one.id = fmt::format("{}/{}", one.source, one.configuration);
  return one;
}

const char* kind_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kGemm: return "products";
    case KernelKind::kAttentionForward: return "attention forward";
    case KernelKind::kAttentionBackward: return "attention backward";
    case KernelKind::kAttentionBoth: return "attention both ways";
    case KernelKind::kMemory: break;
  }
  return "memory-bound";
}

std::string text_of(const Kernel& kernel) {
  if (kernel.kind == KernelKind::kGemm)
    return fmt::format("{} x {} x {} x {}", kernel.gemm.batch, kernel.gemm.m, kernel.gemm.n, kernel.gemm.k);
  const AttentionShape& shape = kernel.attention;
  return fmt::format("{} x {} tokens, {} heads of {}, {} of keys", shape.batch, shape.seq, shape.heads, shape.head_dim,
                     shape.kv_heads);
}

}  // namespace

void read_collective_tables(ObjectReader& top, PublishedFile& file) {
  const Clusters clusters = read_clusters(top, file);
  read_each(top, "tables", [&](ObjectReader& reader) {
    const CollectiveTable table = read_collective_table(reader, file);
    const std::optional<CsvTable> rows = table_of(reader, file);
    reader.finish();
    if (!rows) return;
    std::vector<std::vector<PublishedCase>> all;  // by series
    std::map<std::string, std::size_t> known;
    for (const CsvRow& written : rows->rows) {
      if (file.diagnostics.enough()) break;
      CsvRowReader row(*rows, written, file.diagnostics);
      std::optional<PublishedCase> one = read_collective_row(row, table, clusters);
      if (!one) continue;
      const auto [at, added] = known.emplace(one->series, all.size());
      if (added) all.emplace_back();
      all[at->second].push_back(std::move(*one));
    }
    for (std::vector<PublishedCase>& series : all) {
      if (table.leave_out_misaligned) leave_out_misaligned(series);
      for (PublishedCase& one : series) add_case(file, std::move(one), reader);
    }
  });
  read_unasked_cases(top, file, kLargeBetweenGroup);
}

void read_kernel_tables(ObjectReader& top, PublishedFile& file) {
  std::map<std::string, std::shared_ptr<const Device>> devices;
  const auto device_named = [&](const std::string& name) -> std::shared_ptr<const Device> {
    const auto known = devices.find(name);
    if (known != devices.end()) return known->second;
    JsonValue value = json_text(name, origin_named("device"));
    file.references.expand_device(value, "");
    const std::optional<Device> device =
        value.kind == JsonKind::kText ? std::nullopt : read_device(value, "", file.diagnostics);
    return devices[name] = device ? std::make_shared<const Device>(*device) : nullptr;
  };
  read_each(top, "tables", [&](ObjectReader& reader) {
    PublishedCase shared{.group = reader.boolean("apart", false) ? kApartGroup : kKernelGroup,
                         .in_fits = reader.boolean("in_fits", true)};
    shared.source = file.source.key;
    shared.url = file.source.url;
    shared.trust = reader.one_of("trust", {"A", "B"}, "A")[0];
    shared.inferred = file.inferred;
    shared.left_out = reader.text("left_out", std::string(), 2000);
    shared.asked = Asked::kKernelTime;
    const std::string only = reader.text("source", std::string());
    const std::string name = reader.text("file");
    reader.finish();
    if (!reader.good("file")) return;
    const fs::path path = fs::path(file.directory) / name;
    const std::string shown = (fs::path(file.shown) / name).lexically_normal().string();
    std::string text;
    const std::string unreadable = read_text_file(path.string(), text, kMaxMeasuredBytes);
    if (!unreadable.empty()) return reader.fail("file", in_quotes(shown, 200) + " " + unreadable);
    std::vector<KernelSample> samples;
    try {
      samples = read_kernel_samples(text, shown);
    } catch (const ScenarioError& error) {
      for (const std::string& line : error.errors) file.diagnostics.errors.push_back(line);
      return;
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const KernelSample& sample = samples[i];
      if (!only.empty() && sample.source != only) continue;
      PublishedCase one = shared;
      one.kernel = {device_named(sample.device), sample.kernel, sample.dtype};
      if (one.kernel.device == nullptr) continue;  // which has been reported
      one.device = one.kernel.device->name;
      one.measured = sample.time.value;
      one.published = print_quantity(one.measured, Dimension::kTime);
      one.configuration = text_of(sample.kernel);
      if (!one.kernel.device->peak[static_cast<std::size_t>(sample.dtype)])
        one.not_expressible = fmt::format("the profile of {} has no peak for {}", one.device, name_of(sample.dtype));
      one.series = fmt::format("{}, {} {}", one.device, kind_of(sample.kernel), name_of(sample.dtype));
      one.id = fmt::format("{}/{}-{}", file.source.key, path.stem().string(), i + 1);
      add_case(file, std::move(one), reader);
    }
  });
  read_unasked_cases(top, file, kKernelGroup);
}

}  // namespace accosim
