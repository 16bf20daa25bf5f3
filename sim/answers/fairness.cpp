#include "sim/answers/fairness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/stages.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/answers/parts.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr double kSame = 0.005;         ///< speeds that differ by less are called equal
constexpr double kMostUneven = 1.05;    ///< time over the ideal one, above which other micro-batch sizes are tried
constexpr std::size_t kMostShares = 4;  ///< numbers that a label lists

std::vector<Share> shares_of(const Scenario& scenario) {
  std::vector<Share> shares;
  for (const Crew& crew : crews_of(scenario.cluster)) {
    const NodeGroup& group = scenario.cluster.nodes[static_cast<std::size_t>(crew.group)];
    const int gpu = crew.gpus.front();
    shares.push_back({group.name, device_name(scenario.cluster, group.devices[static_cast<std::size_t>(gpu)]),
                      crew.ranks, group.micro_batch_size, accumulation_steps_of(group, gpu, scenario.training)});
  }
  return shares;
}

std::string work_in_words(const std::vector<Share>& shares, bool sizes) {
  std::vector<std::pair<int, int>> works;  // steps and size, each once
  std::vector<std::string> texts;
  for (const Share& share : shares) {
    const std::pair<int, int> work(share.accumulation_steps, sizes ? share.micro_batch_size : 0);
    if (std::find(works.begin(), works.end(), work) != works.end()) continue;
    works.push_back(work);
    const char* const noun = texts.empty() ? (work.first == 1 ? " micro-batch" : " micro-batches") : "";
    texts.push_back(sizes ? fmt::format("{}{} of {}", work.first, noun, work.second) : fmt::format("{}", work.first));
  }
  if (texts.size() > kMostShares) {
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
      return a.accumulation_steps < b.accumulation_steps;
    });
    return fmt::format("{} to {} micro-batches", least->accumulation_steps, most->accumulation_steps);
  }
  const bool one = texts.size() == 1 && works.front().first == 1;
  return in_words(texts) + (sizes ? "" : one ? " micro-batch" : " micro-batches");
}

