// Every part must be whole: of heads, of blocks, of GPUs. What does not divide is refused with the nearest numbers that
// do.
#include "models/read/read_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "models/base/text.hpp"
#include "models/read/other_words.hpp"
#include "models/read/overrides.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr const char* kTensor = "tensor_parallel_size";
constexpr const char* kPipeline = "pipeline_parallel_size";
constexpr const char* kExperts = "expert_parallel_size";
constexpr const char* kExpertTensor = "expert_tensor_parallel_size";
constexpr const char* kDispatcher = "expert_dispatcher";
constexpr const char* kExpertOverlap = "expert_overlap";
constexpr const char* kChunks = "virtual_pipeline_stages";
constexpr const char* kBySpeed = "speed";
constexpr const char* kNoStages =
    "is of the stages of a pipeline; write a pipeline_parallel_size above 1, or leave it out";
constexpr const char* kSteps = "gradient_accumulation_steps";
// Of each no more than a cluster may have, so that products of them are whole numbers.
constexpr int kMostRanks = 1024, kMostStages = 1'048'576, kMostChunks = 1024;
constexpr int kMostListed = 10'000;

/// "2 or 4": of the numbers to `most` that hold, the next below and the next above; 1 always holds.
std::string nearest_to(int asked, int most, const std::function<bool(int)>& holds) {
  int below = std::min(asked - 1, most), above = asked + 1;
  while (below > 1 && !holds(below)) --below;
  while (above <= most && !holds(above)) ++above;
  return above <= most ? fmt::format("{} or {}", std::max(below, 1), above) : fmt::format("{}", std::max(below, 1));
}

struct Reading {
  ObjectReader& training;
  ObjectReader& reader;
  Parallel& parallel;
  const Training& read;
  const Model* model;  ///< with layers; nullptr: not known
};

/// What so many ranks cannot share evenly; empty where they can.
std::string undivided(const Model& model, int ranks) {
  const int heads = model.num_attention_heads, own = model.num_key_value_heads, inner = model.intermediate_size;
  if (heads % ranks != 0) return fmt::format("{} attention heads", heads);
  if (own % ranks != 0 && ranks % own != 0) return fmt::format("{} key-value heads", own);
  const Experts& experts = model.experts;
  const bool dense = std::ranges::count(experts.in_layer, true) < model.num_hidden_layers;
  if (dense && inner % ranks != 0) return fmt::format("an intermediate_size of {}", inner);
  if (experts.inner_size % ranks != 0) return fmt::format("experts of an inner size of {}", experts.inner_size);
  if (experts.shared_inner_size % ranks != 0)
    return fmt::format("shared experts of an inner size of {}", experts.shared_inner_size);
  return "";
}

bool splits(const Model* model, int ranks) { return model == nullptr || undivided(*model, ranks).empty(); }

void read_tensor(const Reading& of) {
  const int ranks = of.parallel.tensor = of.reader.integer(kTensor, 1, kMostRanks, 1);
  if (of.model == nullptr || splits(of.model, ranks)) return;
  of.reader.fail(kTensor, fmt::format("is {}, and the model has {}, which {} ranks cannot share evenly; write {}",
                                      ranks, undivided(*of.model, ranks), ranks,
                                      nearest_to(ranks, of.model->num_attention_heads,
                                                 [&](int each) { return splits(of.model, each); })));
}

void read_expert_ranks(const Reading& of) {
  const int ranks = of.parallel.experts = of.reader.integer(kExperts, 1, kMostRanks, 1);
  if (ranks == 1 || of.model == nullptr) return;
  const int experts = of.model->experts.count;
  if (experts == 0)
    return of.reader.fail(kExperts, "is about models with experts, and this one has none; leave it out");
  if (experts % ranks != 0)
    return of.reader.fail(
        kExperts,
        fmt::format("is {}, and the model has {} experts, which {} ranks cannot share evenly; write {}", ranks, experts,
                    ranks, nearest_to(ranks, experts, [&](int each) { return experts % each == 0; })));
  if (of.parallel.tensor > 1 && !of.parallel.sequence)
    of.reader.fail(kExperts,
                   "shares experts between ranks that split tensors alone, which is not modelled yet; write "
                   "\"sequence_parallel\": true too, as Megatron-LM asks for, or a tensor_parallel_size of 1");
}

