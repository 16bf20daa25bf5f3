#include "sim/evaluation/balance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/price/fit_verdict.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/evaluation/resident.hpp"

namespace accosim {
namespace {

constexpr int kMostSize = 4096;      ///< samples of a micro-batch
constexpr int kMostPadded = 16;      ///< samples of a micro-batch, where lengths are drawn
constexpr double kNearShare = 0.3;   ///< sizes that differ from their share by less are tried
constexpr double kMostTried = 1e6;   ///< choices in all; of more, one node group's size is changed at a time
constexpr double kMostNext = 4096;   ///< choices of steps for given sizes
constexpr int kWidest = 64;          ///< whole numbers next to the ideal one, of one kind of GPU
constexpr double kMostSteps = 1e9;   ///< as many as a file may ask for
constexpr double kRounding = 1e-12;  ///< of samples
/// What samples that are off by more than kEqualSamples must gain, as a share of what they are off: less than one,
/// since a sample more that nobody waits for is no loss.
constexpr double kPriceOfOff = 0.5;

/// A micro-batch size, and what it takes on each kind of GPU that has it.
struct Size {
  int samples = 1;
  std::vector<Seconds> times;
};

/// Teams of the same devices whose micro-batches are of one size: they do equal work.
struct Duty {
  std::vector<std::size_t> crews, team;  ///< of all; and of one team
  int ranks = 0;
};

/// Node groups that have one micro-batch size.
struct SizedAlike {
  std::vector<std::size_t> groups;
  std::vector<Duty> duties;
  std::vector<Size> sizes;  ///< that are tried
};

/// Every GPU with micro-batches of that size, and as many of them as the training says.
Scenario with_size(Scenario scenario, int size) {
  for (NodeGroup& group : scenario.cluster.nodes) {
    group.micro_batch_size = size;
    group.accumulation_steps.clear();
  }
  return scenario;
}

/// Powers of two, and three times those.
bool is_round(int number) { return (number & (number - 1)) == 0 || (number % 3 == 0 && is_round(number / 3)); }

/// The nearest round one, counting down or up.
int round_from(int number, int step) {
  while (!is_round(number)) number += step;
  return number;
}

/// What a kind of rank costs, priced with every group at the same size: round ones and those that are written. Between
/// two of them time is taken to be affine, and memory to grow.
class Prices {
 public:
  Prices(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations)
      : scenario_(scenario), spec_(spec), evaluations_(evaluations) {}

  Seconds time(int rank, int size) {
    if (is_priced(size)) return priced_time(rank, size);
    const int below = round_from(size, -1), above = round_from(size, 1);
    const Seconds first = priced_time(rank, below);
    return first + (1.0 * (size - below) / (above - below)) * (priced_time(rank, above) - first);
  }

  bool fits(int rank, int size) {
    if (is_priced(size)) return priced_fits(rank, size);
    return priced_fits(rank, round_from(size, 1)) ||
           (priced_fits(rank, round_from(size, -1)) && priced_fits(rank, size));
  }

 private:
  bool is_priced(int size) const {
    return is_round(size) || std::ranges::any_of(scenario_.cluster.nodes,
                                                 [&](const NodeGroup& each) { return each.micro_batch_size == size; });
  }

  Seconds priced_time(int rank, int size) {
    const RankKind& kind = kind_of(rank, size);
    return kind.forward + kind.backward;
  }

  /// With the gradients that stay between two micro-batches, and those that are in a pipeline.
  bool priced_fits(int rank, int size) {
    const auto [known, anew] = fits_.try_emplace({rank, size});
    if (!anew) return known->second;
    const RankKind& kind = kind_of(rank, size);
    const int steps = scenario_.training.parallel.pipeline > 1 ? scenario_.training.gradient_accumulation_steps : 1;
    known->second = fit_of(memory_of(kind, spec_, std::max(2, steps)), kind.device.memory).verdict == FitVerdict::kFits;
    return known->second;
  }

  const RankKind& kind_of(int rank, int size) {
    const auto [known, anew] = costs_.try_emplace(size);
    if (anew) known->second = evaluations_.costs(with_size(scenario_, size), spec_);
    const Costs& costs = known->second;
    return costs.kinds[costs.kind_of[rank]];
  }

