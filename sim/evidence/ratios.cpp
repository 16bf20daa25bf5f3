#include "sim/evidence/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "models/base/statistics.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/constants.hpp"

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient accumulation steps";

bool is_a_name(const std::string& key) {
  return key == "name" || key == "label" || key == "description" || key == "schema" || key == "source" ||
         key == "sources" || key == "citation";
}

/// What is no object and no list, by its pointer. `at`: where the tree that was written has it.
void add_leaves(StepSettings& all, const ScenarioTree& tree, const JsonValue& value, const std::string& pointer,
                const std::string& at) {
  for (const JsonMember& member : value.members)
    if (!is_a_name(member.key) || pointer == "/schedule")
      add_leaves(all, tree, member.value, pointer + pointer_part(member.key), at + pointer_part(member.key));
  for (std::size_t i = 0; i < value.elements.size(); ++i)
    add_leaves(all, tree, value.elements[i], pointer + pointer_part(i), at + pointer_part(i));
  if (value.kind == JsonKind::kObject || value.kind == JsonKind::kArray) return;
  all.values[pointer] = dump_json(value);
  if (writes(tree, at)) all.written.insert(pointer);
}

/// Of a setting; nothing where it is none.
std::optional<std::string> knob_of(const std::string& pointer) {
  const std::vector<std::string> keys = pointer_keys(pointer).value();
  if (keys[0] == "schedule") return "schedule";
  if (keys[0] == "cluster" && keys.size() == 4 && keys[1] == "nodes" && (keys[3] == "count" || keys[3] == "gpus"))
    return kGpuCount;
  if (keys[0] != "training" || keys[1] == "sequence_length") return std::nullopt;
  std::string knob = keys[keys[1] == "parallel" && keys.size() > 2 ? 2 : 1];
  std::ranges::replace(knob, '_', ' ');
  return knob;
}

bool is_step(const ValidationRow& row) {
  return row.scored() && !row.own_machine && (row.group == kTrainingGroup || row.group == kSplitGroup) &&
         row.asked == Asked::kStepTime;
}

void set_spread(RatioRow& row, double spread) {
  const Interval interval = interval_80(row.predicted.value, std::hypot(row.apart, spread));
  row.predicted.low = interval.low;
  row.predicted.high = interval.high;
}

/// A row's weight among `rows`, so that each publisher's add up to the same.
std::map<std::string, double> weights_of(const std::vector<const RatioRow*>& rows) {
  std::map<std::string, double> weights;
  for (const RatioRow* row : rows) ++weights[row->publisher];
  for (auto& [publisher, weight] : weights) weight = 1 / (weight * static_cast<double>(weights.size()));
  return weights;
}

RatioPart part_of(const std::string& name, const std::vector<const RatioRow*>& rows) {
  const std::map<std::string, double> weights = weights_of(rows);
  RatioPart part{name, static_cast<int>(rows.size()), static_cast<int>(weights.size()), 0, {0, 1, 0}};
  std::vector<double> widths;
  for (const RatioRow* row : rows) {
    const double weight = weights.at(row->publisher);
    part.mean += weight * std::abs(row->predicted.error(row->measured));
    part.interval.inside += weight * (row->predicted.holds(row->measured) ? 1 : 0);
    part.interval.log_score += weight * row->predicted.log_score(row->measured);
    widths.push_back(row->predicted.high / row->predicted.low);
  }
  part.interval.width = median(std::move(widths));
  return part;
}

}  // namespace

StepSettings settings_of(const PublishedCase& one) {
  StepSettings all;
  Diagnostics diagnostics;
  JsonValue whole;
  all.samples = samples_asked(read_tree(*one.tree, whole, diagnostics));
  for (const char* const part : {"/model", "/cluster", "/training"})
    if (const JsonValue* const value = at_pointer(whole, part)) add_leaves(all, *one.tree, *value, part, part);
  const std::string schedule = "/schedules" + pointer_part(static_cast<std::size_t>(one.schedule));
  if (const JsonValue* const value = at_pointer(whole, schedule))
    add_leaves(all, *one.tree, *value, "/schedule", schedule);
  all.values.erase("/schedule/label");
  return all;
}