/// After the ranks that share experts.
void read_experts_parts(const Reading& of) {
  const int tensor = of.parallel.tensor, ranks = of.parallel.experts;
  if (ranks == 1) {
    for (const char* const key : {kExpertTensor, kDispatcher, kExpertOverlap})
      if (of.reader.find(key) != nullptr)
        of.reader.fail(key,
                       "is about experts that ranks share; write an expert_parallel_size above 1, or leave it out");
    return;
  }
  const int each = of.reader.integer(kExpertTensor, 1, kMostRanks, tensor);
  of.parallel.dispatcher = of.reader.choice(kDispatcher, Dispatcher::kAllToAll);
  of.parallel.overlap_experts = of.reader.boolean(kExpertOverlap, false);
  if (!of.reader.good(kTensor) || !of.reader.good(kExperts)) return;
  if (each != 1 && each != tensor)
    return of.reader.fail(kExpertTensor, fmt::format("is {}, and experts are modelled as whole or split over as many "
                                                     "ranks as other tensors; write 1{}",
                                                     each, tensor > 1 ? fmt::format(" or {}", tensor) : ""));
  of.parallel.whole_experts = tensor > 1 && each == 1;
  if (of.parallel.whole_experts && ranks % tensor != 0)
    return of.reader.fail(kExperts, fmt::format("is {}, and ranks that split tensors share whole experts too; write a "
                                                "multiple of {}",
                                                ranks, tensor));
  if (sends_by_kernel(of.parallel.dispatcher) && tensor > 1 && !of.parallel.whole_experts)
    of.reader.fail(kDispatcher,
                   "carries whole rows to experts that are split, which is not modelled yet; write "
                   "\"expert_tensor_parallel_size\": 1 too, or \"alltoall\"");
}

/// As Megatron-LM asks for it (core/transformer/transformer_config.py, overlap_moe_expert_parallel_comm).
void check_expert_overlap(const Reading& of) {
  if (!of.parallel.overlap_experts) return;
  const auto refuse = [&](bool wrong, const char* what) {
    if (wrong) of.reader.fail(kExpertOverlap, what);
  };
  refuse(of.parallel.dispatcher == Dispatcher::kAllGather,
         "is of exchanges that send rows; write an expert_dispatcher of \"alltoall\", \"deepep\" or \"hybridep\"");
  refuse(of.parallel.pipeline > 1 && of.parallel.chunks == 1,
         "runs two passes together, which a pipeline does under the interleaved schedule alone; write "
         "\"virtual_pipeline_stages\": 2 or more");
  refuse(of.read.gradient_accumulation_steps == 1,
         "needs two micro-batches at once; write gradient_accumulation_steps of 2 or more");
  refuse(of.read.activation_recompute == Recompute::kFull || of.read.activation_recompute == Recompute::kFullEarlyStop,
         "cannot cut into blocks that are recomputed whole; write another activation_recompute");
}

/// What the framework chooses where nobody writes it; `asked`: it matters, so that the framework is named as the
/// source.
bool read_choice(const Reading& of, const char* key, bool SplitDefaults::*usual, bool asked) {
  const bool written = of.reader.has(key);
  const SplitDefaults defaults = split_defaults(of.read.framework, of.parallel);
  const bool chosen = of.reader.boolean(key, defaults.*usual);
  if (!written && asked) of.reader.find(key)->origin = origin_named(defaults.source);
  return chosen;
}

void read_sequence(const Reading& of) {
  const char* const key = "sequence_parallel";
  of.parallel.sequence = read_choice(of, key, &SplitDefaults::sequence, of.parallel.tensor > 1);
  if (!of.parallel.sequence) return;
  const int ranks = of.parallel.tensor, length = of.read.sequence_length;
  if (ranks == 1)
    return of.reader.fail(
        key,
        "splits sequences over the ranks that split tensors; write a tensor_parallel_size above 1, or "
        "leave it out");
  if (!of.reader.good(kTensor)) return;
  if (of.training.good("sequence_length") && length % ranks != 0)
    of.training.fail(
        "sequence_length",
        fmt::format("is {}, and {} ranks split a sequence, which they cannot share evenly; write {}, or "
                    "\"sequence_parallel\": false",
                    length, ranks, nearest_to(length, kMaxInteger, [&](int each) { return each % ranks == 0; })));
  const SequenceLengths& lengths = of.read.unsteady.lengths;
  if (!lengths.full() && lengths.padding == Padding::kLongest && lengths.multiple % ranks != 0)
    of.training.fail(
        "sequence_lengths",
        fmt::format("has sequences that {} ranks cannot share evenly; write \"pad_to_multiple_of\": {}, or "
                    "\"sequence_parallel\": false",
                    ranks, std::lcm(lengths.multiple, ranks)));
}

