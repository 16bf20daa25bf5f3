#include "models/fit/collective_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "models/base/csv.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr const char* kHeading = "source,fabric,collective,ranks,nodes,bytes,time_us";
constexpr Range kBytes{0, 1e15, true};
constexpr int kMostRanks = 1 << 20;

/// What is wrong with one row, and with as many more for the same reason.
struct Misfit {
  const CsvRow* first = nullptr;
  std::string column, what, instead;
  int rows = 0;
};

/// By their reason, those of the first rows first.
class Misfits {
 public:
  void add(const std::string& reason, const CsvRow& row, Misfit misfit) {
    const auto [at, is_new] = places_.emplace(reason, misfits_.size());
    if (is_new) {
      misfit.first = &row;
      misfits_.push_back(std::move(misfit));
    }
    ++misfits_[at->second].rows;
  }
  void report(const CsvTable& table, Diagnostics& diagnostics) const {
    for (const Misfit& misfit : misfits_) {
      if (diagnostics.enough()) break;
      const std::string like = misfit.rows > 1 ? fmt::format(" ({} rows like this, the first here)", misfit.rows) : "";
      CsvRowReader(table, *misfit.first, diagnostics).fail(misfit.column, misfit.what + like + "; " + misfit.instead);
    }
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<Misfit> misfits_;
};

std::optional<NcclRelease> read_nccl(CsvRowReader& row) {
  if (!row.has("nccl")) return std::nullopt;
  const std::string release = row.text("nccl", "");
  if (release.empty()) return std::nullopt;
  const std::optional<NcclRelease> nccl = nccl_release(release);
  if (!nccl) row.fail("nccl", in_quotes(release) + " is no release of NCCL 2; write \"2.21\", or nothing");
  return nccl;
}

}  // namespace

std::string no_collective(const std::string& written) {
  return fmt::format("{} is no collective; write {}", in_quotes(written), in_words(names_of<CollectiveKind>(), " or "));
}

std::string write_collective_samples(const std::vector<CollectiveSample>& samples) {
  const bool known =
      std::ranges::any_of(samples, [](const CollectiveSample& sample) { return sample.nccl.has_value(); });
  std::string text = std::string(kHeading) + (known ? ",nccl\n" : "\n");
  for (const CollectiveSample& sample : samples) {
    text += fmt::format("{},{},{},{},{},{:.0f},{:.6g}", sample.source, sample.fabric, name_of(sample.kind),
                        sample.ranks, sample.nodes, sample.bytes.value, 1e6 * sample.time.value);
    if (known) text += sample.nccl ? "," + to_text(*sample.nccl) : ",";
    text += '\n';
  }
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
  Misfits misfits;
  std::string known, first;
  for (const auto& cluster : clusters) known += (known.empty() ? "" : ", ") + in_quotes(cluster->name);
  for (const CsvRow& written : table.rows) {
    if (diagnostics.enough()) break;
    CsvRowReader row(table, written, diagnostics);
    MeasuredCollective sample{.source = row.text("source")};
    const std::string fabric = row.text("fabric"), collective = row.text("collective");
    if (first.empty()) first = fabric;
    auto cluster = std::ranges::find_if(clusters, [&](const auto& each) { return each->name == fabric; });
    // A single cluster is meant by whatever a table of one fabric calls it.
    if (cluster == clusters.end() && clusters.size() == 1 && fabric == first) cluster = clusters.begin();
    CollectiveQuery& query = sample.query;
    query.bytes = Bytes{row.number("bytes", kBytes)};
    query.ranks = row.integer("ranks", 2, kMostRanks);
    query.nodes = row.integer("nodes", 1, kMostRanks, 1);
    sample.time = row.time();
    sample.nccl = read_nccl(row);
    const std::optional<CollectiveKind> kind = value_named<CollectiveKind>(collective);
    if (!kind) row.fail("collective", no_collective(collective));
    if (cluster == clusters.end()) {
      misfits.add("of " + fabric, written,
                  {nullptr, "fabric", "no cluster has the name " + in_quotes(fabric),
                   known.empty() ? "name its file: --cluster cluster.json" : "given: " + known});
      continue;
    }
    query.cluster = *cluster;
    const int here = query.nodes > 0 ? query.ranks / query.nodes : 0;
    const int nodes = node_count(**cluster), gpus = (*cluster)->nodes[0].gpus;
    if (here * query.nodes != query.ranks || query.nodes > nodes || here > gpus)
      misfits.add("ranks", written,
                  {nullptr, "ranks",
                   fmt::format("{} ranks on {} node{} do not fit the cluster {}, which has {} of {} GPUs", query.ranks,
                               query.nodes, query.nodes == 1 ? "" : "s", in_quotes(fabric), nodes, gpus),
                   "name the cluster that they ran on, or leave such rows out"});
    if (kind) query.kind = *kind;
    samples.push_back(sample);
  }
  misfits.report(table, diagnostics);
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return samples;
}

}  // namespace accosim
