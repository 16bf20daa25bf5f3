#include "sim/what_if/best_synchronous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/stages.hpp"
#include "models/read/check_schedules.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/bound.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

/// A synchronous schedule that might be the best.
struct Candidate {
  ScheduleSpec spec;
  AddedSchedule added;  ///< `index`: of one of the scenario's own its place among them
};

/// On unlike GPUs nobody who tunes lets the fast ones wait.
ScheduleSpec balanced_where_unlike(ScheduleSpec spec, const Scenario& scenario) {
  if (spec.balance != Balance::kNone || !can_be_divided(scenario.cluster, scenario.training)) return spec;
  // Where another may have its micro-batches chosen, so may this one.
  const bool sized = std::any_of(scenario.schedules.begin(), scenario.schedules.end(),
                                 [](const ScheduleSpec& each) { return each.balance == Balance::kSpeed; });
  spec.balance = sized ? Balance::kSpeed : Balance::kCounts;
  return spec;
}

/// Reads the candidate's entry; nothing where it cannot be had here.
std::optional<Candidate> read_candidate(const Scenario& scenario, Framework framework, AddedSchedule added) {
  Training training = scenario.training;
  training.framework = framework;
  JsonDocument document = parse_json(added.entry, "");
  Diagnostics diagnostics;
  ScheduleSpec spec = read_schedule(document.root, "", training, scenario.cluster, diagnostics);
  if (!diagnostics.errors.empty()) return std::nullopt;
  return Candidate{std::move(spec), std::move(added)};
}

/// What makes another framework's schedule run beside the scenario's own code: its optimizer and its host stay.
std::vector<std::string> sets_of(const Scenario& scenario, Framework framework) {
  const Training& training = scenario.training;
  std::vector<std::string> set = {
      fmt::format("/training/framework={}", name_of(framework)),
      fmt::format("/training/optimizer_implementation={}", name_of(training.optimizer_implementation))};
  const double slowdown = launch_slowdown(training.framework, training.implementation);
  if (!training.launch_interval && slowdown != launch_slowdown(framework, training.implementation))
    set.push_back(fmt::format("/training/launch_interval={} s",
                              slowdown * scenario.cluster.nodes.front().devices.front().launch_interval.value));
  return set;
}

/// A form of a schedule, as its framework has it; nothing where it cannot be had here.
std::optional<Candidate> candidate_of(const Scenario& scenario, const ScheduleTraits& traits, const TunedForm& form,
                                      const ScheduleSpec& dtypes) {
  // Another framework would also split the model in its own way.
  const bool own = form.framework == scenario.training.framework;
  if (!own && model_ranks_of(scenario.training.parallel) > 1) return std::nullopt;
  AddedSchedule added;
  added.form = *form.form == '\0' ? traits.name : fmt::format("{}, {}", traits.name, form.form);
  if (!own) added.set = sets_of(scenario, form.framework);
  added.entry = fmt::format(
      R"({{"name": "{}", "label": {}, "parameter_dtype": "{}", "gradient_dtype": "{}", "optimizer_dtype": "{}"{}{}}})",
      traits.name, quoted_json(added.form), name_of(dtypes.parameter_dtype), name_of(dtypes.gradient_dtype),
      name_of(dtypes.optimizer_dtype), *form.keys == '\0' ? "" : ", ", form.keys);
  return read_candidate(scenario, form.framework, std::move(added));
}

/// The same with other equal chunks of the model on each stage, which whoever tunes tries too.
std::vector<Candidate> with_other_chunks(const Scenario& scenario, const Candidate& candidate) {
  std::vector<Candidate> others;
  const Parallel& parallel = scenario.training.parallel;
  const int blocks = scenario.model.num_hidden_layers, stages = parallel.pipeline;
  // Most first, which have the smallest bubble: fewer need not be played where that is more than all of their time.
  for (int chunks = blocks / stages; stages > 1 && chunks > 0; --chunks) {
    if (blocks % (stages * chunks) != 0 || chunks == parallel.chunks) continue;
    AddedSchedule added = candidate.added;
    added.form += chunks == 1 ? ", not interleaved" : fmt::format(", {} chunks a stage", chunks);
    JsonValue entry = parse_json(added.entry, "").root;
    entry.set("label", JsonValue(added.form));
    entry.set("virtual_pipeline_stages", JsonValue(chunks));
    added.entry = dump_json(entry);
    if (std::optional<Candidate> each = read_candidate(scenario, scenario.training.framework, std::move(added)))
      others.push_back(std::move(*each));
  }
  return others;
}

