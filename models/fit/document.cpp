#include "models/fit/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

void read_document(const std::string& text, const std::string& name, const DocumentKind& kind, const ReadPart& read) {
  JsonDocument document = parse_json(text, name, kMaxMeasuredValues);
  if (!document.whole) throw ScenarioError(document.errors);
  Diagnostics diagnostics{document.errors};
  ObjectReader top(document.root, "", diagnostics);
  const JsonValue* schema = top.find("schema");
  if (top.good() && (schema == nullptr || schema->text != kind.schema)) {
    const std::string found = schema == nullptr                 ? "missing"
                              : schema->kind == JsonKind::kText ? "is the text " + in_quotes(schema->text)
                                                                : std::string("is ") + noun_of(schema->kind);
    top.fail("schema", fmt::format("{}; name a file that {} wrote, which begins with \"schema\": \"{}\"", found,
                                   kind.writer, kind.schema));
  }
  if (!top.good()) throw ScenarioError(diagnostics.errors);
  read(top);
  top.finish();
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
}

bool has_schema(const std::string& text, const std::string& schema) {
  if (text.find('"' + schema + '"') == std::string::npos) return false;
  const JsonDocument document = parse_json(text, "", kMaxMeasuredValues);
  if (!document.whole) return true;  // which its reader will say
  const JsonValue* found = document.root.find("schema");
  return found != nullptr && found->text == schema;
}

std::vector<std::string> json_files_in(const std::string& directory, std::error_code& error) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (fs::directory_iterator entries(directory, error), end; !error && entries != end; entries.increment(error))
    if (entries->path().extension() == ".json") paths.push_back(entries->path().string());
  std::ranges::sort(paths);
  return paths;
}

MeasuredNetwork read_network(ObjectReader& network, int ranks, const char* advice) {
  constexpr Range kRate{1e3, 1e18}, kPayload{1, 1e18}, kBurst{0, 1e18};
  MeasuredNetwork read{.kind = network.one_of("kind", {"loopback", "paced", "netns"}, ""),
                       .rates = network.numbers("rates_bytes_per_s", kRate, kMostMeasuredRanks),
                       .bursts = network.numbers("burst_bytes", kBurst, kMostMeasuredRanks)};
  network.numbers("payload_bytes_per_s", kPayload, kMostMeasuredRanks);
  for (const auto& [key, all] : {std::pair("rates_bytes_per_s", &read.rates), {"burst_bytes", &read.bursts}})
    if (network.good(key) && ranks > 0 && !all->empty() && all->size() != static_cast<std::size_t>(ranks))
      network.fail(key, fmt::format("lists {} for {} ranks; {}", all->size(), ranks, advice));
  return read;
}

void check_median(ObjectReader& sample, Seconds median, Seconds p10, Seconds p90) {
  if (sample.good() && (p10 > median || p90 < median))
    sample.fail("median_s", "is not between p10_s and p90_s; measure again");
}

}  // namespace accosim
