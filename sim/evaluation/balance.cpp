#include "sim/evaluation/balance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "models/price/fit_verdict.hpp"
#include "models/price/price.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/evaluation/steady.hpp"

namespace accosim {
namespace {

constexpr int kMostSize = 4096;      ///< samples of a micro-batch
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

/// GPUs of one device whose micro-batches are of one size: they do equal work.
struct Duty {
  std::vector<std::size_t> crews;
  int ranks = 0;
};

/// Node groups that have one micro-batch size.
struct SizedAlike {
  std::vector<std::size_t> groups;
  std::vector<Duty> duties;
  std::vector<Size> sizes;  ///< that are tried
};

Scenario with_sizes(Scenario scenario, const std::function<int(std::size_t group)>& size) {
  for (std::size_t g = 0; g < scenario.cluster.nodes.size(); ++g) {
    scenario.cluster.nodes[g].micro_batch_size = size(g);
    scenario.cluster.nodes[g].accumulation_steps.clear();
  }
  return scenario;
}

/// What a kind of rank costs, priced with every group at the same size.
class Prices {
 public:
  Prices(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations)
      : scenario_(scenario), spec_(spec), evaluations_(evaluations) {}

  Seconds time(const Crew& crew, int size) {
    const RankKind& kind = kind_of(costs_of(size), crew);
    return kind.forward + kind.backward;
  }

  /// With the gradients that stay between two micro-batches.
  bool fits(const Crew& crew, int size) {
    const RankKind& kind = kind_of(costs_of(size), crew);
    return fit_of(memory_of(kind, spec_, 2), kind.device.memory).verdict == FitVerdict::kFits;
  }

 private:
  const Costs& costs_of(int size) {
    const auto [known, anew] = costs_.try_emplace(size);
    if (anew) known->second = evaluations_.costs(with_sizes(scenario_, [&](std::size_t) { return size; }), spec_);
    return known->second;
  }

  static const RankKind& kind_of(const Costs& costs, const Crew& crew) {
    return costs.kinds[static_cast<std::size_t>(costs.kind_of[static_cast<std::size_t>(crew.first_rank)])];
  }

