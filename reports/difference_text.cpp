#include "reports/difference_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "reports/human.hpp"

namespace accosim {
namespace {

using Written = std::function<std::string(double)>;

std::string time_of(double seconds) { return human_time(Seconds{seconds}); }
std::string memory_text(double bytes) { return human_memory(Bytes{bytes}); }

std::string signed_text(double difference, const Written& written) {
  const std::string size = written(std::fabs(difference));
  return size == written(0) ? size : (difference < 0 ? "-" : "+") + size;
}

/// Whether anything differs by more than doubles round.
bool differs(const FigureDifference& figure) {
  constexpr double kRounding = 1e-12;
  const double whole = std::max(std::fabs(figure.value[0]), std::fabs(figure.value[1]));
  return std::ranges::any_of(
      figure.parts, [&](const DifferencePart& part) { return std::fabs(part.difference()) > kRounding * whole; });
}

/// A part's share of the whole difference; none where that is nothing beside its parts.
std::optional<double> share_of(double difference, const FigureDifference& figure) {
  double most = 0;
  for (const DifferencePart& part : figure.parts) most = std::max(most, std::fabs(part.difference()));
  constexpr double kNothing = 1e-9;
  if (std::fabs(figure.difference()) <= kNothing * most || figure.difference() == 0) return std::nullopt;
  return difference / figure.difference();
}

/// The parts to show, in order: those too small to matter as one.
std::vector<DifferencePart> shown_parts(const FigureDifference& figure) {
  constexpr double kSmall = 1e-3;
  const double most = figure.parts.empty() ? 0 : std::fabs(figure.parts.front().difference());
  std::vector<DifferencePart> shown;
  DifferencePart others;
  int left = 0;
  for (const DifferencePart& part : figure.parts) {
    if (std::fabs(part.difference()) >= kSmall * most && part.difference() != 0) {
      shown.push_back(part);
      continue;
    }
    if (part.value[0] == 0 && part.value[1] == 0) continue;
    ++left;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) others.value[side] += part.value[side];
  }
  others.name = fmt::format("{} that differ{} less", left, left == 1 ? "s" : "");
  if (left > 0) shown.push_back(others);
  shown.push_back({"all", figure.value, {}, {}});
  return shown;
}

Table parts_table(const FigureDifference& figure, const Written& written, bool of_trace) {
  const auto counted = [](const DifferencePart& part, std::size_t side) {
    return part.count[side] > 0 ? fmt::format("{} x {}", human_count(part.count[side]), time_of(part.each[side]))
                                : std::string();
  };
  Table table({left("part"), right("A"), right("B"), right("B - A"), right("share")});
  if (of_trace) append(table.heads, {right("A: each,", "hidden too"), right("B: each,", "hidden too")});
  for (const DifferencePart& part : shown_parts(figure)) {
    table.add({part.name, written(part.value[0]), written(part.value[1]), signed_text(part.difference(), written),
               percent(share_of(part.difference(), figure)), counted(part, 0), counted(part, 1)});
  }
  return table;
}

std::string closing(const FigureDifference& figure) {
  const DifferencePart& first = figure.parts.front();
  const std::optional<double> share = share_of(first.difference(), figure);
  std::string text = share ? fmt::format("Most of it is: {}, {} of the difference.", first.name, human_percent(*share))
                           : fmt::format("The parts cancel; the largest is: {}.", first.name);
  // More of the same is another thing than the same that takes longer.
  if (human_count(first.count[0]) != human_count(first.count[1]) && first.count[0] > 0 && first.count[1] > 0)
    text += fmt::format(" An update has {} of them in A and {} in B.", human_count(first.count[0]),
                        human_count(first.count[1]));
  return text;
}

/// Updates of unequal size are not comparable; the time of a sample is.
void add_samples(Document& document, const ScheduleDifference& one) {
  std::array<double, 2> each{};
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
    each[side] = one.update_time.value[side] / one.samples[side];
  document.line(fmt::format("time of a sample: {} in A, {} in B ({})", time_of(each[0]), time_of(each[1]),
                            human_error(each[1] / each[0] - 1)));
  document.go_on({fmt::format(
      "An update is of {} samples in A and of {} in B: the times and parts below are of updates of unequal size.",
      shortest(one.samples[0]), shortest(one.samples[1]))});
}

void add_one(Document& document, const char* what, const FigureDifference& figure, const Written& written,
             bool of_trace) {
  if (!differs(figure))
    return document.line(fmt::format("{}: {} in both, and so is every part", what, written(figure.value[0])));
  const double ratio = figure.value[0] > 0 ? figure.value[1] / figure.value[0] - 1 : 0;
  document.line(fmt::format("{}: {} in A, {} in B{}", what, written(figure.value[0]), written(figure.value[1]),
                            figure.value[0] > 0 ? fmt::format(" ({})", human_error(ratio)) : ""));
  document.table(parts_table(figure, written, of_trace), Above::kNothing);
  document.go_on({closing(figure)});
}

std::string text_of_value(const std::optional<JsonValue>& value) {
  constexpr int kWidest = 36;
  if (!value) return "-";
  if (value->kind == JsonKind::kText) return cut_to_width(printable(value->text, 200), kWidest);
  for (const char* const key : {"name", "label"})
    if (const JsonValue* const name = value->find(key); name != nullptr && name->kind == JsonKind::kText)
      return cut_to_width(printable(name->text, 200), kWidest);
  return cut_to_width(printable(dump_json(*value), 200), kWidest);
}

void add_settings(Document& document, const SettingDifferences& settings) {
  constexpr std::size_t kMost = 20;
  Table table({left("settings that differ"), right("A"), right("B")});
  for (std::size_t i = 0; i < std::min(settings.differ.size(), kMost); ++i) {
    const SettingDifference& one = settings.differ[i];
    table.add({printable(one.setting, 200), text_of_value(one.values[0]), text_of_value(one.values[1])});
  }
  if (table.empty()) document.say({}, "settings: the same in both");
  document.table(std::move(table));
  if (settings.differ.size() > kMost)
    document.line(fmt::format("and {} more; --json has all", settings.differ.size() - kMost));
  if (!settings.whole)
    document.go_on(
        {"Not all settings are compared: one of the two does not record them, as an older accosim wrote it. Write it "
         "anew."});
}

JsonValue settings_json(const SettingDifferences& settings) {
  return json_object({{"all_recorded", settings.whole},
                      {"differ", mapped<JsonValue>(settings.differ, [](const SettingDifference& one) {
                         return json_object({{"setting", one.setting}, {"a", one.values[0]}, {"b", one.values[1]}});
                       })}});
}

JsonValue figure_json(const FigureDifference& figure, const std::string& unit, bool of_trace) {
  const auto values = [&](JsonValue& object, const std::array<double, 2>& value) {
    object.set("a_" + unit, value[0]);
    object.set("b_" + unit, value[1]);
    object.set("difference_" + unit, value[1] - value[0]);
  };
  JsonValue json = json_object({});
  values(json, figure.value);
  json.set("parts", mapped<JsonValue>(figure.parts, [&](const DifferencePart& part) {
             JsonValue one = json_object({{"name", part.name}});
             values(one, part.value);
             one.set("share", share_of(part.difference(), figure));
             if (of_trace) {
               one.set("a_count", part.count[0]);
               one.set("b_count", part.count[1]);
               one.set("a_each_s", part.each[0]);
               one.set("b_each_s", part.each[1]);
             }
             return one;
           }));
  return json;
}

}  // namespace

