#include "models/fit/machine_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/fit/document.hpp"
#include "models/read/read_scenario.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

bool is_collective(const MachineSample& sample) {
  return sample.what == "reduce_scatter" || sample.what == "all_gather" || sample.what == "all_reduce";
}

double passes(const MachineSample& sample) { return sample.what == "all_reduce" ? 2 : 1; }

constexpr Range kTime{0, 1e4, true};
constexpr Range kOfRank{1e-9, 1e4};  // a clock's least
constexpr Range kSpread{0, 1e4};     ///< of times that a clock may not tell from none
constexpr Range kFactor{0, 1e6};
constexpr double kMostCounted = 1e15;
constexpr std::size_t kMostSamples = 100'000;

/// What each kind of sample is of; nothing: of itself.
const std::vector<std::pair<std::string, const char*>>& kinds() {
  static const std::vector<std::pair<std::string, const char*>> kAll = {{"reduce_scatter", "bytes"},
                                                                        {"all_gather", "bytes"},
                                                                        {"all_reduce", "bytes"},
                                                                        {"adamw", "elements"},
                                                                        {"copy", "elements"},
                                                                        {"micro_batch", "parameters"},
                                                                        {"shorter_micro_batch", "parameters"},
                                                                        {"theft", "bytes"},
                                                                        {"link", "bytes"},
                                                                        {"hand_off_start", nullptr},
                                                                        {"hand_off_end", nullptr}};
  return kAll;
}

/// A list of one number a rank, which may be absent.
std::vector<double> read_by_rank(ObjectReader& reader, const char* key, const Range& range, int ranks) {
  std::vector<double> all = reader.numbers(key, range, kMostMeasuredRanks);
  if (reader.good(key) && ranks > 0 && !all.empty() && all.size() != static_cast<std::size_t>(ranks))
    reader.fail(key, fmt::format("lists {} for {} ranks; measure again", all.size(), ranks));
  return all;
}

MachineSample read_sample(ObjectReader& reader, int ranks) {
  MachineSample sample;
  std::vector<std::string> names;
  for (const auto& [name, of] : kinds()) names.push_back(name);
  sample.what = reader.one_of("what", names, "");
  for (const auto& [name, of] : kinds())
    if (reader.good("what") && name == sample.what && of != nullptr) sample.amount = reader.whole(of, 1, kMostCounted);
  sample.after_idle = reader.boolean("after_idle", false);
  if (sample.what == "micro_batch" || sample.what == "shorter_micro_batch")
    sample.tokens = reader.integer("tokens", 1, kMaxInteger);
  sample.median = Seconds{reader.number("median_s", kTime)};
  sample.p10 = Seconds{reader.number("p10_s", kSpread)};
  sample.p90 = Seconds{reader.number("p90_s", kSpread)};
  sample.runs = reader.integer("runs", 1, kMaxInteger);
  check_median(reader, sample.median, sample.p10, sample.p90);
  for (const auto& [key, all, range] : {std::tuple("by_rank_s", &sample.by_rank, kOfRank),
                                        {"by_rank_p10_s", &sample.by_rank_p10, kSpread},
                                        {"by_rank_p90_s", &sample.by_rank_p90, kSpread},
                                        {"processor_wait_by_rank_s", &sample.waited_by_rank, kSpread}}) {
    *all = read_by_rank(reader, key, range, ranks);
    if (reader.good() && all->size() != sample.by_rank.size() && !all->empty())
      reader.fail(key, "needs by_rank_s beside it; measure again");
  }
  for (const char* key : {"processor_wait_p90_s", "collective_alone_s", "compute_alone_s"})
    if (reader.has(key)) reader.number(key, kSpread);
  for (const char* key : {"compute_slowdown", "collective_slowdown"})
    if (reader.has(key)) reader.number(key, kFactor);
  return sample;
}

void read_samples(ObjectReader& top, MachineSamples& samples) {
  read_object(top, "machine", [&](ObjectReader& machine) {
    samples.cpu = machine.text("cpu");
    samples.cores = machine.integer("cores", 1, 1'000'000);
    samples.idle_before = machine.number("idle_before", Range{0, 1}, 1);
    samples.idle_after = machine.number("idle_after", Range{0, 1}, 1);
    pass_over(machine, {"kernel"});
  });
  samples.commit = top.text("commit", "");
  samples.date = top.text("date", "");
  samples.ranks = top.integer("ranks", 1, kMostMeasuredRanks);
  if (!top.good("ranks")) samples.ranks = 0;  // of which no list is too long
  read_object(top, "network", [&](ObjectReader& network) {
    const MeasuredNetwork read = read_network(network, samples.ranks, "measure again");
    samples.network = read.kind;
    samples.rates = read.rates;
    samples.payloads = read.payloads;
    samples.bursts = read.bursts;
  });
  read_objects(top, "samples", 1, kMostSamples,
               [&](ObjectReader& sample) { samples.samples.push_back(read_sample(sample, samples.ranks)); });
  pass_over(top, {"compiler", "transport"});
}

