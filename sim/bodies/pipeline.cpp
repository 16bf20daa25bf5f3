#include "sim/bodies/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/bodies/serial.hpp"

namespace accosim {
namespace {

int warm_up_of(const ModelShare& share, int micro_batches) {
  const int passes = micro_batches * share.chunks, behind = share.stages - share.stage - 1;
  if (share.schedule == PipelineSchedule::kGpipe) return passes;
  return std::min(passes, share.chunks == 1 ? behind : 2 * behind + (share.chunks - 1) * group_of(share));
}

/// The k-th forward pass of a stage, or its k-th backward pass.
TablePass pass_of(const ModelShare& share, bool forward, int k) {
  if (share.chunks == 1) return {forward, 0, k};
  const int apart = group_of(share), group = apart * share.chunks, chunk = k % group / apart;
  return {forward, forward ? chunk : share.chunks - 1 - chunk, k / group * apart + k % apart};
}

}  // namespace

PipelineTable pipeline_table(const ModelShare& share, int micro_batches) {
  if (share.chunks > 1 && micro_batches % group_of(share) != 0)
    throw std::invalid_argument(
        fmt::format("{} micro-batches that are no whole groups of {}", micro_batches, group_of(share)));
  PipelineTable table{.warm_up = warm_up_of(share, micro_batches)};
  const int all = micro_batches * share.chunks;
  for (int k = 0; k < table.warm_up; ++k) table.passes.push_back(pass_of(share, true, k));
  for (int k = 0; k < all; ++k) {
    if (table.warm_up + k < all) table.passes.push_back(pass_of(share, true, table.warm_up + k));
    table.passes.push_back(pass_of(share, false, k));
    table.passes.back().joined = share.chunks > 1 && table.warm_up + k < all;
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
  const int a_round = share.chunks == 1 ? 1 : group_of(share), period = a_round * share.chunks;
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

/// The list of a unit, which is a pass or joined ones: what it receives, its passes' layers, what it sends.
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
  void set_round(const Passes& passes) { round_ = units_of(passes); }
  std::vector<Piece> write_open(const Passes& passes) const;
  std::vector<Piece> write_round(const Passes& passes) const { return write(units_of(passes), true); }
  std::vector<Piece> write_close(const Passes& passes) const;

 private:
  struct Unit {
    Passes passes;
    int computed = -1;        // its last piece that computes
    std::vector<int> sent{};  // its messages
  };
  using Units = std::vector<Unit>;

  bool is_first(const TablePass& pass) const { return kind_.share.stage == 0 && pass.chunk == 0; }
  bool is_last(const TablePass& pass) const {
    return kind_.share.stage + 1 == kind_.share.stages && pass.chunk + 1 == kind_.share.chunks;
  }
  bool receives(const TablePass& pass) const { return pass.forward ? !is_first(pass) : !is_last(pass); }
  bool sends(const TablePass& pass) const { return pass.forward ? !is_last(pass) : !is_first(pass); }
  const ChunkLayers& layers_of(const TablePass& pass) const { return chunks_[static_cast<std::size_t>(pass.chunk)]; }
  Units units_of(const Passes& passes) const;
  Piece message(const TablePass& pass, bool received) const;
  void add_unit(std::vector<Piece>& list, const Unit& unit, const std::vector<Wait>& room,
                std::vector<Wait> waits) const;
  /// `follows_rounds`: its first units come behind those of a round.
  std::vector<Piece> write(const Units& units, bool follows_rounds) const;

  const RankKind& kind_;
  const bool overlaps_;
  std::vector<ChunkLayers> chunks_;
  Units round_;
};

PipelineWriter::Units PipelineWriter::units_of(const Passes& passes) const {
  Units units;
  for (const TablePass& pass : passes)
    if (pass.joined && !overlaps_)
      units.back().passes.push_back(pass);
    else
      units.push_back({{pass}});
  int next = 0;
  for (Unit& unit : units) {
    for (const TablePass& pass : unit.passes)
      next += (receives(pass) ? 1 : 0) + layers_of(pass).end - layers_of(pass).begin;
    unit.computed = next - 1;
    for (const TablePass& pass : unit.passes)
      if (sends(pass)) unit.sent.push_back(next++);
  }
  return units;
}

Piece PipelineWriter::message(const TablePass& pass, bool received) const {
  Piece piece{.pass = Pass::kMessage,
              .lane = pass.forward ? (received ? kReceiveForward : kSendForward)
                                   : (received ? kReceiveBackward : kSendBackward),
              .chunk = pass.chunk,
              .name = std::string(received ? "receive " : "send ") + (pass.forward ? "activations" : "gradients")};
  const Pick pick = received == pass.forward ? Pick::kPrevious : Pick::kNext;
  piece.message = {CollectiveKind::kSend, kind_.message, 1, neighbour(pick, pass.forward), !pass.forward};
  return piece;
}

/// `room`: what its receives wait for; `waits`: what its first pass does, beside them.
void PipelineWriter::add_unit(std::vector<Piece>& list, const Unit& unit, const std::vector<Wait>& room,
                              std::vector<Wait> waits) const {
  for (const TablePass& pass : unit.passes) {
    if (!receives(pass)) continue;
    waits.push_back({static_cast<int>(list.size())});
    list.push_back(message(pass, true));
    list.back().waits = room;
  }
  const std::size_t begin = list.size();
  for (const TablePass& pass : unit.passes)
    add_pass(list, kind_, pass.forward ? Pass::kForward : Pass::kBackward, layers_of(pass));
  list[begin].waits = std::move(waits);
  const int computed = static_cast<int>(list.size()) - 1;
  for (const TablePass& pass : unit.passes) {
    if (!sends(pass)) continue;
    list.push_back(message(pass, false));
    list.back().waits = {{computed}};
  }
}

std::vector<Piece> PipelineWriter::write(const Units& units, bool follows_rounds) const {
  const int size = static_cast<int>(units.size()), round = static_cast<int>(round_.size());
  std::vector<Piece> list;
  for (int i = 0; i < size; ++i) {
    std::vector<Wait> room, waits;
    if (const int of = i - (overlaps_ ? 2 : 1); of >= 0)
      room = {{units[of].computed}};
    else if (follows_rounds)
      room = {{round_[round + of].computed, 1}};
    if (!overlaps_ && (i > 0 || follows_rounds)) {
      const int back = i > 0 ? 0 : 1;
      const Unit& before = i > 0 ? units[i - 1] : round_.back();
      for (const int sent : before.sent) waits.push_back({sent, back});
      // What `open` has sent last then stands for the pass.
      if (before.sent.empty() && back > 0) waits.push_back({before.computed, back});
    }
    add_unit(list, units[i], room, std::move(waits));
  }
  return list;
}

/// Its last units stand for those of the round before the first.
std::vector<Piece> PipelineWriter::write_open(const Passes& passes) const {
  const Units units = units_of(passes);
  std::vector<Piece> list = write(units, false);
  for (std::size_t back = 1; back <= std::min(units.size(), round_.size()); ++back)
    list[static_cast<std::size_t>(units[units.size() - back].computed)].stands_for =
        round_[round_.size() - back].computed;
  if (overlaps_ || units.empty() || round_.empty()) return list;
  const Unit &here = units.back(), &there = round_.back();
  for (std::size_t back = 1; back <= here.sent.size(); ++back)
    list[static_cast<std::size_t>(here.sent[here.sent.size() - back])].stands_for =
        back <= there.sent.size() ? there.sent[there.sent.size() - back] : there.computed;
  return list;
}

std::vector<Piece> PipelineWriter::write_close(const Passes& passes) const {
  std::vector<Piece> list = write(units_of(passes), !round_.empty());
  // When the rounds have ended is known, and not when the last pass but one has.
  if (overlaps_ && !list.empty() && list[0].pass == Pass::kMessage) list[0].waits = {{round_.back().computed, 1}};
  return list;
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

/// Ends of a pipeline have nobody to exchange some messages with.
void drop_unused_lanes(Body& body) {
  std::vector<int> number(body.lanes.size(), -1);
  number[0] = 0;
  for (const std::vector<Piece>* list : {&body.open, &body.round, &body.close})
    for (const Piece& piece : *list) number[piece.lane] = 0;
  std::vector<std::string> used;
  for (std::size_t lane = 0; lane < number.size(); ++lane) {
    if (number[lane] < 0) continue;
    number[lane] = static_cast<int>(used.size());
    used.push_back(body.lanes[lane]);
  }
  for (std::vector<Piece>* list : {&body.open, &body.round, &body.close})
    for (Piece& piece : *list) piece.lane = number[piece.lane];
  body.lanes = std::move(used);
}

}  // namespace

Body pipeline_body(const RankKind& kind, const Ranks& copies, const Parallel& parallel, int micro_batches) {
  PipelineWriter writer(kind, parallel);
  const Parts parts = parts_of(kind.share, micro_batches);
  Body body{.lanes = {"compute", "send activations", "receive activations", "send gradients", "receive gradients"},
            .sets = layer_sets(kind.times, copies, has_own_experts(kind)),
            .chunks = chunks_of(kind, writer.chunks()),
            .opened = parts.opened,
            .a_round = parts.a_round,
            .replica = Ranks{kOneModel}};
  writer.set_round(parts.round);
  body.open = writer.write_open(parts.open);
  body.round = writer.write_round(parts.round);
  body.close = writer.write_close(parts.close);
  drop_unused_lanes(body);
  return body;
}

}  // namespace accosim
