// Numbering goes by mixed radix along the order, as Megatron-LM's RankGenerator (megatron/core/parallel_state.py) has
// it; unlike islands are blocks of their own, one after the other.
#include "models/spec/parallel.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

int at(const GridCoordinates& coordinates, Dim dimension) { return coordinates[static_cast<std::size_t>(dimension)]; }
int& at(GridCoordinates& coordinates, Dim dimension) { return coordinates[static_cast<std::size_t>(dimension)]; }

bool is_unlike(const Layout& layout) { return !layout.islands.empty(); }

/// Of the dimension, where `of` is: the shards of unlike islands differ.
int size_at(const Layout& layout, Dim dimension, const GridCoordinates& of) {
  if (is_unlike(layout) && dimension == Dim::kShard)
    return layout.islands[static_cast<std::size_t>(at(of, Dim::kReplica))];
  return layout.size(dimension);
}

/// Ranks of an island of so many shards, one of them all model ranks.
int ranks_in(const Layout& layout, int shards) { return shards * layout.size(Dim::kExpert) * model_ranks_of(layout); }

void put_last(Layout& layout, Dim dimension) {
  const auto place = std::ranges::find(layout.order, dimension);
  std::rotate(place, place + 1, layout.order.end());
}

/// Moves on to the next coordinates in the order of ranks.
void step(const Layout& layout, GridCoordinates& coordinates) {
  for (const Dim dimension : layout.order) {
    int& here = at(coordinates, dimension);
    if (++here < size_at(layout, dimension, coordinates)) return;
    here = 0;
  }
}

std::vector<GridCoordinates> all_coordinates(const Layout& layout) {
  std::vector<GridCoordinates> all(static_cast<std::size_t>(ranks_of(layout)));
  GridCoordinates here{};
  for (GridCoordinates& each : all) {
    each = here;
    step(layout, here);
  }
  return all;
}

/// The only dimension of a pick that goes along one.
Dim only(const Ranks& ranks) {
  for (int d = 0; d < kDims; ++d)
    if (ranks.dims == over(static_cast<Dim>(d))) return static_cast<Dim>(d);
  throw std::invalid_argument("a pick goes along one dimension");
}

/// Every other coordinate the same, along one dimension these.
std::vector<int> along(const Layout& layout, GridCoordinates from, Dim dimension, const std::vector<int>& places) {
  std::vector<int> ranks;
  for (const int place : places) {
    at(from, dimension) = place;
    ranks.push_back(rank_at(layout, from));
  }
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// All combinations of the dimensions' coordinates, which exist in every island that is met.
std::vector<int> all_along(const Layout& layout, const GridCoordinates& from, Dims dims) {
  std::vector<int> ranks;
  GridCoordinates here = from;
  for (const Dim dimension : layout.order)
    if (dims.has(dimension)) at(here, dimension) = 0;
  const auto next = [&] {
    for (const Dim dimension : layout.order) {
      if (!dims.has(dimension)) continue;
      int& place = at(here, dimension);
      if (++place < size_at(layout, dimension, here)) return true;
      place = 0;
    }
    return false;
  };
  do {
    // Shards that stand alone meet those of their place in the islands that have one.
    if (at(here, Dim::kShard) < size_at(layout, Dim::kShard, here)) ranks.push_back(rank_at(layout, here));
  } while (next());
  return ranks;
}

std::vector<int> members_at(const Layout& layout, const Ranks& ranks, const GridCoordinates& from) {
  if (ranks.pick == Pick::kAll) return all_along(layout, from, ranks.dims);
  const Dim dimension = only(ranks);
  const int size = size_at(layout, dimension, from), here = at(from, dimension);
  switch (ranks.pick) {
    case Pick::kNext: return along(layout, from, dimension, {here, (here + 1) % size});
    case Pick::kPrevious: return along(layout, from, dimension, {(here + size - 1) % size, here});
    default: return along(layout, from, dimension, {0, size - 1});
  }
}

}  // namespace

