#include "sim/sweep/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/input_file.hpp"
#include "models/base/reader.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

constexpr Range kPositive{0, 1e300};
constexpr std::size_t kLongText = 100'000;
/// Of versions before.
constexpr const char* kOldRowsSchemas[] = {"accosim.sweep_rows/1", "accosim.sweep_rows/2"};

/// What is kept of a schedule beside the metrics stands before this one.
constexpr std::string_view kAfterTheOthers = "batch_inflation";

JsonValue json_of(const std::string& label, const Metrics& all) {
  JsonValue object = json_object({{"label", label}});
  for (const Metric* const metric : metrics_by(&Metric::in_rows)) {
    const std::string key = metric->key;
    if (key == kAfterTheOthers) {
      object.set("spread_compute", all.spread.compute);
      object.set("spread_communication", all.spread.communication);
      object.set("statistics", name_of(all.statistics));
      if (all.updates_late > 1) object.set("updates_late", all.updates_late);
      if (!all.currency.empty()) object.set("currency", all.currency);
    }
    if (const std::optional<double> value = metric->figure.of(all))
      object.set(key, metric->format == Format::kYesNo ? JsonValue(*value != 0) : JsonValue(*value));
    if (!metric->interval_in_rows()) continue;
    if (const std::optional<Interval> interval = metric->interval.of(all)) {
      object.set(key + "_low", interval->low);
      object.set(key + "_high", interval->high);
    }
  }
  return object;
}

/// One that need not be there: nothing where it is not.
std::optional<double> read_number(ObjectReader& reader, const Metric& metric, const std::string& key) {
  if (!metric.figure.always && !reader.has(key)) return std::nullopt;
  if (metric.format == Format::kYesNo) return reader.boolean(key) ? 1 : 0;
  return reader.number(key, {metric.least, metric.most});
}

/// `there`: it is not left out.
Metrics read_metrics(ObjectReader& reader, const std::string& label, bool there) {
  Metrics all;
  if (reader.text("label") != label) reader.fail("label", "is not that of the heading");
  if (!there) {
    reader.finish();
    return no_figures();
  }
  for (const Metric* const metric : metrics_by(&Metric::in_rows)) {
    const std::string key = metric->key;
    if (key == kAfterTheOthers) {
      all.spread = {reader.number("spread_compute", kPositive), reader.number("spread_communication", kPositive)};
      all.statistics = reader.choice("statistics", values_of<Statistics>());
      if (reader.has("updates_late")) all.updates_late = reader.integer("updates_late", 1, kMaxInteger);
      if (reader.has("currency")) all.currency = reader.text("currency");
    }
    if (const std::optional<double> value = read_number(reader, *metric, key)) metric->figure.set(all, *value);
    if (!metric->interval_in_rows()) continue;
    const std::optional<double> low = read_number(reader, *metric, key + "_low"),
                                high = read_number(reader, *metric, key + "_high");
    if (low && high) metric->interval.set(all, {*low, *high});
  }
  reader.finish();
  return all;
}

JsonValue json_of(const Heading& heading, const Alone& alone) {
  JsonValue object = json_object({});
  if (!alone.part.empty()) object = json_object({{"part", alone.part}, {"others", alone.others}});
  object.set("schedule", heading.schedules[alone.schedule]);
  object.set("samples_per_update", alone.samples_per_update);
  object.set("tokens_per_s", alone.tokens_per_second);
  return object;
}

/// Where the text of a key stands among those that it may be.
std::size_t index_in(const std::vector<std::string>& texts, ObjectReader& reader, const std::string& key,
                     const char* wrong) {
  const auto found = std::ranges::find(texts, reader.text(key, std::nullopt, kLongText));
  if (found != texts.end()) return static_cast<std::size_t>(found - texts.begin());
  reader.fail(key, wrong);
  return 0;
}

std::size_t index_of_schedule(const Heading& heading, ObjectReader& reader) {
  return index_in(heading.schedules, reader, "schedule", "is none of the heading");
}