std::vector<TunedForm> forms_of(const ScheduleTraits& traits, const Training& training) {
  if (training.implementation != Implementation::kAccocal) return traits.tuned;
  if (traits.tuned.empty() || traits.accocal == AccocalRuns::kNowhere) return {};
  return {{training.framework, "", ""}};  // its own step has none of the choices
}

std::vector<Candidate> tuned_candidates(const Scenario& scenario, const ScheduleSpec& dtypes) {
  std::vector<Candidate> candidates;
  for (const auto* const rows : {&schedules(), &schedules_of_frameworks()})
    for (const ScheduleTraits& traits : *rows)
      for (const TunedForm& form : forms_of(traits, scenario.training))
        if (std::optional<Candidate> each = candidate_of(scenario, traits, form, dtypes))
          candidates.push_back(std::move(*each));
  return candidates;
}

/// How unlikely it fits, where that is not likely enough, then seconds a sample.
using Badness = std::tuple<double, double>;

/// Of a split model, without a play; 0 of others.
double least_per_sample(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  if (model_ranks_of(scenario.training.parallel) == 1) return 0;
  const Shared<Costs> costs = evaluations.costs(scenario, spec);
  return least_update_time(spec, *costs, scenario.training.gradient_accumulation_steps).value / samples_asked(scenario);
}

/// Less is better. Nothing where it cannot be played, or where an estimate is surely not below `least`.
std::optional<Badness> badness_of(const Division& own, const Evaluations& evaluations, bool estimated,
                                  const std::optional<Badness>& least = std::nullopt) {
  const auto& [scenario, spec, as_written] = own;
  if (!can_be_played(spec, scenario.cluster, scenario.training, scenario.model)) return std::nullopt;
  const int steps = scenario.training.gradient_accumulation_steps;
  const auto kinds = memory_by_kind(evaluations.costs(scenario, spec), spec, steps);
  const double fits = std::min(least_likely(kinds).fit.probability, WinnerRule{}.fit_probability);
  if (estimated && least && Badness(-fits, least_per_sample(scenario, spec, evaluations)) >= *least)
    return std::nullopt;
  if (estimated) return Badness(-fits, estimated_time_per_sample(scenario, spec, evaluations));
  const auto play = evaluations.play(scenario, spec);
  return Badness(-fits, play->measured.update_time.value / samples_per_update(*play));
}

/// The forms of schedules as they are ranked: each under the division of the first that communicates as often.
class Ranked {
 public:
  Ranked(const Scenario& scenario, const Evaluations& evaluations) : scenario_(scenario), evaluations_(evaluations) {}

  std::optional<Badness> operator()(const ScheduleSpec& spec, const std::optional<Badness>& least = std::nullopt) {
    const auto [first, anew] = divisions_.try_emplace(meets_every_micro_batch(spec));
    if (anew) first->second = evaluations_.divided(scenario_, balanced_where_unlike(spec, scenario_)).scenario;
    ScheduleSpec as_divided = spec;
    as_divided.balance = Balance::kNone;  // it is
    return badness_of({first->second, as_divided}, evaluations_, true, least);
  }

 private:
  const Scenario& scenario_;
  const Evaluations evaluations_;
  std::map<bool, Scenario> divisions_;
};

/// The first of the least badness; nullptr where none can be played.
const Candidate* first_of(const std::vector<Candidate>& candidates, Ranked& ranked) {
  const Candidate* best = nullptr;
  std::optional<Badness> least;
  for (const Candidate& each : candidates) {
    const std::optional<Badness> badness = ranked(each.spec, least);
    if (!badness || (least && !(*badness < *least))) continue;
    best = &each;
    least = badness;
  }
  return best;
}

