#include "sim/explain/split_costs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "sim/explain/played_spans.hpp"

namespace accosim {
namespace {

enum Along : std::uint8_t { kTensors, kContexts, kPipelines, kData, kSeveral };
constexpr int kAlong = 5;
constexpr std::array<const char*, kAlong> kAlongNames = {"tensor", "context", "pipeline", "data", "all"};

/// Dimensions of one rank do not count.
Along along_of(const Layout& layout, const Ranks& ranks) {
  Dims dims;
  for (int d = 0; d < kDims; ++d)
    if (const auto dim = static_cast<Dim>(d); ranks.dims.has(dim) && layout.sizes[d] > 1) dims.bits |= over(dim).bits;
  if (dims == over(Dim::kTensor)) return kTensors;
  if (dims == over(Dim::kContext)) return kContexts;
  if (dims == over(Dim::kPipeline)) return kPipelines;
  return (dims & kAllData) == dims ? kData : kSeveral;
}

/// What a rank did in its last update.
struct RankTime {
  double from = 0, to = 0;
  Stretches passes{}, busy{};
  std::array<Stretches, kAlong> communicating{};
  std::vector<double> rounds{};  // where one ends
  std::vector<CountedTimes> counted{};
  std::vector<Span> others{};  // beside passes
};

void add(RankTime& rank, const SteadyPlay& play, const Span& span) {
  const EventGraph& graph = play.folded.graph;
  const Stretch stretch{span.begin.value, end_of(span)};
  switch (graph.labels[span.label].cls) {
    case OpClass::kForward:
    case OpClass::kBackward:
      rank.passes.push_back(stretch);
      rank.busy.push_back(stretch);
      return;
    case OpClass::kCommunication: {
      const Along along = along_of(play.costs->layout, graph.requests[op_of(graph, span).plan].ranks);
      rank.communicating[along].push_back(stretch);
      break;
    }
    case OpClass::kCounted: rank.counted.push_back(counted_of(span)); return;
    case OpClass::kMark: return;
    case OpClass::kPause:
    case OpClass::kOffload: break;
    default: rank.busy.push_back(stretch);
  }
  rank.others.push_back(span);
}

std::vector<RankTime> times_of(const SteadyPlay& play) {
  std::vector<RankTime> ranks;
  for (const auto& [from, to] : last_updates(play)) ranks.push_back({.from = from, .to = to});
  for (const Span& span : play.spans) {
    RankTime& rank = ranks[span.rank];
    if (play.folded.graph.labels[span.label].mark == Mark::kNone)
      add(rank, play, span);
    else
      rank.rounds.push_back(span.end.value);
  }
  return ranks;
}

/// Sums over [from, to], and what stands there for repetitions that were counted.
template <typename Length>
double with_counted(const RankTime& rank, const Length& length_of) {
  double sum = length_of(rank.from, rank.to);
  for (const CountedTimes& each : rank.counted)
    if (each.from >= rank.from && each.to <= rank.to) sum += each.times * length_of(each.from, each.to);
  return sum;
}

double computing(const RankTime& rank) {
  return with_counted(rank, [&](double from, double to) { return length(merged(rank.passes, from, to)); });
}

/// From the first pass of each round to its last.
Stretches flights_of(const RankTime& rank) {
  std::vector<double> ends = rank.rounds;
  std::ranges::sort(ends);
  Stretches flights;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] <= rank.from || ends[i] > rank.to) continue;
    const Stretches passes = merged(rank.passes, std::max(ends[i - 1], rank.from), ends[i]);
    if (!passes.empty()) flights.emplace_back(passes.front().first, passes.back().second);
  }
  return flights;
}

Stretches outside(const Stretches& flights, const RankTime& rank) {
  Stretches rest;
  double at = rank.from;
  for (const Stretch& flight : flights) {
    rest.emplace_back(at, flight.first);
    at = flight.second;
  }
  rest.emplace_back(at, rank.to);
  return rest;
}

/// Weighted sums over ranks, by what they are called.
using Parts = std::map<std::string, double>;

/// What goes on in the stretches: each moment counts once, for what the GPU does before what it sends.
void add_parts(Parts& parts, const SteadyPlay& play, const RankTime& rank, const Stretches& rest, double share) {
  const auto is_sent = [&](const Span& span) {
    const OpClass cls = play.folded.graph.labels[span.label].cls;
    return cls == OpClass::kCommunication || cls == OpClass::kOffload;
  };
  std::vector<Span> spans = rank.others;
  std::stable_partition(spans.begin(), spans.end(), [&](const Span& span) { return !is_sent(span); });
  double idle = 0;
  for (const Stretch& stretch : rest) {
    Stretches so_far;
    double before = 0;
    for (const Span& span : spans) {
      if (end_of(span) <= stretch.first || span.begin.value >= stretch.second) continue;
      so_far.emplace_back(span.begin.value, end_of(span));
      so_far = merged(std::move(so_far), stretch.first, stretch.second);
      parts[play.folded.graph.labels[span.label].name] += share * (length(so_far) - before);
      before = length(so_far);
    }
    idle += stretch.second - stretch.first - before;
  }
  parts[kWaitingForRanks] += share * idle;
}

/// What collectives in the layers of a micro-batch take, were nothing beside them, and the gathers of what arrives
/// there from other stages.
Seconds collectives_in_layers(const Costs& costs, const RankKind& kind) {
  Seconds sum;
  if (kind.share.tensor == 1 && kind.share.experts == 1) return sum;
  const auto time = [&](const TensorMessage& message) {
    return price_of_message(costs, message, ring_of_message(costs, message, kind.first_rank)).time;
  };
  for (const BilledLayer& layer : kind.bill->layers)
    for (const BilledOperator& op : layer.operators)
      for (const TensorMessage& message : op.messages) sum += static_cast<double>(layer.times()) * time(message);
  if (kind.gathered == Bytes{0}) return sum;
  const int ends = (kind.share.stage == 0 ? 1 : 0) + (kind.share.stage + 1 == kind.share.stages ? 1 : 0);
  return sum + (2.0 * kind.share.chunks - ends) * time({CollectiveKind::kAllGather, kind.gathered});
}

