// See machine_samples.hpp.
#include "models/machine_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quantity.hpp"
#include "models/scenario.hpp"

namespace accosim {
namespace {

using Json = nlohmann::ordered_json;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool is_collective(const MachineSample& sample) {
  return sample.what == "reduce_scatter" || sample.what == "all_gather" || sample.what == "all_reduce";
}

double passes(const MachineSample& sample) { return sample.what == "all_reduce" ? 2 : 1; }

MachineSample sample_of(const Json& json) {
  MachineSample sample;
  sample.what = json.at("what").get<std::string>();
  for (const char* key : {"bytes", "elements", "parameters"})
    if (json.contains(key)) sample.amount = json.at(key).get<double>();
  sample.after_idle = json.value("after_idle", false);
  sample.median = Seconds{json.at("median_s").get<double>()};
  sample.p10 = Seconds{json.at("p10_s").get<double>()};
  sample.p90 = Seconds{json.at("p90_s").get<double>()};
  sample.runs = json.at("runs").get<int>();
  sample.tokens = json.value("tokens", 0.0);
  return sample;
}

/// The sample whose amount is nearest, as a ratio.
const MachineSample& nearest_sample(const MachineSamples& samples, const std::string& what, double amount) {
  const MachineSample* found = nullptr;
  const auto distance = [&](const MachineSample& sample) { return std::abs(std::log(sample.amount / amount)); };
  for (const MachineSample& sample : samples.samples)
    if (sample.what == what && (found == nullptr || distance(sample) < distance(*found))) found = &sample;
  if (found == nullptr || found->amount <= 0)
    throw ScenarioError({fmt::format("the samples hold no \"{}\"; measure again with accocal measure", what)});
  return *found;
}

double slowest_rate(const MachineSamples& samples) {
  return samples.rates.empty() ? 0 : *std::min_element(samples.rates.begin(), samples.rates.end());
}

double smallest_burst(const MachineSamples& samples) {
  return samples.bursts.empty() ? 0 : *std::min_element(samples.bursts.begin(), samples.bursts.end());
}

}  // namespace

MachineSamples read_machine_samples(const std::string& text, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    throw ScenarioError({fmt::format("{}: {}; name a file that accocal measure wrote", name, what)});
  };
  const Json root = Json::parse(text, nullptr, false);
  if (!root.is_object() || root.value("schema", Json()) != "accosim.samples/1")
    fail("is no JSON of schema accosim.samples/1");
  MachineSamples samples;
  try {
    const Json& machine = root.at("machine");
    samples.cpu = machine.at("cpu").get<std::string>();
    samples.cores = machine.at("cores").get<int>();
    samples.idle_before = machine.value("idle_before", 1.0);
    samples.idle_after = machine.value("idle_after", 1.0);
    samples.commit = root.value("commit", "");
    samples.date = root.value("date", "");
    samples.ranks = root.at("ranks").get<int>();
    const Json& network = root.at("network");
    samples.network = network.at("kind").get<std::string>();
    samples.rates = network.value("rates_bytes_per_s", std::vector<double>{});
    samples.bursts = network.value("burst_bytes", std::vector<double>{});
    for (const Json& one : root.at("samples")) samples.samples.push_back(sample_of(one));
  } catch (const Json::exception& error) {
    fail(std::string("lacks something: ") + error.what());
  }
  const auto possible = [](const MachineSample& sample) { return sample.median.value > 0 && sample.runs > 0; };
  if (samples.ranks < 1 || !std::all_of(samples.samples.begin(), samples.samples.end(), possible))
    fail("holds ranks, times or runs that are not above 0");
  for (const std::vector<double>* each : {&samples.rates, &samples.bursts})
    if (!each->empty() && each->size() != static_cast<std::size_t>(samples.ranks))
      fail("lists rates for another number of ranks");
  return samples;
}