Document differences_document(const Differences& differences, const std::array<ComparedFile, 2>& files) {
  Document document;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
    document.line(fmt::format("{}  {} ({})", side == 0 ? 'A' : 'B', files[side].name, files[side].holds));
  if (differences.settings) add_settings(document, *differences.settings);
  for (const ScheduleDifference& one : differences.schedules) {
    const bool same = one.label[0] == one.label[1];
    document.heading(one.label[0] + (same ? "" : " and " + one.label[1]));
    if (one.samples[0] != one.samples[1]) add_samples(document, one);
    add_one(document, "time of an update", one.update_time, time_of, differences.of_traces);
    if (!differences.of_traces) add_one(document, "memory", one.memory, memory_text, false);
  }
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    std::string labels;
    for (const std::string& label : differences.alone[side]) labels += (labels.empty() ? "" : ", ") + printable(label);
    if (!labels.empty()) document.go_on({fmt::format("Only in {}: {}", side == 0 ? 'A' : 'B', labels)});
  }
  return document;
}

JsonValue differences_json(const Differences& differences, const std::array<ComparedFile, 2>& files) {
  const auto file = [](const ComparedFile& one) { return json_object({{"file", one.name}, {"holds", one.holds}}); };
  JsonValue schedules = mapped<JsonValue>(differences.schedules, [&](const ScheduleDifference& one) {
    JsonValue json = json_object({{"a", one.label[0]}, {"b", one.label[1]}});
    json.set("update_time", figure_json(one.update_time, "s", differences.of_traces));
    if (differences.of_traces) return json;
    json.set("a_samples_per_update", one.samples[0]);
    json.set("b_samples_per_update", one.samples[1]);
    json.set("memory", figure_json(one.memory, "bytes", false));
    return json;
  });
  JsonValue json = json_object({{"schema", "accosim.diff/1"}, {"a", file(files[0])}, {"b", file(files[1])}});
  if (differences.settings) json.set("settings", settings_json(*differences.settings));
  json.set("schedules", std::move(schedules));
  json.set("only_in_a", differences.alone[0]);
  json.set("only_in_b", differences.alone[1]);
  return json;
}

}  // namespace accosim
