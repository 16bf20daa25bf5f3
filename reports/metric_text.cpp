#include "reports/metric_text.hpp"

#include <fmt/format.h>

#include "models/base/json_list.hpp"
#include "reports/column_format.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

template <typename Quantity>
std::vector<Quantity> quantities_of(const std::vector<double>& values) {
  std::vector<Quantity> all;
  for (const double value : values) all.push_back(Quantity{value});
  return all;
}

ColumnText in_one_unit(const UnitFormat& format) {
  return {format.name, [format](double value) { return format.text_of(value); }};
}

}  // namespace

std::string in_words(Format format, double value) {
  switch (format) {
    case Format::kTime: return human_time(Seconds{value});
    case Format::kClock: return human_clock(Seconds{value});
    case Format::kCount: return human_count(value);
    case Format::kFactor: return human_factor(value);
    case Format::kPercent: return human_percent(value);
    case Format::kError: return human_error(value);
    case Format::kBytes: return human_bytes(Bytes{value});
    case Format::kMemory: return human_memory(Bytes{value});
    case Format::kFlops: return fmt::format("{:.4g}", value / 1e12);
    case Format::kYesNo: return value != 0 ? "yes" : "no";
  }
  return "";
}

ColumnText column_text(Format format, const std::vector<double>& values) {
  switch (format) {
    case Format::kTime: return in_one_unit(time_format(quantities_of<Seconds>(values)));
    case Format::kFlops: return in_one_unit(flops_format(quantities_of<FlopsPerSecond>(values)));
    case Format::kClock: {
      const ClockFormat clock = clock_format(quantities_of<Seconds>(values));
      return {clock.name, [clock](double value) { return clock.text_of(Seconds{value}); }};
    }
    default: return {"", [format](double value) { return in_words(format, value); }};
  }
}

JsonValue json_of(const Metric& metric, const Metrics& all) {
  const std::optional<double> value = metric.figure.of(all);
  if (metric.format == Format::kYesNo && value) return *value != 0;
  return value;
}

JsonValue page_metrics_json() {
  return json_list(metrics_by(&Metric::page), [](const Metric* metric) {
    return json_object({{"key", metric->key},
                        {"format", name_of(metric->format)},
                        {"name", metric->page.name},
                        {"meaning", metric->page.says}});
  });
}

}  // namespace accosim
