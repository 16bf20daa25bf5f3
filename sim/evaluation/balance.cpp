#include "sim/evaluation/balance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

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

/// A micro-batch size of a node group, and what it takes on each of the group's crews.
struct Size {
  int samples = 1;
  std::vector<Seconds> times;
};

/// Nothing divides it again.
Scenario with_sizes(Scenario scenario, const std::function<int(std::size_t group)>& size) {
  scenario.training.balance = Balance::kNone;
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
    return memory_of(kind, spec_, 2).total() <= kind.device.memory;
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
  std::vector<int> sizes;  ///< by node group
  std::vector<int> steps;  ///< by crew
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
    for (std::size_t g = 0; g < scenario.cluster.nodes.size(); ++g) groups_.push_back(sizes_of(static_cast<int>(g)));
    const double width = std::pow(kMostNext, 1.0 / static_cast<double>(task.steps ? crews_.size() : 1));
    next_to_ = std::clamp(static_cast<int>(width + kRounding), 1, kWidest);
  }

  Choice best() {
    std::vector<int> limits;
    double choices = std::pow(next_to_, task_.steps ? crews_.size() : 1);
    for (const std::vector<Size>& sizes : groups_) {
      limits.push_back(static_cast<int>(sizes.size()));
      choices *= limits.back();
    }
    if (choices > kMostTried)
      descend();
    else
      for_each_combination(limits, [&](const std::vector<int>& at) { try_sizes(at); });
    return *best_;
  }

  const std::vector<Crew>& crews() const { return crews_; }

 private:
  std::vector<Size> sizes_of(int group) {
    const NodeGroup& nodes = scenario_.cluster.nodes[static_cast<std::size_t>(group)];
    std::vector<int> tried{nodes.micro_batch_size};
    // The time of a measured model is that of one size.
    for (int size = 1; task_.sizes && !family_of(scenario_.model).measured && size <= kMostSize; size *= 2)
      for (const int each : {size, 3 * size})
        if (1.0 * nodes.count * nodes.gpus * each * task_.unit <= task_.samples) tried.push_back(each);
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    std::vector<Size> sizes;
    for (const int size : tried)
      if (tried.size() == 1 || fits(group, size)) sizes.push_back(sized(group, size));
    if (sizes.empty()) sizes.push_back(sized(group, nodes.micro_batch_size));
    return sizes;
  }

  Size sized(int group, int samples) {
    Size size{samples, {}};
    for (const Crew& crew : crews_)
      if (crew.group == group) size.times.push_back(prices_.time(crew, samples));
    return size;
  }

  bool fits(int group, int size) {
    for (Prices& memory : memory_)
      for (const Crew& crew : crews_)
        if (crew.group == group && memory.fits(crew, 1) && !memory.fits(crew, size)) return false;
    return true;
  }

  /// One group's size after the other, from those that are written, until no other improves the choice.
  void descend() {
    std::vector<int> at;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto written = std::find_if(groups_[g].begin(), groups_[g].end(), [&](const Size& size) {
        return size.samples == scenario_.cluster.nodes[g].micro_batch_size;
      });
      at.push_back(written == groups_[g].end() ? 0 : static_cast<int>(written - groups_[g].begin()));
    }
    try_sizes(at);
    for (bool better = true; better;) {
      better = false;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        int best = at[g];
        for (int size = 0; size < static_cast<int>(groups_[g].size()); ++size) {
          at[g] = size;
          if (!try_sizes(at)) continue;
          best = size;
          better = true;
        }
        at[g] = best;
      }
    }
  }

  /// Whether one of these sizes' choices is the best so far.
  bool try_sizes(const std::vector<int>& at) {
    bool best = false;
    Choice choice;
    std::vector<double> weights;  // samples of a micro-batch on every GPU of a crew
    std::vector<Seconds> times;
    double rate = 0;
    for (std::size_t g = 0, crew = 0; g < groups_.size(); ++g) {
      const Size& size = groups_[g][static_cast<std::size_t>(at[g])];
      choice.sizes.push_back(size.samples);
      for (const Seconds time : size.times) {
        weights.push_back(crews_[crew++].ranks * size.samples);
        times.push_back(time);
        rate += weights.back() / time.value;
      }
    }
    const double pace = task_.samples / rate;  // of every GPU, in seconds
    double all = 0;
    for (const double weight : weights) all += weight;
    std::vector<int> first;  // units
    for (const Seconds time : times)
      first.push_back(first_near((task_.steps ? pace / time.value : task_.samples / all) / task_.unit));
    const std::size_t numbers = task_.steps ? times.size() : 1;
    const auto evaluate = [&](const std::vector<int>& more) {
      choice.samples = 0;
      choice.time = Seconds{0};  // the slowest GPU's
      choice.steps.clear();
      for (std::size_t c = 0; c < times.size(); ++c) {
        choice.steps.push_back(task_.unit * (first[c] + more[std::min(c, numbers - 1)]));
        choice.samples += weights[c] * choice.steps[c];
        choice.time = std::max(choice.time, choice.steps[c] * times[c]);
      }
      choice.ideal = Seconds{choice.samples / rate};
      const double off = std::abs(choice.samples / task_.samples - 1);
      const double beyond = off <= kEqualSamples + kRounding ? 0 : off;
      choice.badness = {beyond, choice.time.value / choice.samples, off};
      if (best_ && !(choice.badness < best_->badness)) return;
      best_ = choice;
      best = true;
    };
    for_each_combination(std::vector<int>(numbers, next_to_), evaluate);
    return best;
  }

  /// The least that is tried of the whole numbers next to the ideal one; of one the nearest.
  int first_near(double ideal) const {
    const int before = (next_to_ - 1) / 2;
    const double first = next_to_ == 1 ? std::round(ideal) : std::floor(ideal) - before;
    return static_cast<int>(std::clamp(first, 1.0, kMostSteps / task_.unit - kWidest));
  }

  const Scenario& scenario_;
  const BalanceTask& task_;
  std::vector<Crew> crews_;
  Prices prices_;
  std::vector<Prices> memory_;             // one a schedule that must fit
  std::vector<std::vector<Size>> groups_;  // by node group
  int next_to_ = 1;
  std::optional<Choice> best_;
};

}  // namespace