/// "In "zero1 balanced at 22 and 10 micro-batches" each A100-SXM4-80GB does 22 and each V100-SXM2-32GB 10."; empty
/// where all do the same.
std::string shares_in_words(const FairBaseline& balanced) {
  const bool sizes = std::any_of(balanced.shares.begin(), balanced.shares.end(), [&](const Share& share) {
    return share.micro_batch_size != balanced.shares.front().micro_batch_size;
  });
  std::vector<std::string> texts;
  for (const Share& share : balanced.shares) {
    const std::string text = fmt::format("each {} does {}{}", share.device, share.accumulation_steps,
                                         sizes ? fmt::format(" of {}", share.micro_batch_size) : std::string());
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  if (texts.size() < 2 || texts.size() > kMostShares) return {};
  return fmt::format("In \"{}\" {}.", balanced.label, in_words(texts));
}

/// The baseline beside a comparison: what is played, and at what.
class FairPlays {
 public:
  FairPlays(const Scenario& scenario, const ScheduleSpec& baseline, double tokens_per_second,
            const Evaluations& evaluations)
      : scenario_(scenario), baseline_(baseline), tokens_per_second_(tokens_per_second), evaluations_(evaluations) {}

  /// On all GPUs, with the micro-batch sizes as written; or where whole ones of them cannot be divided evenly, others.
  FairBaseline balanced_at(double samples) const {
    const Balanced even = balanced(scenario_, baseline_, {baseline_}, task(samples, false), evaluations_);
    const bool uneven = meets_every_micro_batch(baseline_) || even.time > kMostUneven * even.ideal;
    const Balanced choice = fastest_at(scenario_, samples, uneven);
    bool sizes = false;
    for (std::size_t g = 0; g < scenario_.cluster.nodes.size(); ++g)
      sizes = sizes || choice.scenario.cluster.nodes[g].micro_batch_size != scenario_.cluster.nodes[g].micro_batch_size;
    FairBaseline result = played(choice.scenario, sizes);
    result.as_written = choice.as_written;
    result.label = choice.as_written ? fmt::format("{} as written at {}", baseline_.label, result.work)
                                     : fmt::format("{} balanced at {}", baseline_.label, result.work);
    return result;
  }

  /// On the GPUs of one kind; nothing where they cannot be taken out.
  std::optional<FairBaseline> alone(const Kind& kind, double samples) const {
    const Scenario part = part_of(scenario_, kept_of(scenario_.cluster, kind.device));
    if (!can_train(part, baseline_)) return std::nullopt;
    FairBaseline result = played(fastest_at(part, samples, false).scenario, false);
    result.part = name_of(scenario_.cluster, kind);
    result.label = fmt::format("{} on {} alone", baseline_.label, result.part);
    return result;
  }

 private:
  BalanceTask task(double samples, bool sizes) const {
    return {samples, traits_of(baseline_).rounds, sizes, !meets_every_micro_batch(baseline_)};
  }

  Balanced fastest_at(const Scenario& scenario, double samples, bool sizes) const {
    return fastest_balance(scenario, baseline_, {baseline_}, task(samples, sizes), evaluations_);
  }

  FairBaseline played(const Scenario& scenario, bool sizes) const {
    const RunResult play = run_schedule(scenario, baseline_, evaluations_, Advice::kNone);
    FairBaseline result;
    result.samples_per_update = play.samples_per_update;
    result.update_time = play.update_time;
    result.spread = play.spread;
    result.tokens_per_second = play.tokens_per_second;
    result.speedup = result.tokens_per_second / tokens_per_second_;
    result.fits = play.fits();
    result.shares = shares_of(scenario);
    result.work = work_in_words(result.shares, sizes);
    return result;
  }

  const Scenario& scenario_;
  const ScheduleSpec& baseline_;
  double tokens_per_second_ = 0;  ///< of the baseline as it is written
  const Evaluations& evaluations_;
};

FairGain gain_of(const RunResult& result, const FairBaseline& balanced) {
  FairGain gain;
  gain.label = result.label;
  gain.speedup = *result.speedup;
  gain.speedup_same_batch = result.speedup_same_batch;
  gain.balanced = balanced.label;
  gain.speedup_over_balanced = result.tokens_per_second / balanced.tokens_per_second;
  // A batch that grows spreads communication over more samples, whoever grows it: that is neither's merit.
  const double compared = gain.speedup_same_batch.value_or(gain.speedup);
  if (compared > 1 + kSame) gain.share_of_balance = 1 - std::log(gain.speedup_over_balanced) / std::log(compared);
  return gain;
}

/// Where no schedule balances by itself.
std::string balance_in_words(const FairBaseline& balanced, const std::string& baseline) {
  if (balanced.speedup > 1 + kSame)
    return fmt::format("{} is {:.2f} times as fast as written.", balanced.label, balanced.speedup);
  if (balanced.as_written)
    return fmt::format("No other division of {}'s work is faster than the one written.", baseline);
  return fmt::format("{} as written is as fast as {}.", baseline, balanced.label);
}

/// Which node groups' work cannot be divided among their own GPUs; empty where there is none.
std::string undivided_in_words(const Cluster& cluster, const ScheduleSpec& baseline) {
  if (!meets_every_micro_batch(baseline)) return {};
  std::vector<std::string> groups;
  for (const NodeGroup& group : cluster.nodes)
    if (std::any_of(group.devices.begin(), group.devices.end(),
                    [&](const Device& device) { return !(device == group.devices.front()); }))
      groups.push_back(fmt::format("\"{}\"", group.name));
  if (groups.empty()) return {};
  return fmt::format(
      "{} communicates in every micro-batch and a node group has one micro-batch size, so the work of unlike GPUs "
      "inside {} stays equal.",
      baseline.label, in_words(groups));
}

void add_parts(FairComparison& fair, const Scenario& scenario, const FairPlays& plays, double asked) {
  std::vector<Kind> kinds = kinds_of(scenario.cluster);
  if (kinds.size() < 2) return;
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.gpus > b.gpus; });
  const FairBaseline balanced = fair.baselines.front();  // at as many samples
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostParts); ++i) {
    const std::optional<FairBaseline> part = plays.alone(kinds[i], asked);
    if (!part) {
      fair.words.push_back(fmt::format("The {} are not played alone: hybrid sharding needs as many GPUs in every node.",
                                       name_of(scenario.cluster, kinds[i])));
      continue;
    }
    std::vector<std::string> others;
    for (const Kind& other : kinds)
      if (&other != &kinds[i]) others.push_back(name_of(scenario.cluster, other));
    if (others.size() > kMostShares) others = {fmt::format("other {} kinds of GPUs", others.size())};
    fair.words.push_back(in_words(*part, balanced, in_words(others), scenario.baseline));
    fair.baselines.push_back(*part);
  }
  if (kinds.size() > kMostParts)
    fair.words.push_back(
        fmt::format("Of {} kinds of GPUs the {} most numerous are played alone.", kinds.size(), kMostParts));
}

/// "1.56", "1.015".
std::string times(double factor) { return fmt::format("{:.{}f}", factor, std::abs(factor - 1) < 0.1 ? 3 : 2); }

/// "the 16 V100-SXM2-32GB"; of one GPU without its number.
std::string with_article(const std::string& gpus) {
  return "the " + (gpus.rfind("1 ", 0) == 0 ? gpus.substr(2) : gpus);
}

}  // namespace

const FairBaseline& nearest_of(const std::vector<FairBaseline>& baselines, double samples) {
  return *std::min_element(baselines.begin(), baselines.end(), [&](const FairBaseline& a, const FairBaseline& b) {
    return std::abs(a.samples_per_update - samples) < std::abs(b.samples_per_update - samples);
  });
}