  const Scenario& scenario_;
  const ScheduleSpec& spec_;
  const Evaluations& evaluations_;
  std::map<int, Shared<Costs>> costs_;        // by size
  std::map<std::pair<int, int>, bool> fits_;  // by rank and size
};

/// Calls `visit` with every vector of numbers from 0 to below `limits`.
template <class Visit>
void for_each_combination(const std::vector<int>& limits, const Visit& visit) {
  std::vector<int> at(limits.size(), 0);
  for (;;) {
    visit(at);
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == limits[i]) at[i++] = 0;
    if (i == at.size()) return;
  }
}

/// Sizes and steps, and how good they are.
struct Choice {
  std::vector<int> sizes;  ///< by kind of node group
  std::vector<int> steps;  ///< by duty, those of a kind of node group after those of the one before
  double samples = 0;
  Seconds time, ideal;
  std::tuple<double, double, double> badness;
};

class Search {
 public:
  Search(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations)
      : scenario_(scenario),
        crews_(crews_of(with_size(scenario, 1).cluster)),
        prices_(scenario, spec, evaluations),
        model_ranks_(model_ranks_of(scenario.training.parallel)) {
    add_teams(island_of(spec));
    const Parallel parallel = parallel_of(scenario.training, spec);
    if (spec.pipeline_flush) filling_ = (parallel.pipeline - 1.0) / parallel.chunks;
  }

  Balanced best(const BalanceTask& task) {
    task_ = task;
    best_.reset();
    alike_.clear();
    for (std::size_t g = 0; g < scenario_.cluster.nodes.size(); ++g) add_group(g);
    std::size_t duties = 0;
    for (SizedAlike& alike : alike_) add_duties(alike);
    for (SizedAlike& alike : alike_) {
      alike.sizes = sizes_of(alike);
      duties += alike.duties.size();
    }
    numbers_ = task.steps && task.exactly == 0 ? duties : 1;
    const double width = std::pow(kMostNext, 1.0 / static_cast<double>(numbers_));
    next_to_ = task.exactly > 0 ? 1 : std::clamp(static_cast<int>(width + kRounding), 1, kWidest);
    std::vector<int> limits;
    double choices = std::pow(next_to_, numbers_);
    for (const SizedAlike& alike : alike_) {
      limits.push_back(static_cast<int>(alike.sizes.size()));
      choices *= limits.back();
    }
    if (choices > kMostTried)
      descend();
    else
      for_each_combination(limits, [&](const std::vector<int>& at) { try_sizes(at); });
    return written_down(*best_);
  }

 private:
  const NodeGroup& group_of(std::size_t g) const { return scenario_.cluster.nodes[g]; }

  /// Which crews work together, and of each a rank of every stage that it has.
  void add_teams(Island island) {
    const Parallel& parallel = scenario_.training.parallel;
    const std::vector<std::vector<int>> teams = teams_of(scenario_.cluster, parallel, island);
    for (const Crew& crew : crews_) {
      const auto team = static_cast<std::size_t>(teams[crew.group][crew.gpus.front()]);
      teams_.resize(std::max(teams_.size(), team + 1));
      teams_[team].push_back(ranks_of_stages_.size());
      ranks_of_stages_.push_back({crew.first_rank});
    }
    if (parallel.pipeline == 1) return;
    const Layout layout = layout_of(scenario_.cluster, island, parallel);
    const std::vector<Place> places = places_of(scenario_.cluster);
    for (std::size_t c = 0; c < crews_.size(); ++c) {
      std::set<int> seen{stage_of(layout, crews_[c].first_rank)};
      for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
        const bool of_crew = places[rank].group == crews_[c].group &&
                             std::ranges::find(crews_[c].gpus, places[rank].gpu) != crews_[c].gpus.end();
        if (of_crew && seen.insert(stage_of(layout, rank)).second) ranks_of_stages_[c].push_back(rank);
      }
    }
  }

  /// Of a micro-batch, in the slowest stage.
  Seconds time_of(const Duty& duty, int size) {
    Seconds slowest;
    for (const std::size_t c : duty.team)
      for (const int rank : ranks_of_stages_[c]) slowest = std::max(slowest, prices_.time(rank, size));
    return slowest;
  }

