#include "models/launch/import_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "models/base/text.hpp"
#include "models/launch/hugging_face.hpp"
#include "models/launch/launch_line.hpp"
#include "models/launch/megatron.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// The cluster, with as many nodes as are asked for.
struct Machines {
  JsonValue cluster;
  std::string file;
  int nodes = 1, gpus_per_node = 1;
};

Machines machines_of(const LaunchLine& launch, const LaunchOptions& options, const std::string& source, Draft& draft) {
  if (options.cluster.empty()) {
    const std::string hint = launch.device_hint.empty() ? "" : fmt::format(" (the header says {})", launch.device_hint);
    throw ScenarioError({fmt::format(
        "{}: no launch script says what its GPUs and its network are{}; add --cluster NAME (accosim list clusters)",
        source, hint)});
  }
  Machines machines{{}, file_of(FileKind::kCluster, options.cluster)};
  const Cluster cluster = load_cluster(options.cluster);
  if (cluster.nodes.size() != 1)
    throw ScenarioError({fmt::format("--cluster {}: has {} groups of nodes; name one of equal nodes", options.cluster,
                                     cluster.nodes.size())});
  machines.cluster = read_json_file(machines.file, machines.file).root;
  machines.gpus_per_node = cluster.nodes.front().gpus;
  machines.nodes = cluster.nodes.front().count;
  if (launch.gpus_per_node && launch.gpus_per_node->number != machines.gpus_per_node)
    draft.refuse(launch.gpus_per_node->line,
                 fmt::format("starts {} processes a node, and a node of {} has {} GPUs; name a cluster with as many",
                             launch.gpus_per_node->number, options.cluster, machines.gpus_per_node));
  int line = 0;
  if (options.nodes > 0) {
    machines.nodes = options.nodes;
  } else if (launch.nodes && launch.nodes->number > 1) {
    machines.nodes = launch.nodes->number;
    line = launch.nodes->line;
  } else if (launch.nodes && machines.nodes > 1) {
    draft.not_modelled(
        launch.nodes->line,
        fmt::format("the script starts one node; the cluster's {} are taken (--nodes 1 has it as it is written)",
                    machines.nodes));
  }
  JsonValue& group = machines.cluster.find("nodes")->elements.front();
  group.set("count", machines.nodes);
  if (!options.device.empty()) group.set("device", options.device);
  // What stands beside the cluster's file is not beside the scenario.
  JsonValue* const device = group.find("device");
  if (device->kind == JsonKind::kText && device->text.ends_with(".json") && options.device.empty())
    device->text = (std::filesystem::absolute(machines.file).parent_path() / device->text).lexically_normal().string();
  if (line > 0) draft.taken(line, fmt::format("{} nodes", machines.nodes));
  return machines;
}

/// Megatron-LM's trainers of other models than decoders, and what a configuration that is not read would say.
void refuse_other_models(const LaunchLine& launch, const std::string& source) {
  for (const char* const other :
       {"bert", "t5", "ict", "vlm", "retro", "mamba", "realm", "vision", "multimodal", "prefix_lm", "diffusion"})
    if (launch.trainer.starts_with(std::string("pretrain_") + other))
      throw ScenarioError(
          {fmt::format("{}:{}: {} trains a model that is not modelled yet; give a launch line of a decoder", source,
                       launch.line, printable(launch.trainer))});
  for (const char* const option : {"--use_deepspeed", "--use_fsdp", "--config_file"})
    if (std::find(launch.launcher.begin(), launch.launcher.end(), option) != launch.launcher.end())
      throw ScenarioError(
          {fmt::format("{}:{}: accelerate's {} is not read yet; give the same as arguments of the trainer", source,
                       launch.line, option)});
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

/// What the schedule of the script is compared with: ACCO, with gradients of the same type.
void add_acco(JsonValue& scenario) {
  std::vector<JsonValue>& schedules = scenario.find("schedules")->elements;
  JsonValue acco = json_object({{"name", schedule_of_two_rounds().name}});
  if (const JsonValue* const dtype = schedules.front().find("gradient_dtype")) acco.set("gradient_dtype", *dtype);
  schedules.push_back(std::move(acco));
}

}  // namespace

ImportedLaunch import_launch(std::string_view text, const std::string& source, const LaunchOptions& options) {
  const LaunchLine launch = read_launch_line(text, source, options.with);
  const bool hugging_face = is_hugging_face(launch);
  if (!hugging_face && !launch.trainer.starts_with("pretrain_"))
    throw ScenarioError(
        {fmt::format("{}:{}: the arguments of {} are not read yet; those of Megatron-LM's pretrain_gpt.py and "
                     "of Hugging Face's Trainer are",
                     source, launch.line, printable(launch.trainer))});
  refuse_other_models(launch, source);
  Draft draft(source);
  tell_environment(launch, draft);
  const Machines machines = machines_of(launch, options, source, draft);
  const std::int64_t gpus = std::int64_t{machines.nodes} * machines.gpus_per_node,
                     replica = hugging_face ? 1 : gpus_of_a_replica(launch);
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
  else if (hugging_face)
    read_hugging_face(launch, options.model, static_cast<int>(gpus), draft);
  else
    read_megatron(launch, static_cast<int>(gpus), machines.gpus_per_node, draft);
  for (const std::string& note : launch.script.notes) draft.passed_over(note);
  ImportedLaunch imported = std::move(draft).finish();
  add_acco(imported.scenario);
  imported.cluster_file = machines.file;
  return imported;
}

}  // namespace accosim
