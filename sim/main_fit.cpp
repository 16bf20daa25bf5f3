// The verbs that turn measurements into constants: import and fit.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "models/collective_samples.hpp"
#include "models/fit_gpu.hpp"
#include "models/fit_kernels.hpp"
#include "models/kernel_samples.hpp"
#include "models/machine_samples.hpp"
#include "models/outputs.hpp"
#include "models/published.hpp"
#include "models/scenario.hpp"
#include "models/standard_streams.hpp"
#include "models/text.hpp"
#include "models/whole_file.hpp"
#include "models/write_links.hpp"
#include "models/write_profile.hpp"
#include "reports/fit_text.hpp"
#include "sim/fit_steps.hpp"
#include "sim/main.hpp"

namespace accosim {
namespace {

std::string joined(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

bool begins_with_brace(const std::string& path) {
  const std::string text = read_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

/// What a report writes, with nothing in it that a terminal obeys: the names in it are others'.
template <typename Write>
void print(Write&& write) {
  std::ostringstream text;
  write(text);
  std::cout << printable_lines(text.str());
}

/// Before the fit: may the one file be written that it makes?
void check_fit_output(const Arguments& arguments, const OutputKind& kind) {
  if (!arguments.profiles.empty())
    check_outputs({{"--output", arguments.profiles[0], kind}}, arguments.samples, arguments.force);
}

/// What accocal measured of a GPU becomes a device profile.
void fit_to_gpu(const Arguments& arguments) {
  if (arguments.samples.size() != 1 || arguments.profiles.size() > 1 || !arguments.clusters.empty())
    throw ScenarioError({"samples of a GPU are fitted one file at a time, with at most one --output and no --cluster"});
  const std::string& path = arguments.samples[0];
  // Its description says what it was made from; a profile that somebody wrote has another.
  check_fit_output(arguments, {"it is a profile, JSON", ".json", "{", " and accocal measure on "});
  const GpuSamples samples = read_gpu_samples(read_file(path), path);
  const GpuFit fit = fit_gpu(samples, arguments.profile);
  print([&](std::ostream& out) { write_gpu_fit(out, samples, fit); });
  if (arguments.profiles.empty()) return;
  for (const GpuFitRow& row : fit.rows) check_plausible(row.what, row.in);
  write_whole(arguments.profiles[0], fit.profile);
}

/// What accocal measured becomes a scenario of the machine.
void fit_to_machine(const Arguments& arguments) {
  if (is_gpu_samples(read_file(arguments.samples[0]))) return fit_to_gpu(arguments);
  if (!arguments.profile.empty()) throw ScenarioError({"--profile belongs to samples that accocal took of a GPU"});
  if (arguments.samples.size() != 1 || arguments.profiles.size() > 1 || !arguments.clusters.empty())
    throw ScenarioError(
        {"samples of accocal are fitted one file at a time, with at most one --output and no --cluster"});
  check_fit_output(arguments, {"it is a scenario, JSON", ".json", R"({"schema":"accosim.scenario/1")",
                               R"("description":"By accosim fit from )"});
  const MachineSamples samples = read_machine_samples(read_file(arguments.samples[0]), arguments.samples[0]);
  const MachineFit fit = fit_machine(samples);
  const std::string scenario = machine_scenario(samples, fit);  // refuses what cannot be a machine
  print([&](std::ostream& out) { write_machine_fit(out, samples, fit); });
  if (arguments.profiles.empty()) return;
  write_whole(arguments.profiles[0], scenario);
}

/// Predicts the collectives of the tables on their clusters, fits the links, and writes the cluster anew where asked.
void fit_links(const Arguments& arguments) {
  if (!arguments.profiles.empty() && (arguments.clusters.size() != 1 || arguments.profiles.size() != 1))
    throw ScenarioError({"--output takes one cluster; name one --cluster and one --output"});
  check_fit_output(arguments, {"it is a cluster, JSON", ".json", "{", R"(efficiency":"accosim fit, )"});
  std::vector<std::shared_ptr<const Cluster>> clusters;
  for (const std::string& path : arguments.clusters)
    clusters.push_back(std::make_shared<const Cluster>(load_cluster(path)));
  std::vector<MeasuredCollective> samples;
  for (const std::string& path : arguments.samples) {
    const std::vector<MeasuredCollective> more = read_collective_samples(read_file(path), path, clusters);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  print([&](std::ostream& out) { write_predictions(out, samples); });
  const std::vector<LinkFit> fits = fit_collectives(samples);
  std::cout << "\n";
  write_fits(std::cout, fits);
  if (fits.empty()) std::cout << "  too few samples: a kind of links needs 10\n";
  if (arguments.profiles.empty()) return;
  if (fits.empty())
    throw ScenarioError(
        {"too few samples of any kind of links, of which each needs 10; nothing is written: measure more "
         "sizes"});
  std::set<std::string> sources;
  for (const MeasuredCollective& sample : samples) sources.insert(sample.source);
  const std::string path = file_of(FileKind::kCluster, arguments.clusters[0]);
  write_whole(arguments.profiles[0], cluster_with_links(read_file(path), path, fits, joined(sources)));
}

}  // namespace

void import_results(const Arguments& arguments) {
  std::vector<CollectiveSample> samples;
  const std::string heading = write_collective_samples({});
  check_outputs({{"--output", arguments.output, table_kind(heading)}}, arguments.samples, arguments.force);
  for (const std::string& path : arguments.samples) {
    NcclTestsImport one = import_nccl_tests(read_file(path, kMaxNcclTestsBytes), path, arguments.import);
    for (const std::string& note : one.notes) tell("accosim: ", note);
    tell("accosim: ", fmt::format("{}: {} rows taken, {} left out", path, one.samples.size(), one.skipped));
    samples.insert(samples.end(), one.samples.begin(), one.samples.end());
  }
  if (samples.empty()) throw ScenarioError({"no row could be taken; the lines above say why"});
  if (arguments.output.empty())
    std::cout << write_collective_samples(samples);
  else
    write_whole(arguments.output, write_collective_samples(samples));
  if (!arguments.output.empty()) tell("accosim: ", "wrote " + arguments.output);
}

void fit(const Arguments& arguments) {
  // The cases of validation: their tables of collectives give the constants of kinds of links.
  if (arguments.samples.size() == 1 && std::filesystem::is_directory(arguments.samples[0])) {
    if (!arguments.profiles.empty())
      throw ScenarioError({"--output takes the constants of tables of kernels; name CSV files"});
    const Published published = load_published(arguments.samples[0]);
    write_fits(std::cout, fit_collectives(measured_collectives(published)));
    const StepFit steps = fit_steps(step_samples(published, arguments.validate.jobs, network_of(arguments)));
    write_step_fit(std::cout, steps.overheads, steps.products, steps.errors, steps.without);
    return;
  }
  if (!arguments.samples.empty() && begins_with_brace(arguments.samples[0])) return fit_to_machine(arguments);
  if (!arguments.profile.empty()) throw ScenarioError({"--profile belongs to samples that accocal took of a GPU"});
  if (!arguments.samples.empty() && holds_collectives(read_file(arguments.samples[0]))) return fit_links(arguments);
  if (!arguments.clusters.empty()) throw ScenarioError({"--cluster belongs to tables of collectives"});
  // Profiles take the new constants in place of their old ones, and keep the rest.
  std::vector<Output> profiles;
  for (const std::string& path : arguments.profiles)
    profiles.push_back({"--output", path, {"it is a profile, JSON", ".json", "{", ""}, true});
  check_outputs(profiles, arguments.samples, arguments.force);
  std::vector<Device> fitted;
  for (const std::string& path : arguments.profiles) fitted.push_back(load_device(path));
  std::vector<KernelSample> samples;
  for (const std::string& file : arguments.samples) {
    const std::string text = read_file(file);
    const std::vector<KernelSample> more = read_kernel_samples(text, file);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  std::map<std::string, Device> devices;
  for (const KernelSample& sample : samples)
    if (devices.count(sample.device) == 0) devices[sample.device] = load_device(sample.device);
  for (const KernelSample& sample : samples) {
    const Device& device = devices.at(sample.device);
    if (!device.peak[static_cast<std::size_t>(sample.dtype)])
      throw ScenarioError(
          {fmt::format("samples of {} in {}: its profile has no such peak; write one, or leave them out", sample.device,
                       name_of(sample.dtype))});
  }
  const std::vector<KernelFit> fits = fit_kernels(samples, devices);
  print([&](std::ostream& out) { write_fits(out, fits); });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    const std::string& path = arguments.profiles[i];
    texts.push_back(profile_with_fits(read_file(path), path, fitted[i], fits));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) write_whole(arguments.profiles[i], texts[i]);
}

}  // namespace accosim