int ranks_along(const Layout& layout, int along) {
  switch (along) {
    case kTensors: return layout.size(Dim::kTensor);
    case kContexts: return layout.size(Dim::kContext);
    case kPipelines: return layout.size(Dim::kPipeline);
    case kData: return ranks_of(layout) / layout.size(Dim::kTensor) / layout.size(Dim::kPipeline);
    default: return ranks_of(layout);
  }
}

class Costing {
 public:
  explicit Costing(const SteadyPlay& play) : play_(play), ranks_(times_of(play)) {}

  SplitCosts costs() {
    SplitCosts costs;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      costs.update_time += Seconds{share(r) * (ranks_[r].to - ranks_[r].from)};
    add_tail(costs);
    add_pipeline(costs);
    add_dimensions(costs);
    return costs;
  }

 private:
  const RankKind& kind(std::size_t rank) const { return play_.costs->kinds[play_.folded.graph.ranks[rank].program]; }
  double count(std::size_t rank) const { return play_.folded.graph.ranks[rank].multiplicity; }
  double share(std::size_t rank) const { return count(rank) / play_.costs->ranks(); }

  void add_tail(SplitCosts& costs) {
    double firsts = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (kind(r).share.stage == 0) firsts += count(r);
    Parts parts;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (kind(r).share.stage > 0) continue;
      const Stretches flights = flights_of(ranks_[r]);
      const Stretches rest = outside(flights, ranks_[r]);
      costs.tail += Seconds{count(r) / firsts * length(rest)};
      add_parts(parts, play_, ranks_[r], rest, count(r) / firsts);
      flights_ = std::max(flights_, static_cast<int>(flights.size()));
      micro_batches_ += count(r) / firsts * play_.measured.ranks[r].micro_batches_per_update;
    }
    const double nothing = 1e-9 * costs.update_time.value;
    for (const auto& [name, seconds] : parts)
      if (seconds > nothing) costs.tail_parts.emplace_back(name, Seconds{seconds});
    std::ranges::stable_sort(costs.tail_parts, [](const auto& a, const auto& b) { return a.second > b.second; });
  }

  void add_pipeline(SplitCosts& costs) const {
    const Parallel& parallel = play_.costs->parallel;
    if (parallel.pipeline == 1) return;
    PipelineTime pipeline{.parallel = parallel, .flights = flights_, .micro_batches = micro_batches_};
    pipeline.stages.resize(static_cast<std::size_t>(parallel.pipeline));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      StageTime& stage = pipeline.stages[kind(r).share.stage];
      stage.ranks += static_cast<int>(count(r));
      stage.computing += Seconds{count(r) * computing(ranks_[r])};
    }
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
      StageTime& stage = pipeline.stages[s];
      stage.stage = static_cast<int>(s);
      stage.computing = stage.computing / stage.ranks;
      stage.bubble = costs.update_time - costs.tail - stage.computing;
      pipeline.computing += stage.computing / parallel.pipeline;
      pipeline.bubble += stage.bubble / parallel.pipeline;
    }
    pipeline.closed_form = closed_share(pipeline) * pipeline.computing;
    costs.pipeline = std::move(pipeline);
  }

  void add_dimensions(SplitCosts& costs) {
    for (int along = 0; along < kAlong; ++along) {
      DimensionTime dimension{kAlongNames[along], ranks_along(play_.costs->layout, along), {}, {}};
      for (std::size_t r = 0; r < ranks_.size(); ++r) add_spans(dimension, static_cast<Along>(along), r);
      if (along == kTensors) add_layers(dimension);
      if (dimension.takes > Seconds{0}) costs.dimensions.push_back(dimension);
    }
  }

  void add_spans(DimensionTime& dimension, Along along, std::size_t r) const {
    const RankTime& rank = ranks_[r];
    const Stretches& sent = rank.communicating[along];
    dimension.takes +=
        Seconds{share(r) * with_counted(rank, [&](double from, double to) { return length(merged(sent, from, to)); })};
    dimension.bare += Seconds{share(r) * with_counted(rank, [&](double from, double to) {
                                const Stretches all = merged(sent, from, to);
                                return length(all) - common(all, merged(rank.busy, from, to));
                              })};
  }

  /// The collectives that passes are priced with.
  void add_layers(DimensionTime& dimension) const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const double times = share(r) * play_.measured.ranks[r].micro_batches_per_update;
      const Seconds bare = kind(r).forward_waits + kind(r).backward_waits;
      dimension.takes += times * std::max(bare, collectives_in_layers(*play_.costs, kind(r)));
      dimension.bare += times * bare;
    }
  }

  const SteadyPlay& play_;
  std::vector<RankTime> ranks_;
  int flights_ = 1;
  double micro_batches_ = 0;
};

}  // namespace

double closed_share(const PipelineTime& pipeline) {
  return pipeline.flights * (pipeline.parallel.pipeline - 1.0) / (pipeline.parallel.chunks * pipeline.micro_batches);
}

std::optional<SplitCosts> split_costs(const SteadyPlay& play) {
  if (model_ranks_of(play.costs->layout) == 1 || play.folded.graph.updates_per_mark > 1) return std::nullopt;
  return Costing(play).costs();
}

}  // namespace accosim