Alone read_alone(const Heading& heading, ObjectReader& reader) {
  Alone alone;
  alone.part = reader.text("part", std::string(), kLongText);
  alone.others = reader.text("others", std::string(), kLongText);
  alone.schedule = index_of_schedule(heading, reader);
  alone.samples_per_update = reader.number("samples_per_update", kPositive);
  alone.tokens_per_second = reader.number("tokens_per_s", kPositive);
  reader.finish();
  return alone;
}

/// Parses one line of JSON and reads it; throws all that is wrong with it.
template <class Read>
auto read_line(const std::string& line, const std::string& source, const Read& read) {
  JsonDocument document = parse_json(line, source, kMaxMeasuredValues);
  if (!document.errors.empty()) throw BadInput(document.errors.front());
  Diagnostics diagnostics;
  ObjectReader reader(document.root, "", diagnostics);
  auto value = read(reader);
  reader.finish();
  if (!diagnostics.errors.empty()) throw BadInput(diagnostics.errors.front());
  return value;
}

/// Of a point in a grid, whose last axis changes fastest.
std::size_t index_on_grid(const Heading& heading, const Coordinates& point) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < point.size(); ++i) index = index * heading.axes[i].values.size() + point[i];
  return index;
}

}  // namespace

Metrics no_figures() { return Metrics{.fit = {FitVerdict::kDoesNotFit, 0}}; }

bool same_sweep(const Heading& a, Heading b) {
  b.command = a.command;
  b.point_command = a.point_command;
  return a == b;
}

std::vector<std::string> texts_of(ObjectReader& reader, const char* key, std::size_t most) {
  std::vector<std::string> texts;
  for (JsonValue* each : reader.list(key, 0, most)) {
    if (each->kind != JsonKind::kText) reader.fail(key, "holds something that is no text");
    texts.push_back(each->text);
  }
  return texts;
}

std::string line_of(const Heading& heading) {
  std::vector<JsonValue> axes;
  for (const Axis& axis : heading.axes) {
    JsonValue& written = axes.emplace_back(json_object({{"pointer", axis.pointer}}));
    if (!axis.label.empty()) written.set("label", axis.label);
    written.set("values", axis.values);
  }
  JsonValue line = json_object({{"schema", kRowsSchema},
                                {"version", heading.version},
                                {"scenario", heading.scenario},
                                {"id", heading.id},
                                {"points", static_cast<std::int64_t>(heading.points)},
                                {"grid", heading.grid},
                                {"side_by_side", heading.side_by_side},
                                {"axes", std::move(axes)},
                                {"schedules", heading.schedules},
                                {"baseline", heading.baseline}});
  if (!(heading.trains == TrainedThere{})) {
    JsonValue trains = json_object({});
    if (!heading.trains.model.empty()) trains.set("model", heading.trains.model);
    if (heading.trains.train_tokens > 0) trains.set("train_tokens", heading.trains.train_tokens);
    if (heading.trains.sequence_length > 0) trains.set("sequence_length", heading.trains.sequence_length);
    line.set("trains", std::move(trains));
  }
  if (!heading.command.empty()) line.set("command", heading.command);
  if (!heading.point_command.empty()) line.set("point_command", heading.point_command);
  if (heading.tuned) line.set("tuned", true);
  if (heading.fair) line.set("fair", true);  // files from before there was this key are as they were
  return dump_json(line);
}