/// The sample whose amount is nearest, as a ratio.
const MachineSample& nearest_sample(const MachineSamples& samples, const std::string& what, double amount) {
  const MachineSample* found = nullptr;
  const auto distance = [&](const MachineSample& sample) { return std::abs(std::log(sample.amount / amount)); };
  for (const MachineSample& sample : samples.samples)
    if (sample.what == what && (found == nullptr || distance(sample) < distance(*found))) found = &sample;
  if (found == nullptr || found->amount <= 0)
    throw ScenarioError(
        {fmt::format("{} /samples: hold no \"{}\"; measure again with accocal measure", samples.source, what)});
  return *found;
}

/// Of rates or bursts; 0 without any.
double least(const std::vector<double>& all) { return all.empty() ? 0 : *std::ranges::min_element(all); }

/// Collectives that send next to nothing are of no such network.
void check_rate(const MachineSamples& samples, BytesPerSecond achieved, double rate) {
  if (achieved.value >= std::max(1e3, kFraction.least * rate)) return;
  throw ScenarioError({fmt::format(
      "{} /samples: the largest collectives send {:.3g} B/s a rank{}; look at their bytes and times, or measure again",
      samples.source, achieved.value,
      rate > 0 ? fmt::format(", and rates_bytes_per_s sets {:.3g}", rate) : std::string())});
}

}  // namespace

MachineSamples read_machine_samples(const std::string& text, const std::string& name) {
  MachineSamples samples{.source = printable(name, 300)};
  read_document(text, name, {"accosim.samples/1", "accocal measure"},
                [&](ObjectReader& top) { read_samples(top, samples); });
  return samples;
}

MachineFit fit_machine(const MachineSamples& samples, double elements) {
  MachineFit fit;
  const double n = samples.ranks;
  constexpr double kSmall = 4096;
  const double rate = least(samples.rates), burst = least(samples.bursts);
  if (n > 1) {
    std::vector<double> hops, efficiencies;
    for (const MachineSample& sample : samples.samples)
      if (is_collective(sample) && !sample.after_idle && sample.amount <= kSmall)
        hops.push_back(sample.median.value / (passes(sample) * (n - 1)));
    fit.hop = Seconds{median(hops)};
    for (const char* what : {"reduce_scatter", "all_gather", "all_reduce"}) {
      const MachineSample* found = nullptr;
      for (const MachineSample& sample : samples.samples)
        if (sample.what == what && !sample.after_idle && (found == nullptr || sample.amount > found->amount))
          found = &sample;
      if (found == nullptr || hops.empty())
        throw ScenarioError(
            {fmt::format("{} /samples: hold no {} of small and large sizes; measure again", samples.source, what)});
      const double edge = passes(*found) * (n - 1) / n * found->amount;
      const double hops_of = passes(*found) * (n - 1) * fit.hop.value;
      // Back to back a bucket gathers in the hops what passes at once after them, as far as it can hold it.
      const double whole = edge / found->median.value;
      const bool covered = burst >= hops_of * whole;
      efficiencies.push_back(covered ? whole : (edge - burst) / std::max(1e-9, found->median.value - hops_of));
    }
    fit.unlimited = BytesPerSecond{median(efficiencies)};
    check_rate(samples, fit.unlimited, rate);
    if (rate > 0) fit.efficiency = std::min(1.0, fit.unlimited.value / rate);
    const double payload = rate > 0 ? fit.efficiency * rate : fit.unlimited.value;
    for (const MachineSample& sample : samples.samples) {
      if (!is_collective(sample)) continue;
      const double hops_of = passes(sample) * (n - 1) * fit.hop.value;
      const double full = fit.efficiency * burst;
      const double credit = sample.after_idle ? full : std::min(full, hops_of * payload);
      const double edge = passes(sample) * (n - 1) / n * sample.amount;
      fit.residuals.push_back({sample, Seconds{hops_of + std::max(0.0, edge - credit) / payload}});
    }
  }
  for (const MachineSample& sample : samples.samples)
    if (elements <= 0 && sample.what == "micro_batch") elements = sample.amount / n;
  if (elements <= 0) elements = 1e15;
  const MachineSample &adamw = nearest_sample(samples, "adamw", elements),
                      &copy = nearest_sample(samples, "copy", n * elements);
  fit.copy = BytesPerSecond{8 * copy.amount / copy.median.value};
  fit.adamw_per_parameter = 1 / adamw.amount * adamw.median + 1 / copy.amount * copy.median;
  for (const MachineSample& sample : samples.samples) {
    if (sample.what == "hand_off_start" || sample.what == "hand_off_end") fit.hand_off += sample.median;
    if (sample.what == "shorter_micro_batch") fit.shorter[sample.tokens] = sample.median;
    if (sample.what != "micro_batch") continue;
    fit.micro_batch = sample.median;
    fit.parameters = sample.amount;
    fit.tokens = sample.tokens;
  }
  return fit;
}

