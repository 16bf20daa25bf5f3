// A list of runs (what, seed), done by a few threads, then compared seed by seed. Each run is itself the real step: two
// threads a rank, as over a network.
#include "calibration/converge/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "calibration/ranks/local_transport.hpp"

namespace accocal {
namespace {

constexpr std::int64_t kPoints = 40;  // of a curve, besides the start
constexpr int kTuningSeeds = 2;
constexpr std::size_t kBatchSeeds = 5;            // of the batch sizes, at most
constexpr std::uint64_t kFirstTuningSeed = 1001;  // not among those that are compared

struct Run {
  TrainingOptions options;
  Curve curve;
  std::optional<std::int64_t> diverged;  ///< the update whose loss is no number
};

void play(Run& run, int ranks, const std::shared_ptr<const Corpus>& corpus) {
  const std::int64_t every = std::max<std::int64_t>(1, run.options.updates / kPoints);
  run.options.observe_every = every;
  const auto body = [&](Transport& transport) {
    const std::unique_ptr<Workload> workload = gpt_workload(run.options.gpt, corpus);
    train(run.options, *workload, transport, [&](const Progress& progress) {
      if (progress.updates % every != 0 && progress.updates != run.options.updates) return;
      const double loss = workload->held_out_loss(progress.parameters);
      check_loss(loss, progress.updates, run.options);
      run.curve.push_back({progress.updates, progress.samples, loss});
    });
  };
  try {
    run_local_ranks(ranks, body);
  } catch (const Diverged& error) {
    run.diverged = error.update;
  }
}

// Of some seeds' runs of one algorithm; nothing where all went on to their ends.
std::optional<DivergedAlgorithm> diverged_of(std::span<const Run> runs, const std::string& name,
                                             const std::string& what) {
  DivergedAlgorithm diverged{name, what, 0, 0};
  for (const Run& run : runs) {
    if (!run.diverged) continue;
    diverged.first_update = diverged.seeds == 0 ? *run.diverged : std::min(diverged.first_update, *run.diverged);
    ++diverged.seeds;
  }
  return diverged.seeds == 0 ? std::nullopt : std::optional(diverged);
}

// All runs, `jobs` at a time; the first failure is thrown when those that run have ended.
void play_all(std::vector<Run>& runs, const ConvergenceOptions& options, const std::shared_ptr<const Corpus>& corpus,
              const std::string& what, const std::function<void(const std::string&)>& say) {
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) {
      try {
        play(runs[i], options.ranks, corpus);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = runs.size();
        return;
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (done % 5 == 0 || done == runs.size()) say(fmt::format("{}: {} of {} runs", what, done, runs.size()));
    }
  };
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  const int jobs = std::min(options.jobs > 0 ? options.jobs : cores, static_cast<int>(runs.size()));
  for (int job = 0; job < jobs; ++job) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// An update is two micro-batches a rank.
TrainingOptions of(Algorithm algorithm, const ConvergenceOptions& options) {
  TrainingOptions training;
  training.gpt = options.gpt;
  training.accumulate = Accumulate::kFixed;
  training.updates = options.updates;
  training.optimizer = options.optimizer;
  training.record_spans = false;
  training.algorithm = algorithm;
  set_usual(training);
  training.micro_batches_per_round = 2 / traits_of(algorithm).rounds;
  return training;
}

const CurvePoint& at_share(const Curve& curve, double share) {
  const auto wanted = share * static_cast<double>(curve.back().updates);
  return *std::ranges::find_if(
      curve, [&](const CurvePoint& point) { return static_cast<double>(point.updates) >= wanted - 0.5; });
}

// Mean of a point and its neighbours; a point itself at either end.
double smooth_loss(const Curve& curve, std::size_t i) {
  if (i == 0 || i + 1 == curve.size()) return curve[i].loss;
  return (curve[i - 1].loss + curve[i].loss + curve[i + 1].loss) / 3;
}

/// Leaves the lower bound in `at_least`.
std::optional<Estimate> ratio_at(const std::vector<Curve>& curves, const std::vector<Curve>& ddp, double share,
                                 double& at_least) {
  std::vector<double> ratios;
  bool all = true;
  for (std::size_t seed = 0; seed < ddp.size(); ++seed) {
    const auto place = static_cast<std::size_t>(&at_share(ddp[seed], share) - ddp[seed].data());
    const double target = smooth_loss(ddp[seed], place);
    const std::optional<double> own = samples_to_reach(curves[seed], target);
    all = all && own.has_value();
    ratios.push_back(own.value_or(static_cast<double>(curves[seed].back().samples)) /
                     *samples_to_reach(ddp[seed], target));
  }
  const Estimate mean = geometric_mean_of(ratios);
  at_least = mean.value;
  return all ? std::optional(mean) : std::nullopt;
}

// The loss over DDP's less one, at DDP's updates; curves with fewer points (DiLoCo's outer updates) repeat their last.
Estimate difference_at(const std::vector<Curve>& curves, const std::vector<Curve>& ddp, std::int64_t updates) {
  const auto loss_at = [updates](const Curve& curve) {
    double loss = curve.front().loss;
    for (const CurvePoint& point : curve) {
      if (point.updates <= updates) loss = point.loss;
    }
    return loss;
  };
  std::vector<double> differences;
  for (std::size_t seed = 0; seed < ddp.size(); ++seed)
    differences.push_back(loss_at(curves[seed]) / loss_at(ddp[seed]) - 1);
  return mean_of(differences);
}

void compare(AlgorithmConvergence& algorithm, const std::vector<Curve>& ddp) {
  for (const CurvePoint& point : ddp.front())
    algorithm.differences.push_back(difference_at(algorithm.curves, ddp, point.updates));
  algorithm.early_difference = difference_at(algorithm.curves, ddp, at_share(ddp.front(), kEarly).updates);
  algorithm.final_difference = algorithm.differences.back();
  for (const Curve& curve : algorithm.curves)
    algorithm.final_loss += curve.back().loss / static_cast<double>(algorithm.curves.size());
  algorithm.early_samples_ratio = ratio_at(algorithm.curves, ddp, kEarly, algorithm.early_samples_at_least);
  algorithm.samples_ratio = ratio_at(algorithm.curves, ddp, kLate, algorithm.samples_at_least);
}

void tune(ConvergenceReport& report, const std::shared_ptr<const Corpus>& corpus,
          const std::function<void(const std::string&)>& say) {
  const ConvergenceOptions& options = report.options;
  std::vector<Run> runs;
  for (const double rate : options.learning_rates) {
    for (std::uint64_t seed = 0; seed < kTuningSeeds; ++seed) {
      runs.push_back({of(Algorithm::kDdp, options), {}, {}});
      runs.back().options.optimizer.learning_rate = rate;
      runs.back().options.gpt.seed = kFirstTuningSeed + seed;
    }
  }
  play_all(runs, options, corpus, "learning rate of DDP", say);
  for (std::size_t i = 0; i < runs.size(); i += kTuningSeeds) {
    double loss = 0;
    for (std::size_t seed = 0; seed < kTuningSeeds; ++seed)
      loss += runs[i + seed].diverged ? std::numeric_limits<double>::infinity()
                                      : runs[i + seed].curve.back().loss / kTuningSeeds;
    report.tuning.emplace_back(runs[i].options.optimizer.learning_rate, loss);
  }
  const auto best =
      std::ranges::min_element(report.tuning, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (std::isinf(best->second))
    throw BadInput(
        "DDP diverges at every learning rate that was tried; write a lower one, such as --learning-rate 1e-4");
  report.options.optimizer.learning_rate = best->first;
}

// `curves[b]` are those of batch b, a seed each.
void fit_batches(ConvergenceReport& report, const std::vector<std::vector<Curve>>& curves) {
  // A loss that every batch reaches on every seed, with some room: the highest that any has at nine tenths of its run.
  for (const std::vector<Curve>& batch : curves)
    for (const Curve& curve : batch) report.batch_target = std::max(report.batch_target, at_share(curve, 0.9).loss);
  std::vector<std::vector<double>> needed(curves.size());
  for (std::size_t b = 0; b < curves.size(); ++b) {
    for (const Curve& curve : curves[b]) {
      const std::optional<double> samples = samples_to_reach(curve, report.batch_target);
      if (!samples) return;
      needed[b].push_back(*samples);
    }
    report.batches[b].samples_to_target = mean_of(needed[b]);
  }
  std::vector<double> critical;
  for (std::size_t seed = 0; seed < curves.front().size(); ++seed) {
    std::vector<double> x, y;
    for (std::size_t b = 0; b < curves.size(); ++b) {
      x.push_back(static_cast<double>(report.batches[b].samples));
      y.push_back(needed[b][seed]);
    }
    const Line line = line_through(x, y);
    if (!(line.slope > 0 && line.intercept > 0)) return;
    critical.push_back(line.intercept / line.slope);
  }
  report.critical_batch = geometric_mean_of(critical);
}

}  // namespace

Estimate geometric_mean_of(std::span<const double> values) {
  const Estimate mean = mean_of(mapped<double>(values, [](const double value) { return std::log(value); }));
  return {std::exp(mean.value), std::exp(mean.low), std::exp(mean.high)};
}

Line line_through(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) throw std::invalid_argument("a line through less than two different points");
  return {mean_y - xy / xx * mean_x, xy / xx};
}

bool is_synchronous(const AlgorithmConvergence& algorithm) {
  return traits_of(algorithm.options.algorithm).synchronous;
}

bool is_equivalent(const Estimate& difference) {
  return difference.low > -kEquivalent && difference.high < kEquivalent;
}

std::optional<double> samples_to_reach(const Curve& curve, double target) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double loss = smooth_loss(curve, i);
    if (loss > target) continue;
    if (i == 0) return static_cast<double>(curve[0].samples);
    const double before = smooth_loss(curve, i - 1);
    const auto from = static_cast<double>(curve[i - 1].samples), to = static_cast<double>(curve[i].samples);
    return from + (to - from) * (before - target) / (before - loss);
  }
  return {};
}

