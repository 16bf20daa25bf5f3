// Tables of collectives and kernels: a file names clusters or devices, and tables whose rows refer to them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "models/csv.hpp"
#include "models/parts.hpp"
#include "models/published_parts.hpp"
#include "models/text.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;
constexpr Range kCount{0, 1e12, true};
constexpr Range kTime{0, 1e12, true};  // s or us
constexpr double kMiB = 1024.0 * 1024.0;

/// Collectives that tables may hold and the model cannot price.
const std::vector<std::string>& unpriced() {
  static const std::vector<std::string> kNames = {"all_to_all", "send_recv"};
  return kNames;
}

std::optional<CollectiveKind> collective_named(const std::string& name) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                    CollectiveKind::kAllGather, CollectiveKind::kBroadcast})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

/// A measured time: column time_us, or time_s.
double time_of(CsvRowReader& row) {
  return row.has("time_us") ? 1e-6 * row.number("time_us", kTime) : row.number("time_s", kTime);
}

std::optional<CsvTable> table_of(ObjectReader& reader, PublishedFile& file) {
  const std::string name = reader.text("file");
  if (!reader.good("file")) return std::nullopt;
  const fs::path path = fs::path(file.directory) / name;
  return read_csv(path.string(), (fs::path(file.shown) / name).lexically_normal().string(), reader.find("file")->origin,
                  file.diagnostics);
}

/// Sizes whose time a larger one undercuts by more than 2 %: see scenarios/validation/README.md.
void leave_out_non_monotonic(std::vector<PublishedCase>& series) {
  constexpr double kNoise = 0.98;
  for (PublishedCase& one : series)
    for (const PublishedCase& other : series)
      if (other.collective.bytes > one.collective.bytes && other.measured < kNoise * one.measured) {
        one.left_out = "misaligned: a larger size of the same series took less time";
        break;
      }
}

std::map<std::string, std::shared_ptr<const Cluster>> read_clusters(ObjectReader& top, PublishedFile& file) {
  std::map<std::string, std::shared_ptr<const Cluster>> clusters;
  JsonValue* all = top.find("clusters");
  if (all == nullptr) return clusters;
  for (JsonMember& member : all->members) {
    const std::string pointer = top.pointer("clusters") + pointer_part(member.key);
    file.references.expand_cluster(member.value, pointer);
    if (member.value.kind == JsonKind::kText) continue;  // which has been reported
    const std::optional<Cluster> cluster = read_cluster(member.value, pointer, Training{}, file.diagnostics);
    if (cluster) clusters[member.key] = std::make_shared<const Cluster>(*cluster);
  }
  return clusters;
}

std::string size_text(Bytes bytes) {
  if (bytes.value >= kMiB) return fmt::format("{} MiB", shortest(bytes.value / kMiB));
  return fmt::format("{} B", shortest(bytes.value));
}

int nodes_of(const Cluster& cluster) {
  int nodes = 0;
  for (const NodeGroup& group : cluster.nodes) nodes += group.count;
  return nodes;
}

/// Measurements that no table can hold: none of them can be asked.
void read_unasked_cases(ObjectReader& top, PublishedFile& file, const char* group) {
  const std::vector<JsonValue*> list = list_of(top, "cases");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader reader(*list[i], top.pointer("cases") + pointer_part(i), file.diagnostics);
    PublishedCase one = read_case(reader, file, group);
    if (one.not_expressible.empty())
      reader.fail("not_expressible", "missing; write why it cannot be asked, or move it to a table");
    reader.finish();
    add_case(file, std::move(one), list[i]->origin, reader.pointer());
  }
}

}  // namespace