/// Of the forms that whoever tunes tries the one that ranks first, and the same with other chunks: where messages share
/// links another of these may be faster. Then the scenario's own.
std::vector<Candidate> finalists_of(const Scenario& scenario, const ScheduleSpec& dtypes, Ranked& ranked) {
  std::vector<Candidate> finalists;
  const std::vector<Candidate> tuned = tuned_candidates(scenario, dtypes);
  if (const Candidate* const first = first_of(tuned, ranked)) {
    finalists = with_other_chunks(scenario, *first);
    finalists.push_back(*first);
    const auto fastest = first_of(finalists, ranked) - finalists.data();
    std::rotate(finalists.begin(), finalists.begin() + fastest, finalists.begin() + fastest + 1);
    if (scenario.training.unsteady.varies()) finalists.erase(finalists.begin() + 1, finalists.end());
  }
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (const ScheduleSpec& spec = scenario.schedules[i]; is_synchronous(spec))
      finalists.push_back({spec, {i, spec.label, "", {}}});
  return finalists;
}

}  // namespace

void add_best_synchronous(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations) {
  const Stage stage("looking for the best synchronous schedule");
  const bool asked = std::any_of(chosen.begin(), chosen.end(), [&](int index) {
    return !is_synchronous(scenario.schedules[static_cast<std::size_t>(index)]);
  });
  if (!asked || scenario.best_synchronous) return;
  // Which of the scenario's schedules are chosen changes nothing.
  const auto challenger = std::find_if_not(scenario.schedules.begin(), scenario.schedules.end(), is_synchronous);
  Scenario undrawn = scenario;
  undrawn.training.unsteady = {};
  Ranked ranked(undrawn, evaluations.on(NetworkKind::kReference));
  const std::vector<Candidate> finalists = finalists_of(scenario, *challenger, ranked);
  const bool alike = identical_ranks(scenario.cluster);
  const Candidate* best = nullptr;
  Badness least;
  for (const Candidate& each : finalists) {
    // Contention makes none faster: what is ranked clearly behind the best need not be played. What is asked for is
    // played anyhow.
    constexpr double kClearly = 1.001;
    const bool asked_for = each.added.entry.empty() &&
                           each.spec.balance == balanced_where_unlike(each.spec, scenario).balance &&
                           std::find(chosen.begin(), chosen.end(), static_cast<int>(each.added.index)) != chosen.end();
    if (best != nullptr && !asked_for && !scenario.training.unsteady.varies()) {
      const bool added = !each.added.entry.empty();
      const std::optional<Badness> rank = ranked(each.spec, added ? std::optional(least) : std::nullopt);
      if (added && !rank) continue;
      if (rank) {
        const auto [unfit, time] = *rank;
        // Of unlike GPUs its own division may fit where the one that it was ranked under does not.
        const bool clearly = unfit == std::get<0>(least) && time > kClearly * std::get<1>(least);
        if (unfit > std::get<0>(least) ? alike : clearly) continue;
      }
    }
    const std::optional<Badness> badness =
        badness_of(evaluations.divided(scenario, balanced_where_unlike(each.spec, scenario)), evaluations, false);
    if (!badness) continue;
    const bool own = best != nullptr && *badness == least && !best->added.entry.empty();  // of equally fast ones
    if (best != nullptr && !own && !(*badness < least)) continue;
    best = &each;
    least = *badness;
  }
  if (best == nullptr) return;
  AddedSchedule added = best->added;
  ScheduleSpec spec = balanced_where_unlike(best->spec, scenario);
  added.balanced = !(spec == best->spec);
  if (added.balanced && added.entry.empty())
    added.set = {fmt::format("/schedules/{}/balance={}", added.index, name_of(spec.balance))};
  else if (added.balanced)
    added.entry.insert(added.entry.rfind('}'), fmt::format(R"(, "balance": "{}")", name_of(spec.balance)));
  added.index = scenario.schedules.size();
  spec.label = fmt::format("{}: {}", kBestSynchronous, added.name());
  chosen.push_back(static_cast<int>(added.index));
  scenario.schedules.push_back(std::move(spec));
  scenario.best_synchronous = std::move(added);
}

}  // namespace accosim