std::string knob_between(const StepSettings& a, const StepSettings& b) {
  const auto differs = [&](const std::string& pointer) {
    const auto in_a = a.values.find(pointer), in_b = b.values.find(pointer);
    const bool both = in_a != a.values.end() && in_b != b.values.end();
    return !both || in_a->second != in_b->second;
  };
  std::set<std::string> knobs;
  for (const StepSettings* each : {&a, &b})
    for (const auto& setting : each->values) {
      const std::string& pointer = setting.first;
      if (!differs(pointer) || !(a.written.contains(pointer) || b.written.contains(pointer))) continue;
      const std::optional<std::string> knob = knob_of(pointer);
      if (!knob) return "";
      knobs.insert(*knob);
    }
  if (knobs.size() == 2 && a.samples == b.samples) knobs.erase(kSteps);
  return knobs.size() == 1 ? *knobs.begin() : "";
}

std::vector<RatioRow> ratios_of(const std::vector<ValidationRow>& rows, const Published& published) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  std::map<std::string, std::vector<std::pair<const ValidationRow*, StepSettings>>> steps;  // by source
  for (const ValidationRow& row : rows)
    if (is_step(row)) steps[row.source].emplace_back(&row, settings_of(row));
  std::vector<RatioRow> ratios;
  for (const auto& [source, own] : steps)
    for (std::size_t b = 0; b < own.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        const ValidationRow &one = *own[a].first, &other = *own[b].first;
        const std::string knob = knob_between(own[a].second, own[b].second);
        if (knob.empty()) continue;
        const ValidationPrediction x = one.without.value_or(one.with), y = other.without.value_or(other.with);
        RatioRow ratio{publishers.at(source),        knob, one.id, other.id, one.in_spreads && other.in_spreads,
                       one.measured / other.measured};
        ratio.predicted.value = x.value / y.value;
        ratio.apart = spread_apart(x.spread, y.spread);
        set_spread(ratio, constants().ratio_spread);
        ratios.push_back(std::move(ratio));
      }
  return ratios;
}

bool is_fitted(const RatioRow& row) { return row.in_spreads && row.knob != kGpuCount; }

std::optional<double> fitted_ratio_spread(const std::vector<RatioRow>& rows, const std::string& left_out) {
  std::vector<const RatioRow*> own;
  for (const RatioRow& row : rows)
    if (is_fitted(row) && row.publisher != left_out) own.push_back(&row);
  if (own.empty()) return std::nullopt;
  const std::map<std::string, double> weights = weights_of(own);
  // The score's slope in the square of the spread, over 1/2: below 0 where a wider one is better.
  const auto slope = [&](double spread) {
    double sum = 0;
    for (const RatioRow* row : own) {
      const double variance = row->apart * row->apart + spread * spread;
      const double off = std::log(row->predicted.value / row->measured);
      sum += weights.at(row->publisher) * (1 - off * off / variance) / variance;
    }
    return sum;
  };
  double low = 1e-3, high = 2;  // the least that a log score knows, and more than any ratio is off
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) (slope((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  return low;
}

std::string stale_ratio_spread(const std::vector<RatioRow>& rows) {
  constexpr double kStale = 0.01;
  const double shipped = constants().ratio_spread, fitted = fitted_ratio_spread(rows).value_or(shipped);
  if (std::abs(fitted / shipped - 1) <= kStale) return "";
  return fmt::format(
      "ratios of two steps: their spread is shipped as {:.4g}, and the pairs give {:.4g}; write it anew with accosim "
      "fit "
      "scenarios/validation -o calibration/constants.json",
      shipped, fitted);
}

void judge_ratios(std::vector<RatioRow>& rows) {
  std::map<std::string, std::optional<double>> spreads;
  for (const RatioRow& row : rows)
    if (spreads.count(row.publisher) == 0) spreads[row.publisher] = fitted_ratio_spread(rows, row.publisher);
  for (RatioRow& row : rows)
    if (const std::optional<double>& spread = spreads.at(row.publisher)) set_spread(row, *spread);
}

std::vector<RatioPart> ratio_parts(const std::vector<RatioRow>& rows) {
  std::vector<const RatioRow*> fitted, apart;
  std::map<std::string, std::vector<const RatioRow*>> by_knob;
  for (const RatioRow& row : rows) {
    if (is_fitted(row)) fitted.push_back(&row);
    (row.in_spreads ? by_knob[row.knob] : apart).push_back(&row);
  }
  std::vector<RatioPart> parts;
  for (const auto& [knob, own] : by_knob) parts.push_back(part_of(knob, own));
  std::ranges::stable_sort(parts, [](const RatioPart& a, const RatioPart& b) { return a.pairs > b.pairs; });
  if (!fitted.empty()) parts.insert(parts.begin(), part_of(kSameGpus, fitted));
  if (!apart.empty()) parts.push_back(part_of(kApart, apart));
  return parts;
}

}  // namespace accosim