void read_tensor_overlap(const Reading& of) {
  const char* const key = "tensor_overlap";
  of.parallel.overlap_tensor = of.reader.boolean(key, false);
  if (!of.parallel.overlap_tensor) return;
  if (of.parallel.tensor == 1)
    return of.reader.fail(key,
                          "is about ranks that split tensors; write a tensor_parallel_size above 1, or leave it out");
  if (const std::string lacking = lacking_tensor_overlap(of.read.framework); !lacking.empty())
    return of.reader.fail(key, lacking);
  if (!of.parallel.sequence)
    of.reader.fail(key,
                   "cuts up the gathers and scatters of sequence parallelism, and here tensors alone are split; write "
                   "\"sequence_parallel\": true too, or leave it out");
}

void read_chunks(const Reading& of) {
  of.parallel.chunks = of.reader.integer(kChunks, 1, kMostChunks, 1);
  if (of.parallel.chunks == 1) return;
  if (of.parallel.pipeline == 1) return of.reader.fail(kChunks, kNoStages);
  if (const std::string lacking = lacking_chunks(of.read.framework); !lacking.empty()) of.reader.fail(kChunks, lacking);
}

ObjectReader::Advice schedule_advice() {
  return [](const std::string& written) -> std::string {
    const std::string word = lower(written);
    const auto has = [&](const char* part) { return word.find(part) != std::string::npos; };
    if (has("zero") || has("zb") || has("dualpipe"))
      return "schedules that split the backward pass are not modelled yet; ";
    for (const PipelineSchedule each :
         {PipelineSchedule::kInterleaved, PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kGpipe})
      if (has(name_of(each))) return fmt::format("did you mean \"{}\"? ", name_of(each));
    return "";
  };
}

void read_schedule_of_stages(const Reading& of) {
  const char* const key = "pipeline_schedule";
  const bool written = of.reader.has(key);
  if (of.parallel.pipeline == 1) {
    if (written) of.reader.fail(key, kNoStages);
    return;
  }
  const SplitDefaults usual = split_defaults(of.read.framework, of.parallel);
  of.parallel.schedule = of.reader.choice(key, usual.schedule, schedule_advice());
  if (!written) of.reader.find(key)->origin = origin_named(usual.source);
  const bool interleaved = of.parallel.schedule == PipelineSchedule::kInterleaved, several = of.parallel.chunks > 1;
  if (!of.reader.good(key) || !of.reader.good(kChunks)) return;
  if (const std::string lacking = lacking_schedule(of.read.framework, of.parallel.schedule); !lacking.empty())
    of.reader.fail(key, lacking);
  else if (interleaved && !several)
    of.reader.fail(key,
                   "is \"interleaved\", which goes through several chunks on each stage; write "
                   "\"virtual_pipeline_stages\": 2 or more too, or \"1f1b\"");
  else if (!interleaved && several)
    of.reader.fail(key, fmt::format("is \"{}\", which has one chunk on each stage, and virtual_pipeline_stages is {}; "
                                    "write \"interleaved\", or leave virtual_pipeline_stages out",
                                    name_of(of.parallel.schedule), of.parallel.chunks));
}

void read_messages(const Reading& of) {
  const char* const key = "overlap_p2p";
  const bool piped = of.parallel.pipeline > 1;
  of.parallel.overlap_messages = read_choice(of, key, &SplitDefaults::overlap_messages, piped);
  if (!piped && of.parallel.overlap_messages)
    return of.reader.fail(
        key, "is about what stages send each other; write a pipeline_parallel_size above 1, or leave it out");
  if (!piped || !of.reader.good()) return;
  if (const std::string lacking = lacking_messages(of.read.framework, of.parallel); !lacking.empty())
    of.reader.fail(key, lacking);
}

void read_slices(const Reading& of) {
  const char* const key = "scatter_gather_p2p";
  const bool asked = of.parallel.tensor > 1 && of.parallel.pipeline > 1;
  of.parallel.scatter_gather = read_choice(of, key, &SplitDefaults::scatter_gather, asked);
  if (!of.parallel.scatter_gather || !of.reader.good()) return;
  if (const std::string lacking = lacking_slices(of.read.framework, of.parallel); !lacking.empty())
    of.reader.fail(key, lacking);
}

