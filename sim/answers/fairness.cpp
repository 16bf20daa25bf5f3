#include "sim/answers/fairness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/stages.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr double kSame = 0.005;         ///< speeds that differ by less are called equal
constexpr double kMostUneven = 1.05;    ///< time over the ideal one, above which other micro-batch sizes are tried
constexpr std::size_t kMostParts = 8;   ///< kinds of GPUs that are played alone
constexpr std::size_t kMostShares = 4;  ///< numbers that a label lists

/// Ranks of one device, in the order in which the cluster has them.
struct Kind {
  Device device;
  int gpus = 0;
};

std::vector<Kind> kinds_of(const Cluster& cluster) {
  std::vector<Kind> kinds;
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices) {
      auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) { return each.device == device; });
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{device, 0});
      kind->gpus += group.count;
    }
  return kinds;
}

std::string name_of(const Cluster& cluster, const Kind& kind) {
  return fmt::format("{} {}", kind.gpus, device_name(cluster, kind.device));
}

std::vector<Share> shares_of(const Scenario& scenario) {
  std::vector<Share> shares;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    const std::size_t first = shares.size();
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      Share share{group.name, device_name(scenario.cluster, group.devices[static_cast<std::size_t>(gpu)]), 0,
                  group.micro_batch_size, accumulation_steps_of(group, gpu, scenario.training)};
      const auto same = [&](const Share& each) {
        return each.device == share.device && each.accumulation_steps == share.accumulation_steps;
      };
      auto known = std::find_if(shares.begin() + static_cast<std::ptrdiff_t>(first), shares.end(), same);
      if (known == shares.end()) known = shares.insert(shares.end(), share);
      known->gpus += group.count;
    }
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

/// Pauses of the ranks that are kept, by their new numbers; those without any are gone. `kept`: by rank of the whole.
void keep_pauses(std::vector<Pause>& pauses, const std::vector<bool>& kept) {
  std::vector<Pause> left;
  for (Pause& pause : pauses) {
    const bool all = pause.ranks.empty();
    std::vector<int> ranks;
    for (const int rank : pause.ranks)
      if (kept[static_cast<std::size_t>(rank)])
        ranks.push_back(static_cast<int>(std::count(kept.begin(), kept.begin() + rank, true)));
    pause.ranks = std::move(ranks);
    if (all || !pause.ranks.empty()) left.push_back(std::move(pause));
  }
  pauses = std::move(left);
}

/// The GPUs of one device alone. Nothing where hybrid sharding would get nodes of unlike numbers of GPUs.
std::optional<Scenario> part_of(const Scenario& scenario, const Device& device, const ScheduleSpec& spec) {
  Scenario part = scenario;
  std::vector<bool> ranks;
  for (const Place& place : places_of(scenario.cluster))
    ranks.push_back(
        scenario.cluster.nodes[static_cast<std::size_t>(place.group)].devices[static_cast<std::size_t>(place.gpu)] ==
        device);
  keep_pauses(part.training.unsteady.pauses, ranks);
  part.cluster.nodes.clear();
  for (const NodeGroup& group : scenario.cluster.nodes) {
    NodeGroup kept = group;
    const std::vector<std::vector<int>>& links = group.intra.links;
    kept.devices.clear();
    kept.accumulation_steps.clear();
    std::vector<std::size_t> gpus;
    for (std::size_t gpu = 0; gpu < group.devices.size(); ++gpu)
      if (group.devices[gpu] == device) gpus.push_back(gpu);
    if (gpus.empty()) continue;
    kept.gpus = static_cast<int>(gpus.size());
    kept.devices.assign(gpus.size(), device);
    if (!links.empty()) {
      kept.intra.links.assign(gpus.size(), std::vector<int>(gpus.size()));
      for (std::size_t i = 0; i < gpus.size(); ++i)
        for (std::size_t j = 0; j < gpus.size(); ++j) kept.intra.links[i][j] = links[gpus[i]][gpus[j]];
    }
    part.cluster.nodes.push_back(std::move(kept));
  }
  const int first = part.cluster.nodes.front().gpus;
  const bool alike = std::all_of(part.cluster.nodes.begin(), part.cluster.nodes.end(),
                                 [&](const NodeGroup& group) { return group.gpus == first; });
  if (spec.shard_group == ShardGroup::kNode && !alike) return std::nullopt;
  return part;
}