  bool in_one_team(std::size_t a, std::size_t b) const {
    return std::ranges::any_of(teams_, [&](const std::vector<std::size_t>& team) {
      const auto has = [&](std::size_t g) {
        return std::ranges::any_of(team, [&](std::size_t c) { return crews_[c].group == static_cast<int>(g); });
      };
      return has(a) && has(b);
    });
  }

  /// Groups that share a kind of GPU, or a model replica; where all GPUs do as many micro-batches, those that have the
  /// same ones, since a group with a slow GPU can do less only as a whole. Where sizes stay, of one size as well.
  bool sized_alike(std::size_t a, std::size_t b) const {
    if (in_one_team(a, b)) return true;
    if (!task_.sizes && group_of(a).micro_batch_size != group_of(b).micro_batch_size) return false;
    const std::vector<Device>&first = group_of(a).devices, &second = group_of(b).devices;
    const auto in = [](const std::vector<Device>& devices) {
      return [&](const Device& device) { return std::ranges::find(devices, device) != devices.end(); };
    };
    if (task_.steps) return std::ranges::any_of(first, in(second));
    return std::ranges::all_of(first, in(second)) && std::ranges::all_of(second, in(first));
  }

  /// A group may join what was apart before.
  void add_group(std::size_t g) {
    const auto apart = [&](const SizedAlike& each) {
      return std::ranges::none_of(each.groups, [&](std::size_t of) { return sized_alike(of, g); });
    };
    const auto with_it = std::stable_partition(alike_.begin(), alike_.end(), apart);
    SizedAlike joined;
    for (auto each = with_it; each != alike_.end(); ++each)
      joined.groups.insert(joined.groups.end(), each->groups.begin(), each->groups.end());
    alike_.erase(with_it, alike_.end());
    joined.groups.push_back(g);
    alike_.push_back(std::move(joined));
  }

  void add_duties(SizedAlike& alike) const {
    const auto device = [&](std::size_t c) -> const Device& {
      return group_of(crews_[c].group).devices[crews_[c].gpus.front()];
    };
    for (const std::vector<std::size_t>& team : teams_) {
      const auto group = static_cast<std::size_t>(crews_[team.front()].group);
      if (std::ranges::find(alike.groups, group) == alike.groups.end()) continue;
      auto duty = std::ranges::find_if(
          alike.duties, [&](const Duty& each) { return std::ranges::equal(each.team, team, {}, device, device); });
      if (duty == alike.duties.end()) duty = alike.duties.insert(duty, Duty{{}, team, 0});
      for (const std::size_t c : team) {
        duty->crews.push_back(c);
        duty->ranks += crews_[c].ranks;
      }
    }
  }

  std::vector<Size> sizes_of(const SizedAlike& alike) {
    std::set<int> tried;
    double ranks = 0;
    for (const std::size_t g : alike.groups) {
      tried.insert(group_of(g).micro_batch_size);
      ranks += 1.0 * group_of(g).count * group_of(g).gpus;
    }
    const int written = *tried.rbegin();
    // The time of a measured model is that of one size.
    if (task_.sizes && !family_of(scenario_.model).measured) {
      const double share = task_.exactly > 0 ? share_of(alike) : 0;  // samples that are each one's of a micro-batch
      for (int size = 1; size <= kMostSize && ranks / model_ranks_ * size * task_.unit <= task_.samples; ++size)
        if (share > 0 ? std::abs(size / share - 1) < kNearShare || std::abs(size - share) < 2
                      : size <= 8 || is_round(size))
          tried.insert(size);
    }
    if (!task_.larger) std::erase_if(tried, [&](int size) { return size > written; });
    std::vector<Size> sizes;
    for (const int size : tried)
      if (tried.size() == 1 || fits(alike, size)) sizes.push_back(sized(alike, size));
    if (sizes.empty()) sizes.push_back(sized(alike, group_of(alike.groups.front()).micro_batch_size));
    return sizes;
  }

