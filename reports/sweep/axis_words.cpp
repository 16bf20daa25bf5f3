#include "reports/sweep/axis_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "reports/human.hpp"

namespace accosim {
namespace {

/// A file by its name, and a part that is written out by its own; others as they are.
std::string in_short(const std::string& value) {
  constexpr std::string_view kJson = ".json";
  if (value.size() > kJson.size() && value.ends_with(kJson)) {
    const std::size_t slash = value.rfind('/');
    const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
    return value.substr(from, value.size() - kJson.size() - from);
  }
  if (value.empty() || value.front() != '{') return value;
  const JsonDocument part = parse_json(value, "");
  for (const char* const key : {"name", "inherits"})
    if (const JsonValue* const name = part.root.find(key); name != nullptr && name->kind == JsonKind::kText)
      return name->text;
  return value;
}

/// The same of all, where they then differ still.
std::vector<std::string> in_short(const std::vector<std::string>& values) {
  std::vector<std::string> all = mapped<std::string>(values, [](const std::string& value) { return in_short(value); });
  return std::set<std::string>(all.begin(), all.end()).size() == values.size() ? all : values;
}

bool ends_with_key(const Axis& axis, std::initializer_list<std::string_view> keys) {
  const std::string_view last = std::string_view(axis.pointer).substr(axis.pointer.rfind('/') + 1);
  return std::ranges::find(keys, last) != keys.end();
}

}  // namespace

AxisWords::AxisWords(const Axis& axis, std::string called)
    : name(std::move(called)), title(name), values(in_short(axis.values)), numbers(numbers_of(axis)), axis_(&axis) {
  if (!numbers) return;
  const std::string& unit = numbers->unit;
  whole = unit.empty() && std::ranges::all_of(numbers->values, [](double value) { return value == std::floor(value); });
  const auto has_unit = [&](const std::string& value) { return value.size() > unit.size() && value.ends_with(unit); };
  if (unit.empty() || !std::ranges::all_of(axis.values, has_unit)) return;
  title = fmt::format("{} ({})", name, unit.substr(unit.find_first_not_of(' ')));
  values.clear();
  for (const std::string& value : axis.values) values.push_back(value.substr(0, value.size() - unit.size()));
}

std::string AxisWords::value(std::size_t at) const {
  if (!numbers && ends_with_key(*axis_, {"cluster", "model", "device"})) return values[at];
  if (whole && is_count()) return axis_->values[at] + " " + name;
  return fmt::format("{} = {}", name, numbers ? axis_->values[at] : values[at]);
}

std::string AxisWords::digits(double number) const {
  return whole ? fmt::format("{:g}", number) : fmt::format("{:.3g}", number);
}

std::string AxisWords::range(const Interval& all, const char* to) const {
  return human_range(digits(all.low), digits(all.high), to) + numbers->unit;
}

std::string AxisWords::named(const Interval& all) const {
  if (!whole) return fmt::format("{} ({})", range(all), name);
  return is_count() ? range(all) + " " + name : fmt::format("{} = {}", name, range(all));
}

bool AxisWords::is_count() const {
  return name.rfind("count", 0) != 0 &&
         ends_with_key(
             *axis_, {"count", "gpus", "gradient_accumulation_steps", "global_batch_size", "micro_batch_size",
                      "sequence_length", "tensor_parallel_size", "pipeline_parallel_size", "virtual_pipeline_stages"});
}

std::vector<AxisWords> axes_in_words(const Heading& heading) {
  const std::vector<std::string> names = axis_names(heading.axes);
  std::vector<AxisWords> axes;
  for (std::size_t i = 0; i < names.size(); ++i) axes.emplace_back(heading.axes[i], names[i]);
  return axes;
}

}  // namespace accosim
