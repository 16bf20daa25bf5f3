#include "models/launch/import_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "models/base/text.hpp"
#include "models/launch/config_text.hpp"
#include "models/launch/launch_line.hpp"
#include "models/launch/reader.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// A configuration file that a launch line names.
struct ConfigFile {
  JsonValue root{};
  std::shared_ptr<const std::string> file{};  ///< as it is shown
  int first_line = 1;                         ///< of it in that file
};

/// The file at `path` as the script has it: what it writes itself, else one that is found near it. Nothing, and a word
/// of it, where there is none. Errors in it are refused.
std::optional<ConfigFile> read_config(const std::string& path, const LaunchLine& launch, const TextPlace& place,
                                      Draft& draft) {
  ConfigFile config;
  std::string text, shown = draft.source();
  if (const auto written = launch.script.files.find(path); written != launch.script.files.end()) {
    text = written->second.text;
    config.first_line = written->second.line;
  } else {
    const std::string near = found_near(draft.source(), path);
    std::string wrong = "is no file here";
    if (!near.empty()) {
      shown = printable(near, 300);
      wrong = read_text_file(near, text, kMostConfigBytes);
    }
    if (!wrong.empty()) {
      draft.not_modelled(place, fmt::format("{} {}: what else is said is taken", printable(path, 300), wrong));
      return {};
    }
  }
  JsonDocument document = parse_config(text, path, shown);
  for (const std::string& error : document.errors) draft.refuse(place, error);
  config.root = std::move(document.root);
  config.file = std::make_shared<const std::string>(shown);
  return config;
}

/// The cluster, with as many nodes as are asked for.
struct Machines {
  JsonValue cluster;
  std::string file;
  int nodes = 1, gpus_per_node = 1;
};

/// A number of the launcher, or of a configuration.
struct Asked {
  int number = 0;
  TextPlace place{};
};

/// The launcher's where that is more than one, else the configuration's.
std::optional<Asked> asked(const std::optional<Stated>& launcher, Flags& flags, std::string_view key) {
  const std::optional<int> configured = flags.count({key});
  if (launcher && (launcher->number > 1 || !configured)) return Asked{launcher->number, launcher->line};
  return configured ? std::optional(Asked{*configured, flags.place({key})}) : std::nullopt;
}

Machines machines_of(const LaunchLine& launch, const LaunchOptions& options, Flags& flags, Draft& draft) {
  if (options.cluster.empty()) {
    const std::string hint = launch.device_hint.empty() ? "" : fmt::format(" (the header says {})", launch.device_hint);
    throw ScenarioError(
        {fmt::format("{}: no {} says what its GPUs and its network are{}; add --cluster NAME "
                     "(accosim list clusters)",
                     draft.source(), launch.program.empty() ? "configuration" : "launch script", hint)});
  }
  Machines machines{{}, file_of(FileKind::kCluster, options.cluster)};
  const Cluster cluster = load_cluster(options.cluster);
  if (cluster.nodes.size() != 1)
    throw ScenarioError({fmt::format("--cluster {}: has {} groups of nodes; name one of equal nodes", options.cluster,
                                     cluster.nodes.size())});
  machines.cluster = read_json_file(machines.file, machines.file).root;
  machines.gpus_per_node = cluster.nodes.front().gpus;
  machines.nodes = cluster.nodes.front().count;
  std::optional<Asked> nodes = asked(launch.nodes, flags, "launcher-nodes"),
                       each = asked(launch.gpus_per_node, flags, "launcher-devices");
  if (const std::optional<Asked> all = asked(launch.processes, flags, "launcher-gpus")) {
    if (nodes && nodes->number > 1)
      each = Asked{std::max(1, all->number / nodes->number), all->place};
    else if (all->number == 1 || all->number % machines.gpus_per_node == 0)
      nodes = Asked{std::max(1, all->number / machines.gpus_per_node), all->place};
    else
      each = all;
  }
  if (each && each->number != machines.gpus_per_node)
    draft.refuse(each->place,
                 fmt::format("starts {} processes a node, and a node of {} has {} GPUs; name a cluster with as many",
                             each->number, options.cluster, machines.gpus_per_node));
  if (options.nodes > 0) {
    machines.nodes = options.nodes;
  } else if (nodes && nodes->number > 1) {
    machines.nodes = nodes->number;
    draft.taken(nodes->place, fmt::format("{} nodes", machines.nodes));
  } else if (nodes && machines.nodes > 1) {
    draft.not_modelled(
        nodes->place, fmt::format("one node is started; the cluster's {} are taken (--nodes 1 has it as it is written)",
                                  machines.nodes));
  }
  JsonValue& group = machines.cluster.find("nodes")->elements.front();
  group.set("count", machines.nodes);
  if (!options.device.empty()) group.set("device", options.device);
  // What stands beside the cluster's file is not beside the scenario.
  JsonValue* const device = group.find("device");
  if (device->kind == JsonKind::kText && device->text.ends_with(".json") && options.device.empty())
    device->text = (std::filesystem::absolute(machines.file).parent_path() / device->text).lexically_normal().string();
  return machines;
}

