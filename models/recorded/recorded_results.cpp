#include "models/recorded/recorded_results.hpp"

#include "models/base/text.hpp"
#include "models/read/parts.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr Range kTime{0, 1e12, true};  // seconds
constexpr Range kMemory{0, 1e18};      // bytes
constexpr std::size_t kMostResults = 1000;

RecordedResult read_result(ObjectReader& body) {
  RecordedResult result{.label = body.text("label", {}, kAllOfIt),
                        .update_time = Seconds{body.number("update_time_s", kTime)},
                        .samples_per_update = body.number("samples_per_update", Range{0, 1e18}),
                        .idle_fraction = body.number("gpu_idle_fraction", Range{0, 1}),
                        .exposed_communication = Seconds{body.number("exposed_communication_s", Range{0, kTime.most})},
                        .memory = Bytes{body.number("memory_resident_bytes", kMemory)}};
  const bool said = read_part(body, "memory_parts_bytes", [&](ObjectReader& parts) {
    for (const std::string& name : keys_of(parts.value()))
      result.memory_parts.emplace_back(name, Bytes{parts.number(name, kMemory)});
  });
  if (!said && body.value().kind == JsonKind::kObject)
    body.fail("memory_parts_bytes", "missing; write the document anew");
  body.drop_unknown();
  return result;
}

}  // namespace

std::vector<RecordedResult> read_recorded_results(const JsonDocument& document) {
  if (!document.whole) throw ScenarioError(document.errors);
  JsonValue root = document.root;
  Diagnostics diagnostics{document.errors};
  ObjectReader top(root, "", diagnostics);
  std::vector<RecordedResult> results;
  read_objects(top, "results", 1, kMostResults, [&](ObjectReader& body) { results.push_back(read_result(body)); });
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return results;
}

}  // namespace accosim
