#include "sim/evidence/validate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "models/base/reader.hpp"
#include "models/read/references.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/evidence/predict.hpp"
#include "sim/evidence/ratios.hpp"
#include "sim/evidence/refit.hpp"

namespace accosim {
namespace {

/// What was priced by measurements of its own machine has no constants without them; and what the allocator takes is
/// known from one source alone.
bool can_be_left_out(const PublishedCase& one) {
  return !one.own_machine && one.asked != Asked::kMemoryReserved && one.asked != Asked::kMemoryUsed;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Cases = std::vector<const PublishedCase*>;
/// Of each case; none where nothing is to be said of it.
using Predictions = std::vector<std::optional<ValidationPrediction>>;

Cases chosen(const Published& published, const ValidateOptions& options) {
  Cases cases;
  for (const PublishedCase& one : published.cases)
    if (contains(one.group, options.group) && contains(one.id, options.id)) cases.push_back(&one);
  return cases;
}

/// The cases of one publisher, or of one device.
struct Part {
  LeftOut left_out;
  std::vector<std::size_t> cases;  ///< indices
  int samples = 0;                 ///< that the fits must do without
};

/// Those of which some fit sees something, the longest first, so that children end at about the same time.
std::vector<Part> seen_parts(const Published& published, const Cases& cases, const Refits& refits, bool by_device) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  std::map<std::string, Part> by_name;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i]->own_machine || !cases[i]->not_expressible.empty()) continue;
    const std::string& name = by_device ? cases[i]->device : publishers.at(cases[i]->source);
    Part& part = by_name[name];
    part.left_out = by_device ? LeftOut{"", name} : LeftOut{name, ""};
    part.cases.push_back(i);
  }
  std::vector<Part> parts;
  for (auto& [name, part] : by_name) {
    part.samples = refits.samples_of(part.left_out);
    if (part.samples > 0) parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, [](const Part& a, const Part& b) { return a.samples > b.samples; });
  return parts;
}

/// Each case as the constants predict it that its publisher (or device) had no part in; nothing where the fits see
/// nothing of it, so that the shipped constants are these.
Predictions predict_without(const Published& published, const Cases& cases, const ValidateOptions& options,
                            bool by_device) {
  Predictions predicted(cases.size());
  Refits refits(published);
  const std::vector<Part> parts = seen_parts(published, cases, refits, by_device);
  if (parts.empty()) return predicted;
  Cases seen;
  for (const Part& part : parts)
    for (const std::size_t i : part.cases) seen.push_back(cases[i]);
  refits.fit_all(seen, options.jobs, options.network);
  const std::vector<std::string> texts = in_children(options.jobs, parts.size(), [&](std::size_t i) {
    const Refit refit = refits.without(parts[i].left_out);
    std::string text;
    for (const std::size_t at : parts[i].cases) text += as_bytes(predict(*cases[at], refit, options.network));
    return text;
  });
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts[i].cases.size(); ++j)
      predicted[parts[i].cases[j]] =
          from_bytes<ValidationPrediction>(std::string_view(texts[i]).substr(j * sizeof(ValidationPrediction)));
  return predicted;
}

/// The GPU whose kernels decide the case; nullptr: none do.
const Device* device_of(const PublishedCase& one) {
  if (one.asked == Asked::kKernelTime) return one.kernel.device.get();
  return one.scenario == nullptr || is_memory(one.asked) ? nullptr
                                                         : &one.scenario->cluster.nodes.front().devices.front();
}

/// Each case of kernels as a GPU would be predicted that inherits its fits from another generation; nothing of others.
Predictions predict_by_neighbours(const Cases& cases, const ValidateOptions& options) {
  Cases of_kernels;
  for (const PublishedCase* one : cases)
    if (const Device* const device = device_of(*one); device != nullptr && has_neighbour(*device))
      of_kernels.push_back(one);
  Refit refit;
  refit.device = of_neighbour;
  const std::vector<ValidationPrediction> predicted = predict_all(of_kernels, refit, options.jobs, options.network);
  Predictions all(cases.size());
  for (std::size_t i = 0, next = 0; i < cases.size(); ++i)
    if (next < of_kernels.size() && cases[i] == of_kernels[next]) all[i] = predicted[next++];
  return all;
}

}  // namespace

Validation validate(const Published& published, const ValidateOptions& options) {
  Validation validation{.sources = published.sources};
  const Cases cases = chosen(published, options);
  const std::vector<ValidationPrediction> predicted = predict_all(cases, Refit{}, options.jobs, options.network);
  Predictions without(cases.size());
  if (options.without_source) without = predict_without(published, cases, options, false);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ValidationRow row{*cases[i], predicted[i]};
    // Where the fits saw nothing of the source, they are without it already.
    if (options.without_source && row.expressed() && can_be_left_out(row)) row.without = without[i].value_or(row.with);
    validation.rows.push_back(std::move(row));
  }
  validation.groups = groups_of(validation.rows, published_groups());
  validation.runs = fits_of_runs(cases);
  validation.ratios = ratios_of(validation.rows, published);
  // The spread without a source is that of all the others, not of those few that are asked for.
  if (options.without_source && cases.size() == published.cases.size()) judge_ratios(validation.ratios);
  return validation;
}

void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options, LeaveOut what) {
  validation.left_out_by = name_of(what);
  const std::map<std::string, std::string> publishers = publishers_of(published);
  const Cases cases = chosen(published, options);
  Predictions without(cases.size());
  if (what == LeaveOut::kDevice) without = predict_without(published, cases, options, true);
  if (what == LeaveOut::kGeneration) without = predict_by_neighbours(cases, options);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ValidationRow& row = validation.rows[i];
    if (!row.scored() || !can_be_left_out(row)) continue;
    if (what == LeaveOut::kGeneration && !without[i]) continue;
    const ValidationPrediction instead = (what == LeaveOut::kSource ? row.without : without[i]).value_or(row.with);
    const std::string left_out = what == LeaveOut::kSource   ? publishers.at(row.source)
                                 : what == LeaveOut::kDevice ? row.device
                                                             : device_of(row)->architecture;
    validation.left_out.push_back({left_out, row.group, 1, std::abs(row.error()), std::abs(instead.error(row.measured)),
                                   instead.holds(row.measured) ? 1.0 : 0.0});
  }
  validation.left_out = left_out_rows(validation.left_out, published_groups());
}

std::vector<ValidationBound> load_bounds(const std::string& path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  std::vector<ValidationBound> bounds;
  if (std::optional<JsonValue> tree = references.open(path)) {
    ObjectReader top(*tree, "", diagnostics);
    top.schema("accosim.bounds/1");
    for (const std::string& name : published_groups()) {
      JsonValue* value = top.find(name);
      if (value == nullptr) continue;
      ObjectReader group(*value, top.pointer(name), diagnostics);
      ValidationBound bound{.group = name,
                            .mean = group.number("mean", Range{0, 100, true}),
                            .cases = group.integer("cases", 0, kMaxInteger)};
      if (group.has("without_source")) bound.mean_without = group.number("without_source", Range{0, 100, true});
      group.finish();
      bounds.push_back(bound);
    }
    if (JsonValue* value = top.find(kFalseVerdicts)) {
      ObjectReader most(*value, top.pointer(kFalseVerdicts), diagnostics);
      bounds.push_back({kFalseVerdicts, 0, most.integer("cases", 0, kMaxInteger), {}});
      most.finish();
    }
    top.finish();
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return bounds;
}

}  // namespace accosim
