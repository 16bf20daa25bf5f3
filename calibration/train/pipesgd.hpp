// PipeSGD (Li et al. 2018): DDP whose gradients are reduced beside the computation of later ones and applied d updates
// late, the whole optimizer on every rank. With g(b) the mean gradient of batch b:
//   theta[t+1] = Opt(theta[t], g(t)), g(t) computed at theta[t - d], and for t < d at theta[0].
// So the first d batches are computed before the loop, and the last d that are computed go into no update and are not
// counted. The reductions are on one lane in order: d > 1 hides jitter and latency, never bandwidth.
// With d = 1 its updates are DPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace accocal {

template <typename R>
void train_pipesgd(R& rank) {
  using Sum = typename R::Sum;
  const auto delay = static_cast<std::size_t>(rank.options.delay);
  const int micro_batches = rank.options.micro_batches_per_round;
  // What is on the network, d sums; shared with the jobs.
  const auto flying = std::make_shared<std::vector<Sum>>();
  for (std::size_t i = 0; i < delay; ++i) flying->push_back(rank.new_sum());
  std::vector<std::int64_t> jobs(delay);
  const auto send = [&](std::size_t slot) {
    rank.swap([&] {
      (*flying)[slot].copy_from(rank.gradient);
      rank.gradient.set_zero();
    });
    jobs[slot] = rank.submit([&rank, flying, slot] { rank.all_reduce((*flying)[slot].values); });
  };
  for (std::size_t slot = 0; slot < delay; ++slot) {
    rank.compute(micro_batches);
    send(slot);
  }
  for (std::size_t slot = 0; !rank.finished(); slot = (slot + 1) % delay) {
    rank.compute(micro_batches);
    rank.wait(jobs[slot]);
    Sum& sum = (*flying)[slot];
    const auto total = sum.count * rank.transport.size();
    rank.set_last_total(total);
    rank.step_here(sum.values, total, rank.parameters);
    rank.end_update(rank.tally(sum));
    send(slot);
  }
  rank.wait();
}

}  // namespace accocal
