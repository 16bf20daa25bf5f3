#include "sim/evidence/scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "models/base/statistics.hpp"

namespace accosim {
namespace {

using Key = std::function<const std::string&(const ValidationRow&)>;

std::vector<ValidationPart> parts_of(const std::vector<const ValidationRow*>& rows, const Key& key) {
  std::vector<std::string> names;
  std::vector<std::vector<const ValidationRow*>> parts;
  for (const ValidationRow* row : rows) {
    const std::string& name = key(*row);
    if (name.empty()) continue;
    const auto known = std::ranges::find(names, name);
    if (known == names.end()) {
      names.push_back(name);
      parts.push_back({row});
    } else {
      parts[known - names.begin()].push_back(row);
    }
  }
  std::vector<ValidationPart> scores;
  for (std::size_t i = 0; i < names.size(); ++i) scores.push_back({names[i], score_of(parts[i])});
  return scores;
}

IntervalScore interval_score(const std::vector<std::pair<double, const ValidationPrediction*>>& predictions) {
  IntervalScore score;
  std::vector<double> widths;
  const double n = static_cast<double>(predictions.size());
  for (const auto& [measured, predicted] : predictions) {
    score.inside += (predicted->holds(measured) ? 1 : 0) / n;
    score.log_score += predicted->log_score(measured) / n;
    widths.push_back(predicted->high / predicted->low);
  }
  score.width = median(std::move(widths));
  return score;
}

void add_weighted(LeftOutRow& total, const LeftOutRow& row) {
  const double cases = total.cases + row.cases;
  total.mean_with = (total.mean_with * total.cases + row.mean_with * row.cases) / cases;
  total.mean_without = (total.mean_without * total.cases + row.mean_without * row.cases) / cases;
  total.held_without = (total.held_without * total.cases + row.held_without * row.cases) / cases;
  total.cases += row.cases;
}

}  // namespace

double ValidationPrediction::log_score(double measured) const {
  constexpr double kLeast = 0.001;
  const double s = std::max(kLeast, std::log(high / low) / (2 * kEightyPercent));
  const double off = (std::log(measured) - std::log(low * high) / 2) / s;
  return std::log(s * std::sqrt(2 * std::numbers::pi)) + off * off / 2;
}

double ValidationGroup::median_of_sources() const {
  std::vector<double> means;
  for (const ValidationPart& source : sources)
    if (source.score.cases > 0) means.push_back(source.score.mean);
  return means.empty() ? 0 : median(std::move(means));
}

std::optional<double> ValidationGroup::median_of_sources_without() const {
  if (!score.mean_without) return std::nullopt;
  std::vector<double> means;
  for (const ValidationPart& source : sources)
    if (source.score.mean_without) means.push_back(*source.score.mean_without);
  return median(std::move(means));
}

ValidationScore score_of(const std::vector<const ValidationRow*>& rows) {
  ValidationScore score;
  std::vector<std::pair<double, const ValidationPrediction*>> with, without;
  double mean_without = 0;
  for (const ValidationRow* row : rows) {
    if (!row->expressed()) ++score.not_expressible;
    if (row->expressed() && !row->scored()) ++score.left_out;
    if (!row->scored()) continue;
    const double error = row->error();
    ++score.cases;
    score.mean += std::abs(error);
    score.bias += error;
    score.within_20 += std::abs(error) <= 0.2 ? 1 : 0;
    with.emplace_back(row->measured, &row->with);
    if (row->without) {
      without.emplace_back(row->measured, &*row->without);
      mean_without += std::abs(row->error_without());
    }
    if (score.worst_id.empty() || std::abs(error) > std::abs(score.worst)) {
      score.worst = error;
      score.worst_id = row->id;
    }
  }
  if (score.cases > 0) {
    score.mean /= score.cases;
    score.bias /= score.cases;
    score.within_20 /= score.cases;
    score.interval = interval_score(with);
    if (without.size() == with.size()) {
      score.mean_without = mean_without / score.cases;
      score.interval_without = interval_score(without);
    }
  }
  return score;
}

std::vector<ValidationGroup> groups_of(const std::vector<ValidationRow>& rows, const std::vector<std::string>& names) {
  std::vector<ValidationGroup> groups;
  for (const std::string& name : names) {
    std::vector<const ValidationRow*> own;
    for (const ValidationRow& row : rows)
      if (row.group == name) own.push_back(&row);
    if (own.empty()) continue;
    ValidationGroup group{{name, score_of(own)}, {}, {}, {}};
    group.devices = parts_of(own, [](const ValidationRow& row) -> const std::string& { return row.device; });
    group.sources = parts_of(own, [](const ValidationRow& row) -> const std::string& { return row.source; });
    group.series = parts_of(own, [](const ValidationRow& row) -> const std::string& { return row.series; });
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::string> broken_bounds(const Validation& validation, const std::vector<std::string>& explained) {
  std::vector<std::string> broken;
  for (const ValidationGroup& group : validation.groups) {
    const auto bound = std::ranges::find(validation.bounds, group.name, &ValidationBound::group);
    if (bound == validation.bounds.end()) {
      if (group.score.cases == 0) continue;
      broken.push_back(
          fmt::format("{}: no bound is given, so nothing holds it; add \"{}\" to bounds.json", group.name, group.name));
      continue;
    }
    if (group.score.mean > bound->mean)
      broken.push_back(fmt::format("{}: the mean absolute error is {:.2f} %, its bound is {:.2f} %", group.name,
                                   100 * group.score.mean, 100 * bound->mean));
    if (bound->mean_without && group.score.mean_without && *group.score.mean_without > *bound->mean_without)
      broken.push_back(
          fmt::format("{}: the mean absolute error with the source left out is {:.2f} %, its bound is {:.2f} %",
                      group.name, 100 * *group.score.mean_without, 100 * *bound->mean_without));
    if (group.score.cases < bound->cases)
      broken.push_back(
          fmt::format("{}: {} cases are scored, there were {}", group.name, group.score.cases, bound->cases));
  }
  for (const ValidationRow& row : validation.rows) {
    const bool must = std::ranges::find(explained, row.group) != explained.end();
    if (must && row.scored() && std::abs(row.error()) > kToBeExplained && row.explanation.empty())
      broken.push_back(fmt::format("{}: {:+.1f} % off without a written reason", row.id, 100 * row.error()));
  }
  const auto most = std::ranges::find(validation.bounds, kFalseVerdicts, &ValidationBound::group);
  for (std::string& line : broken_fits(validation.runs, most == validation.bounds.end() ? 0 : most->cases))
    broken.push_back(std::move(line));
  return broken;
}

std::vector<LeftOutRow> left_out_rows(const std::vector<LeftOutRow>& rows, const std::vector<std::string>& names) {
  std::map<std::string, std::map<std::ptrdiff_t, LeftOutRow>> by_name;
  for (const LeftOutRow& row : rows) {
    const std::ptrdiff_t group = std::ranges::find(names, row.group) - names.begin();
    add_weighted(by_name[row.left_out].emplace(group, LeftOutRow{row.left_out, row.group}).first->second, row);
  }
  std::vector<LeftOutRow> merged;
  for (const auto& [name, groups] : by_name)
    for (const auto& [group, row] : groups) merged.push_back(row);
  return merged;
}

std::vector<LeftOutRow> left_out_totals(const Validation& validation) {
  std::vector<LeftOutRow> totals;
  for (const LeftOutRow& row : validation.left_out) {
    auto total = std::ranges::find(totals, row.group, &LeftOutRow::group);
    if (total == totals.end()) total = totals.insert(totals.end(), {"each", row.group, 0, 0, 0});
    add_weighted(*total, row);
  }
  return totals;
}

}  // namespace accosim
