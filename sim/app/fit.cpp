// The verb `fit`: constants from measurements. What its first file holds says what is fitted.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "models/base/json.hpp"
#include "models/base/outputs.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/fit_own_fabric.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/fit/network_doubt.hpp"
#include "models/fit/own_steps.hpp"
#include "models/fit/pooled_kernels.hpp"
#include "models/fit/published.hpp"
#include "models/fit/rounded.hpp"
#include "models/fit/write_constants.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/load.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"
#include "reports/evidence/fit_text.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evidence/fit_own_steps.hpp"
#include "sim/evidence/fit_steps.hpp"
#include "sim/evidence/ratios.hpp"
#include "sim/evidence/refit.hpp"
#include "sim/evidence/step_spreads.hpp"
#include "sim/evidence/validate.hpp"

namespace accosim {
namespace {

/// What a report writes, with nothing in it that a terminal obeys: the names in it are others'.
template <typename Write>
void print(Write&& write) {
  std::ostringstream text;
  write(text);
  std::cout << printable_lines(text.str());
}

/// Before the fit: may the one file be written that it makes?
void check_fit_output(const Arguments& arguments, const OutputKind& kind) {
  const Texts& outputs = arguments.texts("--output");
  if (!outputs.empty())
    check_outputs({{"--output", outputs[0], kind}}, arguments.texts("samples"), arguments.flag("--force"));
}

constexpr const char* kOneOfAGpu =
    "samples of a GPU are fitted one file at a time, with at most one --output and no --cluster";
constexpr const char* kOneOfSteps =
    "timed steps are fitted one table at a time, with at most one --output and no --cluster: their scenarios name it";
constexpr const char* kOneOfAMachine =
    "samples of accocal are fitted one file at a time, with at most one --output and no --cluster";

/// Of what is fitted a file at a time; `refusal` where there are several.
const std::string& only_file(const Arguments& arguments, const char* refusal) {
  if (arguments.texts("samples").size() != 1 || arguments.texts("--output").size() > 1) throw ScenarioError({refusal});
  return arguments.texts("samples")[0];
}

std::vector<KernelSample> read_kernels(const Texts& files) {
  std::vector<KernelSample> samples;
  for (const std::string& file : files) {
    const std::vector<KernelSample> more = read_kernel_samples(read_file(file), file);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  return samples;
}

/// By their names. Each has the peaks that its samples are shares of.
std::map<std::string, Device> devices_of(const std::vector<KernelSample>& samples) {
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
  return devices;
}

/// Those of kernels that some step has.
FittedOverheads fitted_overheads(const std::vector<StepSample>& samples, const StepFit& fit) {
  FittedOverheads overheads;
  std::set<std::string> publishers;
  for (const StepSample& sample : samples) {
    publishers.insert(sample.publisher);
    (sample.implementation == Implementation::kFused ? overheads.fused : overheads.pytorch) =
        sample.implementation == Implementation::kFused ? fit.overheads.fused : fit.overheads.pytorch;
    if (sample.flash_1) overheads.flash_1 = fit.overheads.flash_1;
    overheads.product_slope = fit.overheads.product_slope;
  }
  overheads.source =
      fmt::format("accosim fit, {} training steps from {}; mean error {:.1f} %, {:.1f} % with all of these 1",
                  fit.errors.samples, in_words(Texts(publishers.begin(), publishers.end())),
                  100 * fit.errors.mean_absolute, 100 * fit.without.mean_absolute);
  return overheads;
}

/// To pairs of steps that are predicted with their sources left out: by the constants that are shipped where no fit
/// sees them, so that a fit which moves those is to be made twice.
std::optional<FittedRatios> fitted_ratios(const Published& published, ValidateOptions options) {
  options.group = kTrainingGroup;
  std::vector<RatioRow> rows = validate(published, options).ratios;
  const std::optional<double> spread = fitted_ratio_spread(rows);
  if (!spread) return std::nullopt;
  std::erase_if(rows, [](const RatioRow& row) { return !is_fitted(row); });
  std::set<std::string> publishers;
  for (const RatioRow& row : rows) publishers.insert(row.publisher);
  judge_ratios(rows);
  return FittedRatios{
      *spread, fmt::format("accosim fit, {} pairs of training steps that differ in one setting, from {}, each of which "
                           "weighs the same; without a source's pairs {:.0f} % of them lie in their 80 % intervals",
                           rows.size(), in_words(Texts(publishers.begin(), publishers.end())),
                           100 * ratio_parts(rows).front().interval.inside)};
}

/// Fits the constants of links and of training steps to the cases of validation.
ExitCode fit_to_cases(const Arguments& arguments) {
  const Texts& outputs = arguments.texts("--output");
  if (outputs.size() > 1) throw ScenarioError({"what is fitted to cases is one file of constants; name one --output"});
  const std::string path = outputs.empty() ? "" : outputs[0];
  check_outputs({{"--output", path, {"they are constants, JSON", ".json", "", ""}, true}}, {}, false);
  // What is not fitted stays as it is there.
  std::error_code none;
  const bool written =
      !path.empty() && std::filesystem::is_regular_file(path, none) && std::filesystem::file_size(path, none) > 0;
  const std::string before = written ? path : constants_path();
  JsonDocument document = read_json_file(before, before);
  read_constants(document);

  const Published published = load_published(arguments.texts("samples")[0]);
  const std::vector<LinkFit> links = while_shown("fitting links", [&] {
    return fit_collectives(measured_collectives(published), {}, CrossValidation::kYes, Unmeasured::kShared);
  });
  print([&](std::ostream& out) { write_fits(out, links); });
  const ValidateOptions usual;
  const std::vector<StepSample> samples = step_samples(published, usual.jobs, usual.network);
  const StepFit steps = while_shown("fitting steps", [&] { return fit_steps(samples); });
  write_step_fit(std::cout, steps);
  const std::optional<FittedRatios> ratios =
      while_shown("leaving out each source in turn", [&] { return fitted_ratios(published, usual); });
  if (ratios) std::cout << fmt::format("\nratios of two steps\n  spread {:.4g}: {}\n", ratios->spread, ratios->source);
  Refit refit{.steps = steps};
  const std::vector<FittedSpread> spreads = while_shown(
      "fitting the spreads of steps", [&] { return fit_step_spreads(published, refit, usual.jobs, usual.network); });
  print([&](std::ostream& out) { write_step_spreads(out, spreads); });
  if (path.empty()) return ExitCode::kDone;
  check_plausible("training steps", steps.errors);
  write_whole(path, constants_with_fits(std::move(document), links, fitted_overheads(samples, steps), spreads, ratios));
  tell_written(path, "constants");
  return ExitCode::kDone;
}

/// Makes a device profile from what accocal measured on a GPU.
ExitCode fit_to_gpu(const Arguments& arguments) {
  const Texts& outputs = arguments.texts("--output");
  const std::string& path = only_file(arguments, kOneOfAGpu);
  // Its description says what it was made from; a profile that somebody wrote has another.
  check_fit_output(arguments, {"it is a profile, JSON", ".json", "{", " and accocal measure on "});
  const GpuSamples samples = read_gpu_samples(read_file(path), path);
  const GpuFit fit = while_shown("fitting a profile", [&] { return fit_gpu(samples, arguments.text("--profile")); });
  print([&](std::ostream& out) { write_gpu_fit(out, samples, fit); });
  if (outputs.empty()) return ExitCode::kDone;
  for (const GpuFitRow& row : fit.rows) check_plausible(row.what, row.in);
  write_whole(outputs[0], fit.profile);
  tell_written(outputs[0], "profile of " + fit.device.name);
  print([&](std::ostream& out) {
    out << fmt::format(
        "\n{} is device \"{}\"; a cluster takes it as \"device\": \"{}\", a scenario also with --set "
        "/cluster/nodes/0/device={}\n",
        outputs[0], fit.device.name, outputs[0], outputs[0]);
  });
  return ExitCode::kDone;
}

/// Makes a scenario of a machine from what accocal measured there.
ExitCode fit_to_machine(const Arguments& arguments) {
  const Texts& outputs = arguments.texts("--output");
  const std::string& path = only_file(arguments, kOneOfAMachine);
  check_fit_output(arguments, {"it is a scenario, JSON", ".json", R"({"schema":"accosim.scenario/1")",
                               R"("description":"By accosim fit from )"});
  const MachineSamples samples = read_machine_samples(read_file(path), path);
  const MachineFit fit = fit_machine(samples);
  const std::string scenario = machine_scenario(samples, fit);  // refuses what cannot be a machine
  print([&](std::ostream& out) { write_machine_fit(out, samples, fit); });
  if (outputs.empty()) return ExitCode::kDone;
  write_whole(outputs[0], scenario);
  tell_written(outputs[0], "scenario of this machine");
  return ExitCode::kDone;
}

/// Gives each cluster whose file names no release of NCCL the one that its samples were measured with, where that is
/// one. Returns it by the cluster's name on the command line; says why where it is not taken.
std::map<std::string, NcclRelease> take_releases(const Texts& named,
                                                 const std::vector<std::shared_ptr<const Cluster>>& clusters,
                                                 std::vector<MeasuredCollective>& samples) {
  std::map<std::string, NcclRelease> taken;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const Cluster& cluster = *clusters[i];
    std::set<std::string> releases;
    NcclRelease release;
    for (const MeasuredCollective& sample : samples)
      if (sample.query.cluster == clusters[i] && sample.nccl) releases.insert(to_text(release = *sample.nccl));
    if (releases.empty()) continue;
    const std::string path = file_of(FileKind::kCluster, named[i]);
    std::string kept;  // why the cluster's own stays
    if (releases.size() > 1)
      kept = fmt::format("since the samples are of {}; fit those of one release",
                         in_words(Texts(releases.begin(), releases.end())));
    else if (read_json_file(path, path).root.find("nccl") != nullptr)
      kept = fmt::format("which its file says; the samples are of {}: take \"nccl\" out of it to have that",
                         to_text(release));
    else if (cluster.tuner == Tuner::kForced)
      kept =
          fmt::format("since its algorithm is forced; the samples are of {}: write \"nccl\" into it", to_text(release));
    if (!kept.empty()) {
      if (releases.size() > 1 || release != cluster.nccl)
        tell("accosim: ", fmt::format("{}: fitted as of NCCL {}, {}", named[i], to_text(cluster.nccl), kept));
      continue;
    }
    Cluster of_release = cluster;
    of_release.nccl = release;
    const auto with = std::make_shared<const Cluster>(std::move(of_release));
    for (MeasuredCollective& sample : samples)
      if (sample.query.cluster == clusters[i]) sample.query.cluster = with;
    taken[named[i]] = release;
    tell("accosim: ", fmt::format("{}: of NCCL {}, as the samples say", named[i], to_text(release)));
  }
  return taken;
}

struct LinksOfClusters {
  std::vector<LinkFit> boards;
  std::vector<OwnFabric> own;  ///< of boards with few samples, and of fabrics
};

std::vector<LinkFit> fits_of(const std::vector<OwnFabric>& own) {
  std::vector<LinkFit> fits;
  for (const OwnFabric& each : own) {
    fits.push_back(each.fit);
    if (each.inside) fits.push_back(*each.inside);
  }
  return fits;
}

/// First links inside nodes, then with these the fabrics. The samples' clusters then have what was fitted.
LinksOfClusters fit_links_of(std::vector<MeasuredCollective>& samples) {
  LinksOfClusters links;
  const auto put = [&](const std::vector<LinkFit>& fits) {
    std::map<std::shared_ptr<const Cluster>, std::shared_ptr<const Cluster>> fitted;
    for (MeasuredCollective& sample : samples) {
      std::shared_ptr<const Cluster>& with = fitted[sample.query.cluster];
      if (with == nullptr) {
        Cluster cluster = *sample.query.cluster;
        for (NodeGroup& group : cluster.nodes) group = with_links(std::move(group), fits);
        with = std::make_shared<const Cluster>(std::move(cluster));
      }
      sample.query.cluster = with;
    }
  };
  const std::vector<MeasuredCollective> inside =
      matching(samples, [](const MeasuredCollective& sample) { return sample.query.nodes == 1; });
  links.boards = fit_collectives(inside);
  put(links.boards);
  links.own = fit_own_boards(inside);
  put(fits_of(links.own));
  const std::vector<OwnFabric> fabrics = fit_own_fabrics(samples);
  put(fits_of(fabrics));
  links.own.insert(links.own.end(), fabrics.begin(), fabrics.end());
  return links;
}

/// Predicts the collectives of the tables on their clusters, fits the links, and writes the cluster anew where asked.
ExitCode fit_to_collectives(const Arguments& arguments) {
  const Texts &outputs = arguments.texts("--output"), &named = arguments.texts("--cluster");
  if (!outputs.empty() && (named.size() != 1 || outputs.size() != 1))
    throw ScenarioError({"--output takes one cluster; name one --cluster and one --output"});
  check_fit_output(arguments, {"it is a cluster, JSON", ".json", "{", R"(efficiency":"accosim fit, )"});
  std::vector<std::shared_ptr<const Cluster>> clusters;
  for (const std::string& path : named) clusters.push_back(std::make_shared<const Cluster>(load_cluster(path)));
  std::vector<MeasuredCollective> samples;
  for (const std::string& path : arguments.texts("samples")) {
    const std::vector<MeasuredCollective> more = read_collective_samples(read_file(path), path, clusters);
    samples.insert(samples.end(), more.begin(), more.end());
  }
  const std::map<std::string, NcclRelease> releases = take_releases(named, clusters, samples);
  const std::vector<NetworkDoubt> doubts = doubts_of(samples);
  const LinksOfClusters links = while_shown("fitting links", [&] { return fit_links_of(samples); });
  std::vector<LinkFit> fits = links.boards;
  for (LinkFit& fit : fits_of(links.own)) fits.push_back(std::move(fit));
  Texts against = unexplained(fits);
  print([&](std::ostream& out) {
    write_doubts(out, doubts);
    write_fits(out, links.boards);
    write_own_fabrics(out, links.own);
    out << "\n";
    write_predictions(out, samples);
    for (const std::string& line : against) out << "! " << line << "\n";
  });
  for (const NetworkDoubt& doubt : doubts) against.push_back(doubt.in_short);
  if (outputs.empty()) return ExitCode::kDone;
  if (fits.empty()) throw ScenarioError({"no samples of links that are fitted; nothing is written"});
  if (!against.empty() && !arguments.flag("--force"))
    throw ScenarioError(
        {fmt::format("nothing is written: {}. Mend the network and measure again, or write it all the "
                     "same with --force: what uses it then repeats this",
                     fmt::join(against, "; "))});
  std::set<std::string> sources;
  for (const MeasuredCollective& sample : samples) sources.insert(sample.source);
  const std::string path = file_of(FileKind::kCluster, named[0]);
  const auto release = releases.find(named[0]);
  write_whole(outputs[0], cluster_with_links(read_file(path), path, fits, fmt::format("{}", fmt::join(sources, ", ")),
                                             release == releases.end() ? std::nullopt : std::optional(release->second),
                                             fmt::format("{}", fmt::join(against, "; "))));
  tell_written(outputs[0], "cluster with " + so_many(fits.size(), "fit"));
  return ExitCode::kDone;
}

/// How a file in the folder of `output` names the profile.
std::string named_from(const std::string& output, const std::string& profile) {
  for (const ShippedFile& file : shipped_files(FileKind::kDevice))
    if (file.name == profile) return profile;
  const std::filesystem::path from = std::filesystem::absolute(output).parent_path();
  return std::filesystem::relative(file_of(FileKind::kDevice, profile), from).string();
}

/// A profile of the one device that the tables are of: theirs in all else, each product as long as it took, under
/// lasting load as in a step.
ExitCode fit_as_measured(const Arguments& arguments) {
  constexpr const char* kMade = "By accosim fit from measured kernels of ";
  const Texts& outputs = arguments.texts("--output");
  if (outputs.size() > 1) throw ScenarioError({"--as-measured makes one profile; name one --output"});
  check_fit_output(arguments, {"it is a profile, JSON", ".json", "{", kMade});
  const std::vector<KernelSample> samples = read_kernels(arguments.texts("samples"));
  const std::map<std::string, Device> devices = devices_of(samples);
  if (devices.size() > 1)
    throw ScenarioError(
        {"--as-measured makes a profile of one device, and the tables are of several; name those of one"});
  const auto& [name, device] = *devices.begin();
  const std::vector<KernelFit> fits = while_shown("fitting kernels", [&] { return fit_kernels(samples, devices); });
  print([&](std::ostream& out) { write_fits(out, fits); });
  if (outputs.empty()) return ExitCode::kDone;
  const std::string begun = dump_json(json_object({{"schema", "accosim.device/1"},
                                                   {"name", name + " as measured"},
                                                   {"inherits", named_from(outputs[0], name)},
                                                   {"description", kMade + name},
                                                   {"product_overhead", 1}}),
                                      1);
  write_whole(outputs[0], profile_with_fits(begun, outputs[0], device, fits, {}, samples));
  tell_written(outputs[0], "profile of " + name);
  return ExitCode::kDone;
}

/// Fits the kernels of the tables; each profile named is written anew with the constants.
ExitCode fit_to_kernels(const Arguments& arguments) {
  if (arguments.flag("--as-measured")) return fit_as_measured(arguments);
  const Texts &outputs = arguments.texts("--output"), &files = arguments.texts("samples");
  // Profiles take the new constants in place of their old ones, and keep the rest.
  std::vector<Output> profiles;
  for (const std::string& path : outputs)
    profiles.push_back({"--output", path, {"it is a profile, JSON", ".json", "{", ""}, true});
  check_outputs(profiles, files, arguments.flag("--force"));
  const std::vector<KernelSample> samples = read_kernels(files);  // first: what is wrong with an input is said of it
  const std::vector<Device> fitted = mapped<Device>(outputs, [](const std::string& path) { return load_device(path); });
  const std::vector<KernelFit> fits =
      while_shown("fitting kernels", [&] { return fit_kernels(samples, devices_of(samples)); });
  print([&](std::ostream& out) { write_fits(out, fits); });
  const std::vector<KernelFit> shipped = fits_of(
      mapped<Device>(shipped_files(FileKind::kDevice), [](const ShippedFile& file) { return load_device(file.name); }));
  Texts texts;
  for (std::size_t i = 0; i < fitted.size(); ++i)
    texts.push_back(profile_with_fits(read_file(outputs[i]), outputs[i], fitted[i], fits, shipped));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    write_whole(outputs[i], texts[i]);
    tell_written(outputs[i], "profile of " + fitted[i].name);
  }
  return ExitCode::kDone;
}

/// Of a row of a table of steps the scenario and its schedule, with that profile in the place of its GPUs'.
TimedStep timed_step(const OwnStep& own, const std::string& profile) {
  const LoadedScenario written = load_scenario(own.scenario, own.sets);
  if (mixes_gpus(written.scenario.cluster))
    throw ScenarioError({own.scenario + " has GPUs of several kinds, and a profile is of one; time steps on one kind"});
  Scenario scenario = load_again(written, {"/cluster/nodes/*/device=" + profile}).scenario;
  const std::string schedule = own.schedule.empty() ? scenario.baseline : own.schedule;
  const std::vector<int> meant = schedules_named(scenario, "the column schedule", {schedule});
  if (meant.size() > 1)
    throw ScenarioError(
        {fmt::format("{} has several schedules {}; write the label of one", own.scenario, in_quotes(schedule))});
  OwnStep named = own;
  named.schedule = schedule;
  return {named.in_words(), std::move(scenario), meant.front(), own.measured};
}

/// Errors of scenarios say which row names them. Names are as from the current directory.
std::vector<TimedStep> read_timed_steps(const std::string& path, const std::string& profile) {
  std::vector<TimedStep> steps;
  Texts errors;
  for (const OwnStep& own : read_own_steps(read_file(path), path)) {
    try {
      steps.push_back(timed_step(own, profile));
    } catch (const ScenarioError& error) {
      for (const std::string& each : error.errors) errors.push_back(fmt::format("{}:{}: {}", path, own.line, each));
    }
  }
  if (!errors.empty()) throw ScenarioError(errors);
  return steps;
}

constexpr const char* kBySteps = "By accosim fit from timed steps: ";

/// The profile with what the steps say of it.
std::string profile_with_steps(const std::string& output, const std::string& profile, const OwnStepFit& fit,
                               const std::string& source) {
  const Device device = load_device(profile);
  JsonValue sources = json_object({});
  JsonValue json = json_object({{"schema", "accosim.device/1"},
                                {"name", device.name + ", own steps"},
                                {"inherits", named_from(output, profile)},
                                {"description", kBySteps + source},
                                {"steps", name_of(StepEvidence::kOwn)}});
  const auto set = [&](const char* key, JsonValue value) {
    json.set(key, std::move(value));
    sources.set(std::string("/") + key, fmt::format("accosim fit, {} from {}; off by {:.1f} % with this",
                                                    so_many(fit.rows.size(), "timed step"), source, 100 * fit.left));
  };
  if (fit.computation.told()) {
    set("step_factor", rounded(fit.computation.factor * device.step_factor));
    set("step_spread", rounded(fit.spread));
  }
  if (fit.host.told())
    set("launch_interval", fmt::format("{:.4g} us", 1e6 * fit.host.factor * device.launch_interval.value));
  json.set("sources", std::move(sources));
  return profile_text(std::move(json));
}

/// Corrects a device's profile by steps that were timed.
ExitCode fit_to_own_steps(const Arguments& arguments) {
  const Texts& outputs = arguments.texts("--output");
  const std::string &path = only_file(arguments, kOneOfSteps), &profile = arguments.text("--profile");
  if (profile.empty()) throw ScenarioError({"timed steps correct a device's profile; name it with --profile"});
  check_fit_output(arguments, {"it is a profile, JSON", ".json", "{", kBySteps});
  load_device(profile);  // first: what is wrong with it is said of it
  const std::vector<TimedStep> steps = read_timed_steps(path, profile);
  const OwnStepFit fit =
      while_shown("fitting to timed steps", [&] { return fit_own_steps(steps, NetworkKind::kSimgrid); });
  print([&](std::ostream& out) { print_terminal(out, own_steps_document(fit), console_options()); });
  if (outputs.empty()) return ExitCode::kDone;
  if (fit.contradicts() && !arguments.flag("--force"))
    throw ScenarioError(
        {"nothing is written: these steps are not what other kernels and another host would give. Look whether "
         "they are in seconds and of these settings, or write it all the same with --force"});
  if (!fit.computation.told() && !fit.host.told())
    throw ScenarioError({"nothing is written: these steps tell neither of kernels nor of the host"});
  write_whole(outputs[0],
              profile_with_steps(outputs[0], profile, fit, std::filesystem::path(path).filename().string()));
  tell_written(outputs[0], "profile");
  return ExitCode::kDone;
}

std::vector<Option> options() {
  return {
      texts_option(
          "samples",
          "Measurements: CSV tables of kernels, of collectives or of steps, samples of accocal, or a folder of "
          "published cases (calibration/README.md)",
          "FILE", true),
      texts_option("-o,--output",
                   "File to write. From tables of kernels: a device profile (may be repeated). From tables of "
                   "collectives: a cluster. From cases: constants. From samples of accocal: a profile or a scenario. "
                   "From steps: a profile",
                   "FILE"),
      texts_option("--cluster", "Cluster, by name or file, that a table's column fabric names; may be repeated",
                   "CLUSTER"),
      text_option("--profile",
                  "With samples of a GPU, or with steps: the device profile to start from, by name or file", "DEVICE"),
      flag_option("--as-measured",
                  "With tables of kernels: steps that run just these products take them as long as they were measured; "
                  "without it as long as the constants say"),
      flag_option(
          "--force",
          "Replace a file that this verb did not write; write constants of a network that looks set up wrongly"),
  };
}

const std::string& first_path(const Arguments& arguments) { return arguments.texts("samples")[0]; }

bool begins_with_brace(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

constexpr const char* kProfileIsOfAGpu = "--profile belongs to samples that accocal took of a GPU, or to timed steps";

/// The cases of validation: their tables of collectives give the constants of kinds of links.
Mode of_cases() {
  return {.of = "of a folder of cases",
          .reads = {"samples", "--output"},
          .run = fit_to_cases,
          .is_meant = [](const Arguments& arguments) {
            std::error_code none;
            return arguments.texts("samples").size() == 1 && std::filesystem::is_directory(first_path(arguments), none);
          }};
}

Mode of_a_gpu() {
  return {.of = "of samples of a GPU",
          .reads = {"samples", "--output", "--profile", "--force"},
          .run = fit_to_gpu,
          .is_meant =
              [](const Arguments& arguments) {
                const std::string text = read_file(first_path(arguments));
                return begins_with_brace(text) && is_gpu_samples(text);
              },
          .refusals = {{"--cluster", kOneOfAGpu}}};
}

Mode of_a_machine() {
  return {.of = "of samples of a machine",
          .reads = {"samples", "--output", "--force"},
          .run = fit_to_machine,
          .is_meant = [](const Arguments& arguments) { return begins_with_brace(read_file(first_path(arguments))); },
          .refusals = {{"--profile", kProfileIsOfAGpu}, {"--cluster", kOneOfAMachine}}};
}

Mode of_collectives() {
  return {.of = "of tables of collectives",
          .reads = {"samples", "--output", "--cluster", "--force"},
          .run = fit_to_collectives,
          .is_meant = [](const Arguments& arguments) { return holds_collectives(read_file(first_path(arguments))); },
          .refusals = {{"--profile", kProfileIsOfAGpu}}};
}

Mode of_own_steps() {
  return {.of = "of a table of steps",
          .reads = {"samples", "--output", "--profile", "--force"},
          .run = fit_to_own_steps,
          .is_meant = [](const Arguments& arguments) { return holds_steps(read_file(first_path(arguments))); },
          .refusals = {{"--cluster", kOneOfSteps}}};
}

Mode of_kernels() {
  return {.of = "of tables of kernels",
          .reads = {"samples", "--output", "--as-measured", "--force"},
          .run = fit_to_kernels,
          .refusals = {{"--profile", kProfileIsOfAGpu}, {"--cluster", "--cluster belongs to tables of collectives"}}};
}

}  // namespace

Verb fit_verb() {
  return {.name = "fit",
          .help = "Fit constants of kernels, links or steps to measurements",
          .options = options(),
          .modes = {of_cases(), of_a_gpu(), of_a_machine(), of_collectives(), of_own_steps(), of_kernels()}};
}

}  // namespace accosim