void read_collective_tables(ObjectReader& top, PublishedFile& file) {
  const auto clusters = read_clusters(top, file);
  std::vector<std::string> fabrics;
  for (const auto& entry : clusters) fabrics.push_back(entry.first);
  const std::vector<JsonValue*> tables = list_of(top, "tables");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    ObjectReader reader(*tables[t], top.pointer("tables") + pointer_part(t), file.diagnostics);
    const Seconds offset = reader.seconds("offset", Seconds{0});
    const bool monotonic = reader.boolean("leave_out_non_monotonic", false);
    const char trust = reader.one_of("trust", {"A", "B"}, "A")[0];
    const std::vector<std::string> inferred = read_texts(reader, "inferred");
    const std::string explanation = reader.text("explanation", std::string(), 2000);
    const std::string not_expressible = reader.text("not_expressible", std::string(), 2000);
    const std::optional<CsvTable> table = table_of(reader, file);
    reader.finish();
    if (!table) continue;
    std::vector<std::vector<PublishedCase>> all;  // by series
    std::map<std::string, std::size_t> known;
    for (const CsvRow& written : table->rows) {
      CsvRowReader row(*table, written, file.diagnostics);
      const std::string fabric = row.text("fabric"), collective = row.text("collective");
      const auto cluster = clusters.find(fabric);
      if (cluster == clusters.end() && not_expressible.empty()) {
        row.fail("fabric", fmt::format("{} is none of the file's \"clusters\"", in_quotes(fabric)));
        continue;
      }
      PublishedCase one;
      one.source = file.source.key;
      one.url = file.source.url;
      one.trust = trust;
      one.inferred = file.inferred;
      one.inferred.insert(one.inferred.end(), inferred.begin(), inferred.end());
      one.explanation = explanation;
      one.asked = Asked::kCollectiveTime;
      one.measured = time_of(row);
      one.not_expressible = not_expressible;
      CollectiveQuery& query = one.collective;
      if (cluster != clusters.end()) {
        query.cluster = cluster->second;
        one.device = cluster->second->nodes.front().devices.front().name;
      }
      query.bytes = Bytes{row.number("bytes", kCount)};
      query.ranks = static_cast<int>(row.number("ranks", Range{2, 1e6}));
      query.nodes = static_cast<int>(row.number("nodes", Range{1, 1e6}, 1));
      query.offset = offset;
      const int here = query.ranks / query.nodes;
      const bool fits = query.cluster == nullptr ||
                        (query.nodes <= nodes_of(*query.cluster) && here <= query.cluster->nodes.front().gpus);
      if (here * query.nodes != query.ranks || !fits)
        row.fail("ranks", fmt::format("{} ranks on {} nodes do not fit the cluster {}", query.ranks, query.nodes,
                                      in_quotes(fabric)));
      const std::optional<CollectiveKind> kind = collective_named(collective);
      const bool no_price = std::find(unpriced().begin(), unpriced().end(), collective) != unpriced().end();
      if (kind) query.kind = *kind;
      if (!kind && !no_price) row.fail("collective", in_quotes(collective) + " is no collective");
      if (no_price) one.not_expressible = collective + " has no price yet";
      one.group = query.bytes.value < kMiB ? kSmallGroup : kLargeGroup;
      one.series = fmt::format("{}, {}, {} GPUs", fabric, collective, query.ranks);
      if (query.nodes > 1) one.series += fmt::format(" on {} nodes", query.nodes);
      one.configuration = fmt::format("{}, {}", one.series, size_text(query.bytes));
      one.published = print_quantity(one.measured, Dimension::kTime);
      one.id = fmt::format("{}/{}", file.source.key, one.configuration);
      const auto [at, added] = known.emplace(one.series, all.size());
      if (added) all.emplace_back();
      all[at->second].push_back(std::move(one));
    }
    for (std::vector<PublishedCase>& series : all) {
      if (monotonic) leave_out_non_monotonic(series);
      for (PublishedCase& one : series) add_case(file, std::move(one), tables[t]->origin, reader.pointer());
    }
  }
  read_unasked_cases(top, file, kLargeGroup);
}

