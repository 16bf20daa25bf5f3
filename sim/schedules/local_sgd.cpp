// Local SGD (Stich, arXiv 1805.09767; Lin et al., arXiv 1808.07217), here with AdamW inside: every replica makes H
// updates by itself, then all take the mean of their parameters, as PyTorch's PeriodicModelAverager does it: scaled
// into a flat buffer, all-reduced, copied back. The mean is of the parameters as they are stored; both moments stay as
// they are. An update, as the figures count it, is a local one.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_local_sgd_update(ProgramBuilder& program, const RuleInput& input) {
  add_local_updates(program, input, inner_updates_of(input));
  add_average(program, input);
}

}  // namespace accosim