std::string in_words(const FairGain& gain, const std::string& title, const std::string& baseline) {
  const double over = gain.speedup_over_balanced;
  std::string than = fmt::format("{} is {:.2f} times as fast as {}", gain.label, gain.speedup, baseline);
  if (gain.speedup_same_batch && std::abs(*gain.speedup_same_batch / gain.speedup - 1) > kSame)
    than += fmt::format(" ({:.2f} times at the same batch)", *gain.speedup_same_batch);
  const std::string balanced = fmt::format("{} times as fast as {}", times(over), gain.balanced);
  const std::string itself = fmt::format("balance, which {} does by itself", title);
  const std::string hides = fmt::format("communication, optimizer and waiting that {} hides", title);
  if (!gain.share_of_balance) return fmt::format("{}, and {}: it gains nothing.", than, balanced);
  const double share = *gain.share_of_balance;
  if (over < 1 - kSame) return fmt::format("{}, but {}: all of the gain is {}.", than, balanced, itself);
  if (over <= 1 + kSame) return fmt::format("{}, but as fast as {}: the gain is {}.", than, gain.balanced, itself);
  if (share >= 0.5)
    return fmt::format("{}, but {}: most of the gain is {}; the rest is {}.", than, balanced, itself, hides);
  if (share >= 0.05)
    return fmt::format("{}, and {}: a part of the gain is {}; most of it is {}.", than, balanced, itself, hides);
  return fmt::format("{}, and {}: none of the gain is balance; it is {}.", than, balanced, hides);
}

std::string in_words(const FairBaseline& part, const FairBaseline& balanced, const std::string& others,
                     const std::string& baseline) {
  const double share = part.tokens_per_second / balanced.tokens_per_second;
  const bool one = part.part.rfind("1 ", 0) == 0;
  const char* const is = one ? "is" : "are";
  std::string text = fmt::format("{} alone with {} ", with_article(part.part), baseline);
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

namespace {

bool accumulates(const Scenario& scenario, const RunResult& result) {
  return result.label != scenario.baseline && accumulates_while_waiting(*schedule_labelled(scenario, result.label));
}

/// At the samples that are asked for, then at those of the schedules that accumulate more.
std::vector<FairBaseline> balanced_at_all(const Scenario& scenario, const std::vector<RunResult>& results,
                                          const FairPlays& plays) {
  std::vector<FairBaseline> baselines{plays.balanced_at(samples_asked(scenario))};
  for (const RunResult& result : results) {
    if (!accumulates(scenario, result)) continue;
    const double samples = result.samples_per_update;
    const bool known = std::abs(nearest_of(baselines, samples).samples_per_update / samples - 1) <= kEqualSamples;
    // What communicates in every micro-batch is played bucket by bucket: not at a batch that may be thousands.
    if (known || meets_every_micro_batch(baseline_of(scenario))) continue;
    FairBaseline more = plays.balanced_at(samples);
    const bool same = std::any_of(baselines.begin(), baselines.end(),
                                  [&](const FairBaseline& each) { return each.shares == more.shares; });
    if (!same) baselines.push_back(std::move(more));
  }
  return baselines;
}

FairPlays plays_of(const Scenario& scenario, const std::vector<RunResult>& results, const Evaluations& evaluations) {
  const RunResult& first = results.front();
  return {scenario, baseline_of(scenario), first.tokens_per_second / *first.speedup, evaluations};
}

}  // namespace

std::vector<FairBaseline> balanced_baselines(const Scenario& asked, const std::vector<RunResult>& results,
                                             const Evaluations& evaluations) {
  const Scenario scenario = evaluations.divided(asked, baseline_of(asked));
  return balanced_at_all(scenario, results, plays_of(scenario, results, evaluations));
}

FairComparison fair_comparison(const Scenario& asked, const std::vector<RunResult>& results,
                               const Evaluations& evaluations) {
  const Stage stage("fair baselines");
  FairComparison fair;
  if (results.empty() || results.front().costs->kinds.size() < 2) return fair;
  const Scenario scenario = evaluations.divided(asked, baseline_of(asked));
  const ScheduleSpec& baseline = baseline_of(scenario);
  const FairPlays plays = plays_of(scenario, results, evaluations);
  fair.baselines = balanced_at_all(scenario, results, plays);
  std::vector<const RunResult*> gaining;
  for (const RunResult& result : results)
    if (accumulates(scenario, result)) gaining.push_back(&result);
  for (const RunResult* result : gaining) {
    fair.gains.push_back(gain_of(*result, nearest_of(fair.baselines, result->samples_per_update)));
    fair.words.push_back(in_words(fair.gains.back(), traits_of(result->schedule).title, scenario.baseline));
  }
  if (gaining.empty()) fair.words.push_back(balance_in_words(fair.baselines.front(), scenario.baseline));
  if (std::string text = undivided_in_words(scenario.cluster, baseline); !text.empty())
    fair.words.push_back(std::move(text));
  const FairBaseline& meant =
      gaining.empty() ? fair.baselines.front() : nearest_of(fair.baselines, gaining.back()->samples_per_update);
  if (std::string text = shares_in_words(meant); !text.empty()) fair.words.push_back(std::move(text));
  add_parts(fair, scenario, plays, samples_asked(scenario));
  return fair;
}

}  // namespace accosim
