#include "models/fit/collective_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/csv.hpp"
#include "models/base/text.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr const char* kHeading = "source,fabric,collective,ranks,nodes,bytes,time_us";
constexpr Range kBytes{0, 1e15, true};
constexpr int kMostRanks = 1 << 20;

}  // namespace

std::string no_collective(const std::string& written) {
  return fmt::format("{} is no collective; write {}", in_quotes(written), in_words(names_of<CollectiveKind>(), " or "));
}

std::string write_collective_samples(const std::vector<CollectiveSample>& samples) {
  std::string text = std::string(kHeading) + "\n";
  for (const CollectiveSample& sample : samples)
    text += fmt::format("{},{},{},{},{},{:.0f},{:.6g}\n", sample.source, sample.fabric, name_of(sample.kind),
                        sample.ranks, sample.nodes, sample.bytes.value, 1e6 * sample.time.value);
  return text;
}

bool holds_collectives(const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line[0] != '#') return line.find("collective") != std::string::npos;
    begin = end + 1;
  }
  return false;
}

std::vector<MeasuredCollective> read_collective_samples(const std::string& text, const std::string& name,
                                                        const std::vector<std::shared_ptr<const Cluster>>& clusters) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text, name, diagnostics);
  std::vector<MeasuredCollective> samples;
  std::string known, first;
  for (const auto& cluster : clusters) known += (known.empty() ? "" : ", ") + in_quotes(cluster->name);
  for (const CsvRow& written : table.rows) {
    if (diagnostics.enough()) break;
    CsvRowReader row(table, written, diagnostics);
    MeasuredCollective sample;
    sample.source = row.text("source");
    const std::string fabric = row.text("fabric"), collective = row.text("collective");
    if (first.empty()) first = fabric;
    auto cluster =
        std::find_if(clusters.begin(), clusters.end(), [&](const auto& each) { return each->name == fabric; });
    // A single cluster is meant by whatever a table of one fabric calls it.
    if (cluster == clusters.end() && clusters.size() == 1 && fabric == first) cluster = clusters.begin();
    CollectiveQuery& query = sample.query;
    query.bytes = Bytes{row.number("bytes", kBytes)};
    query.ranks = row.integer("ranks", 2, kMostRanks);
    query.nodes = row.integer("nodes", 1, kMostRanks, 1);
    sample.time = row.time();
    const std::optional<CollectiveKind> kind = value_named<CollectiveKind>(collective);
    if (!kind) row.fail("collective", no_collective(collective));
    if (cluster == clusters.end()) {
      row.fail("fabric", fmt::format("no cluster has the name {}; {}", in_quotes(fabric),
                                     known.empty() ? "name its file: --cluster cluster.json" : "given: " + known));
      continue;
    }
    query.cluster = *cluster;
    const int here = query.nodes > 0 ? query.ranks / query.nodes : 0;
    if (here * query.nodes != query.ranks || query.nodes > node_count(**cluster) || here > (*cluster)->nodes[0].gpus)
      row.fail("ranks", fmt::format("{} ranks on {} nodes do not fit the cluster {}", query.ranks, query.nodes,
                                    in_quotes(fabric)));
    if (kind) query.kind = *kind;
    samples.push_back(sample);
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return samples;
}

}  // namespace accosim
