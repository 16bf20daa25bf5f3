#include "models/recorded/recorded_results.hpp"

#include "models/base/reader.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr Range kTime{0, 1e12, true};  // seconds
constexpr Range kMemory{0, 1e18};      // bytes
constexpr std::size_t kMostResults = 1000;

RecordedResult read_result(ObjectReader& body) {
  RecordedResult result;
  result.label = body.text("label", {}, kAllOfIt);
  result.update_time = Seconds{body.number("update_time_s", kTime)};
  result.samples_per_update = body.number("samples_per_update", Range{0, 1e18});
  result.idle_fraction = body.number("gpu_idle_fraction", Range{0, 1});
  result.exposed_communication = Seconds{body.number("exposed_communication_s", Range{0, kTime.most})};
  result.memory = Bytes{body.number("memory_resident_bytes", kMemory)};
  if (!body.has("memory_parts_bytes")) {
    body.fail("memory_parts_bytes", "missing; write the document anew");
    return result;
  }
  ObjectReader parts(*body.find("memory_parts_bytes"), body.pointer("memory_parts_bytes"), body.diagnostics());
  if (!parts.good()) return result;
  for (const std::string& name : keys_of(parts.value()))
    result.memory_parts.emplace_back(name, Bytes{parts.number(name, kMemory)});
  return result;
}

}  // namespace

std::vector<RecordedResult> read_recorded_results(const JsonDocument& document) {
  if (!document.whole) throw ScenarioError(document.errors);
  JsonValue root = document.root;
  Diagnostics diagnostics{document.errors};
  ObjectReader top(root, "", diagnostics);
  std::vector<RecordedResult> results;
  std::size_t index = 0;
  for (JsonValue* const one : top.list("results", 1, kMostResults)) {
    ObjectReader body(*one, top.pointer("results") + pointer_part(index++), diagnostics);
    if (body.good()) results.push_back(read_result(body));
    if (diagnostics.enough()) break;
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return results;
}

}  // namespace accosim