/// Blocks of every chunk where nobody lists them, as the framework shares them; whose way that is, where not all are
/// equal.
std::string share_blocks(const Reading& of) {
  const int blocks = of.model->num_hidden_layers, stages = of.parallel.pipeline, chunks = of.parallel.chunks;
  const auto goes = [&](long long runs) { return can_split_blocks(blocks, of.read.framework, runs); };
  const char* const list = "list \"stage_layers\"";
  if (!goes(stages)) {
    of.reader.fail(kPipeline,
                   fmt::format("is {}, and the model has {} blocks, which {} so many stages; write {}, or {}", stages,
                               blocks, stages > blocks ? "are too few for" : "are not divided by",
                               nearest_to(stages, blocks, goes), list));
    return "";
  }
  if (!goes(1LL * stages * chunks)) {
    of.reader.fail(
        kChunks,
        fmt::format("is {}, and {} stages share {} blocks, which {} so many chunks on each; write {}, or {}", chunks,
                    stages, blocks, chunks > blocks / stages ? "are too few for" : "are not divided by",
                    nearest_to(chunks, blocks / stages, [&](int each) { return goes(1LL * stages * each); }), list));
    return "";
  }
  UsualBlocks usual = usual_blocks(of.read.framework, blocks, stages * chunks);
  of.parallel.blocks = std::move(usual.blocks);
  return usual.source;
}

/// Equal until devices are priced.
void share_by_speed(const Reading& of) {
  const int blocks = of.model->num_hidden_layers, runs = of.parallel.pipeline * of.parallel.chunks;
  if (runs > blocks)
    return of.reader.fail(
        "stage_layers",
        fmt::format("is \"{}\", and {} stages of {} chunk{} are more than the model's {} blocks; write "
                    "fewer of them",
                    kBySpeed, of.parallel.pipeline, of.parallel.chunks, of.parallel.chunks > 1 ? "s" : "", blocks));
  of.parallel.blocks = equal_blocks(blocks, runs);
}

void check_blocks(const Reading& of, const std::vector<double>& listed) {
  const char* const key = "stage_layers";
  const int runs = of.parallel.pipeline * of.parallel.chunks;
  if (listed.size() != static_cast<std::size_t>(runs))
    return of.reader.fail(key, fmt::format("lists {}, and {} stages of {} chunk{} are {}; list the blocks of each in "
                                           "the order in which a micro-batch passes them",
                                           listed.size(), of.parallel.pipeline, of.parallel.chunks,
                                           of.parallel.chunks > 1 ? "s" : "", runs));
  if (std::ranges::any_of(listed, [](double each) { return each != std::floor(each); }))
    return of.reader.fail(key, "lists parts of a block; write whole numbers");
  if (std::any_of(listed.begin() + 1, listed.end() - 1, [](double each) { return each == 0; }))
    return of.reader.fail(
        key,
        "has no block in a chunk between two others; only the first, which has the embedding, and the "
        "last, which has the head, may have 0");
  const double sum = std::accumulate(listed.begin(), listed.end(), 0.0);
  if (of.model != nullptr && sum != of.model->num_hidden_layers)
    of.reader.fail(key, fmt::format("adds up to {:.0f}, and the model has {} blocks; list them all, each once", sum,
                                    of.model->num_hidden_layers));
}

void read_blocks(const Reading& of) {
  const char* const key = "stage_layers";
  const bool written = of.reader.has(key);
  if (of.parallel.pipeline == 1) {
    if (written) of.reader.fail(key, kNoStages);
    return;
  }
  if (!of.reader.good(kPipeline) || !of.reader.good(kChunks)) {
    if (written) of.reader.numbers(key, Range{0, kMostListed}, kMostListed);
    return;
  }
  if (const JsonValue* const value = of.reader.find(key); written && value->kind == JsonKind::kText) {
    of.parallel.blocks_by_speed = of.reader.one_of(key, {kBySpeed}, "") == kBySpeed;
    if (of.model != nullptr && of.parallel.blocks_by_speed) share_by_speed(of);
    return;
  }
  if (written) {
    const std::vector<double> listed = of.reader.numbers(key, Range{0, kMostListed}, kMostListed);
    if (of.reader.good(key)) check_blocks(of, listed);
    if (of.reader.good(key)) of.parallel.blocks.assign(listed.begin(), listed.end());
    return;
  }
  if (of.model == nullptr) return;
  const std::string source = share_blocks(of);
  if (of.parallel.blocks.empty()) return;
  give_origin(of.reader.value().set(key, JsonValue(of.parallel.blocks)),
              source.empty() ? default_origin() : origin_named(source));
}