  /// Samples of a micro-batch of each replica, where all have the same number and none waits; by what a sample takes at
  /// the sizes that are written.
  double share_of(const SizedAlike& alike) {
    const auto rate = [&](const SizedAlike& each) {
      const int size = group_of(each.groups.front()).micro_batch_size;
      const Seconds slowest = largest<Seconds>(each.duties, [&](const Duty& duty) { return time_of(duty, size); });
      return size / slowest.value;
    };
    double all = 0;
    for (const SizedAlike& each : alike_)
      for (const Duty& duty : each.duties) all += rate(each) * duty.ranks / model_ranks_;
    return task_.samples / task_.exactly * rate(alike) / all;
  }

  Size sized(const SizedAlike& alike, int samples) {
    Size size{samples, {}};
    for (const Duty& duty : alike.duties) size.times.push_back(time_of(duty, samples));
    return size;
  }

  bool fits(const SizedAlike& alike, int size) {
    for (const Duty& duty : alike.duties)
      for (const std::size_t c : duty.crews)
        for (const int rank : ranks_of_stages_[c])
          if (prices_.fits(rank, 1) && !prices_.fits(rank, size)) return false;
    return true;
  }

  /// The size of one kind of group after the other, from those that are written, until no other improves the choice.
  void descend() {
    std::vector<int> at;
    for (const SizedAlike& alike : alike_) {
      const int own = group_of(alike.groups.front()).micro_batch_size;
      const auto written = std::ranges::find(alike.sizes, own, &Size::samples);
      at.push_back(written == alike.sizes.end() ? 0 : static_cast<int>(written - alike.sizes.begin()));
    }
    try_sizes(at);
    for (bool better = true; better;) {
      better = false;
      for (std::size_t a = 0; a < alike_.size(); ++a) {
        int best = at[a];
        for (int size = 0; size < static_cast<int>(alike_[a].sizes.size()); ++size) {
          at[a] = size;
          if (!try_sizes(at)) continue;
          best = size;
          better = true;
        }
        at[a] = best;
      }
    }
  }