namespace {

/// The shortest that reads back: 1 and 1e+09, where a document of measurements has 1.0 and 1000000000.0.
JsonValue number(double value) { return json_number(value, {}); }

JsonValue device_of(const MachineSamples& samples, const MachineFit& fit, const std::string& measured) {
  return json_object({{"schema", "accosim.device/1"},
                      {"name", samples.cpu},
                      {"peak", json_object({{"fp32", "1 TFLOP/s"}})},
                      {"gemm_efficiency", 1},
                      {"flash_attention_efficiency", 0},
                      {"memory_bandwidth", print_quantity(fit.copy.value, Dimension::kBandwidth)},
                      {"memory_efficiency", 1},
                      {"memory", "16 GiB"},
                      {"launch_interval", "0 s"},
                      {"adamw_time_per_parameter", print_quantity(fit.adamw_per_parameter.value, Dimension::kTime)},
                      {"sources", json_object({{"/peak", "no figure: the time of a micro-batch is measured as a whole"},
                                               {"/memory", "no figure"},
                                               {"/memory_bandwidth", measured},
                                               {"/adamw_time_per_parameter", measured}})}});
}

JsonValue node_of(const MachineSamples& samples, const MachineFit& fit, std::size_t rank, JsonValue device) {
  const bool limited = !samples.rates.empty();
  JsonValue nics =
      json_object({{"kind", "sockets"},
                   {"bandwidth", print_quantity(limited ? samples.rates[rank] : std::max(1e3, fit.unlimited.value),
                                                Dimension::kBandwidth)},
                   {"efficiency", number(limited ? fit.efficiency : 1)},
                   {"latency", print_quantity(fit.hop.value, Dimension::kTime)}});
  if (!samples.bursts.empty())
    nics.set("burst", print_quantity(fit.efficiency * samples.bursts[rank], Dimension::kData));
  return json_object({{"name", fmt::format("rank {}", rank)},
                      {"count", 1},
                      {"gpus", 1},
                      {"device", std::move(device)},
                      {"nics", std::move(nics)}});
}

/// What is written is read again: samples that pass one by one can still make a machine that cannot be.
void check_reads_back(const std::string& scenario, const std::string& source) {
  JsonDocument document = parse_json(scenario, source);
  Diagnostics diagnostics{document.errors};
  if (document.whole) read_scenario(document.root, source, diagnostics);
  if (diagnostics.errors.empty()) return;
  std::vector<std::string> errors = {source + " /samples: make a machine that cannot be; measure again:"};
  errors.insert(errors.end(), diagnostics.errors.begin(), diagnostics.errors.end());
  throw ScenarioError(errors);
}

}  // namespace

std::string machine_scenario(const MachineSamples& samples, const MachineFit& fit) {
  const std::string measured = fmt::format("accocal measure, {} on {} ({} cores), commit {}", samples.date, samples.cpu,
                                           samples.cores, samples.commit.empty() ? "unknown" : samples.commit);
  const JsonValue device = device_of(samples, fit, measured);
  std::vector<JsonValue> nodes;
  for (int rank = 0; rank < samples.ranks; ++rank)
    nodes.push_back(node_of(samples, fit, static_cast<std::size_t>(rank), device));
  const bool known = fit.micro_batch > Seconds{0};
  std::vector<JsonValue> own_schedules;
  for (const std::string& algorithm : accocal_algorithms()) own_schedules.push_back(own_schedule(traits_of(algorithm)));
  JsonValue model =
      json_object({{"model_type", measured_family().name},
                   {"name", "measured"},
                   {"parameters", number(known ? fit.parameters : 1048576)},
                   {"micro_batch_time", print_quantity(known ? fit.micro_batch.value : 0.01, Dimension::kTime)}});
  if (known && !fit.shorter.empty()) {
    JsonValue& shorter = model.set("shorter_micro_batches", json_object({}));
    for (const auto& [tokens, time] : fit.shorter)
      shorter.set(fmt::format("{:.0f}", tokens), print_quantity(time.value, Dimension::kTime));
  }
  const JsonValue scenario = json_object(
      {{"schema", "accosim.scenario/1"},
       {"name", "machine"},
       {"description", "By accosim fit from " + measured},
       {"model", std::move(model)},
       {"cluster",
        json_object({{"schema", "accosim.cluster/1"}, {"name", samples.network}, {"nodes", std::move(nodes)}})},
       {"training", json_object({{"sequence_length", number(known ? std::max(1.0, std::round(fit.tokens)) : 1)},
                                 {"micro_batch_size", 1},
                                 {"gradient_accumulation_steps", 2},
                                 {"train_tokens", number(1e9)},
                                 {"precision", "fp32"},
                                 {"attention", "naive"},
                                 {"interference", false}})},
       {"schedules", std::move(own_schedules)}});
  std::string written = write_json(scenario) + "\n";
  check_reads_back(written, samples.source.empty() ? "samples" : samples.source);
  return written;
}

}  // namespace accosim