/// As an order has it.
const char* word_of(Dim dimension) {
  switch (dimension) {
    case Dim::kTensor: return "tp";
    case Dim::kContext: return "cp";
    case Dim::kPipeline: return "pp";
    default: return "dp";
  }
}

void read_order(const Reading& of) {
  const std::string order = of.reader.text("order", std::string(kUsualOrder));
  if (!of.reader.good("order")) return;
  try {
    of.parallel.order = order_of(order);
  } catch (const std::invalid_argument& error) {
    return of.reader.fail("order", fmt::format("{}; write \"tp\", \"cp\", \"ep\", \"dp\" and \"pp\", each once, the "
                                               "nearest ranks first",
                                               error.what()));
  }
  const auto first = std::ranges::find_if(of.parallel.order, [&](Dim each) {
    return each != Dim::kContext && (each != Dim::kPipeline || of.parallel.pipeline > 1);
  });
  if (of.parallel.tensor > 1 && *first != Dim::kTensor)
    of.reader.fail("order",
                   fmt::format("puts \"{}\" before \"tp\", and only neighbours that split tensors are modelled "
                               "yet; begin with \"tp\"",
                               word_of(*first)));
}

/// What was measured as a whole has no parts.
void refuse_parts(const Reading& of) {
  for (const auto& [key, size] : {std::pair(kTensor, of.parallel.tensor), std::pair(kPipeline, of.parallel.pipeline),
                                  std::pair(kExperts, of.parallel.experts)})
    if (size > 1)
      of.reader.fail(key, fmt::format("is {}, and of a measured model the micro-batch is known as a whole alone; write "
                                      "1",
                                      size));
}

}  // namespace

bool can_split_blocks(int blocks, Framework framework, long long runs) {
  return runs <= blocks + 2 && !usual_blocks(framework, blocks, runs).blocks.empty();
}

Parallel read_parallel(ObjectReader& training, const Training& read, const std::optional<Model>& model) {
  JsonValue* const value = training.find("parallel");
  if (value == nullptr) return {};
  ObjectReader reader(*value, training.pointer("parallel"), training.diagnostics());
  if (value->kind != JsonKind::kObject) return {};
  Parallel parallel;
  const bool measured = model && family_of(*model).measured;
  const Reading of{training, reader, parallel, read, model && !measured ? &*model : nullptr};
  read_tensor(of);
  read_sequence(of);
  read_tensor_overlap(of);
  read_expert_ranks(of);
  read_experts_parts(of);
  parallel.pipeline = reader.integer(kPipeline, 1, kMostStages, 1);
  read_chunks(of);
  read_schedule_of_stages(of);
  check_expert_overlap(of);
  read_messages(of);
  read_slices(of);
  read_blocks(of);
  read_order(of);
  if (measured) refuse_parts(of);
  const bool good = reader.good() && !reader.has_unknown();
  reader.finish(parallel_words());
  return good ? parallel : Parallel{};
}

namespace {

/// The numbers of a node group for itself.
struct OwnWork {
  int micro_batch_size, steps;