namespace {

/// Of one that makes updates alone, or late: its options in words.
std::string own_words(const TrainingOptions& o) {
  const AlgorithmTraits& traits = traits_of(o.algorithm);
  std::string words;
  const auto add = [&](const char* option, const std::string& text) {
    if (traits.takes(option)) words += (words.empty() ? "" : ", ") + text;
  };
  add("--inner-updates", fmt::format("{} inner updates", o.inner_updates));
  add("--fragments", fmt::format("{} fragments", o.fragments));
  add("--delay", fmt::format("{} late", o.delay));
  add("--payload", o.payload == Payload::kE3m0 ? "4 bits" : "fp32");
  add("--mixing", fmt::format("mixing {:g}", o.mixing));
  add("--outer-every", fmt::format("outer step every {}", o.outer_every));
  add("--outer-learning-rate", fmt::format("outer rate {:g}", o.outer_learning_rate));
  add("--outer-momentum", fmt::format("momentum {:g}", o.outer_momentum));
  add("--outer-clip", fmt::format("clip {:g}", o.outer_clip));
  return words;
}

/// Those on CPUs alone.
void add_local_algorithms(std::vector<ComparedAlgorithm>& list, const ConvergenceOptions& options) {
  const auto add = [&](Algorithm algorithm, const char* variant = "", Payload payload = Payload::kFloat32) {
    TrainingOptions own = of(algorithm, options);
    own.fragments = std::min(own.fragments, options.gpt.shape.layers);
    own.payload = payload;
    list.push_back({name_of(algorithm) + variant, own_words(own), own});
  };
  add(Algorithm::kDiloco);
  add(Algorithm::kStreamingDiloco);
  add(Algorithm::kStreamingDiloco, "-e3m0", Payload::kE3m0);
  add(Algorithm::kEagerDiloco);
  add(Algorithm::kSlowMo);
  add(Algorithm::kOverlapLocalSgd);
  add(Algorithm::kCo2);
}

}  // namespace

