// Pipe-SGD (Li et al., arXiv 1811.03619): the gradients of an update are all-reduced while later ones compute, and are
// applied `delay` updates after they were made, on every rank by the whole optimizer. At the end of an update a rank
// waits for the reduction that is due, steps with it, and gives the buffer that this leaves to the gradients that it
// has just made. Reductions are in order on one lane, so a longer delay hides latency and jitter, never bandwidth.
#include <vector>

#include "sim/bodies/write.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_pipesgd_updates(ProgramBuilder& program, const RuleInput& input) {
  const Bytes gradients = input.costs.gradient_bytes(input.kind);
  const auto delay = static_cast<std::size_t>(input.spec.delay);
  const Seconds out = memory_time(gradients, gradients, input.kind.device) +
                      memory_time(Bytes{0}, gradients, input.kind.device);  // scaled, and cleared
  const auto reduce = [&](const std::vector<OpRef>& waits) {
    return add_of_all_parameters(program, input, "all-reduce", {CollectiveKind::kAllReduce, gradients}, waits);
  };
  // By update; of those before the first one as if they had been made, so that it is like the others.
  std::vector<OpRef> reduced;
  while (reduced.size() < delay) reduced.push_back(reduce({}));
  for (int update = 0; update < input.updates; ++update) {
    write(program, input.body, {input.accumulation_steps});
    const OpRef computed = program.last(kComputeLane);
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input),
                    {reduced[reduced.size() - delay], write_finish(program, input.body, computed)});
    const OpRef given = program.compute(kComputeLane, "copy and clear gradients", OpClass::kCopy, out);
    reduced.push_back(reduce({given}));
    end_update(program, input);
  }
}

}  // namespace accosim