std::string line_of(const Heading& heading, const Row& row) {
  JsonValue point = json_object({});
  for (std::size_t i = 0; i < heading.axes.size(); ++i)
    point.set(heading.axes[i].pointer, heading.axes[i].values[row.point[i]]);
  JsonValue line = json_object({{"index", static_cast<std::int64_t>(row.index)},
                                {"point", std::move(point)},
                                {"status", row.done() ? "done" : "failed"}});
  if (!row.done()) {
    line.set("why", row.failure);
    return dump_json(line);
  }
  if (!row.best_synchronous.empty()) line.set("best_synchronous", row.best_synchronous);
  if (!row.best_delayed.empty()) line.set("best_delayed", row.best_delayed);
  if (row.alone) line.set("alone", json_of(heading, *row.alone));
  if (!row.cautions.empty()) line.set("cautions", row.cautions);
  if (row.way_to_fit)
    line.set("way_to_fit", json_object({{"schedule", heading.schedules[row.way_to_fit->schedule]},
                                        {"change", row.way_to_fit->change},
                                        {"total_time_s", row.way_to_fit->total_time}}));
  if (row.binds) {
    JsonValue& binds = line.set("binds", json_object({{"term", row.binds->term}}));
    if (row.binds->copied) binds.set("bytes_per_s", row.binds->copied->value);
  }
  std::vector<JsonValue> schedules;
  for (std::size_t i = 0; i < row.schedules.size(); ++i)
    schedules.push_back(row.has(i) ? json_of(heading.schedules[i], row.schedules[i])
                                   : json_object({{"label", heading.schedules[i]}, {"left_out", row.left_out[i]}}));
  line.set("schedules", std::move(schedules));
  return dump_json(line);
}

Heading read_heading(const std::string& line, const std::string& file) {
  return read_line(line, file, [&](ObjectReader& reader) {
    Heading heading;
    const JsonValue* const schema = reader.find("schema");
    if (schema != nullptr && schema->kind == JsonKind::kText &&
        std::ranges::find(kOldRowsSchemas, schema->text) != std::end(kOldRowsSchemas))
      reader.fail("schema", "is of an older accosim, whose rows do not say all that is shown of them; play it anew");
    else
      reader.schema(kRowsSchema);
    heading.version = reader.text("version");
    heading.scenario = reader.text("scenario", std::nullopt, kLongText);
    if (JsonValue* value = reader.find("trains")) {
      ObjectReader trains(*value, reader.pointer("trains"), reader.diagnostics());
      heading.trains.model = trains.text("model", std::string(), kLongText);
      if (trains.has("train_tokens")) heading.trains.train_tokens = trains.number("train_tokens", kPositive);
      if (trains.has("sequence_length"))
        heading.trains.sequence_length = static_cast<int>(trains.whole("sequence_length", 1, kMaxInteger));
      trains.finish();
    }
    heading.id = reader.text("id");
    heading.command = reader.text("command", std::string(), kLongText);
    heading.point_command = reader.text("point_command", std::string(), kLongText);
    heading.points = static_cast<std::size_t>(reader.whole("points", 0, static_cast<double>(kMostPoints)));
    heading.grid = reader.boolean("grid");
    heading.side_by_side = reader.boolean("side_by_side", false);
    std::size_t i = 0;
    for (JsonValue* each : reader.list("axes", 0, kMostValues)) {
      ObjectReader axis(*each, reader.pointer("axes") + pointer_part(i++), reader.diagnostics());
      Axis& read = heading.axes.emplace_back();
      read.pointer = axis.text("pointer", std::nullopt, kLongText);
      read.label = axis.has("label") ? axis.text("label", std::nullopt, kLongText) : "";
      read.values = texts_of(axis, "values", kMostValues);
      axis.finish();
    }
    double combinations = 1;
    for (const Axis& axis : heading.axes) combinations *= static_cast<double>(axis.values.size());
    if (heading.grid && combinations != static_cast<double>(heading.points))
      reader.fail("points", "is not the number of combinations of the axes' values");
    heading.schedules = texts_of(reader, "schedules", kMostValues);
    heading.baseline = reader.text("baseline", std::nullopt, kLongText);
    heading.tuned = reader.boolean("tuned", false);
    if (heading.tuned && heading.schedules.empty()) reader.fail("tuned", "is true, and there are no schedules");
    heading.fair = reader.boolean("fair", false);
    return heading;
  });
}

