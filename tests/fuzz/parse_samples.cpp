// Parsers of measurements, and what is made of them: what loads can be fitted, and what a fit writes loads.
#include <cmath>
#include <map>
#include <memory>
#include <sstream>

#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/import_nccl_tests.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/fit/write_constants.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/load.hpp"
#include "models/read/overrides.hpp"
#include "models/recorded/convergence_file.hpp"
#include "models/recorded/measured_run.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"
#include "reports/console.hpp"
#include "reports/evidence/fit_text.hpp"
#include "reports/evidence/inspection_text.hpp"
#include "reports/evidence/live_report.hpp"
#include "reports/trace/trace_json.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "sim/evidence/time_to_loss.hpp"
#include "sim/result/run.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/support/printed.hpp"

namespace accosim {
namespace {

std::string shipped(const std::string& path) {
  std::string text;
  const std::string wrong = read_text_file(data_dir() + "/" + path, text);
  require(wrong.empty(), path + " " + wrong);
  return text;
}

/// Runs `load`, which reads what was written by ours.
template <class Load>
void require_loads(const std::string& what, const Load& load) {
  try {
    load();
  } catch (const ScenarioError& error) {
    require(false, what + " does not load: " + error.what());
  }
}

void read_kernels(const std::string& text) {
  const std::vector<KernelSample> samples = read_kernel_samples(text, "input");
  if (samples.size() > 60 || !is_one_in(32, text)) return;
  std::map<std::string, Device> devices;
  for (const KernelSample& sample : samples) {
    if (devices.count(sample.device) == 0) devices[sample.device] = load_device(sample.device);
    if (!devices[sample.device].peak[static_cast<std::size_t>(sample.dtype)]) return;
  }
  const std::vector<KernelFit> fits = fit_kernels(samples, devices);
  std::ostringstream page;
  write_fits(page, fits);
  require_printable(page.str(), "a page");
  for (const KernelFit& fit : fits)
    if (!(fit.in.mean_absolute <= 1 && fit.in.spread <= 1)) return;  // which the verb writes nowhere
  const std::string profile = shipped("calibration/profiles/A100-SXM4-80GB.json");
  const Device device = load_device("A100-SXM4-80GB");
  const std::string written = profile_with_fits(profile, "profile", device, fits);
  require_loads("a fitted profile", [&] { load_device(scratch_file("profile.json", written)); });
}

void read_collectives(const std::string& text) {
  static const std::string kFile = data_dir() + "/scenarios/clusters/dgx-a100-16x8.json";
  static const auto kCluster = std::make_shared<const Cluster>(load_cluster(kFile));
  holds_collectives(text);
  const std::vector<MeasuredCollective> samples = read_collective_samples(text, "input", {kCluster});
  for (const MeasuredCollective& sample : samples) {
    const double time = collective_time(sample.query).value;
    require(std::isfinite(time) && time > 0, "a collective takes " + std::to_string(time) + " s");
  }
  if (samples.size() > 60 || !is_one_in(32, text)) return;
  std::ostringstream page;
  write_predictions(page, samples);
  const std::vector<LinkFit> fits = fit_collectives(samples);
  write_fits(page, fits);
  require_printable(page.str(), "a page");
  for (const LinkFit& fit : fits)
    for (const FitErrors& errors : {fit.large, fit.small})
      if (errors.samples > 0 && !(errors.mean_absolute <= 1 && errors.spread <= 1)) return;
  static const std::string kWrittenFrom = shipped("scenarios/clusters/dgx-a100-16x8.json");
  const std::string written = cluster_with_links(kWrittenFrom, "cluster", fits, "input");
  require_loads("a fitted cluster", [&] { load_cluster(scratch_file("paper/cluster.json", written)); });
}

void read_nccl_tests(const std::string& text) {
  const NcclTestsImport import = import_nccl_tests(text, "all_reduce.log", {});
  for (const std::string& note : import.notes) require_printable(note, "a note");
  if (import.samples.empty()) return;
  // A cluster that the samples fit.
  Cluster cluster = load_cluster(data_dir() + "/scenarios/clusters/dgx-a100-1x8.json");
  cluster.nodes.resize(1);
  for (const CollectiveSample& sample : import.samples) {
    require(sample.ranks >= 2 && sample.nodes >= 1 && sample.ranks % sample.nodes == 0,
            "ranks that nodes do not share equally");
    cluster.name = sample.fabric;
    cluster.nodes[0].count = std::max(cluster.nodes[0].count, sample.nodes);
    cluster.nodes[0].gpus = std::max(cluster.nodes[0].gpus, sample.ranks / sample.nodes);
  }
  const std::string written = write_collective_samples(import.samples);
  require_printable(written, "a table");
  require(holds_collectives(written), "a table that does not look like one of collectives");
  require_loads("a table that was imported", [&] {
    const auto read = read_collective_samples(written, "written", {std::make_shared<const Cluster>(cluster)});
    require(read.size() == import.samples.size(), "a table with another number of rows than was imported");
  });
}

void read_machine(const std::string& text) {
  const MachineSamples samples = read_machine_samples(text, "input");
  const MachineFit fit = fit_machine(samples);
  std::ostringstream page;
  write_machine_fit(page, samples, fit);
  require_printable(page.str(), "a page");
  print_terminal(page, inspection_document({inspect_machine(samples, "input")}), {});
  require_printable(page.str(), "an inspection");
  const std::string written = machine_scenario(samples, fit);
  require_printable(written, "a machine");
  require_loads("a machine", [&] { load_scenario(scratch_file("machine.json", written), {}); });
}

void read_gpu(const std::string& text) {
  is_gpu_samples(text);
  const GpuSamples samples = read_gpu_samples(text, "input");
  std::ostringstream inspected;
  print_terminal(inspected, inspection_document({inspect_gpus({{"input", samples, load_device("H100-SXM")}})}), {});
  require_printable(inspected.str(), "an inspection");
  if (!is_one_in(16, text)) return;
  const GpuFit fit = fit_gpu(samples, known_gpu(samples.device) ? "" : "H100-SXM");
  std::ostringstream page;
  write_gpu_fit(page, samples, fit);
  require_printable(page.str(), "a page");
  require_loads("a fitted profile", [&] { load_device(scratch_file("profile.json", fit.profile)); });
}

/// The scenario of the machine of a committed seed.
const std::string& machine_file() {
  static const std::string kFile = [] {
    const MachineSamples samples = read_machine_samples(seed_named("machine", "two_ranks.json"), "seed");
    return scratch_file("two_ranks.json", machine_scenario(samples, fit_machine(samples)));
  }();
  return kFile;
}

/// The verb `compare` of a run.
void read_run(const std::string& text) {
  const MeasuredRun run = read_measured_run(text, "input");
  require(run.ranks >= 1 && !run.updates.empty(), "a run of nothing");
  update_time(run);
  micro_batches_per_update(run);
  const std::vector<Setting> settings = settings_of(run);
  const int phase = run.algorithm == "diloco" ? run.inner_updates : 1;
  const int first = (std::max(1, run.left_out) + phase - 1) / phase * phase;
  const int count = std::min(4, static_cast<int>(run.updates.size()) - first);
  const Timeline measured = measured_timeline(run, first, std::max(1, count));
  std::ostringstream page;
  TraceWriter writer(page);
  writer.begin_schedule(measured.graph, run.algorithm, {}, 1);
  for (const Span& span : measured.spans) writer.add(span);
  writer.finish();
  if (run.ranks != 2 || !is_one_in(8, text)) return;
  const Scenario scenario = load_scenario_with(machine_file(), settings).scenario;
  if (run.micro_batches_per_round > 100 || phase > 100 || first > 100) return;
  const RunResult result = run_schedule(scenario, scenario.schedules.front(), NetworkKind::kReference);
  const Timeline predicted =
      predicted_timeline(scenario, scenario.schedules.front(), first, std::max(1, count), NetworkKind::kReference);
  print_terminal(page, run_reading(run, result, compare_parts(measured, predicted)), {});
  require_printable(page.str(), "a page");
}

void read_convergence_file(const std::string& text) {
  static const Scenario kScenario = load_scenario(data_dir() + "/scenarios/paper/finetune_2x4_a100.json", {}).scenario;
  static const std::vector<RunResult> kCompared = [] {
    std::vector<int> all;
    for (std::size_t i = 0; i < kScenario.schedules.size(); ++i) all.push_back(static_cast<int>(i));
    return compare(kScenario, all, NetworkKind::kReference);
  }();
  const MeasuredConvergence convergence = read_convergence(text, "input");
  std::vector<RunResult> results = kCompared;
  add_time_to_loss(results, kCompared.front(), kScenario, convergence, 0);
  const Standing standing = standing_of(contenders_of(results, kScenario.baseline), {});
  require_printable(on_terminal(comparison_document(kScenario, {results, standing})), "a page");
  for (const RunResult& result : results)
    require(!result.to_loss || (std::isfinite(result.to_loss->speedup) && result.to_loss->speedup > 0),
            "a time to a loss that is no time");
}

}  // namespace

std::vector<Parser> sample_parsers() {
  return {{"kernels", InputForm::kTable, read_kernels},
          {"collectives", InputForm::kTable, read_collectives},
          {"nccl-tests", InputForm::kText, read_nccl_tests},
          {"nccl-tests-json", InputForm::kJson, read_nccl_tests},
          {"machine", InputForm::kJson, read_machine},
          {"gpu", InputForm::kJson, read_gpu},
          {"run", InputForm::kJson, read_run},
          {"convergence", InputForm::kJson, read_convergence_file}};
}

const std::vector<Parser>& parsers() {
  static const std::vector<Parser> kAll = [] {
    std::vector<Parser> list = scenario_parsers();
    for (const Parser& parser : sample_parsers()) list.push_back(parser);
    for (const Parser& parser : recorded_parsers()) list.push_back(parser);
    return list;
  }();
  return kAll;
}

}  // namespace accosim
