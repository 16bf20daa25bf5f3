#include "sim/schedules/host.hpp"

namespace accosim {

Seconds pcie_time(const ScheduleInput& input, Bytes bytes) { return bytes / input.kind.pcie; }

Seconds host_time(const ScheduleInput& input, Bytes read, Bytes written) {
  return (read + written) / input.kind.host_memory;
}

Seconds host_optimizer_time(const ScheduleInput& input, double parameters) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype), state = bytes_of(input.spec.optimizer_dtype);
  const Bytes states = 2 * state + (parameter < state ? state : parameter);  // m, v and what it steps
  const Bytes narrow = parameter < state ? parameter : Bytes{0};             // a copy for the GPU
  return host_time(input, parameters * (states + bytes_of(input.costs.gradient_dtype)), parameters * (states + narrow));
}

OpRef add_copy_to_host(ProgramBuilder& program, const RuleInput& input, const std::string& name, Bytes bytes,
                       const std::vector<OpRef>& waits) {
  return program.offload(program.lane("to host"), name, pcie_time(input, bytes), waits);
}

OpRef add_host_work(ProgramBuilder& program, const std::string& name, Seconds duration,
                    const std::vector<OpRef>& waits) {
  return program.offload(program.lane("host"), name, duration, waits);
}

OpRef add_copy_from_host(ProgramBuilder& program, const RuleInput& input, const std::string& name, Bytes bytes,
                         const std::vector<OpRef>& waits) {
  return program.offload(program.lane("from host"), name, pcie_time(input, bytes), waits);
}

OpRef add_host_step(ProgramBuilder& program, const RuleInput& input, const std::vector<OpRef>& waits) {
  const double elements = optimized_elements(input);
  const OpRef stepped = add_host_work(program, "optimizer on the host", host_optimizer_time(input, elements), waits);
  return add_copy_from_host(program, input, "parameters from host", elements * bytes_of(input.spec.parameter_dtype),
                            {stepped});
}

}  // namespace accosim