std::array<Dim, kDims> order_of(std::string_view text) {
  std::vector<Dim> order;
  const auto add = [&](Dim dimension) {
    if (std::ranges::find(order, dimension) != order.end())
      throw std::invalid_argument("a dimension is twice in the order " + std::string(text));
    order.push_back(dimension);
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (word == "tp")
      add(Dim::kTensor);
    else if (word == "cp")
      add(Dim::kContext);
    else if (word == "pp")
      add(Dim::kPipeline);
    else if (word == "dp")
      add(Dim::kExpert), add(Dim::kShard), add(Dim::kReplica);
    else if (word != "ep")
      throw std::invalid_argument("\"" + std::string(word) + "\" is no dimension; an order is written \"" +
                                  std::string(kUsualOrder) + "\"");
    begin = end + 1;
  }
  for (int d = 0; d < kDims; ++d)
    if (std::ranges::find(order, static_cast<Dim>(d)) == order.end()) order.push_back(static_cast<Dim>(d));
  std::array<Dim, kDims> all{};
  std::ranges::copy(order, all.begin());
  return all;
}

Layout layout_of(std::array<int, kDims> sizes, std::string_view order) { return {sizes, order_of(order), {}}; }

Layout islands_of(Layout each, const std::vector<int>& ranks) {
  const int least = ranks_in(each, 1);
  std::vector<int> shards;
  for (const int size : ranks) {
    if (size < least || size % least != 0) throw std::invalid_argument("an island holds no whole model replicas");
    shards.push_back(size / least);
  }
  each.size(Dim::kReplica) = static_cast<int>(shards.size());
  each.size(Dim::kShard) = *std::ranges::max_element(shards);
  if (std::adjacent_find(shards.begin(), shards.end(), std::not_equal_to<>()) != shards.end()) {
    put_last(each, Dim::kReplica);
    each.islands = std::move(shards);
  }
  return each;
}

int model_ranks_of(const Layout& layout) {
  return layout.size(Dim::kTensor) * layout.size(Dim::kContext) * layout.size(Dim::kPipeline);
}

int ranks_of(const Layout& layout) {
  if (!is_unlike(layout)) return ranks_in(layout, layout.size(Dim::kShard)) * layout.size(Dim::kReplica);
  return sum_of<int>(layout.islands, [&](const int shards) { return ranks_in(layout, shards); });
}

GridCoordinates coordinates_of(const Layout& layout, int rank) {
  GridCoordinates coordinates{};
  for (std::size_t i = 0; i < layout.islands.size(); ++i) {
    const int here = ranks_in(layout, layout.islands[i]);
    if (rank < here) break;
    rank -= here;
    at(coordinates, Dim::kReplica) = static_cast<int>(i) + 1;
  }
  for (const Dim dimension : layout.order) {
    if (is_unlike(layout) && dimension == Dim::kReplica) continue;  // the block that it is in
    const int size = size_at(layout, dimension, coordinates);
    at(coordinates, dimension) = rank % size;
    rank /= size;
  }
  return coordinates;
}

int rank_at(const Layout& layout, const GridCoordinates& coordinates) {
  int rank = 0, stride = 1;
  for (const Dim dimension : layout.order) {
    if (is_unlike(layout) && dimension == Dim::kReplica) continue;
    rank += stride * at(coordinates, dimension);
    stride *= size_at(layout, dimension, coordinates);
  }
  for (int i = 0; is_unlike(layout) && i < at(coordinates, Dim::kReplica); ++i)
    rank += ranks_in(layout, layout.islands[static_cast<std::size_t>(i)]);
  return rank;
}

int stage_of(const Layout& layout, int rank) { return at(coordinates_of(layout, rank), Dim::kPipeline); }

std::vector<int> members_of(const Layout& layout, const Ranks& ranks, int rank) {
  return members_at(layout, ranks, coordinates_of(layout, rank));
}

namespace {

/// A pair for each rank: itself and the next. The one before sees it as its own, the one after as that of the previous.
Groups pairs_of(const Layout& layout, const Ranks& ranks) {
  Groups pairs;
  pairs.of_rank.resize(static_cast<std::size_t>(ranks_of(layout)));
  Ranks next = ranks;
  next.pick = Pick::kNext;
  for (std::size_t rank = 0; rank < pairs.of_rank.size(); ++rank) {
    pairs.members.push_back(members_of(layout, next, static_cast<int>(rank)));
    const int seen_by = ranks.pick == Pick::kNext ? pairs.members.back().front() : pairs.members.back().back();
    pairs.of_rank[static_cast<std::size_t>(seen_by)] = static_cast<int>(rank);
  }
  return pairs;
}

}  // namespace

