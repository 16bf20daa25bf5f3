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

/// What we measured ourselves has the constants of the same document, and none without it; and what the allocator takes
/// is known from one source alone.
bool can_be_left_out(const PublishedCase& one) {
  return !one.by_us && one.asked != Asked::kMemoryReserved && one.asked != Asked::kMemoryUsed;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<const PublishedCase*> chosen(const Published& published, const ValidateOptions& options) {
  std::vector<const PublishedCase*> cases;
  for (const PublishedCase& one : published.cases)
    if (contains(one.group, options.group) && contains(one.id, options.id)) cases.push_back(&one);
  return cases;
}

/// What the fits make of each case's constants is asked for.
RefitParts parts_of(const std::vector<const PublishedCase*>& cases) {
  RefitParts parts;
  for (const PublishedCase* one : cases) {
    const bool plays = one->scenario != nullptr;
    parts.kernels |= plays || one->asked == Asked::kKernelTime;
    parts.links |= plays || one->asked == Asked::kCollectiveTime;
    parts.steps |= plays;
  }
  return parts;
}

/// The cases of one publisher, or of one device.
struct Part {
  LeftOut left_out;
  std::vector<std::size_t> cases;  ///< indices
  int samples = 0;                 ///< that the fits must do without
};

/// Those of which some fit sees something, the longest first, so that children end at about the same time.
std::vector<Part> seen_parts(const Published& published, const std::vector<const PublishedCase*>& cases,
                             const Refits& refits, bool by_device) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  std::map<std::string, Part> by_name;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i]->by_us || !cases[i]->not_expressible.empty()) continue;
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
std::vector<std::optional<ValidationPrediction>> predict_without(const Published& published,
                                                                 const std::vector<const PublishedCase*>& cases,
                                                                 const ValidateOptions& options, bool by_device) {
  std::vector<std::optional<ValidationPrediction>> predicted(cases.size());
  Refits refits(published);
  const std::vector<Part> parts = seen_parts(published, cases, refits, by_device);
  if (parts.empty()) return predicted;
  std::vector<const PublishedCase*> seen;
  for (const Part& part : parts)
    for (const std::size_t i : part.cases) seen.push_back(cases[i]);
  const RefitParts wanted = parts_of(seen);
  refits.fit_all(wanted,
                 wanted.steps ? step_samples(published, options.jobs, options.network) : std::vector<StepSample>());
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
std::vector<std::optional<ValidationPrediction>> predict_by_neighbours(const std::vector<const PublishedCase*>& cases,
                                                                       const ValidateOptions& options) {
  std::vector<const PublishedCase*> of_kernels;
  for (const PublishedCase* one : cases)
    if (const Device* const device = device_of(*one); device != nullptr && has_neighbour(*device))
      of_kernels.push_back(one);
  Refit refit;
  refit.device = of_neighbour;
  const std::vector<ValidationPrediction> predicted = predict_all(of_kernels, refit, options.jobs, options.network);
  std::vector<std::optional<ValidationPrediction>> all(cases.size());
  for (std::size_t i = 0, next = 0; i < cases.size(); ++i)
    if (next < of_kernels.size() && cases[i] == of_kernels[next]) all[i] = predicted[next++];
  return all;
}

std::vector<const PublishedCase*> expressed_of(const std::vector<const PublishedCase*>& cases) {
  std::vector<const PublishedCase*> expressed;
  for (const PublishedCase* one : cases)
    if (one->not_expressible.empty()) expressed.push_back(one);
  return expressed;
}

}  // namespace

Validation validate(const Published& published, const ValidateOptions& options) {
  Validation validation;
  validation.sources = published.sources;
  const std::vector<const PublishedCase*> cases = chosen(published, options);
  const std::vector<const PublishedCase*> expressed = expressed_of(cases);
  const std::vector<ValidationPrediction> predicted = predict_all(expressed, Refit{}, options.jobs, options.network);
  std::vector<std::optional<ValidationPrediction>> without(expressed.size());
  if (options.without_source) without = predict_without(published, expressed, options, false);
  std::size_t next = 0;
  for (const PublishedCase* one : cases) {
    ValidationRow row{*one};
    if (row.expressed()) {
      row.with = predicted[next];
      // Where the fits saw nothing of the source, they are without it already.
      if (options.without_source && can_be_left_out(*one)) row.without = row.with;
      if (row.without && without[next]) row.without = without[next];
      ++next;
    }
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
  const std::vector<const PublishedCase*> expressed = expressed_of(chosen(published, options));
  std::vector<std::optional<ValidationPrediction>> without(expressed.size());
  if (what == LeaveOut::kDevice) without = predict_without(published, expressed, options, true);
  if (what == LeaveOut::kGeneration) without = predict_by_neighbours(expressed, options);
  std::size_t next = 0;
  for (const ValidationRow& row : validation.rows) {
    if (!row.expressed()) continue;
    const std::optional<ValidationPrediction>& other = without[next++];
    if (!row.scored() || !can_be_left_out(row)) continue;
    if (what == LeaveOut::kGeneration && !other) continue;
    ValidationPrediction instead = other.value_or(row.with);
    if (what == LeaveOut::kSource && row.without) instead = *row.without;
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
      ValidationBound bound;
      bound.group = name;
      bound.mean = group.number("mean", Range{0, 100, true});
      bound.cases = group.integer("cases", 0, kMaxInteger);
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
