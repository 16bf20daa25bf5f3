// The verb `inspect`: what measurements of a machine say of it, whose ranks, GPUs and links should be alike.
#include "sim/evidence/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/evidence/inspection_text.hpp"
#include "reports/plot/nodes_svg.hpp"
#include "sim/app/draw/picture_file.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

/// The documents of a command line by what they are.
struct Documents {
  std::vector<InspectedMachine> machines;  ///< of ranks on processors, inspected
  std::vector<InspectedGpu> gpus;
  std::vector<MeasuredCollective> collectives;
  Texts tables;
};

std::optional<Device> kind_of(const GpuSamples& samples, const std::string& profile) {
  if (!profile.empty()) return load_device(profile);
  const std::optional<KnownGpu> known = known_gpu(samples.device);
  if (!known) return std::nullopt;
  return load_device(known->own.empty() ? known->profile : known->own);
}

Documents read_documents(const Arguments& arguments) {
  std::vector<std::shared_ptr<const Cluster>> clusters;
  for (const std::string& name : arguments.texts("--cluster"))
    clusters.push_back(std::make_shared<const Cluster>(load_cluster(name)));
  Documents documents;
  const Texts& paths = arguments.texts("documents");
  for (const std::string& path : paths) {
    if (std::ranges::count(paths, path) > 1) throw ScenarioError({path + " is named twice; name each document once"});
    const std::string text = read_file(path);
    const std::filesystem::path file(path);
    const auto has_its_name = [&](const std::string& other) {
      return std::filesystem::path(other).stem() == file.stem();
    };
    const bool one = std::ranges::count_if(paths, has_its_name) == 1;
    if (is_gpu_samples(text)) {
      InspectedGpu gpu{one ? file.stem().string() : path, read_gpu_samples(text, path)};
      gpu.kind = kind_of(gpu.samples, arguments.text("--profile"));
      documents.gpus.push_back(std::move(gpu));
    } else if (!text.starts_with('{') && holds_collectives(text)) {
      if (clusters.empty())
        throw ScenarioError({path + " holds collectives; name the cluster that they ran on with --cluster"});
      const std::vector<MeasuredCollective> more = read_collective_samples(text, path, clusters);
      documents.collectives.insert(documents.collectives.end(), more.begin(), more.end());
      documents.tables.push_back(file.filename().string());
    } else {
      documents.machines.push_back(
          inspect_machine(read_machine_samples(text, path), one ? file.filename().string() : path));
    }
  }
  if (!clusters.empty() && documents.tables.empty())
    throw ScenarioError({"--cluster belongs to tables of collectives; leave it out"});
  if (arguments.given("--profile") && documents.gpus.empty())
    throw ScenarioError({"--profile belongs to samples of a GPU; leave it out"});
  return documents;
}

/// GPUs of one name are held against each other.
std::vector<InspectedMachine> inspected(Documents documents) {
  std::vector<InspectedMachine> machines = std::move(documents.machines);
  for (auto begin = documents.gpus.begin(); begin != documents.gpus.end();) {
    const std::string device = begin->samples.device;
    const auto end = std::stable_partition(begin, documents.gpus.end(),
                                           [&](const InspectedGpu& gpu) { return gpu.samples.device == device; });
    machines.push_back(inspect_gpus({begin, end}));
    begin = end;
  }
  if (!documents.tables.empty()) machines.push_back(inspect_links(documents.collectives, in_words(documents.tables)));
  return machines;
}

void draw(const Arguments& arguments, const std::vector<InspectedMachine>& machines) {
  const PlotHeading heading = {"Is the machine as it should be?", "Boxes are ranks or GPUs, arrows their links"};
  const PlotStyle style{theme_of(arguments)};
  write_picture(arguments.text("--output"), "", {[&] { return nodes_svg(heading, machines, style); }, nullptr},
                "picture of the nodes");
}

ExitCode inspect(const Arguments& arguments) {
  const std::string& picture = arguments.text("--output");
  if (std::filesystem::path(picture).extension() == ".csv")
    throw BadInput("--output takes a picture, .svg, .png or .pdf; --json has the numbers");
  if (!picture.empty()) check_picture(picture, "", arguments.texts("documents"), arguments.flag("--force"));
  const std::vector<InspectedMachine> machines =
      while_shown("inspecting", [&] { return inspected(read_documents(arguments)); });
  if (arguments.flag("--json"))
    std::cout << dump_json(inspection_json(machines), 2) << '\n';
  else
    print_terminal(std::cout, inspection_document(machines), console_options());
  if (!picture.empty()) draw(arguments, machines);
  const bool slow = std::ranges::any_of(machines, [](const InspectedMachine& one) { return one.slow(); });
  return slow && arguments.flag("--check") ? ExitCode::kBadInput : ExitCode::kDone;
}

}  // namespace

Verb inspect_verb() {
  Option theme = theme_option(), force = force_option();
  theme.needs = force.needs = "--output";
  const std::vector<Option> options = {
      texts_option("documents",
                   "What accocal measured of a machine or of GPUs (a document each), or tables of collectives that "
                   "accosim import nccl-tests wrote",
                   "FILE", true),
      texts_option("--cluster",
                   "Cluster, by name or file, that a table of collectives was measured on; may be repeated", "CLUSTER"),
      text_option("--profile", "With samples of a GPU: the device profile that says what it should do, by name or file",
                  "DEVICE"),
      file_option("-o,--output",
                  "Picture of the nodes by their links: .svg, or with the package librsvg2-bin .png or .pdf"),
      std::move(theme),
      std::move(force),
      flag_option("--check", "Exit with code 1 where something is slow"),
      json_option()};
  return {.name = "inspect",
          .help = "Find out which rank, GPU, link or NIC of a machine is slow, and what that costs a step",
          .options = options,
          .modes = {{.reads = names_of(options), .run = inspect}}};
}

}  // namespace accosim
