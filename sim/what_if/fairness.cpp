#include "sim/what_if/fairness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "models/base/stages.hpp"
#include "models/spec/model_families.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/parts.hpp"

namespace accosim {
namespace {

constexpr double kSame = 0.005;         ///< speeds that differ by less are called equal
constexpr std::int64_t kMostSize = 64;  ///< samples of a micro-batch, of even work
constexpr std::size_t kMostShares = 4;  ///< numbers that a label lists

std::vector<Share> shares_of(const Scenario& scenario) {
  std::vector<Share> shares;
  for (const Crew& crew : crews_of(scenario.cluster)) {
    const NodeGroup& group = scenario.cluster.nodes[crew.group];
    const int gpu = crew.gpus.front();
    shares.push_back({group.name, device_name(scenario.cluster, group.devices[gpu]), crew.ranks, group.micro_batch_size,
                      accumulation_steps_of(group, gpu, scenario.training)});
  }
  return shares;
}

std::string work_in_words(const std::vector<Share>& shares, bool sizes) {
  std::vector<std::pair<int, int>> works;  // steps and size, each once
  std::vector<std::string> texts;
  for (const Share& share : shares) {
    const std::pair<int, int> work(share.accumulation_steps, sizes ? share.micro_batch_size : 0);
    if (std::ranges::find(works, work) != works.end()) continue;
    works.push_back(work);
    const char* const noun = texts.empty() ? (work.first == 1 ? " micro-batch" : " micro-batches") : "";
    texts.push_back(sizes ? fmt::format("{}{} of {}", work.first, noun, work.second) : fmt::format("{}", work.first));
  }
  if (texts.size() > kMostShares) {
    const auto [least, most] = std::ranges::minmax_element(shares, {}, &Share::accumulation_steps);
    return fmt::format("{} to {} micro-batches", least->accumulation_steps, most->accumulation_steps);
  }
  const bool one = texts.size() == 1 && works.front().first == 1;
  return in_words(texts) + (sizes ? "" : one ? " micro-batch" : " micro-batches");
}

/// "Balanced at 22 and 10 micro-batches each A100-SXM4-80GB does 22 and each V100-SXM2-32GB 10."; empty where all do
/// the same.
std::string shares_in_words(const FairBaseline& balanced) {
  const bool sizes = std::ranges::any_of(balanced.shares, [&](const Share& share) {
    return share.micro_batch_size != balanced.shares.front().micro_batch_size;
  });
  std::vector<std::string> texts;
  for (const Share& share : balanced.shares) {
    const std::string text = fmt::format("each {} does {}{}", share.device, share.accumulation_steps,
                                         sizes ? fmt::format(" of {}", share.micro_batch_size) : std::string());
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  if (texts.size() < 2 || texts.size() > kMostShares) return {};
  return fmt::format("In \"{}\" {}.", balanced.label, in_words(texts));
}

/// The micro-batch with which a schedule is the fastest where everybody does the same work, of those that fit.
int even_micro_batch(const Scenario& scenario, ScheduleSpec spec, const Evaluations& evaluations) {
  const Training& training = scenario.training;
  if (!has_one_micro_batch(scenario.cluster, training) || training.parallel.pipeline > 1 ||
      family_of(scenario.model).measured)
    return 0;
  const std::int64_t samples = 1LL * training.micro_batch_size * training.gradient_accumulation_steps;
  std::pair best(true, 0.0);  // whether it is not sure to fit, and minus its tokens a second
  int best_size = 0;
  for (std::int64_t size = 1; size <= std::min<std::int64_t>(samples, kMostSize); ++size) {
    if (samples % size != 0) continue;
    spec.micro_batch_size = static_cast<int>(size);
    const RunResult result = run_schedule(scenario, spec, evaluations);
    const std::pair own(result.fit.verdict != FitVerdict::kFits, -result.tokens_per_second);
    if (own >= best) continue;
    best = own;
    best_size = spec.micro_batch_size;
  }
  return best_size == training.micro_batch_size ? 0 : best_size;
}

bool has_other_sizes(const Cluster& one, const Cluster& other) {
  return !std::ranges::equal(one.nodes, other.nodes, [](const NodeGroup& a, const NodeGroup& b) {
    return a.micro_batch_size == b.micro_batch_size;
  });
}

ScheduleSpec with_balance(ScheduleSpec spec, Balance balance) {
  spec.balance = balance;
  return spec;
}

/// The synchronous schedule beside a comparison: what is played, and at what.
class FairPlays {
 public:
  FairPlays(const Scenario& scenario, const ScheduleSpec& spec, double tokens_per_second,
            const Evaluations& evaluations, const Tuned& tuned = {})
      : name(spec.label),
        written(spec),
        balanced(with_some_balance(spec)),
        scenario_(scenario),
        tokens_per_second_(tokens_per_second),
        evaluations_(evaluations),
        tuned_(tuned) {
    if (tuned.synchronous && tuned.synchronous->label == spec.label) name = tuned.synchronous->form;
    written.balance = baseline_of(scenario).balance;
    if (written.balance != Balance::kNone) written.balance = balanced.balance;  // it gains nothing by balance
    // What is gained by the size of a micro-batch is not gained by balance.
    if (balanced.balance == Balance::kSpeed && written.balance == Balance::kNone)
      written.micro_batch_size = even_micro_batch(scenario, written, evaluations);
  }

  std::string name;                ///< of the schedule
  ScheduleSpec written, balanced;  ///< with the work as written, and divided by speed

  /// On all GPUs.
  FairBaseline balanced_at(double samples) const {
    const Division own = evaluations_.divided(scenario_, balanced, samples);
    FairBaseline result = played(own, has_other_sizes(own.scenario.cluster, scenario_.cluster));
    result.as_written = own.as_written;
    result.label = fmt::format("{} {} at {}", name, own.as_written ? "as written" : "balanced", result.work);
    return result;
  }

  /// On all GPUs, with everybody's micro-batches as they are written.
  FairBaseline undivided() const {
    const std::vector<NodeGroup>& groups = scenario_.cluster.nodes;
    const bool sizes = std::ranges::any_of(
        groups, [&](const NodeGroup& group) { return group.micro_batch_size != groups.front().micro_batch_size; });
    return played(evaluations_.divided(scenario_, with_balance(written, Balance::kNone)), sizes);
  }

  /// On the GPUs of one kind, a part that lacks nothing.
  FairBaseline alone(const Kind& kind, const Scenario& part, double samples) const {
    ScheduleSpec even = with_balance(written, balanced.balance);  // of equal GPUs the size of a micro-batch is chosen
    even.micro_batch_size = 0;
    const bool sized = even.balance == Balance::kSpeed;  // then it does as many samples, however often it meets
    const Division own = evaluations_.divided(part, even, sized ? samples : samples_of(part, even, samples));
    FairBaseline result = played(own, has_other_sizes(own.scenario.cluster, part.cluster));
    result.part = name_of(scenario_.cluster, kind);
    result.label = fmt::format("{} on {} alone", name, result.part);
    return result;
  }

  /// Of a schedule that does as many samples an update or more as are asked for.
  std::optional<FairGain> gain_of(const RunResult& result) const {
    const double samples = std::max(result.samples_per_update, samples_asked(scenario_));
    const auto base = time_at_batch(scenario_, baseline_of(scenario_), samples, evaluations_, tuned_),
               plain = time_per_sample(scenario_, accumulating(written), samples, evaluations_),
               even = time_at_batch(scenario_, balanced, samples, evaluations_, tuned_);
    if (!base || !plain || !even) return std::nullopt;
    const double own = result.update_time.value / result.samples_per_update;
    return FairGain{result.label, *result.speedup, *base / *plain, *plain / *even, *even / own, ""};
  }

 private:
  FairBaseline played(const Division& own, bool sizes) const {
    const RunResult play = run_schedule(own.scenario, own.spec, evaluations_);
    FairBaseline result{.samples_per_update = play.samples_per_update,
                        .update_time = play.update_time,
                        .tokens_per_second = play.tokens_per_second};
    result.speedup = result.tokens_per_second / tokens_per_second_;
    result.fits = play.fits();
    result.spread = play.spread;
    result.shares = shares_of(own.scenario);
    result.work = work_in_words(result.shares, sizes);
    return result;
  }

  const Scenario& scenario_;
  double tokens_per_second_ = 0;  ///< of the baseline as it is written
  const Evaluations& evaluations_;
  const Tuned tuned_;
};

/// The one with the nearest samples per update; of at least one.
const FairBaseline& nearest_of(const std::vector<FairBaseline>& baselines, double samples) {
  return *std::ranges::min_element(baselines, [&](const FairBaseline& a, const FairBaseline& b) {
    return std::abs(a.samples_per_update - samples) < std::abs(b.samples_per_update - samples);
  });
}

/// Where no schedule balances by itself.
std::string balance_in_words(const FairBaseline& balanced, const std::string& schedule, const std::string& baseline) {
  if (balanced.speedup > 1 + kSame)
    return fmt::format("{} is {:.2f} times as fast as {} as written.", balanced.label, balanced.speedup, baseline);
  if (balanced.as_written)
    return fmt::format("No other division of the work of {} is faster than the one written.", schedule);
  return fmt::format("{} as written is as fast as {}.", baseline, balanced.label);
}

/// Which node groups' work cannot be divided among their own GPUs; empty where there is none.
std::string undivided_in_words(const Cluster& cluster, const FairPlays& plays) {
  if (!meets_every_micro_batch(plays.written)) return {};
  std::vector<std::string> groups;
  for (const NodeGroup& group : cluster.nodes)
    if (std::ranges::any_of(group.devices, [&](const Device& device) { return !(device == group.devices.front()); }))
      groups.push_back(fmt::format("\"{}\"", group.name));
  if (groups.empty()) return {};
  return fmt::format(
      "{} communicates in every micro-batch and a node group has one micro-batch size, so the work of unlike GPUs "
      "inside {} stays equal.",
      plays.name, in_words(groups));
}

/// A kind of GPU by itself, and all that are not of it.
struct Alone {
  std::string part;
  std::vector<std::string> others;
  std::string lacking;  ///< why it is not played
  FairBaseline baseline;
};

/// The most numerous kinds first, at most kMostParts.
std::vector<Alone> kinds_alone(const Scenario& scenario, const FairPlays& plays, double samples) {
  std::vector<Kind> kinds = kinds_of(scenario.cluster);
  if (kinds.size() < 2) return {};
  std::ranges::stable_sort(kinds, [](const Kind& a, const Kind& b) { return a.gpus > b.gpus; });
  std::vector<Alone> all;
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostParts); ++i) {
    const Scenario kept = part_of(scenario, kept_of(scenario.cluster, kinds[i].device));
    Alone alone{name_of(scenario.cluster, kinds[i]), {}, lacking_alone(kept, plays.written), {}};
    for (const Kind& other : kinds)
      if (&other != &kinds[i]) alone.others.push_back(name_of(scenario.cluster, other));
    if (alone.lacking.empty()) alone.baseline = plays.alone(kinds[i], kept, samples);
    all.push_back(std::move(alone));
  }
  return all;
}

void add_parts(FairComparison& fair, const std::vector<Alone>& parts) {
  if (parts.empty()) return;
  const FairBaseline balanced = fair.baselines.front();  // at as many samples
  for (const Alone& each : parts) {
    if (!each.lacking.empty()) {
      fair.words.push_back(fmt::format("The {} are not played alone: {}.", each.part, each.lacking));
      continue;
    }
    const std::string others = each.others.size() > kMostShares
                                   ? fmt::format("other {} kinds of GPUs", each.others.size())
                                   : in_words(each.others);
    fair.words.push_back(in_words(each.baseline, balanced, others, fair.schedule));
    fair.baselines.push_back(each.baseline);
  }
  const std::size_t kinds = parts.front().others.size() + 1;
  if (kinds > kMostParts)
    fair.words.push_back(fmt::format("Of {} kinds of GPUs the {} most numerous are played alone.", kinds, kMostParts));
}

Adding::Whole beside(const FairBaseline& whole, const FairBaseline& alone) {
  const double times = whole.tokens_per_second / alone.tokens_per_second;
  const auto differs = [&](const Share& share) {
    const Share& first = whole.shares.front();
    return share.accumulation_steps != first.accumulation_steps || share.micro_batch_size != first.micro_batch_size;
  };
  return {times, interval_80(times, ratio_spread(whole.spread, alone.spread)), whole.work,
          std::ranges::none_of(whole.shares, differs), whole.fits};
}

std::optional<Adding> adding_to(const std::vector<Alone>& parts, const FairPlays& plays, const FairBaseline& balanced) {
  const Alone* fastest = nullptr;
  for (const Alone& each : parts)
    if (each.lacking.empty() && each.baseline.fits &&
        (fastest == nullptr || each.baseline.tokens_per_second > fastest->baseline.tokens_per_second))
      fastest = &each;
  if (fastest == nullptr) return std::nullopt;
  return Adding{plays.name,
                fastest->part,
                fastest->others,
                beside(balanced, fastest->baseline),
                beside(plays.undivided(), fastest->baseline),
                balanced.as_written};
}

/// "1.56", "1.015".
std::string times(double factor) { return fmt::format("{:.{}f}", factor, std::abs(factor - 1) < 0.1 ? 3 : 2); }

/// "the 16 V100-SXM2-32GB"; of one GPU without its number.
std::string with_article(const std::string& gpus) {
  return "the " + (gpus.rfind("1 ", 0) == 0 ? gpus.substr(2) : gpus);
}

std::string stages_in_words(const Parallel& parallel) {
  constexpr const char* kWhy =
      "Unlike GPUs are stages of one pipeline, so that no work can be divided among model replicas";
  return parallel.blocks_by_speed
             ? fmt::format("{}: the stages share the blocks by their speed instead.", kWhy)
             : fmt::format("{}: --set /training/parallel/stage_layers=speed shares the blocks by the stages' speed.",
                           kWhy);
}

bool accumulates(const Scenario& scenario, const RunResult& result, const std::optional<AddedSchedule>& delayed) {
  const bool divided = delayed && delayed->balanced && delayed->label == result.label;
  return result.label != scenario.baseline && !divided &&
         accumulates_while_waiting(*schedule_labelled(scenario, result.label));
}

/// At the samples that are asked for, then at those of the schedules that accumulate more.
std::vector<FairBaseline> balanced_at_all(const Scenario& scenario, const std::vector<const RunResult*>& gaining,
                                          const FairPlays& plays) {
  std::vector<FairBaseline> baselines{plays.balanced_at(samples_asked(scenario))};
  for (const RunResult* const result : gaining) {
    const double samples = result->samples_per_update;
    const bool known = std::abs(nearest_of(baselines, samples).samples_per_update / samples - 1) <= kEqualSamples;
    if (known || meets_every_micro_batch(plays.written)) continue;
    FairBaseline more = plays.balanced_at(samples);
    const bool same =
        std::ranges::any_of(baselines, [&](const FairBaseline& each) { return each.shares == more.shares; });
    if (!same) baselines.push_back(std::move(more));
  }
  return baselines;
}

}  // namespace