  bool operator==(const OwnWork&) const = default;
};

OwnWork work_of(const Cluster& cluster, const Place& place, const Training& training) {
  const NodeGroup& group = cluster.nodes[static_cast<std::size_t>(place.group)];
  return {group.micro_batch_size, accumulation_steps_of(group, place.gpu, training)};
}

bool all_work_alike(const Cluster& cluster, const Training& training) {
  const OwnWork first = work_of(cluster, {}, training);
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    for (int gpu = 0; gpu < cluster.nodes[g].gpus; ++gpu)
      if (!(work_of(cluster, {static_cast<int>(g), 0, gpu}, training) == first)) return false;
  return true;
}

/// Two unlike devices that would split a tensor.
using Unlike = std::optional<std::pair<const Device*, const Device*>>;
Unlike unlike_in(const NodeGroup& group, int ranks) {
  for (std::size_t gpu = 0; gpu < group.devices.size(); ++gpu) {
    const Device &first = group.devices[gpu - gpu % static_cast<std::size_t>(ranks)], &own = group.devices[gpu];
    if (!(own == first)) return std::pair(&first, &own);
  }
  return std::nullopt;
}

bool nodes_split(const Cluster& cluster, int ranks) {
  return std::ranges::all_of(
      cluster.nodes, [&](const NodeGroup& group) { return group.gpus % ranks == 0 && !unlike_in(group, ranks); });
}

/// Ranks that split tensors are GPUs of one node, and of one device.
std::string wrong_tensor(int ranks, const Model* model, const Cluster& cluster) {
  if (nodes_split(cluster, ranks)) return "";
  const std::string better = nearest_to(ranks, cluster.nodes.front().gpus,
                                        [&](int each) { return nodes_split(cluster, each) && splits(model, each); });
  for (const NodeGroup& group : cluster.nodes) {
    if (group.gpus % ranks != 0)
      return fmt::format(
          "is {}, and each node of {} has {} GPUs, which are no groups of so many; tensors split between "
          "nodes are not modelled yet: write {}",
          ranks, in_quotes(group.name), group.gpus, better);
    if (const Unlike unlike = unlike_in(group, ranks))
      return fmt::format(
          "is {}, and in a node of {} neighbours that would split a tensor are {} and {}; list equal "
          "devices next to each other, or write {}",
          ranks, in_quotes(group.name), device_name(cluster, *unlike->first), device_name(cluster, *unlike->second),
          better);
  }
  return "";
}

std::string wrong_pipeline(const Parallel& parallel, const Cluster& cluster) {
  const int left = static_cast<int>(gpu_count(cluster)) / parallel.tensor;
  if (left % parallel.pipeline == 0) return "";
  const std::string of = parallel.tensor == 1
                             ? fmt::format("{} GPUs", left)
                             : fmt::format("{} groups of {} GPUs that split tensors", left, parallel.tensor);
  return fmt::format("is {}, and the cluster has {}, which make no whole pipelines; write {}", parallel.pipeline, of,
                     nearest_to(parallel.pipeline, left, [&](int each) { return left % each == 0; }));
}

std::string wrong_experts(const Parallel& parallel, const Cluster& cluster) {
  const int ranks = parallel.experts, data = static_cast<int>(gpu_count(cluster)) / model_ranks_of(parallel);
  if (ranks > 1 && !identical_ranks(cluster))
    return "shares experts between GPUs that are not all alike, which is not modelled yet; write 1";
  if (data % expert_data_ranks(parallel) == 0) return "";
  if (parallel.whole_experts)
    return fmt::format(
        "is {}, and {} model replicas, each split over {} ranks, make no groups of so many; write a "
        "multiple of {} that divides {}",
        ranks, data, parallel.tensor, parallel.tensor, data * parallel.tensor);
  return fmt::format("is {}, and there are {} model replicas, which are no groups of so many; write {}", ranks, data,
                     nearest_to(ranks, data, [&](int each) { return data % each == 0; }));
}

/// Over AWS's adapters the kernels' messages go through proxies on the host: published steps take up to three times as
/// long as by the adapters' rate.
std::string wrong_dispatcher(const Parallel& parallel, const Cluster& cluster) {
  for (const NodeGroup& group : cluster.nodes)
    if (sends_by_kernel(parallel.dispatcher) && parallel.experts > group.gpus && is_aws(group.nics.kind))
      return fmt::format(
          "sends between nodes of {} by proxies on their hosts, which is not modelled yet; write \"alltoall\", or an "
          "{} "
          "of {} or less",
          in_quotes(group.name), kExperts, group.gpus);
  return "";
}

/// Interleaved chunks take micro-batches in whole groups.
std::string wrong_steps(int steps, const Parallel& parallel) {
  const int group = parallel.group > 0 ? parallel.group : parallel.pipeline;
  if (steps % group == 0) return "";
  const int below = steps - steps % group, above = below + group;
  return fmt::format("is {}, and interleaved chunks take micro-batches in groups of {}; write {}", steps, group,
                     below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above));
}

