// From options to a rank's run and back: which algorithm, which workload, and the spans of all ranks on rank 0.
#include "calibration/train/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/train/algorithms.hpp"
#include "calibration/train/rank.hpp"
#include "calibration/train/summary.hpp"

namespace accocal {
namespace {

constexpr int kMostMicroBatches = 1000000;
constexpr int kMostDelay = 1000;

void require(bool holds, const std::string& what) {
  if (!holds) throw BadInput(what);
}

void check_optimizer(const OptimizerOptions& optimizer) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  const auto share = [](double value) { return value >= 0 && value < 1; };
  require(positive(optimizer.learning_rate), "the learning rate must be above 0; write --learning-rate 0.001");
  require(share(optimizer.adamw.beta1) && share(optimizer.adamw.beta2),
          "AdamW's betas must be from 0 to below 1; write --beta1 0.9 --beta2 0.95");
  require(std::isfinite(optimizer.adamw.weight_decay) && optimizer.adamw.weight_decay >= 0,
          "the weight decay must be 0 or more; write --weight-decay 0.1");
  require(share(optimizer.warmup),
          "the learning rate's warm-up is a share of the run; write --learning-rate-warmup 0.1");
}

void check_on_device(const TrainingOptions& options) {
  require(options.gpt.lengths.empty(), "--lengths: on a device all sequences have the whole context; leave it out");
  require(!options.timed, "--compute-time sleeps on the host; leave --device or --compute-time out");
  require(options.slow.empty(), "--slow sleeps on the host; leave --device or --slow out");
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  if (!traits.on_devices)
    throw BadInput(
        fmt::format("{} does not run on a device; leave --device out, or choose another algorithm", traits.name));
  require(!options.local_estimate, "--estimate local does not run on a device; leave --device or --estimate out");
  require(options.random_vocabulary >= 0, "--vocabulary must be 1 or more, or 0 to learn a text");
}

/// Refuses runs of so few updates that what the algorithm is about never happens. One whose length is in samples has
/// as many updates as it turns out to have.
void check_length(const TrainingOptions& options) {
  if (options.samples > 0 || options.updates < 1) return;
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  if (options.algorithm == Algorithm::kPipeSgd)
    require(options.delay < options.updates,
            fmt::format("--delay {}: all gradients of {} updates are computed at the first parameters; write more "
                        "--updates, or a shorter --delay",
                        options.delay, options.updates));
  // DiLoCo's last update is a meeting too.
  if (traits.takes("--inner-updates") && options.algorithm != Algorithm::kDiloco)
    require(options.inner_updates <= options.updates,
            fmt::format("--inner-updates {}: ranks never meet in {} updates; write more --updates, or fewer "
                        "--inner-updates",
                        options.inner_updates, options.updates));
}

/// How replicas meet, or how late gradients are; what the algorithm does not take has its usual value.
void check_meetings(const TrainingOptions& options) {
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  require(options.inner_updates >= 1, "--inner-updates must be 1 or more");
  require(std::isfinite(options.outer_learning_rate) && options.outer_learning_rate > 0,
          "--outer-learning-rate must be above 0");
  require(options.outer_momentum >= 0 && options.outer_momentum < 1, "--outer-momentum must be from 0 to below 1");
  require(std::isfinite(options.outer_clip) && options.outer_clip > 0,
          "--outer-clip must be above 0; write --outer-clip 1");
  require(options.mixing >= 0 && options.mixing <= 1, "--mixing is a share from 0 to 1; write --mixing 0.5");
  if (traits.takes("--outer-every"))
    require(options.outer_every >= 1 && options.outer_every % options.inner_updates == 0,
            fmt::format("--outer-every {}: outer steps take the place of averages, every {} updates; write a multiple "
                        "of that, such as --outer-every {}",
                        options.outer_every, options.inner_updates,
                        std::max(1, options.outer_every / options.inner_updates) * options.inner_updates));
  if (options.algorithm == Algorithm::kPipeSgd)
    require(options.delay >= 1 && options.delay <= kMostDelay,
            fmt::format("--delay {}: a gradient is applied 1 to {} updates late; write --delay 1", options.delay,
                        kMostDelay));
  check_length(options);
  if (!traits.takes("--fragments")) return;
  require(
      options.delay >= 0 && options.delay < options.inner_updates,
      options.inner_updates == 1
          ? fmt::format("--delay {}: a fragment is back before it is sent again, and with --inner-updates 1 that is "
                        "after every update; write --delay 0, or more --inner-updates",
                        options.delay)
          : fmt::format("--delay {}: a fragment is back before it is sent again, after {} updates; write --delay "
                        "1, or 0 to wait for it at once",
                        options.delay, options.inner_updates));
  const int most = options.timed ? options.inner_updates : std::min(options.inner_updates, options.gpt.shape.layers);
  require(options.fragments >= 1 && options.fragments <= most,
          fmt::format("--fragments {}: each has a layer or more, and an update after which it is sent; write "
                      "--fragments {}",
                      options.fragments, most == 1 ? "1" : fmt::format("{} or fewer", most)));
}

}  // namespace

