// Everything that is timed, in the order of the plan; ranks meet at a barrier before each part.
#include "calibration/measure/measure_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>

#include "calibration/base/denormals.hpp"
#include "calibration/train/communication_thread.hpp"
#include "calibration/train/matrix_products.hpp"

namespace accocal {
namespace {

void sleep_until(double when) { accocal::sleep_until(static_cast<std::int64_t>(when * 1e9)); }

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) * 0.1F;
  return values;
}

double time_of(const std::function<void()>& action) {
  const double begin = monotonic_seconds();
  action();
  return monotonic_seconds() - begin;
}

/// Adds its time, and how long of it the thread was ready and had no processor.
void time_run(const std::function<void()>& action, std::vector<double>& times, std::vector<double>& waited) {
  const double before = waited_for_processor();
  times.push_back(time_of(action));
  waited.push_back(waited_for_processor() - before);
}

/// The first run brings in pages and caches, and counts for nothing.
void drop_first(std::initializer_list<std::vector<double>*> all) {
  for (std::vector<double>* const each : all) each->erase(each->begin());
}

void tell(const Transport& transport, const std::string& what) {
  if (transport.rank() == 0) std::fprintf(stderr, "accocal: %s\n", what.c_str());
}

void run(Collective what, Transport& transport, Buffer data) {
  switch (what) {
    case Collective::kReduceScatter: return transport.reduce_scatter(data);
    case Collective::kAllGather: return transport.all_gather(data);
    case Collective::kAllReduce: return transport.all_reduce(data);
  }
}

/// All ranks leave it at about the same time, `pause` later, with the network at rest.
void rest(Transport& transport, Seconds pause) {
  double start = monotonic_seconds() + pause.value;
  transport.broadcast(buffer_of(std::span(&start, 1)), 0);
  sleep_until(start);
}

CellTimes measure_cell(const Cell& cell, Transport& transport, std::vector<float>& floats) {
  std::int64_t counter = 1;
  const Buffer data = cell.bytes < static_cast<std::int64_t>(2 * sizeof(float)) ? buffer_of(std::span(floats.data(), 1))
                      : cell.bytes == sizeof counter
                          ? buffer_of(std::span(&counter, 1))
                          : buffer_of(std::span(floats.data(), static_cast<std::size_t>(cell.bytes) / sizeof(float)));
  CellTimes times;
  transport.barrier();
  for (int i = 1; i < cell.warm_up; ++i) run(cell.what, transport, data);
  for (int i = 0; i <= cell.runs; ++i) {
    if (cell.after_idle) rest(transport, kPause);
    times.begin.push_back(monotonic_seconds());
    run(cell.what, transport, data);
    times.end.push_back(monotonic_seconds());
    times.waited.push_back(waited_for_processor());
  }
  return times;
}

/// Each edge of the ring alone, several rounds of all, so that what disturbs a moment is not one edge's alone. The mean
/// of a round by the receiver's clock, from one end to another: bytes arrive in bunches, the sender's buffers take what
/// the network has not carried yet, and a rested network lets some of it through at once.
std::vector<double> measure_links(const RankPlan& plan, Transport& transport) {
  std::vector<float> floats(static_cast<std::size_t>(plan.link_bytes) / sizeof(float));
  std::vector<double> times;
  for (int i = 0; i < kLinkRounds * transport.size(); ++i) {
    const int from = i % transport.size();
    transport.barrier();
    const auto pass = [&](int runs) {
      return time_of([&] {
        for (int run = 0; run < runs; ++run) transport.pass(buffer_of(std::span(floats)), from);
      });
    };
    pass(kLinkWarmUp);
    const double time = pass(plan.link_runs);
    if (transport.rank() == (from + 1) % transport.size()) times.push_back(time / plan.link_runs);
  }
  return times;
}

void measure_hand_off(int count, RankTimes& times) {
  constexpr double kJob = 200e-6;  // long enough for whoever waits to have gone to sleep
  CommunicationThread thread;
  for (int i = 0; i <= count; ++i) {
    double began = 0;
    double ended = 0;
    const double submitted = monotonic_seconds();
    thread.submit([&] {
      began = monotonic_seconds();
      sleep_until(began + kJob);
      ended = monotonic_seconds();
    });
    thread.wait();
    const double returned = monotonic_seconds();
    sleep_until(returned + kJob);
    if (i == 0) continue;  // the thread may not have been up yet
    times.hand_off_start.push_back(began - submitted);
    times.hand_off_end.push_back(returned - ended);
  }
}

/// A step of AdamW over so many elements of a shard, and the copy of a buffer of as many: what a swap of parameters and
/// gradients costs.
ElementTimes measure_elements(std::int64_t elements, int runs) {
  ElementTimes times{.elements = elements};
  const std::vector<float> gradient = ramp(elements), from = gradient;
  std::vector<float> master(elements), m(elements), v(elements), to(elements);
  for (int i = 0; i <= runs; ++i) {
    time_run([&] { adamw_step({}, 1e-3, i + 1, 0.25, gradient, master, m, v); }, times.adamw, times.adamw_waited);
    time_run([&] { std::ranges::copy(from, to.begin()); }, times.copy, times.copy_waited);
  }
  drop_first({&times.adamw, &times.adamw_waited, &times.copy, &times.copy_waited});
  return times;
}

