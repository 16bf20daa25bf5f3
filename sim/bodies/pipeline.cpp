#include "sim/bodies/pipeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "sim/bodies/serial.hpp"

namespace accosim {
namespace {

int warm_up_of(const ModelShare& share, int micro_batches) {
  const int passes = micro_batches * share.chunks, behind = share.stages - share.stage - 1;
  if (share.schedule == PipelineSchedule::kGpipe) return passes;
  return std::min(passes, share.chunks == 1 ? behind : 2 * behind + (share.chunks - 1) * share.stages);
}

/// The k-th forward pass of a stage, or its k-th backward pass.
TablePass pass_of(const ModelShare& share, bool forward, int k) {
  if (share.chunks == 1) return {forward, 0, k};
  const int group = share.stages * share.chunks, chunk = k % group / share.stages;
  return {forward, forward ? chunk : share.chunks - 1 - chunk, k / group * share.stages + k % share.stages};
}

}  // namespace

PipelineTable pipeline_table(const ModelShare& share, int micro_batches) {
  if (share.chunks > 1 && micro_batches % share.stages != 0)
    throw std::invalid_argument("micro-batches that are no groups of the pipeline's size");
  PipelineTable table;
  table.warm_up = warm_up_of(share, micro_batches);
  const int all = micro_batches * share.chunks;
  for (int k = 0; k < table.warm_up; ++k) table.passes.push_back(pass_of(share, true, k));
  for (int k = 0; k < all; ++k) {
    if (table.warm_up + k < all) table.passes.push_back(pass_of(share, true, table.warm_up + k));
    table.passes.push_back(pass_of(share, false, k));
  }
  return table;
}

namespace {

using Passes = std::vector<TablePass>;

/// A table in a flight's parts.
struct Parts {
  Passes open, round, close;
  int opened = 0, a_round = 1;
};

/// Rounds are whole periods of pairs, as many of them on every stage. The first one has the longest warm-up.
Parts parts_of(const ModelShare& share, int micro_batches) {
  const PipelineTable table = pipeline_table(share, micro_batches);
  ModelShare first = share;
  first.stage = 0;
  const int a_round = share.chunks == 1 ? 1 : share.stages, period = a_round * share.chunks;
  // Under 1F1B the last round begins when the first stage has all but one warm-up behind it.
  const int rounds = (micro_batches * share.chunks - warm_up_of(first, micro_batches)) / period;
  if (rounds == 0) return {table.passes, {}, {}, micro_batches, a_round};
  const auto end = table.passes.end() - table.warm_up, begin = end - 2 * static_cast<std::ptrdiff_t>(period) * rounds;
  return {Passes(table.passes.begin(), begin), Passes(begin, begin + 2 * static_cast<std::ptrdiff_t>(period)),
          Passes(end, table.passes.end()), micro_batches - rounds * a_round, a_round};
}

/// Lanes of the body behind the computing one.
enum Lane { kSendForward = 1, kReceiveForward, kSendBackward, kReceiveBackward };

/// Whose messages a pass makes and needs: those of the neighbours along the pipeline; gradients have a communicator of
/// their own, since they may pass what goes the other way.
Ranks neighbour(Pick pick, bool forward) { return {over(Dim::kPipeline), pick, Grid::kTraining, forward ? 0 : 1}; }

class PipelineWriter {
 public:
  PipelineWriter(const RankKind& kind, const Parallel& parallel) : kind_(kind), overlaps_(parallel.overlap_messages) {
    int begin = 0;
    for (const int layers : kind.chunk_layers) {
      chunks_.push_back({static_cast<int>(chunks_.size()), begin, begin + layers});
      begin += layers;
    }
  }

  const std::vector<ChunkLayers>& chunks() const { return chunks_; }

  /// The passes of a round, which lists written later may follow.
  void set_round(const Passes& passes) { round_ = ends_of(passes); }
  /// `follows_rounds`: its first passes come behind those of a round.
  std::vector<Piece> write(const Passes& passes, bool follows_rounds) const;
  /// The last passes of `open` stand for those of the round before the first.
  void let_stand(std::vector<Piece>& open, const Passes& passes) const;

 private:
  /// Of a pass the indices of its last piece and of its send, -1 where it sends nothing.
  struct End {
    int computed = -1, sent = -1;
  };

  bool is_first(const TablePass& pass) const { return kind_.share.stage == 0 && pass.chunk == 0; }
  bool is_last(const TablePass& pass) const {
    return kind_.share.stage + 1 == kind_.share.stages && pass.chunk + 1 == kind_.share.chunks;
  }
  bool receives(const TablePass& pass) const { return pass.forward ? !is_first(pass) : !is_last(pass); }
  bool sends(const TablePass& pass) const { return pass.forward ? !is_last(pass) : !is_first(pass); }
  int layers_of(const TablePass& pass) const {
    const ChunkLayers& chunk = chunks_[static_cast<std::size_t>(pass.chunk)];
    return chunk.end - chunk.begin;
  }
  std::vector<End> ends_of(const Passes& passes) const;
  Piece message(const TablePass& pass, bool received) const;
  struct Place {
    const std::vector<End>& ends;
    int pass;
    bool follows_rounds;
  };
  void wait_behind(Piece& piece, const Place& place, int back, bool sent) const;

