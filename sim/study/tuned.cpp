#include "sim/study/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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
#include "models/spec/model_families.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/bound.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

/// A schedule that might be the best.
struct Candidate {
  ScheduleSpec spec;
  AddedSchedule added;  ///< `index`: of one of the scenario's own its place among them
  Framework framework;  ///< that has it
};
using Candidates = std::vector<Candidate>;

constexpr std::int64_t kMostSamples = 1 << 16;  ///< of a GPU, whose divisors are tried

/// On unlike GPUs nobody who tunes lets the fast ones wait; under a delayed or local schedule they need not.
ScheduleSpec balanced_where_unlike(ScheduleSpec spec, const Scenario& scenario) {
  if (!is_synchronous(spec)) return spec;
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
  return Candidate{std::move(spec), std::move(added), framework};
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
Candidates with_other_chunks(const Scenario& scenario, const Candidate& candidate) {
  Candidates others;
  const Parallel& parallel = scenario.training.parallel;
  const int blocks = scenario.model.num_hidden_layers, stages = parallel.pipeline;
  // Most first, which have the smallest bubble: fewer need not be played where that is more than all of their time.
  for (int chunks = blocks / stages; stages > 1 && chunks > 0; --chunks) {
    if (blocks % (stages * chunks) != 0 || chunks == parallel.chunks) continue;
    AddedSchedule added = candidate.added;
    added.micro_batch_size = 0;
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

/// `own`: those that the scenario's framework has, or those that only others have.
Candidates tuned_candidates(const Scenario& scenario, const ScheduleSpec& dtypes, bool own) {
  Candidates candidates;
  for (const auto* const rows : {&schedules(), &schedules_of_frameworks()})
    for (const ScheduleTraits& traits : *rows)
      for (const TunedForm& form : forms_of(traits, scenario.training))
        if ((form.framework == scenario.training.framework) == own)
          if (std::optional<Candidate> each = candidate_of(scenario, traits, form, dtypes))
            candidates.push_back(std::move(*each));
  return candidates;
}

Candidate as_written(const Scenario& scenario, std::size_t index) {
  const ScheduleSpec& spec = scenario.schedules[index];
  return {spec, {index, spec.label, "", {}}, scenario.training.framework};
}

Candidates own_synchronous(const Scenario& scenario) {
  Candidates own;
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (const ScheduleSpec& spec = scenario.schedules[i]; is_synchronous(spec)) own.push_back(as_written(scenario, i));
  return own;
}

/// Micro-batches that divide the samples of a GPU, the written one first; that alone where GPUs have their own, where
/// the work of unlike ones is divided by speed, or where micro-batches are drawn. A measured model's time is that of
/// one size.
std::vector<int> micro_batches(const Scenario& scenario) {
  const Training& training = scenario.training;
  const std::int64_t all = std::int64_t{training.micro_batch_size} * training.gradient_accumulation_steps;
  std::vector<int> sizes = {training.micro_batch_size};
  if (!has_one_micro_batch(scenario.cluster, training) || !identical_ranks(scenario.cluster) ||
      family_of(scenario.model).measured || training.unsteady.varies() || all > kMostSamples)
    return sizes;
  for (int size = 1; size <= all; ++size)
    if (all % size == 0 && size != training.micro_batch_size) sizes.push_back(size);
  return sizes;
}

/// Whether as many micro-batches a round as that leaves can go through the stages as the schedule has it: what is
/// refused in a file (models/read/piped_schedules.cpp).
bool go_through(const ScheduleSpec& spec, const Parallel& parallel, int a_round) {
  if (a_round % micro_batches_apart(parallel) != 0) return false;
  if (parallel.pipeline == 1) return true;
  const int open = least_open_flight(parallel);
  if (spec.late_communication == LateCommunication::kAccumulate && (open == 0 || a_round < open)) return false;
  return spec.pipeline_flush || a_round >= parallel.pipeline;
}

/// The same in micro-batches of that size; nothing where it cannot be done so, or has a size of its own.
std::optional<Candidate> at_size(const Scenario& scenario, Candidate candidate, int size) {
  ScheduleSpec& spec = candidate.spec;
  if (size == scenario.training.micro_batch_size) return candidate;
  const Training split = with_micro_batch(scenario.training, size);
  const int rounds = rounds_of(spec), steps = split.gradient_accumulation_steps;
  // One that was told how many micro-batches a round has at least stays as it is written.
  const bool told =
      rounds > 1 && spec.micro_batches_per_round * rounds != scenario.training.gradient_accumulation_steps;
  if (spec.micro_batch_size > 0 || spec.balance != Balance::kNone || told || steps % rounds != 0 ||
      !go_through(spec, parallel_of(split, spec), steps / rounds))
    return std::nullopt;
  if (rounds > 1) spec.micro_batches_per_round = steps / rounds;
  spec.micro_batch_size = candidate.added.micro_batch_size = size;
  return candidate;
}

/// How unlikely it fits, where that is not likely enough, then seconds a sample.
using Badness = std::tuple<double, double>;

double unfit(const Division& own, const Evaluations& evaluations) {
  const int steps = own.scenario.training.gradient_accumulation_steps;
  const auto kinds = memory_by_kind(evaluations.costs(own.scenario, own.spec), own.spec, steps);
  return -std::min(least_likely(kinds).fit.probability, WinnerRule{}.fit_probability);
}

/// Seconds a sample, without a play: no play takes less.
double least_time(const Division& own, const Evaluations& evaluations) {
  const Scenario& scenario = own.scenario;
  const Shared<Costs> costs = evaluations.costs(scenario, own.spec);
  return least_update_time(own.spec, *costs, scenario.training.gradient_accumulation_steps).value /
         samples_asked(scenario);
}

bool is_playable(const Division& own) {
  const Scenario& scenario = own.scenario;
  return can_be_played(own.spec, scenario.cluster, scenario.training, scenario.model);
}

/// A candidate at a micro-batch, and the least that it may come to.
struct Entrant {
  Candidate candidate;
  Division own;
  Badness least;
  std::optional<Badness> rank{};  ///< without contention, once it is known
};

/// Forms as they are ranked, without what is drawn: of unlike GPUs each under the division of the first that
/// communicates as often.
class Ranked {
 public:
  Ranked(const Scenario& scenario, const Evaluations& evaluations)
      : sizes_(micro_batches(scenario)), scenario_(undrawn(scenario)), evaluations_(evaluations) {}

  /// Every candidate at every micro-batch, the likeliest to be the best first: those that fit, from the least time on.
  std::vector<Entrant> entrants(const Candidates& candidates) {
    std::vector<Entrant> all;
    for (const int size : sizes_)
      for (const Candidate& each : candidates)
        if (std::optional<Candidate> candidate = at_size(scenario_, each, size)) {
          Division own = division_of(candidate->spec);
          if (!is_playable(own)) continue;
          const Badness least{unfit(own, evaluations_), least_time(own, evaluations_)};
          all.push_back({std::move(*candidate), std::move(own), least});
        }
    std::stable_sort(all.begin(), all.end(), [](const Entrant& a, const Entrant& b) { return a.least < b.least; });
    return all;
  }

  void rank(Entrant& entrant) const {
    entrant.rank = Badness(std::get<0>(entrant.least),
                           estimated_time_per_sample(entrant.own.scenario, entrant.own.spec, evaluations_));
  }

 private:
  static Scenario undrawn(Scenario scenario) {
    scenario.training.unsteady = {};
    return scenario;
  }

  Division division_of(const ScheduleSpec& spec) {
    if (spec.micro_batch_size > 0) return evaluations_.divided(scenario_, spec);
    const auto [first, anew] = divisions_.try_emplace(meets_every_micro_batch(spec));
    if (anew) first->second = evaluations_.divided(scenario_, balanced_where_unlike(spec, scenario_)).scenario;
    ScheduleSpec as_divided = spec;
    as_divided.balance = Balance::kNone;  // it is
    return {first->second, as_divided};
  }

  const std::vector<int> sizes_;
  const Scenario scenario_;
  const Evaluations evaluations_;
  std::map<bool, Scenario> divisions_;
};

/// One that has been played.
struct Played {
  Candidate candidate;
  Badness badness;
};

/// The fastest so far, on the scenario's network.
class Fastest {
 public:
  Fastest(const Scenario& scenario, const Evaluations& evaluations) : scenario_(scenario), evaluations_(evaluations) {}

  void play(const Candidate& candidate) {
    const Division own = evaluations_.divided(scenario_, balanced_where_unlike(candidate.spec, scenario_));
    if (!is_playable(own)) return;
    const auto play = evaluations_.play(own.scenario, own.spec);
    const Badness badness{unfit(own, evaluations_), play->measured.update_time.value / samples_per_update(*play)};
    // Of equally fast ones the scenario's own.
    const bool own_entry =
        best && badness == best->badness && candidate.added.entry.empty() && !best->candidate.added.entry.empty();
    if (!best || own_entry || badness < best->badness) best = Played{candidate, badness};
  }

  /// Contention makes none faster: what is behind without it need not be played, nor what takes longer to compute.
  void search(const Candidates& candidates, Ranked& ranked) {
    const int most = scenario_.training.unsteady.varies() ? 1 : 6;
    std::vector<Entrant> all = ranked.entrants(candidates);
    std::optional<Badness> first;
    if (best) first = best->badness;
    for (Entrant& each : all) {
      if (first && each.least >= *first) continue;
      ranked.rank(each);
      first = first ? std::min(*first, *each.rank) : *each.rank;
    }
    std::stable_sort(all.begin(), all.end(), [](const Entrant& a, const Entrant& b) {
      return std::pair(!a.rank, a.rank.value_or(a.least)) < std::pair(!b.rank, b.rank.value_or(b.least));
    });
    int plays = 0;
    for (Entrant& each : all) {
      if (plays == most) return;
      if (!each.rank && !is_behind(each.least)) ranked.rank(each);
      if (is_behind(each.rank.value_or(each.least))) continue;
      play(each.candidate);
      ++plays;
    }
  }

  std::optional<Played> best;

 private:
  bool is_behind(const Badness& rank) const {
    constexpr double kClearly = 1.001;
    if (!best || scenario_.training.unsteady.varies()) return false;
    const auto [unfit, time] = best->badness;
    // Of unlike GPUs its own division may fit where the one that it was ranked under does not.
    if (std::get<0>(rank) > unfit) return identical_ranks(scenario_.cluster);
    return std::get<0>(rank) == unfit && std::get<1>(rank) > kClearly * time;
  }

  const Scenario& scenario_;
  const Evaluations& evaluations_;
};

/// With the settings or the entry that write it down.
AddedSchedule written_down(const Candidate& candidate, const ScheduleSpec& spec) {
  AddedSchedule added = candidate.added;
  added.balanced = !(spec == candidate.spec);
  const auto set = [&](const char* key, const auto& value) {
    if (added.entry.empty()) return added.set.push_back(fmt::format("/schedules/{}/{}={}", added.index, key, value));
    JsonValue entry = parse_json(added.entry, "").root;
    entry.set(key, value);
    added.entry = dump_json(entry);
  };
  if (added.balanced) set("balance", name_of(spec.balance));
  if (added.micro_batch_size > 0) set("micro_batch_size", added.micro_batch_size);
  if (!added.entry.empty()) set("label", added.name());
  return added;
}

void add(Scenario& scenario, std::vector<int>& chosen, const Candidate& candidate, const char* title,
         std::optional<AddedSchedule> Scenario::*as) {
  ScheduleSpec spec = balanced_where_unlike(candidate.spec, scenario);
  AddedSchedule added = written_down(candidate, spec);
  added.index = scenario.schedules.size();
  spec.label = fmt::format("{}: {}", title, added.name());
  chosen.push_back(static_cast<int>(added.index));
  scenario.schedules.push_back(std::move(spec));
  scenario.*as = std::move(added);
}

/// Of one schedule the micro-batch at which it is fastest without a caveat, or else at all.
RunResult fastest_split(const Scenario& scenario, Candidate& candidate, Ranked& ranked,
                        const Evaluations& evaluations) {
  if (micro_batches(scenario).size() == 1) return run_schedule(scenario, candidate.spec, evaluations);
  std::optional<RunResult> best;
  const WinnerRule rule;
  const Candidate written = candidate;
  const auto badness = [&](const RunResult& result) {
    return std::pair(!caveats_of(contender_of(result, {}), rule).none(), -result.tokens_per_second);
  };
  for (const Entrant& each : ranked.entrants({written})) {
    const double tokens = scenario.training.sequence_length / std::get<1>(each.least);  // a second, at most
    const bool unfit = std::get<0>(each.least) > -rule.fit_probability;
    if (best && (unfit || badness(*best) <= std::pair(false, -tokens))) continue;
    RunResult result = run_schedule(scenario, each.candidate.spec, evaluations);
    if (best && badness(result) >= badness(*best)) continue;
    best = std::move(result);
    candidate = each.candidate;
  }
  return best ? *std::move(best) : run_schedule(scenario, written.spec, evaluations);
}

/// Of the chosen that are delayed or local the one that would win among them. `best`: the synchronous one, and its
/// seconds a sample.
std::optional<Candidate> best_delayed(const Scenario& scenario, const std::vector<int>& chosen, Ranked& ranked,
                                      const std::pair<ScheduleSpec, double>& best, const Evaluations& evaluations) {
  Candidates candidates;
  std::vector<Contender> contenders;
  const ScheduleSpec accumulates = accumulating(best.first);
  for (const int index : chosen) {
    const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(index)];
    if (is_synchronous(spec)) continue;
    Candidate candidate = as_written(scenario, static_cast<std::size_t>(index));
    const RunResult result = fastest_split(scenario, candidate, ranked, evaluations);
    const double samples = result.samples_per_update;
    const double time = time_per_sample(scenario, accumulates, samples, evaluations).value_or(best.second);
    contenders.push_back(contender_of(result, time * samples / result.update_time.value));
    candidates.push_back(std::move(candidate));
  }
  const std::optional<std::size_t> winner = standing_of(contenders, {}).best();
  return winner ? std::optional(candidates[*winner]) : std::nullopt;
}

}  // namespace

void add_tuned(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations) {
  const Stage stage("tuning both sides");
  const bool asked = std::any_of(chosen.begin(), chosen.end(), [&](int index) {
    return !is_synchronous(scenario.schedules[static_cast<std::size_t>(index)]);
  });
  if (!asked || scenario.best_synchronous) return;
  const auto challenger = std::find_if_not(scenario.schedules.begin(), scenario.schedules.end(), is_synchronous);
  Ranked ranked(scenario, evaluations.on(NetworkKind::kReference));
  Fastest fastest(scenario, evaluations);
  // What is asked for is played anyhow.
  const Candidates written = own_synchronous(scenario);
  for (const Candidate& each : written)
    if (std::find(chosen.begin(), chosen.end(), static_cast<int>(each.added.index)) != chosen.end()) fastest.play(each);
  Candidates own = tuned_candidates(scenario, *challenger, true);
  own.insert(own.end(), written.begin(), written.end());
  fastest.search(own, ranked);
  if (const std::optional<Played>& best = fastest.best;
      best && !best->candidate.added.entry.empty() && !scenario.training.unsteady.varies())
    fastest.search(with_other_chunks(scenario, best->candidate), ranked);
  const std::optional<Played> best = fastest.best;
  if (!best) return;
  fastest.search(tuned_candidates(scenario, *challenger, false), ranked);
  const std::optional<Played>& other = fastest.best;
  const std::pair synchronous(balanced_where_unlike(best->candidate.spec, scenario), std::get<1>(best->badness));
  const std::optional<Candidate> delayed = best_delayed(scenario, chosen, ranked, synchronous, evaluations);
  if (delayed && delayed->added.micro_batch_size == 0)
    scenario.best_delayed = delayed->added;
  else if (delayed)
    add(scenario, chosen, *delayed, kBestDelayedRow, &Scenario::best_delayed);
  add(scenario, chosen, best->candidate, kBestSynchronousRow, &Scenario::best_synchronous);
  const double times = std::get<1>(best->badness) / std::get<1>(other->badness);
  if (std::get<0>(best->badness) == std::get<0>(other->badness) && times > kNoticeablyFaster)
    scenario.elsewhere =
        Elsewhere{written_down(other->candidate, balanced_where_unlike(other->candidate.spec, scenario)),
                  title_of(other->candidate.framework), times};
}

void add_tuned_columns(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations) {
  const std::size_t before = chosen.size();
  add_tuned(scenario, chosen, evaluations);
  if (chosen.size() == before + 1) chosen.insert(chosen.end() - 1, static_cast<int>(scenario.best_delayed->index));
}

}  // namespace accosim