/// The configuration that was given, or that the launch line names.
std::optional<ConfigFile> configuration_of(std::string_view text, const LaunchLine& launch, Draft& draft) {
  std::optional<ConfigFile> config;
  if (launch.program.empty()) {
    JsonDocument document = parse_config(text, draft.source(), printable(draft.source(), 300));
    if (!document.errors.empty()) throw ScenarioError(std::move(document.errors));
    config.emplace().root = std::move(document.root);
  } else if (!launch.config.text.empty()) {
    config = read_config(launch.config.text, launch, launch.config.line, draft);
    if (!config)
      draft.refuse(launch.config.line,
                   fmt::format("{} stands neither beside the script nor in a folder above it; put it "
                               "there",
                               printable(launch.config.text, 300)));
  }
  if (config) interpolate(config->root);
  return config;
}

/// The trainer, or what is wrong with a launch line that has none that is modelled.
const Trainer& known_trainer(const LaunchLine& launch, const std::optional<ConfigFile>& config,
                             const std::string& source) {
  const std::string where = launch.line > 0 ? fmt::format("{}:{}", source, launch.line) : source;
  for (const char* const other :
       {"bert", "t5", "ict", "vlm", "retro", "mamba", "realm", "vision", "multimodal", "prefix_lm", "diffusion"})
    if (launch.program.starts_with(std::string("pretrain_") + other))
      throw ScenarioError(
          {fmt::format("{}: {} trains a model that is not modelled yet; give a launch line of a decoder", where,
                       printable(launch.program))});
  const bool by_command = launch.program == "trl" && !launch.arguments.empty();
  const std::string task =
      by_command ? launch.arguments.front().text : launch.program.substr(launch.program.starts_with("run_") ? 4 : 0);
  for (const char* const other : {"dpo", "orpo", "kto", "cpo", "grpo", "ppo", "rloo", "reward", "gkd"})
    if (task.starts_with(other))
      throw ScenarioError(
          {fmt::format("{}: {} trains by other passes than pre-training and supervised fine-tuning, which "
                       "are not modelled yet",
                       where, printable(launch.program))});
  if (const Trainer* const trainer = trainer_of(launch, config ? config->root : JsonValue())) return *trainer;
  const std::vector<std::string> names = mapped<std::string>(trainers(), &Trainer::name);
  const bool accelerate = config && config->root.find("distributed_type") != nullptr;
  throw ScenarioError({fmt::format("{}: {}; give a launch script, or a configuration, of {}; a scenario is JSON", where,
                                   accelerate               ? "accelerate's configuration names no training"
                                   : launch.program.empty() ? "has the keys of no trainer that is known"
                                                            : "the arguments of " + printable(launch.program) +
                                                                  " are not those of one that is known",
                                   in_words(names, " or "))});
}

/// All that the launch line says: accelerate's configuration and options, the trainer's file, its arguments, what is
/// added, and the files that those name.
void add_all(const LaunchLine& launch, const std::optional<ConfigFile>& config, Flags& flags, Draft& draft) {
  const auto is_accelerate = [](const ShellText& word) { return word.text.ends_with("accelerate"); };
  if (const auto found = std::ranges::find_if(launch.launcher, is_accelerate); found != launch.launcher.end()) {
    const std::vector<ShellText> words(found, launch.launcher.end());
    for (std::size_t i = 0; i < words.size(); ++i) {
      constexpr std::string_view kOption = "--config_file";
      if (!words[i].text.starts_with(kOption)) continue;
      const bool joined = words[i].text.size() > kOption.size();
      const std::string path = joined                 ? words[i].text.substr(kOption.size() + 1)
                               : i + 1 < words.size() ? words[i + 1].text
                                                      : "";
      if (const std::optional<ConfigFile> own = read_config(path, launch, words[i].line, draft))
        flags.add_tree(own->root, "accelerate.", own->file, own->first_line);
      else
        draft.refuse(words[i].line, "accelerate's configuration is not here; put it beside the script");
    }
    flags.add_words(words, "accelerate.");
  }
  if (config) flags.add_tree(config->root, "", config->file, config->first_line);
  flags.add_words(launch.arguments);
  static const auto kWith = std::make_shared<const std::string>("--with");
  flags.add_words(launch.more, "", kWith);
  for (const ShellText& key : launch.keys) {
    const std::string name = key.text.substr(0, key.text.find('='));
    if (launch.program.empty() || (flags.takes_keys() && flags.knows(name)))
      flags.add_words({key}, "", kWith, true);
    else if (std::ranges::find(launch.unused, name) != launch.unused.end())
      draft.refuse({0, kWith},
                   fmt::format("{}: the script has no such variable; write --with '--{} VALUE' for an argument",
                               key.text, name));
  }
  const auto add_named = [&](std::initializer_list<std::string_view> names, const char* prefix) {
    const std::optional<std::string> path = flags.path(names);
    if (!path) return;
    if (const std::optional<ConfigFile> own = read_config(*path, launch, flags.place(names), draft))
      flags.add_tree(own->root, prefix, own->file, own->first_line);
  };
  add_named({"deepspeed-config", "deepspeed"}, kDeepspeedKeys);
  add_named({"fsdp-config"}, "fsdp-config.");
}

