// How the samples of an update are cut into micro-batches, and on unlike GPUs who does how many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "sim/advise/knobs.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"

namespace accosim {
namespace {

constexpr int kMostFactor = 4096;  ///< of a micro-batch
constexpr int kMostSmaller = 8;    ///< numbers of micro-batches that an update begins with
constexpr const char* kMicroBatch = "micro_batch_size";
constexpr const char* kSteps = "gradient_accumulation_steps";

/// Whether the file or --set has a value there.
class Written {
 public:
  explicit Written(const LoadedScenario& loaded) : document_(parse_json(loaded.resolved(), "")) {}
  bool at(const std::string& pointer) const {
    const JsonValue* const origins = document_.root.find("origins");
    const JsonValue* const origin = origins == nullptr ? nullptr : origins->find(pointer);
    return origin != nullptr && is_written(origin->text);
  }

 private:
  JsonDocument document_;
};

/// value times up over down, where that is whole.
std::optional<int> times(int value, int up, int down) {
  const long long product = 1LL * value * up;
  if (product % down != 0 || product / down < 1 || product / down > kMaxInteger) return std::nullopt;
  return static_cast<int>(product / down);
}

/// All micro-batches times up / down, and as many fewer or more of them; nothing where that is not whole.
std::optional<Scenario> scaled(Scenario scenario, int up, int down) {
  Training& training = scenario.training;
  const bool steps_of_nobody = all_have_own_steps(scenario.cluster);
  for (NodeGroup& group : scenario.cluster.nodes) {
    const std::optional<int> size = times(group.micro_batch_size, up, down);
    if (!size) return std::nullopt;
    group.micro_batch_size = *size;
    for (int& steps : group.accumulation_steps) {
      const std::optional<int> own = times(steps, down, up);
      if (!own) return std::nullopt;
      steps = *own;
    }
  }
  const std::optional<int> steps = times(training.gradient_accumulation_steps, down, up);
  if (!steps && !steps_of_nobody) return std::nullopt;
  if (steps) training.gradient_accumulation_steps = *steps;
  // Where every group has its own it is nobody's.
  training.micro_batch_size = times(training.micro_batch_size, up, down).value_or(training.micro_batch_size);
  return scenario;
}

std::string list_of(const std::vector<int>& steps) {
  std::string text;
  for (const int each : steps) text += (text.empty() ? "" : ",") + std::to_string(each);
  return "[" + text + "]";
}

/// "4 x 22" of a group, or of GPUs that differ in it "4 x 22 and 10".
std::string work_of(const NodeGroup& group, const Training& training) {
  std::vector<int> steps = group.accumulation_steps;
  if (steps.empty()) steps = {training.gradient_accumulation_steps};
  std::string text = fmt::format("{} x", group.micro_batch_size);
  std::vector<int> said;
  for (const int each : steps) {
    if (std::find(said.begin(), said.end(), each) != said.end()) continue;
    text += fmt::format("{} {}", said.empty() ? "" : " and", each);
    said.push_back(each);
  }
  return text;
}

bool is_equal_work(const Scenario& scenario) {
  const NodeGroup& first = scenario.cluster.nodes.front();
  return std::all_of(scenario.cluster.nodes.begin(), scenario.cluster.nodes.end(), [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.accumulation_steps.empty();
  });
}

std::string work_in_words(const Scenario& scenario) {
  if (is_equal_work(scenario))
    return fmt::format("{} {}, {} {}", kMicroBatch, scenario.cluster.nodes.front().micro_batch_size, kSteps,
                       scenario.training.gradient_accumulation_steps);
  std::string text = "micro-batches";
  for (const NodeGroup& group : scenario.cluster.nodes)
    text += fmt::format("{} {} on {}", &group == &scenario.cluster.nodes.front() ? "" : " and",
                        work_of(group, scenario.training), group.name);
  return text;
}

/// What turns the scenario as it is written into this one.
std::vector<std::string> work_settings(const Scenario& scenario, const Written& written) {
  const Training& training = scenario.training;
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  std::vector<std::string> set{fmt::format("/training/{}={}", kMicroBatch, training.micro_batch_size),
                               fmt::format("/training/{}={}", kSteps, training.gradient_accumulation_steps)};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string size = of_group(scenario.cluster, g, kMicroBatch), steps = of_group(scenario.cluster, g, kSteps);
    if (groups[g].micro_batch_size != training.micro_batch_size || written.at(size))
      set.push_back(fmt::format("{}={}", size, groups[g].micro_batch_size));
    if (!groups[g].accumulation_steps.empty()) set.push_back(steps + "=" + list_of(groups[g].accumulation_steps));
  }
  return set;
}

void add(Knob& knob, const Scenario& scenario, const Written& written) {
  Alternative each{work_in_words(scenario), {}, work_settings(scenario, written)};
  const auto same = [&](const Alternative& other) { return other.text == each.text; };
  if (std::none_of(knob.alternatives.begin(), knob.alternatives.end(), same))
    knob.alternatives.push_back(std::move(each));
}

/// The work divided by the speed of the GPUs: numbers of micro-batches, even ones too, and their sizes.
void add_balanced(Knob& knob, const Scenario& scenario, const Written& written, const Evaluations& evaluations) {
  const double asked = samples_asked(scenario);
  const ScheduleSpec& spec = baseline_of(scenario);
  for (const BalanceTask& task : {BalanceTask{asked, 2, false, true}, BalanceTask{asked, 1, false, true},
                                  BalanceTask{asked, 2, true, true}, BalanceTask{asked, 1, true, false}}) {
    const Balanced choice = balanced(scenario, spec, {spec}, task, evaluations);
    if (std::abs(choice.samples / asked - 1) > kEqualSamples) continue;
    add(knob, choice.scenario, written);
  }
}

}  // namespace

Knob work_knob(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  Knob knob{"work", {}, true};
  if (scenario.training.balance != Balance::kNone) {
    knob.alternatives.push_back({fmt::format("balance {}", name_of(scenario.training.balance)), {}, {}});
    return knob;
  }
  knob.alternatives.push_back({work_in_words(scenario), {}, {}});
  const Written written(loaded);
  const bool unlike = !identical_ranks(scenario.cluster);
  std::vector<Scenario> sizes{scenario};
  for (int factor = 2; factor <= kMostFactor; factor *= 2)
    for (const auto& [up, down] : {std::pair(factor, 1), std::pair(1, factor)})
      if (std::optional<Scenario> each = scaled(scenario, up, down)) sizes.push_back(std::move(*each));
  std::stable_sort(sizes.begin() + 1, sizes.end(), [](const Scenario& a, const Scenario& b) {
    return a.cluster.nodes.front().micro_batch_size < b.cluster.nodes.front().micro_batch_size;
  });
  for (const Scenario& each : sizes) add(knob, each, written);
  const Evaluations evaluations(NetworkKind::kReference);
  if (unlike)
    for (const Scenario& each : sizes) add_balanced(knob, each, written, evaluations);
  return knob;
}

void add_smaller_work(Knob& work, const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  const int steps = scenario.training.gradient_accumulation_steps;
  if (identical_ranks(scenario.cluster) || !is_equal_work(scenario) || scenario.training.balance != Balance::kNone)
    return;
  const Written written(loaded);
  const int least = std::max(1, steps / 2), count = steps - least;
  for (int i = 0; i < std::min(count, kMostSmaller); ++i) {
    Scenario fewer = scenario;
    fewer.training.gradient_accumulation_steps = steps - 1 - i * count / std::min(count, kMostSmaller);
    add(work, fewer, written);
  }
}

}  // namespace accosim
