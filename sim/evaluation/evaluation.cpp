#include "sim/evaluation/evaluation.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>
#include <utility>

namespace accosim {
namespace {

/// All of a scenario and a schedule that prices and plays read: what differs elsewhere is the same to them. In the
/// order in which they are compared: what is large and seldom differs last.
struct Question {
  ScheduleSpec spec;
  Training training;
  Model model;
  Cluster cluster;

  bool operator==(const Question&) const = default;
};

Question setting_of(const Scenario& scenario, const ScheduleSpec& spec) {
  Question setting{spec, scenario.training, scenario.model, scenario.cluster};
  setting.spec.label.clear();
  setting.cluster.name.clear();
  setting.training.train_tokens = 0;
  setting.training.balance = Balance::kNone;  // the schedule's counts
  return setting;
}

/// Prices do not read how many micro-batches an update has, nor in what order a schedule does what.
Question priced_setting(Question setting) {
  setting.training.gradient_accumulation_steps = 1;
  const ScheduleSpec& spec = setting.spec;
  ScheduleSpec read{.name = spec.name,
                    .runs_as = spec.runs_as,
                    .parameter_dtype = spec.parameter_dtype,
                    .gradient_dtype = spec.gradient_dtype,
                    .island = spec.island,
                    .chunks = spec.chunks,
                    .meeting = spec.meeting};
  setting.spec = std::move(read);
  return setting;
}

/// The latest answers, as many as together hold so many places or spans; at least one.
template <class Key, class Answer>
class Memory {
 public:
  template <class Ask, class Size>
  const Answer& of(Key key, const Ask& ask, const Size& size) {
    for (const Entry& each : entries_)
      if (each.key == key) return each.answer;
    Answer answer = ask();
    const std::size_t more = size(answer);
    entries_.push_back({std::move(key), std::move(answer), more});
    held_ += more;
    while (entries_.size() > 1 && (held_ > kMostHeld || entries_.size() > kMostEntries)) {
      held_ -= entries_.front().size;
      entries_.pop_front();
    }
    return entries_.back().answer;
  }

 private:
  static constexpr std::size_t kMostHeld = 4'000'000;
  static constexpr std::size_t kMostEntries = 128;
  struct Entry {
    Key key;
    Answer answer;
    std::size_t size = 0;
  };
  std::deque<Entry> entries_;
  std::size_t held_ = 0;
};

/// Its work is not that of the scenario.
bool is_divided(const ScheduleSpec& spec) { return spec.balance != Balance::kNone || spec.micro_batch_size > 0; }

}  // namespace

struct Evaluations::Remembered {
  // A division reads of how many samples, a play how many micro-batches an update has and what is kept of it, too.
  Memory<std::tuple<NetworkKind, double, Question>, Division> divided;
  Memory<Question, Shared<Costs>> costs;
  Memory<std::tuple<NetworkKind, int, Keep, Question>, std::shared_ptr<const SteadyPlay>> plays;
};

Evaluations::Evaluations(NetworkKind network) : network_(network), remembered_(std::make_shared<Remembered>()) {}

Evaluations Evaluations::on(NetworkKind network) const {
  Evaluations other = *this;
  other.network_ = network;
  return other;
}

Division Evaluations::known_division(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                                     const std::function<Division()>& divide) const {
  return remembered_->divided.of({network_, samples, setting_of(scenario, spec)}, divide,
                                 [](const Division& each) { return each.scenario.cluster.nodes.size(); });
}

Shared<Costs> Evaluations::costs(const Scenario& scenario, const ScheduleSpec& spec) const {
  if (is_divided(spec)) {
    const Division own = divided(scenario, spec);
    return costs(own.scenario, own.spec);
  }
  return remembered_->costs.of(
      priced_setting(setting_of(scenario, spec)), [&] { return Shared<Costs>(price(scenario, spec)); },
      [](const Shared<Costs>& each) { return each->places.size(); });
}

std::shared_ptr<const SteadyPlay> Evaluations::play(const Scenario& scenario, const ScheduleSpec& spec,
                                                    int accumulation_steps, Keep keep) const {
  if (is_divided(spec)) {
    const Division own = divided(scenario, spec);
    return play(own.scenario, own.spec, accumulation_steps, keep);
  }
  Question setting = setting_of(scenario, spec);
  setting.training.gradient_accumulation_steps = 1;  // those that are played are given
  return remembered_->plays.of(
      {network_, accumulation_steps, keep, std::move(setting)},
      [&] {
        return std::make_shared<const SteadyPlay>(
            play_steady(costs(scenario, spec), spec, accumulation_steps, network_, keep));
      },
      [](const std::shared_ptr<const SteadyPlay>& each) {
        return std::max(each->folded.class_of.size(), each->spans.size());
      });
}

}  // namespace accosim
