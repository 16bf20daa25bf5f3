// Reads accosim.sweep/1.
#include <filesystem>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/reader.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/sweep/sweep.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostParts = 1000;
constexpr int kMostDepth = 8;
constexpr const char* kForm =
    R"(write an axis as text, "/cluster/nodes/0/count=1..16:16", the name of a knob, or an object with "axis" and "label", )"
    R"("pointer" and "values", "product", "zip" or "latin_hypercube")";

Space read_space(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics, const KnobAxis& knob,
                 int depth);

std::vector<Space> read_parts(ObjectReader& reader, const char* key, const KnobAxis& knob, int depth) {
  std::vector<Space> parts;
  std::size_t i = 0;
  for (JsonValue* each : reader.list(key, 1, kMostParts))
    parts.push_back(read_space(*each, reader.pointer(key) + pointer_part(i++), reader.diagnostics(), knob, depth + 1));
  return parts;
}

/// {"pointer": "/a/b", "values": [1, "x", {...}]}, or {"axis": "/a/b=1..8"}; both may have a "label".
Axis read_values(ObjectReader& reader, const KnobAxis& knob) {
  const std::string label = reader.has("label") ? reader.text("label") : "";
  if (reader.has("axis")) {
    Axis axis = parse_axis(reader.text("axis"), knob);
    axis.label = label;
    return axis;
  }
  Axis axis{.pointer = reader.text("pointer"), .values = {}, .label = label};
  for (JsonValue* each : reader.list("values", 1, kMostValues))
    axis.values.push_back(each->kind == JsonKind::kText ? each->text : dump_json(*each));
  return axis;
}

Space read_space(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics, const KnobAxis& knob,
                 int depth) {
  Space space{.kind = Space::Kind::kAxis};
  try {
    if (value.kind == JsonKind::kText) {
      space.axis = parse_axis(value.text, knob);
      return space;
    }
    if (value.kind != JsonKind::kObject || depth > kMostDepth) {
      diagnostics.add(value.origin, pointer, std::string("is no axis; ") + kForm);
      return space;
    }
    ObjectReader reader(value, pointer, diagnostics);
    if (reader.has("product")) {
      space = {.kind = Space::Kind::kProduct, .parts = read_parts(reader, "product", knob, depth)};
    } else if (reader.has("zip")) {
      space = zip(read_parts(reader, "zip", knob, depth));
    } else if (reader.has("latin_hypercube")) {
      std::vector<Space> parts = read_parts(reader, "latin_hypercube", knob, depth);
      const int points = reader.integer("points", 1, static_cast<int>(kMostValues));
      const int seed = reader.integer("seed", 0, kMaxInteger, 0);
      space = latin_hypercube(std::move(parts), static_cast<std::size_t>(points), static_cast<std::uint64_t>(seed));
    } else {
      space.axis = read_values(reader, knob);
    }
    reader.finish();
    size_of(space);
  } catch (const BadInput& error) {
    diagnostics.add(value.origin, pointer, error.what());
  } catch (const ScenarioError& error) {  // of a knob, whose scenario cannot be loaded
    for (const std::string& each : error.errors) diagnostics.add(value.origin, pointer, each);
  }
  return space;
}

/// From the file's folder where it is there, else as it stands: a name of a shipped scenario.
std::string scenario_path(const std::string& written, const std::string& path) {
  const std::filesystem::path beside = std::filesystem::path(path).parent_path() / written;
  std::error_code none;
  return std::filesystem::is_regular_file(beside, none) ? beside.string() : written;
}

}  // namespace

bool is_sweep(const std::string& text) {
  const std::size_t at = text.find("\"schema\"");
  return at != std::string::npos && at < 2000 && text.find(kSweepSchema, at) < at + 60;
}

Sweep read_sweep(const std::string& text, const std::string& path) {
  JsonDocument document = parse_json(text, printable(path, 300), kMaxMeasuredValues);
  Diagnostics diagnostics{.errors = std::move(document.errors)};
  Sweep sweep;
  if (document.whole || diagnostics.errors.empty()) {
    ObjectReader reader(document.root, "", diagnostics);
    reader.schema(kSweepSchema);
    reader.text("description", std::string(), 2000);
    sweep.scenario = scenario_path(reader.text("scenario", std::nullopt, 2000), path);
    sweep.set = texts_of(reader, "set", kMostParts);
    sweep.schedules = texts_of(reader, "schedules", kMostParts);
    sweep.fair = reader.boolean("fair", false);
    sweep.tuned = reader.boolean("tuned", true);
    sweep.space = {.kind = Space::Kind::kProduct, .parts = read_parts(reader, "over", knob_axes(sweep), 0)};
    try {
      check_distinct(sweep.space);
    } catch (const BadInput& error) {
      reader.fail("over", error.what());
    }
    reader.finish();
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return sweep;
}

}  // namespace accosim
