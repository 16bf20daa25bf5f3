// The ways in which a training is parallel, as sizes of a grid of ranks: how many ranks split each tensor, each
// sequence and what a schedule shards, how many copies of that there are, and how many stages a pipeline has. Which
// ranks meet is a set of these dimensions; nobody else turns a rank into its place in the grid.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"

namespace accosim {

struct Cluster;

/// kExpert, kShard and kReplica together are the data dimension: every rank of them has other samples. Ranks of one
/// island (kExpert, kShard) share one copy of what is sharded, or make updates together; islands stand along kReplica.
/// Ranks along kExpert have the experts of a layer between them, and all else alike.
enum class Dim : std::uint8_t { kTensor, kContext, kExpert, kShard, kReplica, kPipeline };
inline constexpr int kDims = 6;

/// A set of dimensions.
struct Dims {
  std::uint8_t bits = 0;

  constexpr bool has(Dim dimension) const { return (bits >> static_cast<int>(dimension) & 1) != 0; }
  auto operator<=>(const Dims&) const = default;
};
constexpr Dims operator&(Dims a, Dims b) { return {static_cast<std::uint8_t>(a.bits & b.bits)}; }
template <typename... Each>
constexpr Dims over(Each... dimensions) {
  return {static_cast<std::uint8_t>(((1 << static_cast<int>(dimensions)) | ... | 0))};
}
/// Those that sum a gradient; ranks along kContext have other tokens of the same samples.
inline constexpr Dims kAllData = over(Dim::kContext, Dim::kExpert, Dim::kShard, Dim::kReplica);
inline constexpr Dims kIsland = over(Dim::kContext, Dim::kExpert, Dim::kShard);
/// Of those ranks the ones that have the same experts.
constexpr Dims with_same_experts(Dims dims) {
  return {static_cast<std::uint8_t>(dims.bits & ~over(Dim::kExpert).bits)};
}
inline constexpr Dims kIslands = over(Dim::kReplica);
/// Those of one model replica: they work on the same samples.
inline constexpr Dims kOneModel = over(Dim::kTensor, Dim::kContext, Dim::kPipeline);

/// Of the ranks that differ in the dimensions: all; the next or the one before along the only dimension (after the last
/// comes the first); the first and the last.
enum class Pick : std::uint8_t { kAll, kNext, kPrevious, kEnds };

/// The grid in which ranks are looked up: the training's, or that of sites, in which an island is a site.
enum class Grid : std::uint8_t { kTraining, kSites };

/// Ranks that meet, seen from one of them: those whose coordinates differ from its own in the dimensions alone. The
/// same ranks may have several communicators, whose collectives are ordered among themselves.
struct Ranks {
  Dims dims = kAllData;
  Pick pick = Pick::kAll;
  Grid grid = Grid::kTraining;
  int communicator = 0;

  auto operator<=>(const Ranks&) const = default;
};

/// A rank's place in the grid, by dimension.
using GridCoordinates = std::array<int, kDims>;

/// The grid. Ranks are numbered along `order`, its first dimension nearest.
struct Layout {
  std::array<int, kDims> sizes{1, 1, 1, 1, 1, 1};
  std::array<Dim, kDims> order{Dim::kTensor, Dim::kContext, Dim::kExpert, Dim::kShard, Dim::kReplica, Dim::kPipeline};
  /// By replica the size of kShard, where they are unlike; sizes[kShard] is then the largest, and kReplica is the last
  /// of the order. Empty: all are alike.
  std::vector<int> islands{};