void check_steps(const Training& training, const Cluster& cluster, ObjectReader& top) {
  ObjectReader reader(*top.find("training"), top.pointer("training"), top.diagnostics());
  const std::string wrong = wrong_steps(training.gradient_accumulation_steps, training.parallel);
  if (!wrong.empty() && !all_have_own_steps(cluster)) reader.fail(kSteps, wrong);
  JsonValue* const nodes = top.find("cluster")->find("nodes");
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    for (const int steps : cluster.nodes[g].accumulation_steps) {
      const std::string own = wrong_steps(steps, training.parallel);
      if (own.empty()) continue;
      const auto listed = static_cast<std::size_t>(listed_index(cluster, static_cast<int>(g)));
      ObjectReader(nodes->elements[listed], "/cluster/nodes" + pointer_part(listed), top.diagnostics())
          .fail(kSteps, own);
      break;
    }
  }
}

}  // namespace

bool can_split_tensors(const Model& model, const Cluster& cluster, int ranks) {
  return splits(&model, ranks) && nodes_split(cluster, ranks);
}

bool check_parallel(const Training& training, const std::optional<Model>& model, const Cluster& cluster,
                    ObjectReader& top) {
  const Parallel& parallel = training.parallel;
  if (model_ranks_of(parallel) == 1 && parallel.experts == 1) return true;
  const std::size_t before = top.diagnostics().errors.size();
  const Model* const split = model && !family_of(*model).measured ? &*model : nullptr;
  ObjectReader reader(*top.find("training")->find("parallel"), "/training/parallel", top.diagnostics());
  if (const std::string wrong = wrong_tensor(parallel.tensor, split, cluster); !wrong.empty())
    reader.fail(kTensor, wrong);
  else if (const std::string lacking = wrong_pipeline(parallel, cluster); !lacking.empty())
    reader.fail(kPipeline, lacking);
  else if (const std::string uneven = wrong_experts(parallel, cluster); !uneven.empty())
    reader.fail(kExperts, uneven);
  else if (const std::string proxied = wrong_dispatcher(parallel, cluster); !proxied.empty())
    reader.fail(kDispatcher, proxied);
  return top.diagnostics().errors.size() == before;
}

int read_own_chunks(ObjectReader& schedule, const Training& training, const std::optional<Cluster>& cluster) {
  if (!schedule.has(kChunks)) return 0;
  const Parallel& parallel = training.parallel;
  const int chunks = schedule.integer(kChunks, 1, kMostChunks, 1), stages = parallel.pipeline;
  const auto fail = [&](const std::string& why) {
    schedule.fail(kChunks, why);
    return 0;
  };
  if (!schedule.good(kChunks)) return 0;
  if (stages == 1)
    return fail(
        "is of the stages of a pipeline; write a pipeline_parallel_size above 1 in \"training\", or leave it out");
  if (chunks == parallel.chunks || parallel.blocks.empty()) return 0;  // as all others, or what is wrong has been said
  if (const std::string lacking = chunks > 1 ? lacking_chunks(training.framework) : ""; !lacking.empty())
    return fail(lacking);
  const int blocks = std::accumulate(parallel.blocks.begin(), parallel.blocks.end(), 0);
  if (parallel.blocks != usual_blocks(training.framework, blocks, stages * parallel.chunks).blocks)
    return fail(fmt::format(
        "is {}, and stage_layers in \"training\" lists the blocks where there are {} on each stage; write {}, "
        "or leave stage_layers out",
        chunks, parallel.chunks, parallel.chunks));
  const auto goes = [&](int each) {
    return parallel.blocks_by_speed ? stages * each <= blocks
                                    : can_split_blocks(blocks, training.framework, 1LL * stages * each);
  };
  if (!goes(chunks))
    return fail(fmt::format("is {}, and {} stages share {} blocks, which {} so many chunks on each; write {}", chunks,
                            stages, blocks, chunks > blocks / stages ? "are too few for" : "are not divided by",
                            nearest_to(chunks, blocks / stages, goes)));
  if (chunks == 1) return chunks;
  std::string wrong = wrong_steps(training.gradient_accumulation_steps, parallel);
  if (cluster && all_have_own_steps(*cluster)) wrong.clear();
  if (cluster)
    for (const NodeGroup& group : cluster->nodes)
      for (const int steps : group.accumulation_steps)
        if (wrong.empty()) wrong = wrong_steps(steps, parallel);
  return wrong.empty() ? chunks : fail(fmt::format("is {}, and gradient_accumulation_steps {}", chunks, wrong));
}