Dtype reduced_in(const ScheduleSpec& spec) {
  return traits_of(spec).takes("reduce_dtype") ? spec.reduce_dtype : spec.gradient_dtype;
}

std::optional<double> FairGain::share_of_balance() const {
  return same_batch() > 1 + kSame ? std::optional(std::log(balance) / std::log(same_batch())) : std::nullopt;
}

std::string in_words(const FairGain& gain, const std::string& title, const std::string& baseline,
                     const std::string& schedule) {
  const double all = gain.same_batch();
  std::string text = fmt::format("{} is {} times as fast as {} at the same batch", gain.label, times(all), baseline);
  if (all <= 1 + kSame) return text + ": it gains nothing.";
  std::vector<std::string> parts;
  if (std::abs(gain.tuning - 1) > kSame)
    parts.push_back(fmt::format("{} times by tuning ({})", times(gain.tuning), schedule));
  if (std::abs(gain.balance - 1) > kSame)
    parts.push_back(
        fmt::format("{} times by balance, which {} does by itself ({})", times(gain.balance), title, gain.work));
  const bool hides = gain.hidden > 1 + kSame;
  if (hides)
    parts.push_back(
        fmt::format("{} times by communication, optimizer and waiting that {} hides", times(gain.hidden), title));
  text += ": " + in_words(parts) + ".";
  if (!hides && !parts.empty())
    text += gain.hidden < 1 - kSame
                ? fmt::format(" A synchronous schedule with both is faster: {} reaches {} of its speed.", gain.label,
                              times(gain.hidden))
                : fmt::format(" A synchronous schedule with {} is as fast.", parts.size() > 1 ? "both" : "that");
  return text;
}