  /// Whether one of these sizes' choices is the best so far.
  bool try_sizes(const std::vector<int>& at) {
    bool best = false;
    Choice choice;
    std::vector<double> weights;  // samples of a micro-batch on every model replica of a duty
    std::vector<Seconds> times;
    double rate = 0;
    for (std::size_t a = 0; a < alike_.size(); ++a) {
      const Size& size = alike_[a].sizes[at[a]];
      choice.sizes.push_back(size.samples);
      for (std::size_t d = 0; d < size.times.size(); ++d) {
        weights.push_back(1.0 * alike_[a].duties[d].ranks / model_ranks_ * size.samples);
        times.push_back(size.times[d]);
        rate += weights.back() / times.back().value;
      }
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double pace = (task_.samples + filling_ * all) / rate;  // of every GPU, in seconds
    std::vector<int> first;                                       // units
    for (const Seconds time : times)
      first.push_back(
          task_.exactly > 0
              ? task_.exactly / task_.unit
              : first_near((task_.steps ? pace / time.value - filling_ : task_.samples / all) / task_.unit));
    const auto evaluate = [&](const std::vector<int>& more) {
      choice.samples = 0;
      choice.time = Seconds{0};  // the slowest GPU's
      choice.steps.clear();
      for (std::size_t d = 0; d < times.size(); ++d) {
        choice.steps.push_back(task_.unit * (first[d] + more[std::min(d, numbers_ - 1)]));
        choice.samples += weights[d] * choice.steps[d];
        choice.time = std::max(choice.time, (choice.steps[d] + filling_) * times[d]);
      }
      choice.ideal = Seconds{(choice.samples + filling_ * all) / rate};
      const double off = std::abs(choice.samples / task_.samples - 1);
      const double beyond = off <= task_.near + kRounding ? 0 : off;
      const double price = kPriceOfOff * std::max(0.0, off - kEqualSamples);
      choice.badness = {beyond, (1 + price) * choice.time.value / choice.samples, off};
      if (best_ && !(choice.badness < best_->badness)) return;
      best_ = choice;
      best = true;
    };
    // Of the first number only those with which the samples are near enough, or else are the nearest.
    const double one = task_.unit * (numbers_ == 1 ? all : weights.front());  // sample more or less
    const auto next_to = [&](double samples) {
      return static_cast<int>(std::clamp(samples / one - first.front(), 0.0, next_to_ - 1.0));
    };
    for_each_combination(std::vector<int>(numbers_ - 1, next_to_), [&](const std::vector<int>& others) {
      double left = task_.samples;
      for (std::size_t d = 1; d < numbers_; ++d) left -= weights[d] * task_.unit * (first[d] + others[d - 1]);
      std::vector<int> more = {next_to(left - task_.near * task_.samples - one)};
      more.insert(more.end(), others.begin(), others.end());
      const int most = next_to(left + task_.near * task_.samples + one);
      for (; more.front() <= most; ++more.front()) evaluate(more);
    });
    return best;
  }

  /// The least that is tried of the whole numbers next to the ideal one; of one the nearest.
  int first_near(double ideal) const {
    const int before = (next_to_ - 1) / 2;
    const double first = next_to_ == 1 ? std::round(ideal) : std::floor(ideal) - before;
    const double least = std::ceil(1.0 * task_.least / task_.unit);
    return static_cast<int>(std::clamp(first, std::max(1.0, least), kMostSteps / task_.unit - kWidest));
  }

  Balanced written_down(const Choice& choice) const {
    Balanced result{scenario_, choice.samples, choice.time, choice.ideal};
    std::size_t d = 0;
    for (std::size_t a = 0; a < alike_.size(); ++a) {
      for (const std::size_t g : alike_[a].groups) {
        NodeGroup& group = result.scenario.cluster.nodes[g];
        group.micro_batch_size = choice.sizes[a];
        group.accumulation_steps.assign(group.gpus, 0);
      }
      for (const Duty& duty : alike_[a].duties) {
        for (const std::size_t c : duty.crews)
          for (const int gpu : crews_[c].gpus)
            result.scenario.cluster.nodes[crews_[c].group].accumulation_steps[gpu] = choice.steps[d];
        ++d;
      }
    }
    return result;
  }

  const Scenario& scenario_;
  BalanceTask task_;
  std::vector<Crew> crews_;
  Prices prices_;
  const int model_ranks_;
  double filling_ = 0;                             // of a pipeline, in micro-batches
  std::vector<std::vector<std::size_t>> teams_;    // crews
  std::vector<std::vector<int>> ranks_of_stages_;  // by crew
  std::vector<SizedAlike> alike_;
  std::size_t numbers_ = 1;  // of micro-batches, that are chosen by themselves
  int next_to_ = 1;
  std::optional<Choice> best_;
};

/// As written, with every GPU's number of micro-batches times the same factor, so that the samples are those of the
/// task or the next fewer that there can be; nothing where one would do more than anybody may, or too few.
std::optional<Balanced> as_written(const Scenario& scenario, const BalanceTask& task) {
  const int common = common_steps(scenario);
  const double samples = samples_asked(scenario);
  const double parts = task.unit * std::max(1.0, std::floor(task.samples / samples * common / task.unit + 1e-9));
  Balanced result{scenario, samples * parts / common, {}, {}, true};
  for (NodeGroup& group : result.scenario.cluster.nodes) {
    std::vector<int> steps;
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const double own = parts / common * accumulation_steps_of(group, gpu, scenario.training);
      if (own > kMostSteps || std::lround(own) < task.least) return std::nullopt;
      steps.push_back(static_cast<int>(std::lround(own)));
    }
    group.accumulation_steps = steps;
  }
  return result;
}

/// How unlikely it fits, where that is not likely enough, whether it is of other samples, and seconds a sample.
using Badness = std::tuple<double, bool, double>;