/// Variables that change what runs, and are not modelled.
void tell_environment(const LaunchLine& launch, Draft& draft) {
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"CUDA_LAUNCH_BLOCKING", "each kernel would be waited for"},
      {"NCCL_IB_DISABLE", "collectives between nodes would go over sockets"},
      {"NCCL_P2P_DISABLE", "collectives inside a node would go through the host"},
      {"NCCL_ALGO", "write it as the cluster's tuner"},
      {"NCCL_PROTO", "write it as the cluster's tuner"},
      {"NCCL_COLLNET_ENABLE", "write it as the cluster's collnet"}};
  for (const auto& [name, what] : kVariables)
    if (const auto found = launch.script.variables.find(name);
        found != launch.script.variables.end() && found->second.text != "0")
      draft.not_modelled(0, fmt::format("{}={}: {}", name, found->second.text, what));
}

/// What the schedule of the script is compared with: ACCO, with gradients of the same type; nothing, and a word of why,
/// where it cannot be had.
void add_acco(const std::string& source, ImportedLaunch& imported) {
  const auto wrong = [&]() -> std::string {
    try {
      const LoadedScenario loaded = load_scenario_tree(imported.scenario, source, {});
      return loaded.left_out.empty() ? "" : loaded.left_out.front().why;
    } catch (const ScenarioError& error) {
      return error.errors.front();
    }
  };
  if (!wrong().empty()) return;  // whoever loads it says so
  std::vector<JsonValue>& schedules = imported.scenario.find("schedules")->elements;
  JsonValue acco = json_object({{"name", schedule_of_two_rounds().name}});
  if (const JsonValue* const dtype = schedules.front().find("gradient_dtype")) acco.set("gradient_dtype", *dtype);
  schedules.push_back(std::move(acco));
  const std::string why = wrong();
  if (why.empty()) return;
  imported.not_modelled.push_back(fmt::format("{} is left out: {}", schedules.back().find("name")->text, why));
  schedules.pop_back();
}

}  // namespace

ImportedLaunch import_launch(std::string_view text, const std::string& source, const LaunchOptions& options) {
  const LaunchLine launch =
      is_config_name(source) ? launch_line_of(options.with) : read_launch_line(text, source, options.with);
  Draft draft(launch.source.empty() ? source : launch.source);
  const std::optional<ConfigFile> config = configuration_of(text, launch, draft);
  const Trainer& trainer = known_trainer(launch, config, source);
  tell_environment(launch, draft);
  if (!trainer.assumed.empty()) draft.not_modelled(launch.line, std::string(trainer.assumed));
  Flags flags(trainer, draft);
  add_all(launch, config, flags, draft);
  const Machines machines = machines_of(launch, options, flags, draft);
  const std::int64_t gpus = std::int64_t{machines.nodes} * machines.gpus_per_node, replica = gpus_of_a_replica(flags);
  draft.put("/name", std::filesystem::path(source).stem().string(), source);
  draft.put("/cluster", machines.cluster, "--cluster");
  constexpr std::int64_t kMostGpus = 1 << 20;
  if (gpus > kMostGpus)
    draft.refuse(launch.line, fmt::format("{} nodes have {} GPUs, which is more than {}; add --nodes N", machines.nodes,
                                          gpus, kMostGpus));
  else if (gpus % replica != 0)
    draft.refuse(launch.line,
                 fmt::format("a replica of the model takes {} GPUs, and {} nodes have {}; add --nodes {}", replica,
                             machines.nodes, gpus, (replica + machines.gpus_per_node - 1) / machines.gpus_per_node));
  else
    (trainer.reader == TrainerReader::kMegatron ? read_megatron : read_torch)(
        {launch.line, static_cast<int>(gpus), machines.gpus_per_node, options.model}, flags, draft);
  for (const std::string& note : launch.script.notes) draft.passed_over(note);
  ImportedLaunch imported = std::move(draft).finish();
  add_acco(source, imported);
  imported.cluster_file = machines.file;
  return imported;
}

}  // namespace accosim