std::vector<ComparedAlgorithm> compared_algorithms(const ConvergenceOptions& options) {
  const std::int64_t warmup = options.updates / 10;
  const auto plain = [&](Algorithm algorithm, const std::string& what, const char* variant = "") {
    return ComparedAlgorithm{name_of(algorithm) + variant, what, of(algorithm, options)};
  };
  std::vector<ComparedAlgorithm> list = {
      plain(Algorithm::kDdp, "synchronous, the baseline"),
      plain(Algorithm::kZero1, "synchronous, optimizer sharded"),
      plain(Algorithm::kAcco, "optimizer's states rolled back after the estimate"),
      plain(Algorithm::kAcco, "ACCO, the moments kept from the estimate", "-keep"),
      plain(Algorithm::kAcco, "ACCO, each rank's estimate its own, without communication", "-local"),
      plain(Algorithm::kDpu, "gradients one update late"),
      plain(Algorithm::kDpu, fmt::format("DPU after {} synchronous updates", warmup), "-warmup"),
      plain(Algorithm::kPipeSgd, "gradients one update late, optimizer not sharded"),
      plain(Algorithm::kPipeSgd, "gradients two updates late", "-2"),
      plain(Algorithm::kWp, "DPU on predicted parameters"),
  };
  list[3].options.estimate_state = EstimateState::kKeep;
  list[4].options.local_estimate = true;
  list[6].options.warmup_updates = warmup;
  list[8].options.delay = 2;
  add_local_algorithms(list, options);
  return list;
}