/// The baseline beside a comparison: what is played, and at what.
class FairPlays {
 public:
  FairPlays(const Scenario& scenario, const ScheduleSpec& baseline, double tokens_per_second, NetworkKind network)
      : scenario_(scenario), baseline_(baseline), tokens_per_second_(tokens_per_second), network_(network) {}

  /// On all GPUs, with the micro-batch sizes as written; or where whole ones of them cannot be divided evenly, others.
  FairBaseline balanced_at(double samples) const {
    const Balanced even = balanced(scenario_, baseline_, {baseline_}, task(samples, false));
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
    const std::optional<Scenario> part = part_of(scenario_, kind.device, baseline_);
    if (!part) return std::nullopt;
    FairBaseline result = played(fastest_at(*part, samples, false).scenario, false);
    result.part = name_of(scenario_.cluster, kind);
    result.label = fmt::format("{} on {} alone", baseline_.label, result.part);
    return result;
  }

 private:
  BalanceTask task(double samples, bool sizes) const {
    return {samples, traits_of(baseline_).rounds, sizes, !meets_every_micro_batch(baseline_)};
  }

  Balanced fastest_at(const Scenario& scenario, double samples, bool sizes) const {
    return fastest_balance(scenario, baseline_, {baseline_}, task(samples, sizes), network_);
  }

  FairBaseline played(const Scenario& scenario, bool sizes) const {
    const int steps = scenario.training.gradient_accumulation_steps;
    const SteadyPlay play = play_steady(scenario, baseline_, steps, network_);
    FairBaseline result;
    result.samples_per_update = samples_per_update(play);
    result.update_time = play.measured.update_time;
    result.tokens_per_second = worked_per_update(play).tokens / result.update_time.value;
    result.speedup = result.tokens_per_second / tokens_per_second_;
    result.fits = least_likely(memory_by_kind(play.costs, baseline_, steps)).fit.verdict != FitVerdict::kDoesNotFit;
    result.shares = shares_of(scenario);
    result.work = work_in_words(result.shares, sizes);
    return result;
  }

  const Scenario& scenario_;
  const ScheduleSpec& baseline_;
  double tokens_per_second_ = 0;  ///< of the baseline as it is written
  NetworkKind network_;
};

const ScheduleSpec& spec_of(const Scenario& scenario, const std::string& label) {
  return *std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                       [&](const ScheduleSpec& spec) { return spec.label == label; });
}

/// The balanced baseline with the nearest samples per update.
const FairBaseline& nearest_of(const std::vector<FairBaseline>& baselines, double samples) {
  return *std::min_element(baselines.begin(), baselines.end(), [&](const FairBaseline& a, const FairBaseline& b) {
    return std::abs(a.samples_per_update - samples) < std::abs(b.samples_per_update - samples);
  });
}

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

FairComparison fair_comparison(const Scenario& scenario, const std::vector<RunResult>& results, NetworkKind network) {
  const Stage stage("fair baselines");
  FairComparison fair;
  if (results.empty() || results.front().costs->kinds.size() < 2) return fair;
  const ScheduleSpec& baseline = spec_of(scenario, scenario.baseline);
  const FairPlays plays(scenario, baseline, results.front().tokens_per_second / *results.front().speedup, network);
  const double asked = samples_asked(scenario);
  fair.baselines.push_back(plays.balanced_at(asked));
  std::vector<const RunResult*> gaining;
  for (const RunResult& result : results)
    if (result.label != scenario.baseline && accumulates_while_waiting(spec_of(scenario, result.label)))
      gaining.push_back(&result);
  for (const RunResult* result : gaining) {
    const double samples = result->samples_per_update;
    const bool known = std::abs(nearest_of(fair.baselines, samples).samples_per_update / samples - 1) <= kEqualSamples;
    // What communicates in every micro-batch is played bucket by bucket: not at a batch that may be thousands.
    if (!known && !meets_every_micro_batch(baseline)) fair.baselines.push_back(plays.balanced_at(samples));
  }
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
  add_parts(fair, scenario, plays, asked);
  return fair;
}

}  // namespace accosim