MachineFit fit_machine(const MachineSamples& samples, double elements) {
  MachineFit fit;
  const double n = samples.ranks;
  constexpr double kSmall = 4096;
  const double rate = slowest_rate(samples), burst = smallest_burst(samples);
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
        throw ScenarioError({fmt::format("the samples hold no {} of small and large sizes; measure again", what)});
      const double edge = passes(*found) * (n - 1) / n * found->amount;
      const double hops_of = passes(*found) * (n - 1) * fit.hop.value;
      // Back to back a bucket gathers in the hops what passes at once after them, as far as it can hold it.
      const double whole = edge / found->median.value;
      const bool covered = burst >= hops_of * whole;
      efficiencies.push_back(covered ? whole : (edge - burst) / std::max(1e-9, found->median.value - hops_of));
    }
    fit.unlimited = BytesPerSecond{median(efficiencies)};
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
    if (sample.what != "micro_batch") continue;
    fit.micro_batch = sample.median;
    fit.parameters = sample.amount;
    fit.tokens = sample.tokens;
  }
  return fit;
}

std::string machine_scenario(const MachineSamples& samples, const MachineFit& fit) {
  const std::string measured = fmt::format("accocal measure, {} on {} ({} cores), commit {}", samples.date, samples.cpu,
                                           samples.cores, samples.commit.empty() ? "unknown" : samples.commit);
  const Json device = {{"schema", "accosim.device/1"},
                       {"name", samples.cpu},
                       {"peak", {{"fp32", "1 TFLOP/s"}}},
                       {"gemm_efficiency", 1},
                       {"flash_attention_efficiency", 0},
                       {"memory_bandwidth", print_quantity(fit.copy.value, Dimension::kBandwidth)},
                       {"memory_efficiency", 1},
                       {"memory", "16 GiB"},
                       {"launch_interval", "0 s"},
                       {"adamw_time_per_parameter", print_quantity(fit.adamw_per_parameter.value, Dimension::kTime)},
                       {"sources",
                        {{"/peak", "no figure: the time of a micro-batch is measured as a whole"},
                         {"/memory", "no figure"},
                         {"/memory_bandwidth", measured},
                         {"/adamw_time_per_parameter", measured}}}};
  Json nodes = Json::array();
  for (int rank = 0; rank < samples.ranks; ++rank) {
    Json nics = {{"kind", "sockets"}};
    const bool limited = !samples.rates.empty();
    nics["bandwidth"] =
        print_quantity(limited ? samples.rates[static_cast<std::size_t>(rank)] : std::max(1.0, fit.unlimited.value),
                       Dimension::kBandwidth);
    nics["efficiency"] = limited ? fit.efficiency : 1;
    nics["latency"] = print_quantity(fit.hop.value, Dimension::kTime);
    if (!samples.bursts.empty())
      nics["burst"] = print_quantity(fit.efficiency * samples.bursts[static_cast<std::size_t>(rank)], Dimension::kData);
    nodes.push_back(
        {{"name", fmt::format("rank {}", rank)}, {"count", 1}, {"gpus", 1}, {"device", device}, {"nics", nics}});
  }
  const bool known = fit.micro_batch > Seconds{0};
  const Json scenario = {
      {"schema", "accosim.scenario/1"},
      {"name", "machine"},
      {"description", "By accosim fit from " + measured},
      {"model",
       {{"model_type", "measured"},
        {"name", "measured"},
        {"parameters", known ? fit.parameters : 1048576},
        {"micro_batch_time", print_quantity(known ? fit.micro_batch.value : 0.01, Dimension::kTime)}}},
      {"cluster", {{"schema", "accosim.cluster/1"}, {"name", samples.network}, {"nodes", nodes}}},
      {"training",
       {{"sequence_length", known ? std::max(1.0, std::round(fit.tokens)) : 1},
        {"micro_batch_size", 1},
        {"gradient_accumulation_steps", 2},
        {"train_tokens", 1e9},
        {"precision", "fp32"},
        {"attention", "naive"},
        {"interference", false}}},
      {"schedules",
       {{{"name", "ddp"}, {"overlap", "none"}, {"count_micro_batches", true}},
        {{"name", "zero1"}, {"count_micro_batches", true}},
        {{"name", "dpu"}},
        {{"name", "wp"}},
        {{"name", "acco"}},
        {{"name", "diloco"}}}}};
  return scenario.dump(1) + "\n";
}

}  // namespace accosim
