#include "sim/graph/builder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace accosim {

std::uint16_t Tables::label(const std::string& name, OpClass cls, int micro_batches, Mark mark) {
  const auto found = std::ranges::find_if(labels, [&](const Label& label) {
    return label.name == name && label.cls == cls && label.micro_batches == micro_batches && label.mark == mark;
  });
  if (found != labels.end()) return static_cast<std::uint16_t>(found - labels.begin());
  labels.push_back({name, cls, micro_batches, mark});
  return static_cast<std::uint16_t>(labels.size() - 1);
}

int Tables::plan(const PlanRequest& request) {
  const auto found = std::ranges::find(plans, request);
  if (found != plans.end()) return static_cast<int>(found - plans.begin());
  plans.push_back(request);
  return static_cast<int>(plans.size() - 1);
}

int Tables::slot(const Ranks& ranks) {
  const auto found = std::ranges::find(slots, ranks);
  if (found != slots.end()) return static_cast<int>(found - slots.begin());
  slots.push_back(ranks);
  return static_cast<int>(slots.size() - 1);
}

ProgramBuilder::ProgramBuilder(Tables& tables, std::vector<std::string> lanes) : tables_(tables) {
  program_.lanes.resize(lanes.size());
  program_.lane_names = std::move(lanes);
}

int ProgramBuilder::lane(const std::string& name) {
  std::vector<std::string>& names = program_.lane_names;
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  const int added = static_cast<int>(names.size());
  names.push_back(name);
  program_.lanes.emplace_back();
  for (const int loop : on_all_) {
    std::vector<Loop::Part>& parts = program_.loops[loop].parts;
    Op op = program_.lanes[parts[0].lane][parts[0].begin];  // it waits for the same
    program_.lanes[added].push_back(op);
    parts.push_back({added, last(added).index, -1});
  }
  return added;
}

int ProgramBuilder::lane_apart(const std::string& name) {
  if (!on_all_.empty()) throw std::logic_error("lane " + name + " would be added in a loop that it is not on");
  const int added = lane(name);
  if (std::ranges::find(apart_, added) == apart_.end()) apart_.push_back(added);
  return added;
}

OpRef ProgramBuilder::add(int lane, Op op, const std::vector<OpRef>& waits) {
  op.waits = static_cast<std::uint32_t>(program_.waits.size());
  for (const OpRef wait : waits)
    if (wait.index >= 0) program_.waits.push_back(wait);  // an op that is not there has been waited for
  op.wait_count = static_cast<std::uint32_t>(program_.waits.size()) - op.waits;
  program_.lanes[lane].push_back(op);
  return last(lane);
}

int ProgramBuilder::index_of(const Work& work) {
  if (work.arithmetic <= 0 && work.memory <= 0) return -1;
  const auto found = std::ranges::find(program_.works, work);
  if (found != program_.works.end()) return static_cast<int>(found - program_.works.begin());
  program_.works.push_back(work);
  return static_cast<int>(program_.works.size() - 1);
}

OpRef ProgramBuilder::compute(int lane, const std::string& name, OpClass cls, Seconds duration,
                              const std::vector<OpRef>& waits, int micro_batches, const Work& work) {
  Op op{.kind = OpKind::kCompute,
        .ends_pass = micro_batches > 0,
        .label = tables_.label(name, cls, micro_batches),
        .duration = duration,
        .work = index_of(cls == OpClass::kCopy || cls == OpClass::kOptimizer ? memory_work() : work)};
  return add(lane, op, waits);
}

void ProgramBuilder::set_pass(OpRef op, int pass, bool ends) {
  Op& of = program_.lanes[op.lane][op.index];
  of.pass = static_cast<std::uint16_t>(pass);
  of.ends_pass = ends;
}

OpRef ProgramBuilder::collective(int lane, const std::string& name, const PlanRequest& request,
                                 const std::vector<OpRef>& waits) {
  Op op{.kind = OpKind::kCollective,
        .label = tables_.label(name, OpClass::kCommunication),
        .slot = tables_.slot(request.ranks)};
  PlanRequest listed = request;
  if (listed.ranks.pick == Pick::kPrevious) listed.ranks.pick = Pick::kNext;
  op.plan = tables_.plan(listed);
  return add(lane, op, waits);
}