ConvergenceOptions larger_size(const ConvergenceOptions& options, int seeds, std::int64_t updates) {
  ConvergenceOptions larger = options;
  larger.seeds = seeds;
  larger.updates = updates;
  larger.gpt.shape = {.layers = 5, .width = 128, .heads = 4, .context = 32, .vocabulary = 0};
  larger.gpt.held_out /= 4;  // else looking at the losses takes as long as training
  return larger;
}

void check_options(const ConvergenceOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw BadInput(what);
  };
  require(options.seeds >= 2 && options.seeds <= 1000,
          "an interval needs 2 seeds or more, up to 1000; write --seeds 5");
  require(options.updates >= 40 && options.updates <= 1000000, "write --updates 40 or more");
  require(options.ranks >= 1 && options.ranks <= 64, "write --ranks 1 to 64");
  require(options.jobs >= 0, "--jobs must be 0 (one a core) or more");
  require(!options.learning_rates.empty() || options.optimizer.learning_rate > 0, "no learning rate to try");
  TrainingOptions training = of(Algorithm::kAcco, options);
  if (training.optimizer.learning_rate == 0) training.optimizer.learning_rate = 1;
  check_options(training, options.ranks);
}

namespace {

/// The runs of a comparison: each algorithm on each seed, then DDP at half and at twice the batch over as many samples.
struct Plan {
  std::vector<ComparedAlgorithm> algorithms;
  std::size_t seeds = 0;
  std::size_t batch_seeds = 0;
  std::vector<Run> runs{};