std::string in_words(const FairBaseline& part, const FairBaseline& balanced, const std::string& others,
                     const std::string& schedule) {
  const double share = part.tokens_per_second / balanced.tokens_per_second;
  const bool one = part.part.rfind("1 ", 0) == 0;
  const char* const is = one ? "is" : "are";
  std::string text = fmt::format("{} alone with {} ", with_article(part.part), schedule);
  text.front() = 'T';
  if (share > 1 + kSame)
    text += fmt::format("{} {:.2f} times as fast as the balanced mix: adding {} makes it slower", is, share,
                        with_article(others));
  else if (share >= 1 - kSame)
    text += fmt::format("{} as fast as the balanced mix: adding {} gains nothing", is, with_article(others));
  else
    text += fmt::format("{} {:.0f} % of the balanced mix", one ? "reaches" : "reach", 100 * share);
  if (share < 1 - kSame && part.speedup > 1 + kSame)
    text += fmt::format(", and {} {:.2f} times as fast as the mix as it is written", is, part.speedup);
  if (!part.fits) text += "; it does not fit into their memory";
  return text + ".";
}

FairComparison fair_comparison(const Scenario& scenario, const std::vector<RunResult>& results,
                               const Evaluations& evaluations, const Tuned& tuned) {
  const Stage stage("fair baselines");
  FairComparison fair;
  if (results.empty() || results.front().costs->kinds.size() < 2) return fair;
  const Parallel& parallel = scenario.training.parallel;
  if (model_ranks_of(parallel) > 1) {
    if (identical_ranks(scenario.cluster)) return fair;  // stages differ, not GPUs
    if (!can_be_divided(scenario.cluster, scenario.training)) {
      fair.words.push_back(stages_in_words(parallel));
      return fair;
    }
  }
  const RunResult& first = results.front();
  const std::optional<AddedSchedule>& best = tuned.synchronous;
  const FairPlays plays(scenario, best ? scenario.schedules[best->index] : baseline_of(scenario),
                        first.tokens_per_second / *first.speedup, evaluations, tuned);
  fair.schedule = plays.name;
  std::vector<const RunResult*> gaining;
  for (const RunResult& result : results)
    if (accumulates(scenario, result, tuned.delayed)) gaining.push_back(&result);
  fair.baselines = balanced_at_all(scenario, gaining, plays);
  for (const RunResult* const result : gaining) {
    std::optional<FairGain> gain = plays.gain_of(*result);
    if (!gain) continue;
    gain->work = nearest_of(fair.baselines, result->samples_per_update).work;
    fair.words.push_back(in_words(*gain, traits_of(result->schedule).title, scenario.baseline, plays.name));
    fair.gains.push_back(*std::move(gain));
  }
  if (gaining.empty()) fair.words.push_back(balance_in_words(fair.baselines.front(), plays.name, scenario.baseline));
  if (std::string text = undivided_in_words(scenario.cluster, plays); !text.empty())
    fair.words.push_back(std::move(text));
  const FairBaseline& meant =
      gaining.empty() ? fair.baselines.front() : nearest_of(fair.baselines, gaining.back()->samples_per_update);
  if (std::string text = shares_in_words(meant); !text.empty()) fair.words.push_back(std::move(text));
  const std::vector<Alone> parts = kinds_alone(scenario, plays, samples_asked(scenario));
  if (mixes_gpus(scenario.cluster)) fair.adding = adding_to(parts, plays, fair.baselines.front());
  add_parts(fair, parts);
  return fair;
}

std::optional<Adding> adding_of(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  if (!mixes_gpus(scenario.cluster) || !can_be_divided(scenario.cluster, scenario.training)) return std::nullopt;
  const FairPlays plays(scenario, spec, 1, evaluations);
  const double samples = samples_asked(scenario);
  return adding_to(kinds_alone(scenario, plays, samples), plays, plays.balanced_at(samples));
}

}  // namespace accosim