Balanced balanced(const Scenario& scenario, const ScheduleSpec& timed_by, const std::vector<ScheduleSpec>& must_fit,
                  const BalanceTask& task, const Evaluations& evaluations) {
  Search search(scenario, timed_by, must_fit, task, evaluations);
  const Choice choice = search.best();
  Balanced result{with_sizes(scenario, [&](std::size_t group) { return choice.sizes[group]; }), choice.samples,
                  choice.time, choice.ideal};
  for (std::size_t c = 0; c < search.crews().size(); ++c) {
    const Crew& crew = search.crews()[c];
    NodeGroup& group = result.scenario.cluster.nodes[static_cast<std::size_t>(crew.group)];
    group.accumulation_steps.resize(static_cast<std::size_t>(group.gpus));
    for (const int gpu : crew.gpus) group.accumulation_steps[static_cast<std::size_t>(gpu)] = choice.steps[c];
  }
  return result;
}

namespace {

/// As written, with every GPU's number of micro-batches times the same factor; nothing where one would be no multiple
/// of the unit.
std::optional<Balanced> as_written(const Scenario& scenario, const BalanceTask& task) {
  const double factor = task.samples / samples_asked(scenario);
  Balanced result{scenario, task.samples, {}, {}, true};
  result.scenario.training.balance = Balance::kNone;
  for (NodeGroup& group : result.scenario.cluster.nodes) {
    std::vector<int> steps;
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const double units = factor * accumulation_steps_of(group, gpu, scenario.training) / task.unit;
      if (std::abs(units - std::round(units)) > 1e-9 * units || units < 0.5) return std::nullopt;
      if (units * task.unit > kMostSteps) return std::nullopt;
      steps.push_back(static_cast<int>(std::lround(units)) * task.unit);
    }
    group.accumulation_steps = steps;
  }
  return result;
}

/// How good a choice is: it fits, it is of as many samples, and it is fast; less is better.
std::tuple<bool, bool, double> badness_of(const Balanced& choice, const ScheduleSpec& timed_by,
                                          const std::vector<ScheduleSpec>& must_fit, const BalanceTask& task,
                                          const Evaluations& evaluations) {
  const int steps = choice.scenario.training.gradient_accumulation_steps;
  const bool fits = std::all_of(must_fit.begin(), must_fit.end(), [&](const ScheduleSpec& spec) {
    const Shared<Costs> costs = evaluations.costs(choice.scenario, spec);
    return least_likely(memory_by_kind(costs, spec, steps)).fit.verdict != FitVerdict::kDoesNotFit;
  });
  const auto play = evaluations.play(choice.scenario, timed_by);
  const double samples = samples_per_update(*play);
  const bool equal = std::abs(samples / task.samples - 1) <= kEqualSamples + kRounding;
  return {!fits, !equal, play->measured.update_time.value / samples};
}

}  // namespace

Balanced fastest_balance(const Scenario& scenario, const ScheduleSpec& timed_by,
                         const std::vector<ScheduleSpec>& must_fit, const BalanceTask& task,
                         const Evaluations& evaluations) {
  BalanceTask own_sizes = task;
  own_sizes.sizes = false;
  std::vector<Balanced> choices{balanced(scenario, timed_by, must_fit, own_sizes, evaluations)};
  if (task.sizes) choices.push_back(balanced(scenario, timed_by, must_fit, task, evaluations));
  if (std::optional<Balanced> written = as_written(scenario, task)) choices.push_back(std::move(*written));
  const Balanced* best = nullptr;
  std::tuple<bool, bool, double> least;
  constexpr double kBetter = 1 - 1e-9;  // of equal ones the first
  for (const Balanced& choice : choices) {
    const auto [unfit, unequal, time] = badness_of(choice, timed_by, must_fit, task, evaluations);
    const std::tuple<bool, bool, double> badness(unfit, unequal, time / kBetter);
    if (best != nullptr && !(badness < least)) continue;
    best = &choice;
    least = {unfit, unequal, time};
  }
  return *best;
}

Scenario divided_by_speed(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  Scenario asked = with_sizes(scenario, [&](std::size_t) { return scenario.training.micro_batch_size; });
  const BalanceTask task{samples_asked(asked), traits_of(spec).rounds, true, !meets_every_micro_batch(spec)};
  // One that would accumulate meanwhile is timed waiting: else no division would have as many samples as are asked for.
  ScheduleSpec timed_by = spec;
  timed_by.late_communication = LateCommunication::kWait;
  return fastest_balance(asked, timed_by, {spec}, task, evaluations.on(NetworkKind::kReference)).scenario;
}

Scenario Evaluations::divided(const Scenario& scenario, const ScheduleSpec& spec) const {
  if (scenario.training.balance == Balance::kNone) return scenario;
  const Scenario known = known_division(scenario, spec, [&] { return divided_by_speed(scenario, spec, *this); });
  Scenario divided = scenario;  // under its own name, with its own schedules
  divided.cluster.nodes = known.cluster.nodes;
  divided.training.balance = Balance::kNone;
  return divided;
}

}  // namespace accosim