OpRef ProgramBuilder::mark(int lane, Mark mark) {
  Op op{.kind = OpKind::kRecord,
        .label = tables_.label(mark == Mark::kUpdate ? "update" : "round", OpClass::kMark, 0, mark)};
  const OpRef marked = add(lane, op, {});
  if (mark == Mark::kUpdate) {
    program_.ends.emplace_back();
    for (const std::vector<Op>& ops : program_.lanes) program_.ends.back().push_back(static_cast<int>(ops.size()));
  }
  return marked;
}

OpRef ProgramBuilder::host(int lane, const std::string& name, Seconds duration, const std::vector<OpRef>& waits) {
  Op op{.kind = OpKind::kHost, .label = tables_.label(name, OpClass::kHost), .duration = duration};
  return add(lane, op, waits);
}

OpRef ProgramBuilder::offload(int lane, const std::string& name, Seconds duration, const std::vector<OpRef>& waits) {
  Op op{.kind = OpKind::kHost, .label = tables_.label(name, OpClass::kOffload), .duration = duration};
  return add(lane, op, waits);
}

OpRef ProgramBuilder::pause(int lane) {
  return add(lane, Op{.kind = OpKind::kHost, .label = tables_.label("pause", OpClass::kPause)}, {});
}

void ProgramBuilder::begin_loop(int lane, int min, OpRef until, int stride) {
  begin_loop({.lanes = {lane}, .min = min, .until = until, .stride = stride});
}

void ProgramBuilder::begin_loop(const std::vector<int>& lanes, int min, const std::vector<OpRef>& waits,
                                const std::string& counted) {
  begin_loop({.lanes = lanes, .min = min, .waits = waits, .counted = counted});
}

void ProgramBuilder::begin_loop(const NewLoop& written) {
  Loop loop{.min = written.min, .stride = written.stride, .until = written.until, .runs_on = written.runs_on};
  if (written.decided_by) loop.slot = tables_.slot(*written.decided_by);
  if (!written.counted.empty()) loop.counted = tables_.label(written.counted, OpClass::kCounted);
  for (const int lane : written.lanes) {
    Op op{.kind = OpKind::kLoopBegin,
          .label = tables_.label("loop", OpClass::kMark),
          .plan = static_cast<int>(program_.loops.size())};
    loop.parts.push_back({lane, add(lane, op, written.waits).index, -1});
  }
  program_.loops.push_back(std::move(loop));
}

void ProgramBuilder::end_loop(int lane) { end_loop(std::vector<int>{lane}); }

void ProgramBuilder::end_loop(const std::vector<int>& lanes) {
  const auto open = std::find_if(program_.loops.rbegin(), program_.loops.rend(), [&](const Loop& loop) {
    return loop.parts[0].lane == lanes[0] && loop.parts[0].end < 0;
  });
  for (Loop::Part& part : open->parts) {
    Op op{.kind = OpKind::kLoopEnd,
          .label = tables_.label("loop", OpClass::kMark),
          .plan = static_cast<int>(program_.loops.rend() - open) - 1};
    part.end = add(part.lane, op, {}).index;
  }
}

void ProgramBuilder::begin_loop_on_all(int min, const std::string& counted) {
  std::vector<int> all;
  for (int lane = 0; lane < static_cast<int>(program_.lanes.size()); ++lane)
    if (std::ranges::find(apart_, lane) == apart_.end()) all.push_back(lane);
  on_all_.push_back(static_cast<int>(program_.loops.size()));
  begin_loop(all, min, {last(0)}, counted);
}

void ProgramBuilder::end_loop_on_all() {
  on_all_.pop_back();
  end_loop(0);
}

void ProgramBuilder::add_wait(OpRef of, OpRef op) {
  Op& waits = program_.lanes[of.lane][of.index];
  const std::vector<OpRef> before(program_.waits.begin() + waits.waits,
                                  program_.waits.begin() + waits.waits + waits.wait_count);
  waits.waits = static_cast<std::uint32_t>(program_.waits.size());
  program_.waits.insert(program_.waits.end(), before.begin(), before.end());
  program_.waits.push_back(op);
  ++waits.wait_count;
}

OpRef ProgramBuilder::last(int lane) const { return {lane, static_cast<int>(program_.lanes[lane].size()) - 1}; }

void ProgramBuilder::expect(int times) {
  for (std::vector<Op>& lane : program_.lanes) lane.reserve(times * lane.size());
  program_.waits.reserve(times * program_.waits.size());
}

Program ProgramBuilder::take(int micro_batch_size) {
  program_.micro_batch_size = micro_batch_size;
  return std::move(program_);
}

}  // namespace accosim