  const RankKind& kind_;
  const bool overlaps_;
  std::vector<ChunkLayers> chunks_;
  std::vector<End> round_;
};

/// A list is for each pass its receive, its layers, its send.
std::vector<PipelineWriter::End> PipelineWriter::ends_of(const Passes& passes) const {
  std::vector<End> ends;
  int next = 0;
  for (const TablePass& pass : passes) {
    next += (receives(pass) ? 1 : 0) + layers_of(pass);
    ends.push_back({next - 1, sends(pass) ? next : -1});
    next += sends(pass) ? 1 : 0;
  }
  return ends;
}

Piece PipelineWriter::message(const TablePass& pass, bool received) const {
  Piece piece;
  piece.pass = Pass::kMessage;
  piece.chunk = pass.chunk;
  piece.lane =
      pass.forward ? (received ? kReceiveForward : kSendForward) : (received ? kReceiveBackward : kSendBackward);
  piece.name = std::string(received ? "receive " : "send ") + (pass.forward ? "activations" : "gradients");
  const Pick pick = received == pass.forward ? Pick::kPrevious : Pick::kNext;
  piece.message = {CollectiveKind::kSend, kind_.message, 1, neighbour(pick, pass.forward), !pass.forward};
  return piece;
}

/// For the pass that is `back` passes before, or for what that sends; of the round before where the list has none.
void PipelineWriter::wait_behind(Piece& piece, const Place& place, int back, bool sent) const {
  const int of = place.pass - back;
  const bool here = of >= 0;
  if (!here && !place.follows_rounds) return;
  const int size = static_cast<int>(round_.size());
  const End& end = here ? place.ends[static_cast<std::size_t>(of)] : round_[static_cast<std::size_t>(size + of)];
  const int awaited = sent ? end.sent : end.computed;
  if (awaited >= 0) piece.waits.push_back({awaited, here ? 0 : 1});
}

std::vector<Piece> PipelineWriter::write(const Passes& passes, bool follows_rounds) const {
  const std::vector<End> ends = ends_of(passes);
  std::vector<Piece> list;
  for (int i = 0; i < static_cast<int>(passes.size()); ++i) {
    const TablePass& pass = passes[static_cast<std::size_t>(i)];
    const Place place{ends, i, follows_rounds};
    std::vector<Wait> waits;
    if (receives(pass)) {
      list.push_back(message(pass, true));
      wait_behind(list.back(), place, overlaps_ ? 2 : 1, false);
      waits.push_back({static_cast<int>(list.size()) - 1});
    }
    const std::size_t begin = list.size();
    add_pass(list, kind_, pass.forward ? Pass::kForward : Pass::kBackward,
             chunks_[static_cast<std::size_t>(pass.chunk)]);
    list[begin].waits = std::move(waits);
    if (!overlaps_) wait_behind(list[begin], place, 1, true);
    if (!sends(pass)) continue;
    list.push_back(message(pass, false));
    list.back().waits.push_back({static_cast<int>(list.size()) - 2});
  }
  return list;
}

void PipelineWriter::let_stand(std::vector<Piece>& open, const Passes& passes) const {
  const std::vector<End> ends = ends_of(passes);
  for (std::size_t back = 1; back <= std::min(ends.size(), round_.size()); ++back) {
    const End &here = ends[ends.size() - back], &there = round_[round_.size() - back];
    open[static_cast<std::size_t>(here.computed)].stands_for = there.computed;
    if (here.sent >= 0 && there.sent >= 0) open[static_cast<std::size_t>(here.sent)].stands_for = there.sent;
  }
}

std::vector<Chunk> chunks_of(const RankKind& kind, const std::vector<ChunkLayers>& chunks) {
  std::vector<Chunk> all;
  for (const ChunkLayers& each : chunks) {
    const std::vector<LayerTime> times(kind.times.begin() + each.begin, kind.times.begin() + each.end);
    const std::vector<LayerWork> works(kind.works->begin() + each.begin, kind.works->begin() + each.end);
    Chunk chunk{Seconds{0}, Seconds{0}, total_work(times, works)};
    for (const LayerTime& time : times) {
      chunk.forward += time.forward;
      chunk.backward += time.backward;
    }
    all.push_back(chunk);
  }
  return all;
}

}  // namespace

Body pipeline_body(const RankKind& kind, const Ranks& copies, const Parallel& parallel, int micro_batches) {
  PipelineWriter writer(kind, parallel);
  const Parts parts = parts_of(kind.share, micro_batches);
  Body body;
  body.lanes = {"compute", "send activations", "receive activations", "send gradients", "receive gradients"};
  body.sets = layer_sets(kind.times, copies);
  body.chunks = chunks_of(kind, writer.chunks());
  body.opened = parts.opened;
  body.a_round = parts.a_round;
  body.replica = Ranks{kOneModel};
  writer.set_round(parts.round);
  body.open = writer.write(parts.open, false);
  writer.let_stand(body.open, parts.open);
  body.round = writer.write(parts.round, true);
  body.close = writer.write(parts.close, true);
  return body;
}

}  // namespace accosim