std::vector<double> micro_batch_times(Workload& workload, int runs, std::vector<double>& waited) {
  const std::vector<float> parameters = workload.initial_parameters();
  std::vector<float> gradient(workload.parameter_count());
  std::vector<double> times;
  for (int i = 0; i <= runs; ++i) time_run([&] { workload.accumulate(parameters, i, gradient); }, times, waited);
  drop_first({&times, &waited});
  return times;
}

void measure_micro_batches(const TrainingOptions& options, const std::vector<int>& lengths, int runs,
                           RankTimes& times) {
  const std::unique_ptr<Workload> workload = make_workload(options);
  times.parameters = static_cast<std::int64_t>(workload->parameter_count());
  times.tokens = static_cast<std::int64_t>(workload->samples_per_micro_batch()) * workload->tokens_per_sample();
  times.micro_batch = micro_batch_times(*workload, runs, times.micro_batch_waited);
  for (const int length : lengths) {
    TrainingOptions shorter = options;
    shorter.gpt.lengths = {{length, 1}};
    std::vector<double> waited;
    times.shorter.push_back(micro_batch_times(*make_workload(shorter), runs, waited));
  }
}

/// As a rank of ACCO: the main thread computes while the communication thread reduces and gathers.
TheftTimes measure_theft(const RankPlan& plan, Transport& transport) {
  TheftTimes times;
  // Products of two matrices that stay in the cache, about a millisecond: what a training step mostly computes.
  constexpr int kSide = 192, kProducts = 4;  // three matrices of 147 kB
  const std::vector<float> values = ramp(kSide * kSide), others = values;
  std::vector<float> result(kSide * kSide);
  const auto compute = [&] {
    const MatrixView<float> a{values.data(), kSide, kSide, kSide}, b{others.data(), kSide, kSide, kSide};
    for (int i = 0; i < kProducts; ++i) put_product(false, 1, a, b, result.data(), kSide);
  };
  std::vector<float> floats(static_cast<std::size_t>(plan.theft_bytes) / sizeof(float));
  const auto collectives = [&](std::vector<double>& to) {
    transport.barrier();
    for (int i = 0; i < plan.theft_runs; ++i)
      to.push_back(time_of([&] {
        transport.reduce_scatter(buffer_of(std::span(floats)));
        transport.all_gather(buffer_of(std::span(floats)));
      }));
  };
  CommunicationThread thread;
  collectives(times.collective_alone);
  for (int i = 0; i < 50; ++i) times.compute_alone.push_back(time_of(compute));
  transport.barrier();
  thread.submit([&] { collectives(times.collective_beside); });
  while (!thread.done()) times.compute_beside.push_back(time_of(compute));
  thread.wait();
  if (times.compute_beside.size() > 1) times.compute_beside.pop_back();  // communication ended inside it
  return times;
}

}  // namespace

double monotonic_seconds() { return static_cast<double>(monotonic_nanoseconds()) * 1e-9; }

double waited_for_processor() {
  std::ifstream file("/proc/thread-self/schedstat");  // on the processor, waiting for it, slices; nanoseconds
  double ran = 0;
  double waited = 0;
  file >> ran >> waited;
  return waited * 1e-9;
}

RankTimes measure_on_rank(const RankPlan& plan, Transport& transport) {
  flush_denormals();  // as the step that is predicted from this
  RankTimes times;
  std::vector<float> floats(static_cast<std::size_t>(largest<std::int64_t>(plan.cells, &Cell::bytes)) / sizeof(float) +
                            1);
  for (const Cell& cell : plan.cells) {
    tell(transport, fmt::format("{} of {} bytes, {} runs{}", name_of(cell.what), cell.bytes, cell.runs,
                                cell.after_idle ? ", each after a pause" : ""));
    // Zeros: sums of sums would leave the range of a float.
    std::ranges::fill(floats, 0.0F);
    times.cells.push_back(measure_cell(cell, transport, floats));
  }
  if (plan.link_bytes > 0) {
    tell(transport, fmt::format("each link alone, {} times {} bytes", kLinkRounds * plan.link_runs, plan.link_bytes));
    times.link = measure_links(plan, transport);
  }
  transport.barrier();
  tell(transport, "hand-off between threads");
  measure_hand_off(plan.hand_offs, times);
  for (const std::int64_t elements : plan.elements) {
    transport.barrier();
    tell(transport, fmt::format("optimizer's step and copy of {} elements", elements));
    times.elements.push_back(measure_elements(elements, plan.element_runs));
  }
  transport.barrier();
  tell(transport, "micro-batches");
  measure_micro_batches(plan.training, plan.lengths, plan.micro_batches, times);
  transport.barrier();
  if (plan.theft_bytes > 0) {
    tell(transport, "computation beside communication");
    times.theft = measure_theft(plan, transport);
  }
  return times;
}

}  // namespace accocal