void read_kernel_tables(ObjectReader& top, PublishedFile& file) {
  std::map<std::string, std::shared_ptr<const Device>> devices;
  const auto device_named = [&](const std::string& name, const JsonOrigin& origin) -> std::shared_ptr<const Device> {
    const auto known = devices.find(name);
    if (known != devices.end()) return known->second;
    JsonValue value = json_text(name, origin);
    if (JsonValue* all = top.find("devices"); all != nullptr && all->find(name) != nullptr) value = *all->find(name);
    file.references.expand_device(value, top.pointer("devices") + pointer_part(name));
    if (value.kind == JsonKind::kText) return devices[name] = nullptr;
    const std::optional<Device> device =
        read_device(value, top.pointer("devices") + pointer_part(name), file.diagnostics);
    return devices[name] = device ? std::make_shared<const Device>(*device) : nullptr;
  };
  top.find("devices");
  const std::vector<Dtype> dtypes = {Dtype::kFp32, Dtype::kTf32, Dtype::kFp16, Dtype::kBf16, Dtype::kFp8};
  const std::vector<JsonValue*> tables = list_of(top, "tables");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    ObjectReader reader(*tables[t], top.pointer("tables") + pointer_part(t), file.diagnostics);
    const char trust = reader.one_of("trust", {"A", "B"}, "A")[0];
    const std::string only = reader.text("source", std::string());
    const std::string left_out = reader.text("left_out", std::string(), 2000);
    const std::optional<CsvTable> table = table_of(reader, file);
    reader.finish();
    if (!table) continue;
    for (const CsvRow& written : table->rows) {
      CsvRowReader row(*table, written, file.diagnostics);
      if (!only.empty() && row.text("source") != only) continue;
      const auto dtype_at = [&](const char* column, const std::string& text) {
        for (const Dtype dtype : dtypes)
          if (text == name_of(dtype)) return dtype;
        row.fail(column, in_quotes(text) + " is no dtype");
        return Dtype::kBf16;
      };
      PublishedCase one;
      one.group = kKernelGroup;
      one.source = file.source.key;
      one.url = file.source.url;
      one.trust = trust;
      one.inferred = file.inferred;
      one.left_out = left_out;
      one.asked = Asked::kKernelTime;
      one.measured = time_of(row);
      KernelQuery& query = one.kernel;
      const std::string name = row.text("device");
      query.device = device_named(name, table->origin(written, table->find("device").value_or(0)));
      if (query.device == nullptr) continue;  // which has been reported
      one.device = query.device->name;
      query.kind = row.text("kind");
      const std::string dtype = row.text("dtype");
      query.dtype = dtype_at("dtype", dtype);
      query.batch = row.number("batch", kCount, 1);
      if (query.kind == "gemm") {
        query.m = row.number("m", kCount);
        query.n = row.number("n", kCount);
        query.k = row.number("k", kCount);
        query.out = dtype_at("out_dtype", row.text("out_dtype", dtype));
        query.accumulate = row.number("accumulate", Range{0, 1}, 0) != 0;
        one.configuration = fmt::format("{} x {} x {} x {}", query.batch, query.m, query.n, query.k);
      } else if (query.kind == "attention_forward" || query.kind == "attention_backward") {
        query.heads = row.number("heads", kCount);
        query.kv_heads = row.number("kv_heads", kCount, query.heads);
        query.seq = row.number("seq", kCount);
        query.head_dim = row.number("head_dim", kCount);
        query.value_dim = row.number("value_dim", kCount, query.head_dim);
        one.configuration = fmt::format("{} x {} tokens, {} heads of {}, {} of keys", query.batch, query.seq,
                                        query.heads, query.head_dim, query.kv_heads);
      } else {
        row.fail("kind", in_quotes(query.kind) + " is not known; write gemm, attention_forward or attention_backward");
      }
      if (!query.device->peak[static_cast<std::size_t>(query.dtype)])
        one.not_expressible = fmt::format("the profile of {} has no peak for {}", one.device, dtype);
      one.series = fmt::format("{}, {} {}", one.device, query.kind, dtype);
      one.published = print_quantity(one.measured, Dimension::kTime);
      one.id = fmt::format("{}/{}:{}", file.source.key, fs::path(table->source).stem().string(), written.line);
      add_case(file, std::move(one), tables[t]->origin, reader.pointer());
    }
  }
  read_unasked_cases(top, file, kKernelGroup);
}

}  // namespace accosim