bool check_pipeline_steps(Training& training, const Cluster& cluster, ObjectReader& top) {
  const std::size_t before = top.diagnostics().errors.size();
  const Parallel& parallel = training.parallel;
  const bool own_steps =
      std::ranges::any_of(cluster.nodes, [](const NodeGroup& group) { return !group.accumulation_steps.empty(); });
  if (!own_steps) group_micro_batches(training);
  const bool groups = parallel.pipeline > 1 && parallel.schedule == PipelineSchedule::kInterleaved;
  if (groups && training.gradient_accumulation_steps > 0) check_steps(training, cluster, top);
  return top.diagnostics().errors.size() == before;
}

bool holds_replicas(const Cluster& cluster, Island island, const Parallel& parallel) {
  switch (island) {
    case Island::kNode: return parallel.pipeline == 1;
    case Island::kGroup:
      return std::ranges::all_of(cluster.nodes, [&](const NodeGroup& group) {
        return group.count * group.gpus % model_ranks_of(parallel) == 0;
      });
    default: return true;
  }
}

namespace {

/// Of two ranks of one model replica what they would do unlike; empty where all are alike.
std::string unlike_ranks(const Training& training, const Cluster& cluster, Island island) {
  const std::vector<Place> places = places_of(cluster);
  for (const std::vector<int>& replica :
       groups_of(layout_of(cluster, island, training.parallel), {kOneModel}).members) {
    const Place& first = places[static_cast<std::size_t>(replica.front())];
    const OwnWork work = work_of(cluster, first, training);
    for (const int rank : replica) {
      const Place& place = places[static_cast<std::size_t>(rank)];
      const OwnWork own = work_of(cluster, place, training);
      if (own == work) continue;
      const bool size = own.micro_batch_size != work.micro_batch_size;
      const auto name = [&](const Place& at) {
        return in_quotes(cluster.nodes[static_cast<std::size_t>(at.group)].name);
      };
      return fmt::format("GPUs of {} and {}, whose {} is {} and {}", name(first), name(place),
                         size ? "micro_batch_size" : kSteps, size ? work.micro_batch_size : work.steps,
                         size ? own.micro_batch_size : own.steps);
    }
  }
  return "";
}

}  // namespace

void check_replicas(const std::vector<ScheduleSpec>& schedules, const Training& training, const Cluster& cluster,
                    ObjectReader& top) {
  if (model_ranks_of(training.parallel) == 1 || all_work_alike(cluster, training)) return;
  std::vector<Island> seen;
  for (const ScheduleSpec& spec : schedules) {
    if (find_schedule(spec.name) == nullptr) continue;
    const Island island = island_of(spec);
    if (!holds_replicas(cluster, island, training.parallel)) continue;  // which has been said
    if (std::ranges::find(seen, island) != seen.end()) continue;
    seen.push_back(island);
    const std::string unlike = unlike_ranks(training, cluster, island);
    if (unlike.empty()) continue;
    top.fail("schedules",
             fmt::format("a model replica of {} has {}, and all its ranks work on the same samples; write one number "
                         "for both{}",
                         in_quotes(spec.label), unlike,
                         training.parallel.pipeline > 1
                             ? ", or an \"order\" of \"parallel\" that keeps a pipeline in one node group, such as "
                               "\"tp-cp-ep-pp-dp\""
                             : ""));
  }
}

void check_division(const std::vector<ScheduleSpec>& schedules, const Training& training, const Cluster& cluster,
                    ObjectReader& top) {
  if (model_ranks_of(training.parallel) == 1 || identical_ranks(cluster)) return;
  for (const ScheduleSpec& spec : schedules) {
    if (spec.balance == Balance::kNone || find_schedule(spec.name) == nullptr) continue;
    const Island island = island_of(spec);
    if (!holds_replicas(cluster, island, training.parallel)) continue;  // which has been said
    if (can_be_divided(cluster, training, island)) continue;
    top.fail("schedules",
             fmt::format("the balance of {} divides work among model replicas, and here unlike GPUs are stages of one "
                         "pipeline; write \"balance\": \"none\", and \"stage_layers\": \"speed\" in \"parallel\" or an "
                         "\"order\" there that keeps a pipeline in one node group, such as \"tp-cp-ep-pp-dp\"",
                         in_quotes(spec.label)));
  }
}

}  // namespace accosim
