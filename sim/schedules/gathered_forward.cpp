// A forward pass beside the gathers of its own parameters, which a sharded optimizer has just stepped.
#include <algorithm>
#include <string>

#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// A bucket as it is gathered, and what computes once it is there.
struct Piece {
  PlanRequest gather;
  Seconds cast;     ///< to the rank's own type; 0: it has the type that came
  Seconds forward;  ///< up to the first need of the next bucket
};

/// In the order in which they are gathered; `before` computes what needs none of them.
std::vector<Piece> pieces_of(const ScheduleInput& input, Seconds& before) {
  std::vector<Bucket> buckets = gradient_buckets(input);
  std::reverse(buckets.begin(), buckets.end());
  before = buckets.front().needed;
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    const Bytes bytes = buckets[k].bytes / bytes_of(input.costs.gradient_dtype) * bytes_of(input.costs.parameter_dtype);
    const Seconds until = k + 1 < buckets.size() ? buckets[k + 1].needed : input.kind.forward;
    pieces.push_back({{CollectiveKind::kAllGather, bytes},
                      input.kind.casts_parameters ? memory_time(bytes, bytes, input.kind.device) : Seconds{0},
                      until - buckets[k].needed});
  }
  return pieces;
}

void add_forward(ProgramBuilder& program, const ScheduleInput& input, Seconds time, OpRef gathered) {
  program.compute(kComputeLane, "forward", OpClass::kForward, time, {gathered}, 0, input.kind.work.forward);
}

}  // namespace

void add_gathered_forward(ProgramBuilder& program, const ScheduleInput& input) {
  Seconds before;
  const std::vector<Piece> pieces = pieces_of(input, before);
  const std::string name = pieces.size() == 1 ? "all-gather" : "all-gather of a bucket";
  const std::string cast = std::string("cast parameters to ") + name_of(input.kind.workload.compute);
  const OpRef stepped = program.last(kComputeLane);
  OpRef gathered = program.collective(kCommunicationLane, name, pieces.front().gather, {stepped});
  if (before > Seconds{0}) add_forward(program, input, before, stepped);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    // A module that waits for its bucket sends for the next one when it has it.
    const OpRef sent_for = input.spec.align_param_gather ? stepped : program.last(kComputeLane);
    const bool last = k + 1 == pieces.size();
    const OpRef next = last ? gathered : program.collective(kCommunicationLane, name, pieces[k + 1].gather, {sent_for});
    if (pieces[k].cast > Seconds{0}) program.compute(kComputeLane, cast, OpClass::kCopy, pieces[k].cast, {gathered});
    // Whoever waits for a later bucket has waited for this one.
    if (last || pieces[k].forward > Seconds{0}) add_forward(program, input, pieces[k].forward, gathered);
    gathered = next;
  }
}

}  // namespace accosim