Diverged::Diverged(std::int64_t of, double loss, const TrainingOptions& options)
    : BadInput(
          fmt::format("update {}: the loss is {}: the run has diverged, and is stopped; write a lower "
                      "--learning-rate than {:g}, or a longer --learning-rate-warmup{}",
                      of, loss, options.optimizer.learning_rate,
                      traits_of(options.algorithm).takes("--outer-learning-rate")
                          ? fmt::format(", or a lower --outer-learning-rate than {:g}", options.outer_learning_rate)
                          : "")),
      update(of) {}

void set_usual(TrainingOptions& options) { static_cast<UsualOptions&>(options) = traits_of(options.algorithm).usual; }

void check_loss(double loss, std::int64_t update, const TrainingOptions& options) {
  if (!std::isfinite(loss)) throw Diverged(update, loss, options);
}

void check_options(const TrainingOptions& options, int ranks) {
  require(options.updates >= 1 && options.updates <= 10000000, "a run has 1 to 10000000 updates; write --updates 100");
  require(options.samples >= 0, "samples must be 0 (count updates) or more; write --samples 10000");
  require(options.micro_batches_per_round >= 1, "a round has at least 1 micro-batch; write --accumulate at-least:1");
  require(options.micro_batches_per_round <= kMostMicroBatches,
          fmt::format("a round has at most {} micro-batches; write fewer", kMostMicroBatches));
  require(options.poll_every >= 1, "--poll-every must be 1 (after every micro-batch) or more");
  require(options.poll_every <= kMostMicroBatches,
          fmt::format("--poll-every must be at most {}; write fewer", kMostMicroBatches));
  require(options.warmup_updates >= 0, "--warmup must be 0 or more updates");
  require(!options.local_estimate || options.estimate_state == EstimateState::kRollback,
          "--estimate local touches no states, so nothing becomes of them; leave --estimate-state out");
  check_meetings(options);
  check_optimizer(options.optimizer);
  for (const auto& [rank, factor] : options.slow) {
    require(rank >= 0 && rank < ranks, fmt::format("--slow names rank {}; there are ranks 0 to {}", rank, ranks - 1));
    require(std::isfinite(factor) && factor >= 1,
            fmt::format("--slow {}={}: a factor is 1 or more; slow the others instead", rank, factor));
  }
  if (!options.device.empty()) check_on_device(options);
  require(options.timed || options.jitter == 0,
          "--jitter is of micro-batches that sleep; write --compute-time \"10 ms\" too");
  require(options.jitter >= 0 && options.jitter <= 10, "--jitter is a coefficient of variation from 0 to 10");
  if (options.timed) {
    require(options.gpt.lengths.empty(), "--lengths are of sequences that are trained on; leave --compute-time out");
    require(options.parameters >= 1, "--parameters must be 1 or more");
    require(options.compute_time.value >= 0 && options.compute_time.value <= 3600,
            "--compute-time must be from 0 to an hour; write --compute-time \"10 ms\"");
    return;
  }
  const GptShape& shape = options.gpt.shape;
  require(shape.layers >= 1 && shape.width >= 1 && shape.heads >= 1 && shape.context >= 1,
          "--layers, --width, --heads and --context must be 1 or more");
  require(shape.width % shape.heads == 0, fmt::format("{} heads do not divide a width of {}; write --heads {}",
                                                      shape.heads, shape.width, shape.width % 4 == 0 ? 4 : 1));
  const auto& lengths = options.gpt.lengths;
  require(lengths.empty() || lengths.rbegin()->first <= shape.context,
          fmt::format("--lengths names {} tokens, and --context is {}; write at most that",
                      lengths.empty() ? 0 : lengths.rbegin()->first, shape.context));
  require(options.gpt.sequences >= 1, "a micro-batch has at least 1 sequence; write --sequences 4");
}

std::unique_ptr<Workload> make_workload(const TrainingOptions& options) {
  if (options.timed)
    return timed_workload(options.compute_time, static_cast<std::size_t>(options.parameters), options.jitter,
                          options.gpt.seed);
  return gpt_workload(options.gpt, std::make_shared<const Corpus>(read_corpus(options.data)));
}

TrainingResult train(const TrainingOptions& options, Transport& transport) {
  check_options(options, transport.size());
  const std::unique_ptr<Workload> workload = make_workload(options);
  TrainingResult result = train(options, *workload, transport);
  // What the last update made is seen by nothing else.
  if (!options.timed && transport.rank() == 0) check_loss(result.held_out_loss, std::ssize(result.updates), options);
  return result;
}

TrainingResult train(const TrainingOptions& options, Workload& workload, Transport& transport,
                     const Observer& observer) {
  check_options(options, transport.size());
  TrainingResult result;
  {
    Rank rank(options, workload, transport, observer);
    run_algorithm(rank);
    result = rank.result();
  }
  if (options.record_spans) gather_spans(result, transport);
  return result;
}

}  // namespace accocal