  std::size_t half_batch() const { return algorithms.size() * seeds; }  ///< its first run
  std::size_t twice_batch() const { return half_batch() + batch_seeds; }
  std::vector<Curve> curves(std::size_t first, std::size_t count) const {
    std::vector<Curve> curves;
    for (std::size_t i = first; i < first + count; ++i) curves.push_back(runs[i].curve);
    return curves;
  }
};

Plan plan_of(const ConvergenceOptions& options) {
  Plan plan{.algorithms = compared_algorithms(options), .seeds = static_cast<std::size_t>(options.seeds)};
  plan.batch_seeds = std::min<std::size_t>(plan.seeds, kBatchSeeds);
  const auto add = [&](const TrainingOptions& training, std::size_t count) {
    for (std::size_t seed = 1; seed <= count; ++seed) {
      plan.runs.push_back({training, {}, {}});
      plan.runs.back().options.gpt.seed = seed;
    }
  };
  for (const ComparedAlgorithm& algorithm : plan.algorithms) add(algorithm.options, plan.seeds);
  for (const double factor : {0.5, 2.0}) {
    TrainingOptions training = of(Algorithm::kDdp, options);
    training.micro_batches_per_round = static_cast<int>(2 * factor);
    training.updates = static_cast<std::int64_t>(static_cast<double>(options.updates) / factor);
    training.optimizer.learning_rate *= std::sqrt(factor);
    add(training, plan.batch_seeds);
  }
  return plan;
}

/// Throws BadInput where the first of them, DDP, diverges.
void compare_algorithms(const Plan& plan, ConvergenceReport& report) {
  for (std::size_t i = 0; i < plan.algorithms.size(); ++i) {
    const ComparedAlgorithm& algorithm = plan.algorithms[i];
    const std::span<const Run> runs = std::span(plan.runs).subspan(i * plan.seeds, plan.seeds);
    if (const auto diverged = diverged_of(runs, algorithm.name, algorithm.what)) {
      if (i == 0)
        throw BadInput(
            fmt::format("DDP, which all are compared with, diverges on {} of {} seeds, at update {} first; "
                        "write a lower --learning-rate than {:g}",
                        diverged->seeds, plan.seeds, diverged->first_update, report.options.optimizer.learning_rate));
      report.diverged.push_back(*diverged);
      continue;
    }
    AlgorithmConvergence& compared = report.algorithms.emplace_back();
    static_cast<ComparedAlgorithm&>(compared) = algorithm;
    compared.curves = plan.curves(i * plan.seeds, plan.seeds);
    compare(compared, report.algorithms.front().curves);
  }
}

void compare_batches(const Plan& plan, ConvergenceReport& report, const std::function<void(const std::string&)>& say) {
  std::vector<std::vector<Curve>> curves;
  const auto add = [&](double factor, std::size_t first) {
    const auto samples = static_cast<std::int64_t>(factor * static_cast<double>(report.batch_samples));
    if (diverged_of(std::span(plan.runs).subspan(first, plan.batch_seeds), name_of(Algorithm::kDdp), "")) {
      say(fmt::format("DDP diverges at a batch of {} samples, which is left out", samples));
      return;
    }
    report.batches.push_back({samples, report.options.optimizer.learning_rate * std::sqrt(factor), {}});
    curves.push_back(plan.curves(first, plan.batch_seeds));
  };
  add(0.5, plan.half_batch());
  add(1, 0);
  add(2, plan.twice_batch());
  fit_batches(report, curves);
}

}  // namespace

ConvergenceReport converge(const ConvergenceOptions& options, const std::function<void(const std::string&)>& say) {
  check_options(options);
  const std::int64_t begin = monotonic_nanoseconds();
  const auto corpus = std::make_shared<const Corpus>(read_corpus(options.data));
  ConvergenceReport report{.options = options};
  report.options.gpt.shape.vocabulary = corpus->vocabulary;
  report.parameters = static_cast<std::int64_t>(parameter_count(report.options.gpt.shape));
  report.batch_samples = std::int64_t{2} * options.ranks * options.gpt.sequences;
  if (options.optimizer.learning_rate == 0) tune(report, corpus, say);
  Plan plan = plan_of(report.options);
  play_all(plan.runs, options, corpus, "algorithms", say);
  compare_algorithms(plan, report);
  compare_batches(plan, report, say);
  report.took = Seconds{static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9};
  return report;
}

}  // namespace accocal