  const Scenario& scenario_;
  const ScheduleSpec& spec_;
  const Evaluations& evaluations_;
  std::map<int, Shared<Costs>> costs_;  // by size
};

/// Calls `visit` with every vector of numbers from 0 to below `limits`.
void for_each_combination(const std::vector<int>& limits, const std::function<void(const std::vector<int>&)>& visit) {
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
  Search(const Scenario& scenario, const ScheduleSpec& timed_by, const std::vector<ScheduleSpec>& must_fit,
         const BalanceTask& task, const Evaluations& evaluations)
      : scenario_(scenario),
        task_(task),
        crews_(crews_of(with_sizes(scenario, [](std::size_t) { return 1; }).cluster)),
        prices_(scenario, timed_by, evaluations) {
    for (const ScheduleSpec& spec : must_fit) memory_.emplace_back(scenario, spec, evaluations);
    for (std::size_t g = 0; g < scenario.cluster.nodes.size(); ++g) add_group(g);
    std::size_t duties = 0;
    for (SizedAlike& alike : alike_) {
      add_duties(alike);
      alike.sizes = sizes_of(alike);
      duties += alike.duties.size();
    }
    numbers_ = task.steps ? duties : 1;
    const double width = std::pow(kMostNext, 1.0 / static_cast<double>(numbers_));
    next_to_ = std::clamp(static_cast<int>(width + kRounding), 1, kWidest);
  }

  Balanced best() {
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

  /// Groups that share a kind of GPU; where all GPUs do as many micro-batches, those that have the same ones, since a
  /// group with a slow GPU can do less only as a whole. Where sizes stay, of one size as well.
  bool sized_alike(std::size_t a, std::size_t b) const {
    if (!task_.sizes && group_of(a).micro_batch_size != group_of(b).micro_batch_size) return false;
    const auto has = [&](std::size_t g, const Device& device) {
      return std::find(group_of(g).devices.begin(), group_of(g).devices.end(), device) != group_of(g).devices.end();
    };
    const auto in = [&](std::size_t g) { return [&, g](const Device& device) { return has(g, device); }; };
    const std::vector<Device>&first = group_of(a).devices, &second = group_of(b).devices;
    if (task_.steps) return std::any_of(first.begin(), first.end(), in(b));
    return std::all_of(first.begin(), first.end(), in(b)) && std::all_of(second.begin(), second.end(), in(a));
  }

  /// A group may join what was apart before.
  void add_group(std::size_t g) {
    SizedAlike joined{{}, {}, {}};
    for (auto each = alike_.begin(); each != alike_.end();) {
      if (std::any_of(each->groups.begin(), each->groups.end(), [&](std::size_t of) { return sized_alike(of, g); })) {
        joined.groups.insert(joined.groups.end(), each->groups.begin(), each->groups.end());
        each = alike_.erase(each);
      } else {
        ++each;
      }
    }
    joined.groups.push_back(g);
    alike_.push_back(std::move(joined));
  }

  const Device& device_of(const Crew& crew) const {
    return group_of(static_cast<std::size_t>(crew.group)).devices[static_cast<std::size_t>(crew.gpus.front())];
  }

  void add_duties(SizedAlike& alike) const {
    for (std::size_t c = 0; c < crews_.size(); ++c) {
      const auto group = static_cast<std::size_t>(crews_[c].group);
      if (std::find(alike.groups.begin(), alike.groups.end(), group) == alike.groups.end()) continue;
      auto duty = std::find_if(alike.duties.begin(), alike.duties.end(), [&](const Duty& each) {
        return device_of(crews_[each.crews.front()]) == device_of(crews_[c]);
      });
      if (duty == alike.duties.end()) duty = alike.duties.insert(duty, Duty{});
      duty->crews.push_back(c);
      duty->ranks += crews_[c].ranks;
    }
  }

  std::vector<Size> sizes_of(const SizedAlike& alike) {
    std::vector<int> tried;
    double ranks = 0;
    for (const std::size_t g : alike.groups) {
      tried.push_back(group_of(g).micro_batch_size);
      ranks += 1.0 * group_of(g).count * group_of(g).gpus;
    }
    // The time of a measured model is that of one size.
    for (int size = 1; task_.sizes && !family_of(scenario_.model).measured && size <= kMostSize; size *= 2)
      for (const int each : {size, 3 * size})
        if (ranks * each * task_.unit <= task_.samples) tried.push_back(each);
    const int written = *std::max_element(tried.begin(), tried.begin() + static_cast<int>(alike.groups.size()));
    if (!task_.larger) std::erase_if(tried, [&](int size) { return size > written; });
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    std::vector<Size> sizes;
    for (const int size : tried)
      if (tried.size() == 1 || fits(alike, size)) sizes.push_back(sized(alike, size));
    if (sizes.empty()) sizes.push_back(sized(alike, group_of(alike.groups.front()).micro_batch_size));
    return sizes;
  }

  Size sized(const SizedAlike& alike, int samples) {
    Size size{samples, {}};
    for (const Duty& duty : alike.duties) size.times.push_back(prices_.time(crews_[duty.crews.front()], samples));
    return size;
  }

  bool fits(const SizedAlike& alike, int size) {
    for (Prices& memory : memory_)
      for (const Duty& duty : alike.duties)
        for (const std::size_t c : duty.crews)
          if (memory.fits(crews_[c], 1) && !memory.fits(crews_[c], size)) return false;
    return true;
  }

  /// The size of one kind of group after the other, from those that are written, until no other improves the choice.
  void descend() {
    std::vector<int> at;
    for (const SizedAlike& alike : alike_) {
      const int own = group_of(alike.groups.front()).micro_batch_size;
      const auto written =
          std::find_if(alike.sizes.begin(), alike.sizes.end(), [&](const Size& size) { return size.samples == own; });
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
    std::vector<double> weights;  // samples of a micro-batch on every GPU of a duty
    std::vector<Seconds> times;
    double rate = 0;
    for (std::size_t a = 0; a < alike_.size(); ++a) {
      const Size& size = alike_[a].sizes[static_cast<std::size_t>(at[a])];
      choice.sizes.push_back(size.samples);
      for (std::size_t d = 0; d < size.times.size(); ++d) {
        weights.push_back(alike_[a].duties[d].ranks * size.samples);
        times.push_back(size.times[d]);
        rate += weights.back() / times.back().value;
      }
    }
    const double pace = task_.samples / rate;  // of every GPU, in seconds
    double all = 0;
    for (const double weight : weights) all += weight;
    std::vector<int> first;  // units
    for (const Seconds time : times)
      first.push_back(first_near((task_.steps ? pace / time.value : task_.samples / all) / task_.unit));
    const auto evaluate = [&](const std::vector<int>& more) {
      choice.samples = 0;
      choice.time = Seconds{0};  // the slowest GPU's
      choice.steps.clear();
      for (std::size_t d = 0; d < times.size(); ++d) {
        choice.steps.push_back(task_.unit * (first[d] + more[std::min(d, numbers_ - 1)]));
        choice.samples += weights[d] * choice.steps[d];
        choice.time = std::max(choice.time, choice.steps[d] * times[d]);
      }
      choice.ideal = Seconds{choice.samples / rate};
      const double off = std::abs(choice.samples / task_.samples - 1);
      const double beyond = off <= task_.near + kRounding ? 0 : off;
      const double price = kPriceOfOff * std::max(0.0, off - kEqualSamples);
      choice.badness = {beyond, (1 + price) * choice.time.value / choice.samples, off};
      if (best_ && !(choice.badness < best_->badness)) return;
      best_ = choice;
      best = true;
    };
    for_each_combination(std::vector<int>(numbers_, next_to_), evaluate);
    return best;
  }

  /// The least that is tried of the whole numbers next to the ideal one; of one the nearest.
  int first_near(double ideal) const {
    const int before = (next_to_ - 1) / 2;
    const double first = next_to_ == 1 ? std::round(ideal) : std::floor(ideal) - before;
    return static_cast<int>(std::clamp(first, 1.0, kMostSteps / task_.unit - kWidest));
  }

  Balanced written_down(const Choice& choice) const {
    Balanced result{scenario_, choice.samples, choice.time, choice.ideal};
    std::size_t d = 0;
    for (std::size_t a = 0; a < alike_.size(); ++a) {
      for (const std::size_t g : alike_[a].groups) {
        NodeGroup& group = result.scenario.cluster.nodes[g];
        group.micro_batch_size = choice.sizes[a];
        group.accumulation_steps.assign(static_cast<std::size_t>(group.gpus), 0);
      }
      for (const Duty& duty : alike_[a].duties) {
        for (const std::size_t c : duty.crews)
          for (const int gpu : crews_[c].gpus)
            result.scenario.cluster.nodes[static_cast<std::size_t>(crews_[c].group)]
                .accumulation_steps[static_cast<std::size_t>(gpu)] = choice.steps[d];
        ++d;
      }
    }
    return result;
  }

  const Scenario& scenario_;
  const BalanceTask& task_;
  std::vector<Crew> crews_;
  Prices prices_;
  std::vector<Prices> memory_;  // one a schedule that must fit
  std::vector<SizedAlike> alike_;
  std::size_t numbers_ = 1;  // of micro-batches, that are chosen by themselves
  int next_to_ = 1;
  std::optional<Choice> best_;
};

}  // namespace

Balanced balanced(const Scenario& scenario, const ScheduleSpec& timed_by, const std::vector<ScheduleSpec>& must_fit,
                  const BalanceTask& task, const Evaluations& evaluations) {
  return Search(scenario, timed_by, must_fit, task, evaluations).best();
}

namespace {

/// As written, with every GPU's number of micro-batches times the same factor, so that the samples are those of the
/// task or the next fewer that there can be; nothing where one would do more than anybody may.
std::optional<Balanced> as_written(const Scenario& scenario, const BalanceTask& task) {
  int common = 0;  // all can do that part of their work
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (int gpu = 0; gpu < group.gpus; ++gpu)
      common = std::gcd(common, accumulation_steps_of(group, gpu, scenario.training));
  const double samples = samples_asked(scenario);
  const double parts = task.unit * std::max(1.0, std::floor(task.samples / samples * common / task.unit + 1e-9));
  Balanced result{scenario, samples * parts / common, {}, {}, true};
  for (NodeGroup& group : result.scenario.cluster.nodes) {
    std::vector<int> steps;
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const double own = parts / common * accumulation_steps_of(group, gpu, scenario.training);
      if (own > kMostSteps) return std::nullopt;
      steps.push_back(static_cast<int>(std::lround(own)));
    }
    group.accumulation_steps = steps;
  }
  return result;
}

/// How unlikely it fits, where that is not likely enough, whether it is of other samples, and seconds a sample.
using Badness = std::tuple<double, bool, double>;

Badness badness_of(const Balanced& choice, const ScheduleSpec& timed_by, const std::vector<ScheduleSpec>& must_fit,
                   const BalanceTask& task, const Evaluations& evaluations) {
  const int steps = choice.scenario.training.gradient_accumulation_steps;
  double fits = kSurelyFits;
  for (const ScheduleSpec& spec : must_fit) {
    const Shared<Costs> costs = evaluations.costs(choice.scenario, spec);
    fits = std::min(fits, least_likely(memory_by_kind(costs, spec, steps)).fit.probability);
  }
  const auto play = evaluations.play(choice.scenario, timed_by);
  const double samples = samples_per_update(*play);
  const bool near = std::abs(samples / task.samples - 1) <= task.near + kRounding;
  return {-fits, !near, play->measured.update_time.value / samples};
}

/// Seconds a sample that the slowest GPU computes: no play is faster, unless sequences are drawn shorter.
double least_time(const Balanced& choice, const ScheduleSpec& timed_by, const Evaluations& evaluations) {
  const Shared<Costs> costs = evaluations.costs(choice.scenario, timed_by);
  Seconds slowest;
  for (const RankKind& kind : costs->kinds)
    slowest = std::max(
        slowest, kind.steps(choice.scenario.training.gradient_accumulation_steps) * (kind.forward + kind.backward));
  return slowest.value / choice.samples;
}

}  // namespace

Balanced fastest_balance(const Scenario& scenario, const ScheduleSpec& timed_by,
                         const std::vector<ScheduleSpec>& must_fit, const BalanceTask& task,
                         const Evaluations& evaluations) {
  constexpr double kBetter = 1 - 1e-9;  // of equal ones the first
  BalanceTask own_sizes = task;
  own_sizes.sizes = false;
  Balanced best = balanced(scenario, timed_by, must_fit, own_sizes, evaluations);
  Badness least = badness_of(best, timed_by, must_fit, task, evaluations);
  const auto take = [&](Balanced choice, bool of_any_samples) {
    Badness badness = badness_of(choice, timed_by, must_fit, task, evaluations);
    if (of_any_samples) std::get<1>(badness) = std::get<1>(least);
    const auto [unfit, unequal, time] = badness;
    if (!(Badness(unfit, unequal, time / kBetter) < least)) return;
    best = std::move(choice);
    least = badness;
  };
  if (task.sizes) take(balanced(scenario, timed_by, must_fit, task, evaluations), false);
  std::optional<Balanced> written = as_written(scenario, task);
  const bool hopeless = written && !scenario.training.unsteady.varies() && std::get<0>(least) == -kSurelyFits &&
                        least_time(*written, timed_by, evaluations) > std::get<2>(least);
  if (written && !hopeless) take(*std::move(written), true);
  return best;
}

Division divided_by_speed(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                          const Evaluations& evaluations) {
  const bool meets = meets_every_micro_batch(spec);
  const bool sized = spec.balance == Balance::kSpeed;
  BalanceTask task{samples, rounds_of(spec), sized, !meets, sized ? kEqualSamples : kNearSamples, sized};
  Division divided{scenario, spec};
  divided.spec.balance = Balance::kNone;
  // One that would accumulate meanwhile is timed waiting: else no division would have as many samples as are asked for.
  ScheduleSpec timed_by = divided.spec;
  timed_by.late_communication = LateCommunication::kWait;
  if (!task.sizes) {
    const Balanced even = balanced(scenario, timed_by, {divided.spec}, task, evaluations);
    task.sizes = even.time > kMostUneven * even.ideal;
  }
  Balanced choice = fastest_balance(scenario, timed_by, {divided.spec}, task, evaluations);
  divided.scenario = std::move(choice.scenario);
  divided.as_written = choice.as_written;
  return divided;
}

Division Evaluations::divided(const Scenario& scenario, const ScheduleSpec& spec, double samples) const {
  if (spec.micro_batch_size > 0) {
    Division own{scenario, spec};
    own.spec.micro_batch_size = 0;
    const Training split = with_micro_batch(scenario.training, spec.micro_batch_size);
    for (NodeGroup& group : own.scenario.cluster.nodes) {
      group.micro_batch_size = split.micro_batch_size;
      group.accumulation_steps.assign(static_cast<std::size_t>(group.gpus), split.gradient_accumulation_steps);
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