Badness badness_of(const Balanced& choice, const ScheduleSpec& spec, const BalanceTask& task,
                   const Evaluations& evaluations) {
  const auto is_near = [&](double samples) { return std::abs(samples / task.samples - 1) <= task.near + kRounding; };
  const double fits = std::min(kSurelyFits, least_fit(choice.scenario, spec, evaluations).probability);
  // Steady steps of many micro-batches that all communicate are large plays, and each but the first takes as long.
  if (meets_every_micro_batch(spec) && is_synchronous(spec) && !choice.scenario.training.unsteady.varies())
    return {-fits, !is_near(samples_asked(choice.scenario)),
            estimated_time_per_sample(choice.scenario, spec, evaluations)};
  const auto play = evaluations.play(choice.scenario, spec, kept_to_rank(choice.scenario, spec));
  return {-fits, !is_near(samples_per_update(*play)), time_per_sample(*play)};
}

/// Numbers of micro-batches of everybody that are tried.
std::vector<int> numbers_tried(const Scenario& scenario, const BalanceTask& task) {
  const double replicas = gpu_count(scenario.cluster) / model_ranks_of(scenario.training.parallel);
  std::vector<int> numbers;
  for (int units = 1; replicas * units * task.unit <= task.samples && units * task.unit <= kMostSize; ++units)
    if ((units <= 8 || is_round(units)) && units * task.unit >= task.least) numbers.push_back(units * task.unit);
  return numbers;
}

int most_steps(const Scenario& scenario) {
  int most = 0;
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (const int steps : group.accumulation_steps) most = std::max(most, steps);
  return most;
}

/// Seconds a sample without communication: no play is faster, unless sequences are drawn shorter.
double least_time(const Balanced& choice, const ScheduleSpec& spec, const Evaluations& evaluations) {
  const Shared<Costs> costs = evaluations.costs(choice.scenario, spec);
  return least_update_time(spec, *costs, choice.scenario.training.gradient_accumulation_steps).value / choice.samples;
}

/// Whether all communication comes after the last micro-batch: then it is the same in however many.
bool communicates_last(const ScheduleSpec& spec) {
  return is_synchronous(spec) && !meets_every_micro_batch(spec) && spec.overlap == Overlap::kNone &&
         !spec.overlap_param_gather;
}

/// What is the fastest a sample, as it is played (where all communicate in every micro-batch, as few of them tell:
/// estimated_time_per_sample()), of: what balanced() chooses with the sizes as written, with chosen sizes (where
/// task.sizes, and then also with the same number of micro-batches for all, at each number up to 8 and some above: who
/// meets often, or hides more behind a large micro-batch, gains by fewer; where lengths are drawn with micro-batches of
/// 1, 2, 4, 8 and 16 for all instead), and everybody's work as written, as many times as makes at most so many samples.
/// One that is less likely to fit, where kSurelyFits is not reached, is taken only where none is likelier; one of
/// another number of samples (to task.near) only where none is of as many, or it is the work as written: that counts
/// per sample. So no balance is worse than none, whatever communication costs.
Balanced fastest_balance(const Scenario& scenario, const ScheduleSpec& spec, const BalanceTask& task,
                         const Evaluations& evaluations) {
  constexpr double kBetter = 1 - 1e-9;  // of equal ones the first
  const Unsteady& unsteady = scenario.training.unsteady;
  Search search(scenario, spec, evaluations);
  BalanceTask own_sizes = task;
  own_sizes.sizes = false;
  std::vector<std::pair<int, double>> played;  // most micro-batches of a GPU, and what it computes a sample
  const auto of = [&](const Balanced& choice) {
    return std::pair(most_steps(choice.scenario), least_time(choice, spec, evaluations));
  };
  std::optional<Balanced> best;
  Badness least;
  const bool last = communicates_last(spec);
  // Who computes as long in as many micro-batches or more has no less to send, and hides no more of it.
  const auto is_hopeless = [&](const Balanced& choice) {
    if (unsteady.varies() || std::get<0>(least) > -kSurelyFits) return false;
    const std::pair own = of(choice);
    return own.second > std::get<2>(least) || std::ranges::any_of(played, [&](const auto& each) {
             return (last || each.first <= own.first) && each.second <= own.second;
           });
  };
  const auto take = [&](Balanced choice, bool of_any_samples = false) {
    Badness badness = badness_of(choice, spec, task, evaluations);
    auto& [unfit, unequal, time] = badness;
    if (unfit == -kSurelyFits && !unequal) played.push_back(of(choice));
    if (of_any_samples) unequal = std::get<1>(least);
    if (best && !(Badness(unfit, unequal, time / kBetter) < least)) return;
    best = std::move(choice);
    least = badness;
  };
  take(search.best(own_sizes));
  if (task.sizes && !unsteady.lengths.full()) {
    // Short sequences are padded to the longest of a micro-batch: small ones waste least, which no steady time knows.
    for (int size = 1; size <= kMostPadded; size *= 2)
      take(balanced(with_size(scenario, size), spec, own_sizes, evaluations));
  } else if (task.sizes && unsteady.varies()) {
    Scenario steady = scenario;
    steady.training.unsteady = {};
    Balanced choice = fastest_balance(steady, spec, task, evaluations);
    choice.scenario.training.unsteady = unsteady;
    take(std::move(choice));
  } else if (task.sizes) {
    take(search.best(task));
    for (const int number : numbers_tried(scenario, task)) {
      BalanceTask so_often = task;
      so_often.exactly = number;
      Balanced choice = search.best(so_often);
      if (!is_hopeless(choice)) take(std::move(choice));
    }
  }
  std::optional<Balanced> written = as_written(scenario, task);
  const bool slower = written && !unsteady.varies() && std::get<0>(least) == -kSurelyFits &&
                      least_time(*written, spec, evaluations) > std::get<2>(least);
  if (written && !slower) take(*std::move(written), true);
  return *best;
}