  int size(Dim dimension) const { return sizes[static_cast<std::size_t>(dimension)]; }
  int& size(Dim dimension) { return sizes[static_cast<std::size_t>(dimension)]; }
  bool operator==(const Layout&) const = default;
};

/// An order as Megatron-LM's `order` has it, nearest first: "tp-cp-ep-dp-pp", "tp-pp-dp". `dp` is the ranks that share
/// experts, after them the shards and the replicas, so that experts are shared by the nearest data ranks, wherever `ep`
/// stands; what is left out comes last. Throws
/// std::invalid_argument where a word is unknown or there twice.
std::array<Dim, kDims> order_of(std::string_view text);
inline constexpr std::string_view kUsualOrder = "tp-cp-ep-dp-pp";

/// Sizes that multiply to the ranks; or islands of these many ranks, each of which the other sizes divide.
/// Preconditions: all sizes >= 1; with unlike islands kReplica is moved to the end of the order.
Layout layout_of(std::array<int, kDims> sizes, std::string_view order = kUsualOrder);
Layout islands_of(Layout each, const std::vector<int>& ranks);

int ranks_of(const Layout& layout);
/// Ranks of one model replica.
int model_ranks_of(const Layout& layout);

GridCoordinates coordinates_of(const Layout& layout, int rank);
int rank_at(const Layout& layout, const GridCoordinates& coordinates);
/// The rank's coordinate along the pipeline.
int stage_of(const Layout& layout, int rank);

/// The ranks that `rank` meets, itself among them, in the order of their coordinates (of a pair: the one that is before
/// first). With Pick::kNext and kPrevious two ranks, or one where the dimension has size 1. Where shards of unlike
/// islands meet, those that have its coordinate.
std::vector<int> members_of(const Layout& layout, const Ranks& ranks, int rank);
/// All groups of such ranks, each once, in the order of their first members; and by rank the index of its own, -1 where
/// it is none of the picked. Pairs are listed alike whoever looks: a rank's kNext group is the kPrevious one of the
/// next.
struct Groups {
  std::vector<std::vector<int>> members;
  std::vector<int> of_rank;
};
Groups groups_of(const Layout& layout, const Ranks& ranks);
/// How many ranks such a group has.
int size_of(const Layout& layout, const Ranks& ranks, int rank);

/// What is one island of the training: a GPU, a node, a node group, or the whole cluster.
enum class Island : std::uint8_t { kGpu, kNode, kGroup, kWorld };
template <>
inline constexpr const char* kNames<Island>[] = {"gpu", "node", "group", "world"};

/// In which order a stage does the micro-batches of a flight: all forward, then all backward; one forward, one
/// backward; the same with several chunks of the model on each stage.
enum class PipelineSchedule : std::uint8_t { kGpipe, kOneForwardOneBackward, kInterleaved };
template <>
inline constexpr const char* kNames<PipelineSchedule>[] = {"gpipe", "1f1b", "interleaved"};

/// How rows reach the ranks of their experts and come back (Megatron-LM's core/transformer/moe/token_dispatcher.py): by
/// NCCL's all-to-all; by a gather of all tokens and a sum of all results; by kernels that send a token once to each
/// node that it reaches, DeepEP's or HybridEP's.
enum class Dispatcher : std::uint8_t { kAllToAll, kAllGather, kDeepEp, kHybridEp };
template <>
inline constexpr const char* kNames<Dispatcher>[] = {"alltoall", "allgather", "deepep", "hybridep"};

/// Whether DeepEP's or HybridEP's kernels dispatch tokens, which cannot feed experts that are split by tensor.
constexpr bool sends_by_kernel(Dispatcher dispatcher) {
  return dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
}

/// How a step splits its model; the rest of the ranks is data.
struct Parallel {
  int tensor = 1, context = 1, pipeline = 1;
  int experts = 1;  ///< ranks that have the experts of a layer between them, each split as other tensors are
  /// Ranks that split tensors are among them, and each has its experts whole.
  bool whole_experts = false;
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool overlap_experts = false;   ///< exchanges of one micro-batch run beside what another computes the other way
  bool sequence = false;          ///< over kTensor: what lies between the split products is split along the sequence
  bool overlap_tensor = false;    ///< the collectives of split products are cut up and run beside their GEMMs
  bool overlap_messages = false;  ///< what stages send each other travels beside their computation
  /// Ranks that split tensors all have what stages send each other: each sends its slice, and they gather the slices
  /// where these arrive. Where sequences are split it has no more than a slice.
  bool scatter_gather = false;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int chunks = 1;             ///< of the model on each stage: Megatron-LM's virtual stages
  int group = 0;              ///< micro-batches that interleaved chunks take at once; 0: as many as there are stages
  std::vector<int> blocks{};  ///< of every chunk, in the order in which a micro-batch passes them; empty: equal
  bool blocks_by_speed =
      false;  ///< `blocks` are shared anew where devices are priced, so that no stage waits for a slow one
  std::array<Dim, kDims> order = Layout{}.order;  ///< in which ranks are numbered, the nearest first

  bool operator==(const Parallel&) const = default;
};

constexpr int model_ranks_of(const Parallel& parallel) {
  return parallel.tensor * parallel.context * parallel.pipeline;
}

/// Of the ranks that have a layer's experts between them those with other samples: the size of kExpert.
constexpr int expert_data_ranks(const Parallel& parallel) {
  return parallel.whole_experts ? parallel.experts / parallel.tensor : parallel.experts;
}

/// So many blocks in so many runs of them: equal, or the first ones have a block more.
std::vector<int> equal_blocks(int blocks, int runs);

/// Interleaved chunks take micro-batches in groups of so many: a flight has a multiple of them, and more follow it by
/// so many.
int micro_batches_apart(const Parallel& parallel);

/// The fewest micro-batches of a flight that more may follow, one by one or under the interleaved schedule in groups:
/// when the first stage has done its warm-up and one more. 0: none may (GPipe).
int least_open_flight(const Parallel& parallel);

/// The grid of a cluster's ranks with such islands. Islands that are GPUs or node groups hold whole model replicas; one
/// that is a node holds the shards of a stage where there are several, and all nodes are then alike. Throws
/// std::invalid_argument where the sizes do not divide.
Layout layout_of(const Cluster& cluster, Island island, const Parallel& parallel = {});

/// A site is a node group where these are apart, otherwise a node.
Island site_of(const Cluster& cluster);

/// Of so many elements, or of their bytes, each of `shards` equal parts.
template <typename Size>
constexpr Size shard_of(Size whole, int shards) {
  return whole / shards;
}

}  // namespace accosim