Groups groups_of(const Layout& layout, const Ranks& ranks) {
  if (ranks.pick == Pick::kNext || ranks.pick == Pick::kPrevious) return pairs_of(layout, ranks);
  Groups groups;
  groups.of_rank.assign(static_cast<std::size_t>(ranks_of(layout)), -1);
  const std::vector<GridCoordinates> all = all_coordinates(layout);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (groups.of_rank[rank] >= 0) continue;
    std::vector<int> members = members_at(layout, ranks, all[rank]);
    if (std::ranges::find(members, static_cast<int>(rank)) == members.end()) continue;
    for (const int member : members)
      groups.of_rank[static_cast<std::size_t>(member)] = static_cast<int>(groups.members.size());
    groups.members.push_back(std::move(members));
  }
  return groups;
}

int size_of(const Layout& layout, const Ranks& ranks, int rank) {
  if (ranks.pick != Pick::kAll || is_unlike(layout)) return static_cast<int>(members_of(layout, ranks, rank).size());
  int size = 1;
  for (int d = 0; d < kDims; ++d)
    if (ranks.dims.has(static_cast<Dim>(d))) size *= layout.sizes[static_cast<std::size_t>(d)];
  return size;
}

namespace {

/// Nodes of so many ranks each, whose ranks are all of one stage: its shards are those of the node.
Layout stages_of_nodes(Layout layout, const std::vector<int>& nodes, int all) {
  const int in_stage = layout.size(Dim::kTensor) * layout.size(Dim::kContext) * layout.size(Dim::kExpert),
            here = nodes.front();
  const bool alike = std::ranges::all_of(nodes, [&](int ranks) { return ranks == here; });
  if (!alike || here % in_stage != 0 || all % (here * layout.size(Dim::kPipeline)) != 0)
    throw std::invalid_argument("nodes hold no whole shards of a stage");
  layout.size(Dim::kShard) = here / in_stage;
  layout.size(Dim::kReplica) = all / (here * layout.size(Dim::kPipeline));
  return layout;
}

}  // namespace

std::vector<int> equal_blocks(int blocks, int runs) {
  std::vector<int> shares(static_cast<std::size_t>(runs), blocks / runs);
  std::fill_n(shares.begin(), blocks % runs, blocks / runs + 1);
  return shares;
}

int micro_batches_apart(const Parallel& parallel) {
  if (parallel.schedule != PipelineSchedule::kInterleaved) return 1;
  return parallel.group > 0 ? parallel.group : parallel.pipeline;
}

int least_open_flight(const Parallel& parallel) {
  const int stages = parallel.pipeline, chunks = parallel.chunks;
  if (stages == 1) return 1;
  switch (parallel.schedule) {
    case PipelineSchedule::kGpipe: return 0;
    case PipelineSchedule::kOneForwardOneBackward: return stages;
    case PipelineSchedule::kInterleaved: break;
  }
  const int apart = micro_batches_apart(parallel), group = apart * chunks;
  const int passes = 2 * (stages - 1) + (chunks - 1) * apart + group;
  return (passes + group - 1) / group * apart;
}

Layout layout_of(const Cluster& cluster, Island island, const Parallel& parallel) {
  Layout layout{.order = parallel.order};
  layout.size(Dim::kTensor) = parallel.tensor;
  layout.size(Dim::kContext) = parallel.context;
  layout.size(Dim::kExpert) = expert_data_ranks(parallel);
  layout.size(Dim::kPipeline) = parallel.pipeline;
  std::vector<int> ranks;
  int all = 0;
  for (const NodeGroup& group : cluster.nodes) {
    const int here = group.count * group.gpus;
    if (island == Island::kGroup) ranks.push_back(here);
    if (island == Island::kNode) ranks.insert(ranks.end(), static_cast<std::size_t>(group.count), group.gpus);
    all += here;
  }
  const int model = model_ranks_of(layout);
  if (all % model != 0) throw std::invalid_argument("the ranks are no whole model replicas");
  if (island == Island::kWorld) ranks = {all};
  if (island == Island::kGpu) ranks.assign(static_cast<std::size_t>(all / model), model);
  if (island == Island::kNode && parallel.pipeline > 1) return stages_of_nodes(layout, ranks, all);
  layout = islands_of(layout, ranks);
  if (island == Island::kGroup) put_last(layout, Dim::kReplica);
  return layout;
}

Island site_of(const Cluster& cluster) {
  return cluster.fabric.between_groups.has_value() ? Island::kGroup : Island::kNode;
}

}  // namespace accosim
