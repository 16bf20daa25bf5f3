// What a GPU's host does for it: copies over PCIe, each way on an engine of its own, and an optimizer on states that
// the host keeps (ZeRO-Offload, arXiv 2101.06840). Each GPU has its slot to itself; the GPUs of a node share what its
// host reads and writes. None of it computes on the GPU, so nothing slows it there, and it slows nothing.
#pragma once

#include <string>
#include <vector>

#include "sim/schedules/schedule.hpp"

namespace accosim {

/// Of so many bytes over PCIe, one way.
Seconds pcie_time(const ScheduleInput& input, Bytes bytes);
/// What the host takes that reads and writes so many bytes for this GPU while it does the same for the node's others.
Seconds host_time(const ScheduleInput& input, Bytes read, Bytes written);
/// AdamW of so many parameters on the host: states and a gradient read, states and a parameter written.
Seconds host_optimizer_time(const ScheduleInput& input, double parameters);

/// On the lanes "to host", "host" and "from host", each behind what was asked of it before.
OpRef add_copy_to_host(ProgramBuilder& program, const RuleInput& input, const std::string& name, Bytes bytes,
                       const std::vector<OpRef>& waits);
OpRef add_host_work(ProgramBuilder& program, const std::string& name, Seconds duration,
                    const std::vector<OpRef>& waits);
OpRef add_copy_from_host(ProgramBuilder& program, const RuleInput& input, const std::string& name, Bytes bytes,
                         const std::vector<OpRef>& waits);

/// The host steps what this rank optimizes, once `waits` are over, and its parameters come back.
OpRef add_host_step(ProgramBuilder& program, const RuleInput& input, const std::vector<OpRef>& waits);

}  // namespace accosim
