#include "sim/schedules/gathers.hpp"

#include <algorithm>

#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"

namespace accosim {

Gathers::Gathers(const RuleInput& input) : input_(input), buckets_(gradient_buckets(input)) {
  std::ranges::reverse(buckets_);
  for (const ParameterSet& set : input.body.sets) place_.emplace_back(set.tensors.size());
  for (std::size_t k = 0; k < buckets_.size(); ++k)
    for (const auto& [set, tensor] : buckets_[k].which) place_[set][tensor] = static_cast<int>(k);
}

OpRef Gathers::send_for(ProgramBuilder& program, std::size_t bucket, OpRef after) const {
  const Bucket& of = buckets_[bucket];
  const Bytes bytes = of.bytes / bytes_of(input_.costs.gradient_dtype) * bytes_of(input_.costs.parameter_dtype);
  return program.collective(kCommunicationLane, buckets_.size() == 1 ? "all-gather" : "all-gather of a bucket",
                            {CollectiveKind::kAllGather, bytes, 1, sharing(input_.spec, of.copies)}, {after});
}

void Gathers::begin(ProgramBuilder& program) {
  stepped_ = program.last(kComputeLane);
  gathered_ = send_for(program, 0, stepped_);
}

/// The next bucket; a module that waits for it sends for the one behind it when it has it.
OpRef Gathers::take(ProgramBuilder& program) {
  const OpRef here = gathered_;
  const Bytes bytes =
      buckets_[next_].bytes / bytes_of(input_.costs.gradient_dtype) * bytes_of(input_.costs.parameter_dtype);
  if (++next_ < buckets_.size())
    gathered_ = send_for(program, next_, input_.spec.align_param_gather ? stepped_ : program.last(kComputeLane));
  if (const Seconds cast = memory_time(bytes, bytes, input_.kind.device);
      input_.kind.casts_parameters && cast > Seconds{0})
    program.compute(kComputeLane, std::string("cast parameters to ") + name_of(input_.kind.workload.compute),
                    OpClass::kCopy, cast, {here});
  return here;
}

Before Gathers::hook() {
  const auto stands = [this](Pass, int set, int tensor) { return place_[set][tensor] >= static_cast<int>(next_); };
  const auto write = [this](ProgramBuilder& program, Pass, int set, int tensor) {
    OpRef here = gathered_;
    while (place_[set][tensor] >= static_cast<int>(next_)) here = take(program);
    return here;  // whoever waits for a later bucket has waited for those before
  };
  return {stands, write};
}

}  // namespace accosim