Row read_row(const Heading& heading, const std::string& line, const std::string& file, std::size_t number) {
  return read_line(line, fmt::format("{}, line {}", file, number), [&](ObjectReader& reader) {
    Row row;
    row.index = static_cast<std::size_t>(reader.whole("index", 0, static_cast<double>(heading.points) - 1));
    if (JsonValue* value = reader.find("point")) {
      ObjectReader point(*value, reader.pointer("point"), reader.diagnostics());
      for (const Axis& axis : heading.axes)
        row.point.push_back(index_in(axis.values, point, axis.pointer, "is no value of the axis in the heading"));
      point.finish();
    } else {
      reader.fail("point", "missing: a row says at which values it was played");
    }
    if (heading.grid && row.point.size() == heading.axes.size() && index_on_grid(heading, row.point) != row.index)
      reader.fail("index", "is not that of the row's point");
    if (reader.one_of("status", {"done", "failed"}, "") == "failed") {
      row.failure = reader.text("why", std::nullopt, kLongText);
      return row;
    }
    if (reader.has("best_synchronous")) row.best_synchronous = reader.text("best_synchronous", std::nullopt, kLongText);
    if (reader.has("best_delayed")) row.best_delayed = reader.text("best_delayed", std::nullopt, kLongText);
    if (reader.has("cautions")) row.cautions = texts_of(reader, "cautions", kMostValues);
    if (JsonValue* value = reader.find("way_to_fit")) {
      ObjectReader way(*value, reader.pointer("way_to_fit"), reader.diagnostics());
      const std::size_t schedule = index_of_schedule(heading, way);
      row.way_to_fit = {schedule, way.text("change", std::nullopt, kLongText), way.number("total_time_s", kPositive)};
      way.finish();
    }
    if (JsonValue* value = reader.find("binds")) {
      ObjectReader binds(*value, reader.pointer("binds"), reader.diagnostics());
      row.binds = Binding{binds.text("term", std::nullopt, kLongText)};
      if (binds.has("bytes_per_s")) row.binds->copied = BytesPerSecond{binds.number("bytes_per_s", kPositive)};
      binds.finish();
    }
    if (JsonValue* value = reader.find("alone")) {
      ObjectReader alone(*value, reader.pointer("alone"), reader.diagnostics());
      row.alone = read_alone(heading, alone);
    }
    std::size_t i = 0;
    for (JsonValue* each : reader.list("schedules", heading.schedules.size(), heading.schedules.size())) {
      ObjectReader schedule(*each, reader.pointer("schedules") + pointer_part(i), reader.diagnostics());
      std::string why = schedule.has("left_out") ? schedule.text("left_out", std::nullopt, kLongText) : "";
      if (!why.empty()) row.left_out.resize(heading.schedules.size());
      if (!why.empty()) row.left_out[i] = std::move(why);
      row.schedules.push_back(read_metrics(schedule, heading.schedules[i], row.has(i)));
      ++i;
    }
    return row;
  });
}

SweepRows read_rows(const std::string& path, const std::function<void(const Heading&)>& check) {
  InputFile in(path);
  const std::string shown = printable(path, 300);
  const auto refuse = [&](const std::string& why) { throw BadInput(fmt::format("{}: {}", shown, why)); };
  std::string line;
  const bool begins = in.line(line) && line.rfind(kRowsBegin, 0) == 0;
  if (!in.wrong().empty()) refuse(in.wrong());
  if (!begins) refuse("is no file of a sweep's rows; name one that accosim sweep -o wrote");
  SweepRows all{read_heading(line, shown), {}};
  if (check) check(all.heading);
  for (std::size_t number = 2; in.line(line) && !in.cut(); ++number) {
    if (all.rows.size() == all.heading.points) refuse("has more rows than points; some are there twice");
    all.rows.push_back(read_row(all.heading, line, shown, number));
  }
  if (!in.wrong().empty()) refuse(in.wrong());
  std::ranges::stable_sort(all.rows, {}, &Row::index);
  for (std::size_t i = 1; i < all.rows.size(); ++i)
    if (all.rows[i].index == all.rows[i - 1].index)
      throw BadInput(fmt::format("{}: point {} is there twice", shown, all.rows[i].index));
  return all;
}

}  // namespace accosim
