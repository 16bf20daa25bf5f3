// What schedules write their programs with: op after op on named lanes, waits for earlier ops, loops around bodies; and
// the tables of labels and of collectives that all programs of a graph share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

/// A loop in full; the fields are those of Loop.
struct NewLoop {
  std::vector<int> lanes;  ///< the first decides
  int min = 1;
  OpRef until{-1, 0};
  int stride = 1;
  std::optional<Ranks> decided_by{};  ///< the group whose first member decides; none: the rank by itself
  bool runs_on = false;
  std::vector<OpRef> waits{};  ///< of every lane, before it enters
  std::string
      counted{};  ///< what equal repetitions are called that are counted instead of played; empty: all are played
};

/// Shared by the programs of one graph: the same name or request always gives the same index.
struct Tables {
  std::vector<Label> labels;
  std::vector<PlanRequest> plans;
  std::vector<Ranks> slots{Ranks{}};  ///< the groups of a rank, all of the data dimension first

  std::uint16_t label(const std::string& name, OpClass cls, int micro_batches = 0, Mark mark = Mark::kNone);
  int plan(const PlanRequest& request);
  int slot(const Ranks& ranks);
};

class ProgramBuilder {
 public:
  /// `tables` outlives the builder.
  ProgramBuilder(Tables& tables, std::vector<std::string> lanes);

  /// The lane of that name, a new one where there is none. It is part of the open loops that are on all lanes.
  int lane(const std::string& name);
  /// The same of one that no loop on all lanes is on: what it does goes on beside them.
  int lane_apart(const std::string& name);
  /// `work` says how collectives slow it; copies and the optimizer are memory-bound without being told.
  OpRef compute(int lane, const std::string& name, OpClass cls, Seconds duration, const std::vector<OpRef>& waits = {},
                int micro_batches = 0, const Work& work = {});
  /// `op` belongs to a pass over a chunk of the model (Op::pass), and is the last of it for a micro-batch, or not.
  /// Without that all are of one pass, which ends with each micro-batch.
  void set_pass(OpRef op, int pass, bool ends);
  /// A collective on the group that the request names. Of a pair each of the two names the other: the request is one.
  OpRef collective(int lane, const std::string& name, const PlanRequest& request, const std::vector<OpRef>& waits = {});
  OpRef mark(int lane, Mark mark);
  /// The GPU waits for the host.
  OpRef host(int lane, const std::string& name, Seconds duration, const std::vector<OpRef>& waits = {});
  /// Between the GPU and its host, or on the host.
  OpRef offload(int lane, const std::string& name, Seconds duration, const std::vector<OpRef>& waits = {});
  /// As long as the graph's pace says, for this rank and after this update.
  OpRef pause(int lane);
  /// What follows on `lane` repeats until op `until` has ended, which is checked after every `stride` repetitions; at
  /// least `min` times `stride` repetitions. Without `until` exactly min x stride.
  void begin_loop(int lane, int min, OpRef until = {-1, 0}, int stride = 1);
  void end_loop(int lane);
  /// The same for a body on several lanes: all lanes end a repetition before any begins the next. Every lane enters the
  /// loop after `waits`. `counted`: what equal repetitions are called that are counted instead of played; the body is
  /// then on all lanes. Empty: all are played.
  void begin_loop(const std::vector<int>& lanes, int min, const std::vector<OpRef>& waits,
                  const std::string& counted = {});
  void end_loop(const std::vector<int>& lanes);
  /// The same on all lanes, also those that are added before it ends; entered after the last op of lane 0.
  void begin_loop_on_all(int min, const std::string& counted = {});
  void end_loop_on_all();
  void begin_loop(const NewLoop& written);
  /// Op `of`, which is written, waits for `op`, too: one that is written later, as that of the round before is.
  void add_wait(OpRef of, OpRef op);
  /// The last op on the lane; {lane, -1} where there is none.
  OpRef last(int lane) const;

  /// So many times what has been written will have been in the end: there is room for it at once.
  void expect(int times);
  /// The finished program. Loops that repeat only once stay loops: the player plays them cheaply.
  Program take(int micro_batch_size);

 private:
  int index_of(const Work& work);
  OpRef add(int lane, Op op, const std::vector<OpRef>& waits);

  Tables& tables_;
  Program program_;
  std::vector<int> apart_;   // lanes
  std::vector<int> on_all_;  // the open loops that are on all lanes
};

}  // namespace accosim