/// What a schedule's balance asks for: sizes and numbers of micro-batches chosen for it, at about so many samples an
/// update, that are the fastest a sample. `asked` has a balance.
Division divided_by_speed(const Scenario& scenario, const ScheduleSpec& asked, double samples,
                          const Evaluations& evaluations) {
  constexpr double kMostUneven = 1.05;  // time over the ideal one, above which Balance::kCounts chooses sizes too
  const bool sized = asked.balance == Balance::kSpeed;
  const Parallel parallel = parallel_of(scenario.training, asked);
  const int rounds = rounds_of(asked);
  BalanceTask task{samples,
                   rounds * micro_batches_apart(parallel),
                   sized,
                   !meets_every_micro_batch(asked),
                   sized ? kEqualSamples : kNearSamples,
                   sized,
                   rounds * least_a_round(asked, parallel).value_or(1)};
  ScheduleSpec undivided = asked;
  undivided.balance = Balance::kNone;
  // One that would accumulate meanwhile is timed waiting: else no division would have as many samples as are asked for.
  ScheduleSpec waiting = undivided;
  waiting.late_communication = LateCommunication::kWait;
  if (!task.sizes) {
    const Balanced even = balanced(scenario, waiting, task, evaluations);
    task.sizes = even.time > kMostUneven * even.ideal;
  }
  Balanced choice = fastest_balance(scenario, waiting, task, evaluations);
  return {std::move(choice.scenario), std::move(undivided), choice.as_written};
}

}  // namespace

Balanced balanced(const Scenario& scenario, const ScheduleSpec& spec, const BalanceTask& task,
                  const Evaluations& evaluations) {
  return Search(scenario, spec, evaluations).best(task);
}

Division Evaluations::divided(const Scenario& scenario, const ScheduleSpec& spec, double samples) const {
  if (spec.micro_batch_size > 0) {
    Division own{scenario, spec};
    own.spec.micro_batch_size = 0;
    const Training split = with_micro_batch(scenario.training, spec.micro_batch_size);
    own.scenario.training.parallel.group = split.parallel.group;
    for (NodeGroup& group : own.scenario.cluster.nodes) {
      group.micro_batch_size = split.micro_batch_size;
      group.accumulation_steps.assign(group.gpus, split.gradient_accumulation_steps);
    }
    return divided(own.scenario, own.spec, samples);
  }
  if (spec.balance == Balance::kNone) return {scenario, spec};
  Division known =
      known_division(scenario, spec, samples, [&] { return divided_by_speed(scenario, spec, samples, *this); });
  Division divided{scenario, spec, known.as_written};  // under its own name, with its own schedules
  divided.scenario.cluster.nodes = std::move(known.scenario.cluster.nodes);
  divided.spec.balance = Balance::kNone;
  return divided;
}

}  // namespace accosim
