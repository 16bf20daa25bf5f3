#include "sim/what_if/fairness.hpp"

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
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/parts.hpp"

namespace accosim {
namespace {

constexpr double kSame = 0.005;         ///< speeds that differ by less are called equal
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

/// "Balanced at 22 and 10 micro-batches each A100-SXM4-80GB does 22 and each V100-SXM2-32GB 10."; empty where all do
/// the same.
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

ScheduleSpec with_balance(ScheduleSpec spec, Balance balance) {
  spec.balance = balance;
  return spec;
}

/// The synchronous schedule beside a comparison: what is played, and at what.
class FairPlays {
 public:
  FairPlays(const Scenario& scenario, double tokens_per_second, const Evaluations& evaluations)
      : scenario_(scenario), tokens_per_second_(tokens_per_second), evaluations_(evaluations) {
    const std::optional<AddedSchedule>& best = scenario.best_synchronous;
    const ScheduleSpec& spec = best ? scenario.schedules[best->index] : baseline_of(scenario);
    name = best ? best->form : spec.label;
    written = with_balance(spec, baseline_of(scenario).balance);  // a baseline that is balanced gains nothing by it
    balanced = with_some_balance(spec);
  }

  std::string name;                ///< of the schedule
  ScheduleSpec written, balanced;  ///< with the work as written, and divided by speed

  /// On all GPUs.
  FairBaseline balanced_at(double samples) const {
    const Division own = evaluations_.divided(scenario_, balanced, samples);
    bool sizes = false;
    for (std::size_t g = 0; g < scenario_.cluster.nodes.size(); ++g)
      sizes = sizes || own.scenario.cluster.nodes[g].micro_batch_size != scenario_.cluster.nodes[g].micro_batch_size;
    FairBaseline result = played(own, sizes);
    result.as_written = own.as_written;
    result.label = fmt::format("{} {} at {}", name, own.as_written ? "as written" : "balanced", result.work);
    return result;
  }

  /// On the GPUs of one kind; nothing where they cannot be taken out.
  std::optional<FairBaseline> alone(const Kind& kind, double samples) const {
    const Scenario part = part_of(scenario_, kept_of(scenario_.cluster, kind.device));
    if (!can_train(part, written)) return std::nullopt;
    const ScheduleSpec even = with_balance(written, Balance::kCounts);
    FairBaseline result = played(evaluations_.divided(part, even, samples_of(part, even, samples)), false);
    result.part = name_of(scenario_.cluster, kind);
    result.label = fmt::format("{} on {} alone", name, result.part);
    return result;
  }

  /// Of a schedule that does as many samples an update or more as are asked for.
  std::optional<FairGain> gain_of(const RunResult& result) const {
    const double samples = std::max(result.samples_per_update, samples_asked(scenario_));
    const auto time = [&](const ScheduleSpec& spec) {
      return time_per_sample(scenario_, accumulating(spec), samples, evaluations_);
    };
    const std::optional<double> base = time(baseline_of(scenario_)), tuned = time(written), even = time(balanced);
    if (!base || !tuned || !even) return std::nullopt;
    const double own = result.update_time.value / result.samples_per_update;
    return FairGain{result.label, *result.speedup, *base / *tuned, *tuned / *even, *even / own, ""};
  }

 private:
  FairBaseline played(const Division& own, bool sizes) const {
    const RunResult play = run_schedule(own.scenario, own.spec, evaluations_);
    FairBaseline result;
    result.samples_per_update = play.samples_per_update;
    result.update_time = play.update_time;
    result.tokens_per_second = play.tokens_per_second;
    result.speedup = result.tokens_per_second / tokens_per_second_;
    result.fits = play.fits();
    result.shares = shares_of(own.scenario);
    result.work = work_in_words(result.shares, sizes);
    return result;
  }

  const Scenario& scenario_;
  double tokens_per_second_ = 0;  ///< of the baseline as it is written
  const Evaluations& evaluations_;
};

/// The one with the nearest samples per update; of at least one.
const FairBaseline& nearest_of(const std::vector<FairBaseline>& baselines, double samples) {
  return *std::min_element(baselines.begin(), baselines.end(), [&](const FairBaseline& a, const FairBaseline& b) {
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
    if (std::any_of(group.devices.begin(), group.devices.end(),
                    [&](const Device& device) { return !(device == group.devices.front()); }))
      groups.push_back(fmt::format("\"{}\"", group.name));
  if (groups.empty()) return {};
  return fmt::format(
      "{} communicates in every micro-batch and a node group has one micro-batch size, so the work of unlike GPUs "
      "inside {} stays equal.",
      plays.name, in_words(groups));
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
    fair.words.push_back(in_words(*part, balanced, in_words(others), plays.name));
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

namespace {

bool accumulates(const Scenario& scenario, const RunResult& result) {
  return result.label != scenario.baseline && accumulates_while_waiting(*schedule_labelled(scenario, result.label));
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
    const bool same = std::any_of(baselines.begin(), baselines.end(),
                                  [&](const FairBaseline& each) { return each.shares == more.shares; });
    if (!same) baselines.push_back(std::move(more));
  }
  return baselines;
}

}  // namespace

FairComparison fair_comparison(const Scenario& scenario, const std::vector<RunResult>& results,
                               const Evaluations& evaluations) {
  const Stage stage("fair baselines");
  FairComparison fair;
  if (results.empty() || results.front().costs->kinds.size() < 2) return fair;
  if (model_ranks_of(scenario.training.parallel) > 1) return fair;  // stages differ, and no work can be divided
  const RunResult& first = results.front();
  const FairPlays plays(scenario, first.tokens_per_second / *first.speedup, evaluations);
  fair.schedule = plays.name;
  std::vector<const RunResult*> gaining;
  for (const RunResult& result : results)
    if (accumulates(scenario, result)) gaining.push_back(&result);
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
  add_parts(fair, scenario, plays, samples_asked(scenario));
  return fair;
}

}  // namespace accosim
