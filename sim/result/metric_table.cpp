#include "sim/result/metric_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace accosim {
namespace {

double number_of(double value) { return value; }
double number_of(bool value) { return value ? 1 : 0; }
template <int T, int D, int W>
double number_of(Quantity<T, D, W> value) {
  return value.value;
}
template <typename T>
std::optional<double> number_of(const std::optional<T>& value) {
  return value ? std::optional(number_of(*value)) : std::nullopt;
}

template <typename T>
void put(T& to, double value) {
  to = T{value};
}
void put(bool& to, double value) { to = value != 0; }
template <typename T>
void put(std::optional<T>& to, double value) {
  put(to.emplace(), value);
}

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

template <auto kMember>
constexpr Figure kFigure{[](const Metrics& all) { return std::optional<double>(number_of(all.*kMember)); },
                         [](Metrics& all, double value) { put(all.*kMember, value); },
                         !kIsOptional<std::decay_t<decltype(Metrics{}.*kMember)>>};
template <auto kLow, auto kHigh>
constexpr FigureInterval kBetween{[](const Metrics& all) {
                                    return std::optional(Interval{number_of(all.*kLow), number_of(all.*kHigh)});
                                  },
                                  [](Metrics& all, const Interval& interval) {
                                    put(all.*kLow, interval.low);
                                    put(all.*kHigh, interval.high);
                                  }};
template <auto kMember>
constexpr FigureInterval kInterval{[](const Metrics& all) { return all.*kMember; },
                                   [](Metrics& all, const Interval& interval) { all.*kMember = interval; }};

/// Of what is proportional to the time of an update: its interval, in parts of the figure.
template <auto kMember>
constexpr FigureInterval kAsTheUpdate{
    [](const Metrics& all) -> std::optional<Interval> {
      const std::optional<double> value = number_of(all.*kMember);
      const double update = all.update_time.value;
      if (!value || update == 0) return std::nullopt;
      return Interval{*value * all.update_time_low.value / update, *value * all.update_time_high.value / update};
    },
    [](Metrics&, const Interval&) {}};  // it follows

/// A row that was read says less than three words.
constexpr Figure kFits{
    [](const Metrics& all) { return std::optional(number_of(all.fits())); },
    [](Metrics& all, double yes) { all.fit.verdict = yes != 0 ? FitVerdict::kFits : FitVerdict::kDoesNotFit; }};
constexpr Figure kFitProbability{[](const Metrics& all) { return std::optional(all.fit.probability); },
                                 [](Metrics& all, double value) { all.fit.probability = value; }};

using M = Metrics;

constexpr Metric metric(const char* key, Format format, const Figure& figure, const Places& places) {
  return {places, key, format, figure};
}
template <auto kMember>
constexpr Metric metric(const char* key, Format format, const Places& places) {
  return {places, key, format, kFigure<kMember>};
}

constexpr Metric kMetrics[] = {
    metric<&M::update_time>("update_time_s", Format::kTime,
                            {.interval = kBetween<&M::update_time_low, &M::update_time_high>,
                             .in_rows = 10,
                             .run = {10, "update time", "from one optimizer update to the next, steady state"},
                             .run_interval = "the residuals of the prices' fits",
                             .column = {10, "update", "{}"},
                             .page = {10, "update", "80 % interval"}}),
    metric<&M::total_time>("total_time_s", Format::kClock,
                           {.interval = kAsTheUpdate<&M::total_time>,
                            .in_rows = 12,
                            .run = {20, "total time", "for all tokens"},
                            .column = {20, "all tokens", "{}"},
                            .page = {20, "all tokens", "h:mm:ss, or d hh:mm"}}),
    metric<&M::tokens_per_second>("tokens_per_s", Format::kCount,
                                  {.in_rows = 30,
                                   .run = {30, "tokens per second", "of all GPUs together"},
                                   .column = {100, "tokens", "per s"},
                                   .page = {80, "tokens a second", "of all GPUs, and of one"}}),
    metric<&M::tokens_per_second_per_gpu>(
        "tokens_per_s_per_gpu", Format::kCount,
        {.run = {80, "tokens per second and GPU", "their mean"}, .column = {110, "per s", "and GPU"}}),
    metric<&M::model_flops_per_gpu>(
        "model_flops_per_s_per_gpu", Format::kFlops,
        {.run = {50, "TFLOP/s a GPU", "model FLOPs, their mean"}, .column = {120, "{}", "a GPU"}}),
    metric<&M::gpu_hours>("gpu_hours", Format::kCount,
                          {.interval = kAsTheUpdate<&M::gpu_hours>,
                           .in_rows = 14,
                           .run = {60, "GPU-hours", "of all GPUs, for all tokens"},
                           .column = {60, "GPU-", "hours"},
                           .page = {22, "GPU-hours", "of all GPUs, for all tokens"}}),
    metric<&M::cost>("cost", Format::kCount,
                     {.interval = kAsTheUpdate<&M::cost>,
                      .in_rows = 16,
                      .run = {70, "cost", "the same at the cluster's price_per_gpu_hour"},
                      .column = {70, "cost", "{}"},
                      .page = {24, "cost", "the same at the cluster's price_per_gpu_hour"}}),
    metric<&M::tokens_padded_per_second>("tokens_padded_per_s", Format::kCount,
                                         {.in_json = false,  // of drawn updates alone
                                          .run = {40, "with their padding", "tokens per second that are computed"}}),
    metric<&M::speedup>("speedup", Format::kFactor,
                        {.interval = kInterval<&M::speedup_interval>,
                         .in_rows = 40,
                         .run = {90, "speedup per token", "time per token of the baseline over this one's"},
                         .column = {30, "speedup", "per token"},
                         .page = {40, "speedup", "per token, over the baseline"}}),
    metric<&M::speedup_same_batch>(
        "speedup_same_batch", Format::kFactor,
        {.interval = kInterval<&M::speedup_same_batch_interval>,
         .in_rows = 50,
         .run = {100, "speedup at the same batch",
                 "over the baseline with as many samples per update, reduced once an update"},
         .column = {40, "speedup", "same batch"},
         .page = {60, "speedup at the same batch", "over the baseline with as many samples an update"}}),
    metric<&M::over_best_synchronous>(
        "speedup_over_best_synchronous", Format::kFactor,
        {.interval = kInterval<&M::over_best_synchronous_interval>,
         .in_rows = 55,
         .column = {45, "over best", "synchr."},
         .page = {65, "over the best synchronous", "over the fastest tuned synchronous schedule, at equal samples"}}),
    metric<&M::over_alone>("speedup_over_alone", Format::kFactor,
                           {.interval = kInterval<&M::over_alone_interval>, .in_json = false, .in_rows = 60}),
    metric<&M::published_speedup>(
        "published_speedup", Format::kFactor,
        {.run = {110, "published speedup", "as the scenario states it"}, .page = {50, "published speedup", ""}}),
    metric("published_speedup_error", Format::kError, Figure{[](const M& all) { return all.speedup_error(); }}, {}),
    metric<&M::published_time>("published_time_s", Format::kClock,
                               {.run = {120, "published time", ""}, .page = {30, "published time", "of all tokens"}}),
    metric("published_time_error", Format::kError, Figure{[](const M& all) { return all.time_error(); }}, {}),
    metric<&M::published_of_another_run>("published_of_another_run", Format::kYesNo, {}),
    metric<&M::batch_inflation>("batch_inflation", Format::kFactor,
                                {.in_rows = 80,
                                 .run = {130, "batch growth", "samples per update over those asked for"},
                                 .column = {50, "batch", "grown"},
                                 .page = {70, "batch grown", "samples an update over those asked for"}}),
    metric<&M::samples_per_update>(
        "samples_per_update", Format::kCount,
        {.in_rows = 20, .run = {140, "samples per update", "sequences between two updates, all ranks"}}),
    metric<&M::micro_batches_per_update>("micro_batches_per_update", Format::kCount,
                                         {.run = {150, "micro-batches per update", "all ranks"}}),
    metric<&M::mfu>("mfu", Format::kPercent,
                    {.in_rows = 150,
                     .run = {160, "MFU", "model FLOPs over the peak of all GPUs"},
                     .column = {130, "MFU", ""},
                     .page = {90, "MFU", "share of the peak that the model needs"}}),
    metric<&M::hfu>("hfu", Format::kPercent,
                    {.run = {170, "HFU", "the same of all that kernels compute, recomputed activations too"}}),
    metric<&M::gpu_idle_fraction>("gpu_idle_fraction", Format::kPercent,
                                  {.least = -1e300,  // sums leave a rounding error over
                                   .in_rows = 160,
                                   .run = {180, "GPU idle", "time in which a GPU computes nothing"},
                                   .column = {140, "GPU", "idle"},
                                   .page = {100, "GPU idle", ""}}),
    metric<&M::exposed_communication>(
        "exposed_communication_s", Format::kTime,
        {.in_rows = 140,
         .run = {190, "exposed communication", "per update: the GPU waits while its rank communicates"},
         .column = {150, "exposed", "comm. {}"},
         .page = {110, "exposed communication", "of an update, that nothing hides"}}),
    metric<&M::bytes_sent_per_rank_per_update>(
        "bytes_sent_per_rank_per_update", Format::kBytes,
        {.in_rows = 130, .run = {200, "sent per rank and update", "over all links"}}),
    metric<&M::memory_formula>("memory_formula_bytes", Format::kMemory,
                               {.run = {210, "memory by formula", "model states only, as papers compare them"}}),
    metric<&M::memory_resident>(
        "memory_resident_bytes", Format::kMemory,
        {.interval = {kBetween<&M::memory_resident_low, &M::memory_resident_high>.of},
         .in_rows = 110,
         .run = {220, "memory resident", "really needed, on the rank that is least likely to fit"},
         .run_interval = "the errors of published runs",
         .page = {120, "memory", "of a GPU, 80 % interval, and its capacity"}}),
    metric<&M::memory_capacity>("memory_capacity_bytes", Format::kMemory,
                                {.in_rows = 120, .run = {230, "memory capacity", "of that GPU"}}),
    metric("fits", Format::kYesNo, kFits, {.in_json = false, .in_rows = 90}),
    metric("fit_probability", Format::kPercent, kFitProbability, {.most = 1, .in_json = false, .in_rows = 100}),
};

template <typename PlaceOf>
std::vector<const Metric*> in_order(const PlaceOf& place_of) {
  std::vector<const Metric*> chosen;
  for (const Metric& metric : kMetrics)
    if (place_of(metric) > 0) chosen.push_back(&metric);
  std::ranges::stable_sort(chosen, [&](const Metric* a, const Metric* b) { return place_of(*a) < place_of(*b); });
  return chosen;
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric& metric_named(std::string_view key) {
  for (const Metric& metric : kMetrics)
    if (metric.key == key) return metric;
  throw std::logic_error("no metric " + std::string(key));
}

std::vector<const Metric*> metrics_by(int Metric::*place) {
  return in_order([&](const Metric& metric) { return metric.*place; });
}
std::vector<const Metric*> metrics_by(ShownAs Metric::*shown) {
  return in_order([&](const Metric& metric) { return (metric.*shown).place; });
}

}  // namespace accosim
