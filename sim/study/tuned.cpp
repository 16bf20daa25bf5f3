#include "sim/study/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "models/base/stages.hpp"
#include "models/read/check_schedules.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/changes.hpp"

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
constexpr double kManyGpus = 64;                ///< from which on a play is dear, and fewer of a search are played

/// On unlike GPUs nobody who tunes lets the fast ones wait.
ScheduleSpec balanced_where_unlike(ScheduleSpec spec, const Scenario& scenario) {
  if (!can_be_divided(scenario.cluster, scenario.training, island_of(spec))) return spec;
  spec.balance = Balance::kSpeed;  // sizes and numbers of micro-batches
  return spec;
}

/// What an entry of "schedules" says under that framework; nothing where it cannot be had here.
std::optional<ScheduleSpec> read_entry(const Scenario& scenario, Framework framework, JsonValue entry) {
  Training training = scenario.training;
  training.framework = framework;
  return schedule_of(entry, training, scenario.cluster);
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
  AddedSchedule added{.form = *form.form == '\0' ? traits.name : fmt::format("{}, {}", traits.name, form.form)};
  if (!own) added.set = sets_of(scenario, form.framework);
  added.entry = usual_entry(traits, added.form, dtypes);
  for (const JsonMember& key : form.keys) added.entry.members.push_back(key);
  std::optional<ScheduleSpec> spec = read_entry(scenario, form.framework, added.entry);
  if (!spec) return std::nullopt;
  return Candidate{std::move(*spec), std::move(added), form.framework};
}

/// The same that waits for late communication instead of accumulating more.
Candidate at_fixed_batch(Candidate candidate) {
  candidate.spec.late_communication = LateCommunication::kWait;
  candidate.added.fixed_batch = true;
  return candidate;
}

/// The same with so many chunks of the model on each stage; nothing where the framework does not have it so.
std::optional<Candidate> with_chunks(const Scenario& scenario, Candidate candidate, int chunks) {
  const Training& training = scenario.training;
  ScheduleSpec& spec = candidate.spec;
  AddedSchedule& added = candidate.added;
  JsonValue entry = added.own() ? json_object({{"name", traits_of(spec).name}}) : added.entry;
  entry.set("virtual_pipeline_stages", chunks);
  if (!spec.pipeline_flush) entry.set("pipeline_flush", false);
  const bool told = added.own() && spec.micro_batch_size > 0 && added.micro_batch_size == 0;  // which stays
  if (told) entry.set("micro_batch_size", spec.micro_batch_size);
  std::optional<ScheduleSpec> read = read_entry(scenario, training.framework, entry);
  if (!read && !told) {  // then perhaps with more micro-batches: at_size() asks whether as many as there are go through
    entry.set("micro_batch_size", 1);
    read = read_entry(scenario, training.framework, entry);
  }
  if (!read) return std::nullopt;
  if (!added.own()) spec = *read;
  // Interleaved chunks may have to wait for late communication, which is then what reading an entry gives.
  if (accumulates_while_waiting(spec) && !accumulates_while_waiting(*read)) candidate = at_fixed_batch(candidate);
  // Whoever looks after every group of micro-batches that goes through together still does.
  if (spec.poll_every == micro_batches_apart(parallel_of(training, spec))) spec.poll_every = read->poll_every;
  spec.chunks = added.virtual_stages = chunks;
  added.micro_batch_size = 0;
  if (!told) spec.micro_batch_size = 0;
  if (spec.overlap_param_gather)
    spec.align_param_gather = !aligned_gathers(training.framework, parallel_of(training, spec)).empty();
  return candidate;
}

/// The same with other numbers of chunks of the model on each stage, which whoever tunes tries too.
Candidates with_other_chunks(const Scenario& scenario, const Candidate& candidate) {
  Candidates others;
  const int stages = scenario.training.parallel.pipeline;
  const int now = parallel_of(scenario.training, candidate.spec).chunks;
  // Most first, which have the smallest bubble: fewer need not be played where that is more than all of their time.
  for (int chunks = (scenario.model.num_hidden_layers + 2) / stages; stages > 1 && chunks > 0; --chunks)
    if (chunks != now)
      if (std::optional<Candidate> each = with_chunks(scenario, candidate, chunks)) others.push_back(std::move(*each));
  return others;
}

std::vector<TunedForm> forms_of(const ScheduleTraits& traits, const Training& training) {
  if (training.implementation != Implementation::kAccocal) return traits.tuned;
  if (traits.tuned.empty() || traits.accocal == AccocalRuns::kNowhere) return {};
  return {{training.framework, "", {}}};  // its own step has none of the choices
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
  return {spec, {index, spec.label, spec.label, {}, {}}, scenario.training.framework};
}

Candidates own_synchronous(const Scenario& scenario) {
  Candidates own;
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (const ScheduleSpec& spec = scenario.schedules[i]; is_synchronous(spec)) own.push_back(as_written(scenario, i));
  return own;
}

/// Micro-batches that divide the samples of a GPU, the written one first; that alone where GPUs have their own, or
/// where the work of unlike ones is divided by speed. A measured model's time is that of one size.
std::vector<int> micro_batches(const Scenario& scenario) {
  const Training& training = scenario.training;
  const std::int64_t all = std::int64_t{training.micro_batch_size} * training.gradient_accumulation_steps;
  std::vector<int> sizes = {training.micro_batch_size};
  if (!has_one_micro_batch(scenario.cluster, training) || can_be_divided(scenario.cluster, training) ||
      family_of(scenario.model).measured || all > kMostSamples)
    return sizes;
  for (int size = 1; size <= all; ++size)
    if (all % size == 0 && size != training.micro_batch_size) sizes.push_back(size);
  return sizes;
}

/// Whether sequences are padded to the longest of a micro-batch, which its steady time does not know.
bool pads(const Scenario& scenario) {
  return !scenario.training.unsteady.lengths.full() && gpu_count(scenario.cluster) < kManyGpus;
}

/// Whether as many micro-batches a round as that leaves can go through the stages as the schedule has it: what is
/// refused in a file (models/read/piped_schedules.cpp).
bool go_through(const ScheduleSpec& spec, const Parallel& parallel, int a_round) {
  const std::optional<int> least = least_a_round(spec, parallel);
  return least && a_round >= *least && a_round % micro_batches_apart(parallel) == 0;
}

/// The same in micro-batches of that size; nothing where it cannot be done so, or has a size of its own.
std::optional<Candidate> at_size(const Scenario& scenario, Candidate candidate, int size) {
  ScheduleSpec& spec = candidate.spec;
  if (size == scenario.training.micro_batch_size) {
    const int a_round = scenario.training.gradient_accumulation_steps / rounds_of(spec);
    if (spec.micro_batch_size == 0 && !go_through(spec, parallel_of(scenario.training, spec), a_round))
      return std::nullopt;
    return candidate;
  }
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

/// Of two candidates the one that is likelier to fit is better, then the faster one.
struct Badness {
  double unfit = 0;  ///< minus the probability to fit, where that is not likely enough
  double time = 0;   ///< seconds a sample

  auto operator<=>(const Badness&) const = default;
  bool fits() const { return unfit <= -WinnerRule{}.fit_probability; }
};

/// Of those that surely do not fit the nearest is the one that needs least.
double unfit(const Division& own, const Evaluations& evaluations) {
  constexpr double kNever = 1e-6;
  const int steps = own.scenario.training.gradient_accumulation_steps;
  const std::vector<KindMemory> kinds = memory_by_kind(evaluations.costs(own.scenario, own.spec), own.spec, steps);
  const KindMemory& kind = least_likely(kinds);
  if (kind.fit.probability < kNever) return kind.parts.total() / kind.capacity;
  return -std::min(kind.fit.probability, WinnerRule{}.fit_probability);
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
/// communicates as often, and whose pipelines take micro-batches in as large groups.
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
          const Badness least{unfit(own, evaluations_), least_time_per_sample(own.scenario, own.spec, evaluations_)};
          all.push_back({std::move(*candidate), std::move(own), least});
        }
    std::ranges::stable_sort(all, {}, &Entrant::least);
    return all;
  }

  void rank(Entrant& entrant) const {
    const Division& own = entrant.own;
    entrant.rank = {entrant.least.unfit, estimated_time_per_sample(own.scenario, own.spec, evaluations_)};
  }

 private:
  static Scenario undrawn(Scenario scenario) {
    scenario.training.unsteady = {};
    return scenario;
  }

  Division division_of(const ScheduleSpec& spec) {
    if (spec.micro_batch_size > 0) return evaluations_.divided(scenario_, spec);
    const int apart = micro_batches_apart(parallel_of(scenario_.training, spec));
    const auto [first, anew] = divisions_.try_emplace(std::pair(meets_every_micro_batch(spec), apart));
    if (anew) first->second = evaluations_.divided(scenario_, balanced_where_unlike(spec, scenario_)).scenario;
    ScheduleSpec as_divided = spec;
    as_divided.balance = Balance::kNone;  // it is
    return {first->second, as_divided};
  }

  const std::vector<int> sizes_;
  const Scenario scenario_;
  const Evaluations evaluations_;
  std::map<std::pair<bool, int>, Scenario> divisions_;
};

/// One that has been played.
struct Played {
  Candidate candidate;
  Badness badness;
};

/// The fastest so far, on the scenario's network.
class Fastest {
 public:
  Fastest(const Scenario& scenario, const Evaluations& evaluations)
      : ranked(scenario, evaluations.on(NetworkKind::kReference)), scenario_(scenario), evaluations_(evaluations) {}

  void play(const Candidate& candidate) {
    const Division own = evaluations_.divided(scenario_, balanced_where_unlike(candidate.spec, scenario_));
    if (!is_playable(own)) return;
    const auto play = evaluations_.play(own.scenario, own.spec);
    const Badness badness{unfit(own, evaluations_), time_per_sample(*play)};
    // Of equally fast ones the scenario's own, else the first.
    constexpr double kRounding = 1e-9;
    const bool as_fast =
        best && badness.unfit == best->badness.unfit && std::abs(badness.time / best->badness.time - 1) < kRounding;
    const bool own_entry = as_fast && candidate.added.own() && !best->candidate.added.own();
    if (!best || own_entry || (!as_fast && badness < best->badness)) best = Played{candidate, badness};
  }

  /// Contention makes none faster: what is behind without it need not be played, nor what takes longer to compute.
  void search(const Candidates& candidates) {
    const bool small = gpu_count(scenario_.cluster) < kManyGpus;
    const std::size_t most = scenario_.training.unsteady.varies() ? 2 : small ? 12 : 6;
    std::vector<Entrant> all = ranked.entrants(candidates);
    std::optional<Badness> first;
    if (best) first = best->badness;
    Steps steps(all.size() + most);
    for (Entrant& each : all) {
      steps.over();
      if (first && each.least >= *first) continue;
      ranked.rank(each);
      first = first ? std::min(*first, *each.rank) : *each.rank;
    }
    std::ranges::stable_sort(all, {},
                             [](const Entrant& each) { return std::pair(!each.rank, each.rank.value_or(each.least)); });
    std::size_t plays = 0;
    for (Entrant& each : all) {
      if (plays == most) return;
      if (!each.rank && !is_behind(each.least)) ranked.rank(each);
      if (is_behind(each.rank.value_or(each.least))) continue;
      play(each.candidate);
      ++plays;
      steps.over();
    }
  }

  std::optional<Played> best;
  Ranked ranked;

 private:
  bool is_behind(const Badness& rank) const {
    constexpr double kClearly = 1.001;
    if (!best || scenario_.training.unsteady.varies()) return false;
    // Of unlike GPUs its own division may fit where the one that it was ranked under does not.
    if (rank.unfit > best->badness.unfit) return identical_ranks(scenario_.cluster);
    return rank.unfit == best->badness.unfit && rank.time > kClearly * best->badness.time;
  }

  const Scenario& scenario_;
  const Evaluations& evaluations_;
};

/// With the settings or the entry that write it down.
AddedSchedule written_down(const Candidate& candidate, const ScheduleSpec& spec) {
  AddedSchedule added = candidate.added;
  added.label = added.form;
  added.balanced = added.balanced || !(spec == candidate.spec);
  const auto set = [&](const char* key, const auto& value) {
    if (added.own())
      added.set.push_back(fmt::format("/schedules/{}/{}={}", added.index, key, value));
    else
      added.entry.set(key, value);
  };
  if (added.balanced) set("balance", name_of(spec.balance));
  if (added.fixed_batch) set("late_communication", "wait");
  if (added.virtual_stages > 0) set("virtual_pipeline_stages", added.virtual_stages);
  if (added.virtual_stages > 0 && spec.overlap_param_gather) set("align_param_gather", spec.align_param_gather);
  if (added.micro_batch_size > 0) set("micro_batch_size", added.micro_batch_size);
  if (!added.own()) added.entry.set("label", added.name());
  return added;
}

AddedSchedule add(Scenario& scenario, std::vector<int>& chosen, const Candidate& candidate, ScheduleSpec spec,
                  const char* title) {
  AddedSchedule added = written_down(candidate, spec);
  added.index = scenario.schedules.size();
  added.label = spec.label = fmt::format("{}: {}", title, added.name());
  chosen.push_back(static_cast<int>(added.index));
  scenario.schedules.push_back(std::move(spec));
  return added;
}

/// Of one schedule the chunks of a stage and the micro-batch, or of unlike GPUs the division, at which it is fastest
/// without a caveat, or else at all. Where micro-batches are drawn only the one that is the best without that is
/// played, beside the written one; of few GPUs whose sequences differ all are.
RunResult fastest_split(const Scenario& scenario, Candidate& candidate, Ranked& ranked, const Evaluations& evaluations,
                        const WinnerRule& rule) {
  const bool drawn = scenario.training.unsteady.varies();
  const auto badness = [&](const RunResult& result) {
    return std::pair(!caveats_of(contender_of(result, {}), rule).none(), -result.tokens_per_second);
  };
  RunResult best = run_schedule(scenario, candidate.spec, evaluations);
  const auto take = [&](const Candidate& each) {
    RunResult result = run_schedule(scenario, each.spec, evaluations);
    if (badness(result) >= badness(best)) return;
    best = std::move(result);
    candidate = each;
  };
  Candidate divided = candidate;
  divided.spec = balanced_where_unlike(candidate.spec, scenario);
  divided.added.balanced = !(divided.spec == candidate.spec);
  if (divided.added.balanced) take(divided);
  Candidates forms = with_other_chunks(scenario, candidate);
  if (forms.empty() && micro_batches(scenario).size() == 1) return best;
  forms.push_back(candidate);
  const bool late = best.statistics != Statistics::kSynchronous;  // in whatever form
  for (const Entrant& each : ranked.entrants(forms)) {
    const double tokens = scenario.training.sequence_length / each.least.time;  // a second, at most
    if (each.least.unfit > -rule.fit_probability || (!drawn && badness(best) <= std::pair(late, -tokens))) continue;
    take(each.candidate);
    if (drawn && !pads(scenario)) break;
  }
  return best;
}

/// Searches the forms that the scenario's framework has and its own synchronous ones, then other chunks of the best.
void search_own(const Scenario& scenario, const ScheduleSpec& dtypes, Fastest& fastest,
                const Evaluations& evaluations) {
  Steps steps(2);
  Candidates own = tuned_candidates(scenario, dtypes, true);
  const Candidates written = own_synchronous(scenario);
  own.insert(own.end(), written.begin(), written.end());
  fastest.search(own);
  steps.over();
  if (const std::optional<Played>& best = fastest.best) {
    Candidates others = with_other_chunks(scenario, best->candidate);
    // Where it does not fit, fewer chunks are a way out if they do, and else only slower.
    if (!best->badness.fits())
      std::erase_if(others, [&](const Candidate& each) {
        return !Badness{unfit(evaluations.divided(scenario, each.spec), evaluations)}.fits();
      });
    fastest.search(others);
  }
  if (pads(scenario) && fastest.best) {
    Candidate best = fastest.best->candidate;
    best.spec.micro_batch_size = best.added.micro_batch_size = 0;
    for (const int size : micro_batches(scenario))
      if (const std::optional<Candidate> each = at_size(scenario, best, size)) fastest.play(*each);
  }
  steps.over();
}

/// The scenario with as many samples an update or the next fewer that its GPUs can share equally; nothing where those
/// are no more than are asked for. A batch that has grown without bound is as one that has grown so much.
std::optional<Scenario> with_grown_batch(const Scenario& scenario, double samples) {
  constexpr double kMostGrown = 4, kRounding = 1e-9;
  Scenario grown = scenario;
  Training& training = grown.training;
  std::vector<NodeGroup>& groups = grown.cluster.nodes;
  if (std::ranges::any_of(groups, [](const NodeGroup& each) { return !each.accumulation_steps.empty(); }))
    return std::nullopt;
  const double times = std::min(samples / samples_asked(scenario), kMostGrown) + kRounding;
  const int apart = micro_batches_apart(training.parallel);
  const int asked = training.gradient_accumulation_steps;
  const int steps = static_cast<int>(asked * times) / apart * apart;
  const double replicas = gpu_count(scenario.cluster) / model_ranks_of(training.parallel);
  const int own = static_cast<int>(samples_asked(scenario) / replicas * times);  // samples of a GPU
  const bool sized = micro_batches(scenario).size() > 1 || can_be_divided(scenario.cluster, training);
  if (apart == 1 && sized && !family_of(scenario.model).measured) {
    training.gradient_accumulation_steps = own;
    training.micro_batch_size = 1;
    for (NodeGroup& group : groups) group.micro_batch_size = 1;
  } else {
    training.gradient_accumulation_steps = steps;
  }
  group_micro_batches(training);
  return samples_asked(grown) > samples_asked(scenario) ? std::optional(grown) : std::nullopt;
}

/// Adds to the `known` what is best at a batch of so many samples.
void tune_grown(const Scenario& scenario, double samples, const ScheduleSpec& dtypes, const Evaluations& evaluations,
                std::vector<TunedBatch>& known) {
  const std::optional<Scenario> grown = with_grown_batch(scenario, samples);
  if (!grown) return;
  const double own = samples_asked(*grown);
  if (std::ranges::find(known, own, &TunedBatch::samples) != known.end()) return;
  Fastest fastest(*grown, evaluations);
  search_own(*grown, dtypes, fastest, evaluations);
  if (!fastest.best || !fastest.best->badness.fits()) return;
  const auto& [candidate, badness] = *fastest.best;
  const AddedSchedule added = written_down(candidate, balanced_where_unlike(candidate.spec, *grown));
  known.push_back({own, badness.time, added.name()});
}

/// Of the chosen that are delayed or local the one that would win among them. One whose batch grows is there at the
/// batch that was asked for as well. Those whose statistics are a caveat in whatever form are tuned only where none of
/// the others wins. `best`: seconds a sample of the synchronous one at so many samples.
std::optional<Candidate> best_delayed(const Scenario& scenario, const std::vector<int>& chosen, Ranked& ranked,
                                      const std::function<double(double samples)>& best, const Evaluations& evaluations,
                                      const WinnerRule& rule) {
  Candidates candidates, late;
  for (const int index : chosen) {
    const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(index)];
    if (is_synchronous(spec)) continue;
    const RunResult written = run_schedule(scenario, spec, evaluations);
    best(written.samples_per_update);  // which is a row as well
    Candidates& of = written.statistics == Statistics::kSynchronous ? candidates : late;
    of.push_back(as_written(scenario, static_cast<std::size_t>(index)));
    if (accumulates_while_waiting(spec) && caveats_of(contender_of(written, {}), rule).batch_growth > 1)
      of.push_back(at_fixed_batch(of.back()));
  }
  std::vector<Contender> contenders;
  const auto standing = [&] {
    for (std::size_t i = contenders.size(); i < candidates.size(); ++i) {
      const RunResult result = fastest_split(scenario, candidates[i], ranked, evaluations, rule);
      const double samples = result.samples_per_update;
      contenders.push_back(contender_of(result, best(samples) * samples / result.update_time.value));
    }
    return standing_of(contenders, rule);
  };
  std::optional<std::size_t> winner = standing().winner;
  if (!winner) {
    candidates.insert(candidates.end(), late.begin(), late.end());
    winner = standing().best();
  }
  return winner ? std::optional(candidates[*winner]) : std::nullopt;
}

}  // namespace

Tuned add_tuned(Scenario& scenario, std::vector<int>& chosen, const Evaluations& evaluations, bool columns,
                const WinnerRule& rule) {
  const Stage stage("tuning both sides");
  Tuned tuned;
  if (chosen.empty()) return tuned;
  // Whose dtypes all have: those of the first that is delayed or local, where there is one.
  auto challenger = std::ranges::find_if_not(scenario.schedules, is_synchronous);
  if (challenger == scenario.schedules.end()) challenger = scenario.schedules.begin();
  const ScheduleSpec dtypes = *challenger;
  Fastest fastest(scenario, evaluations);
  Steps steps(4);  // what is written, the framework's own, those of others, the delayed ones
  // What is asked for is played anyhow.
  for (const Candidate& each : own_synchronous(scenario))
    if (std::ranges::find(chosen, static_cast<int>(each.added.index)) != chosen.end()) fastest.play(each);
  steps.over();
  search_own(scenario, dtypes, fastest, evaluations);
  steps.over();
  const std::optional<Played> best = fastest.best;
  if (!best) return tuned;
  fastest.search(tuned_candidates(scenario, dtypes, false));
  steps.over();
  const std::optional<Played>& other = fastest.best;
  const ScheduleSpec synchronous = balanced_where_unlike(best->candidate.spec, scenario);
  tuned.by_batch = {{samples_asked(scenario), best->badness.time, written_down(best->candidate, synchronous).name()}};
  const auto best_at = [&](double samples) {
    tune_grown(scenario, samples, dtypes, evaluations, tuned.by_batch);
    const double time =
        time_per_sample(scenario, accumulating(synchronous), samples, evaluations).value_or(best->badness.time);
    const TunedBatch* const there = tuned.at(samples);
    return there == nullptr ? time : std::min(time, there->time);
  };
  const std::optional<Candidate> delayed = best_delayed(scenario, chosen, fastest.ranked, best_at, evaluations, rule);
  if (delayed && delayed->added.name() == delayed->added.form) {
    tuned.delayed = delayed->added;
    if (columns) chosen.push_back(static_cast<int>(delayed->added.index));
  } else if (delayed) {
    tuned.delayed = add(scenario, chosen, *delayed, delayed->spec, kBestDelayedRow);
  }
  tuned.synchronous = add(scenario, chosen, best->candidate, synchronous, kBestSynchronousRow);
  const double times = best->badness.time / other->badness.time;
  if (best->badness.unfit == other->badness.unfit && times > kNoticeablyFaster)
    tuned.elsewhere = Elsewhere{written_down(other->candidate, balanced_where_unlike(other->candidate.spec, scenario)),
                                title_of(other->candidate.framework), times};
  return tuned;
}

std::optional<Beyond> beyond_schedules(const WhatIf& what_if, std::size_t best) {
  const auto result_with = [&](const std::vector<std::string>& set) -> std::optional<RunResult> {
    const std::optional<Trial> trial = what_if.with(best, set);
    if (!trial) return std::nullopt;
    return run_schedule(trial->scenario, trial->spec(), what_if.evaluations());
  };
  const std::optional<RunResult> now = result_with({});
  if (!now) return std::nullopt;
  Beyond beyond;
  std::vector<const char*> settings = {"/training/implementation=compiled", "/cluster/nodes/*/attention=flash",
                                       "/training/optimizer_implementation=fused"};
  const Scenario& scenario = what_if.scenario();
  if (scenario.training.parallel.sequence) settings.push_back("/training/parallel/tensor_overlap=true");
  if (scenario.training.parallel.pipeline > 1 && !identical_ranks(scenario.cluster))
    settings.insert(settings.begin(), "/training/parallel/stage_layers=speed");
  for (const char* const each : settings) {
    std::vector<std::string> set = joined(beyond.set, {each});
    const std::optional<RunResult> then = result_with(set);
    const double times = then ? then->tokens_per_second / now->tokens_per_second : 0;
    const bool fits = then && (then->fits() || !now->fits());
    if (!fits || times < beyond.times * kNoticeablyFaster) continue;
    beyond = {std::move(set), times};
  }
  return beyond.set.empty() ? std::nullopt : std::optional(beyond);
}

}  // namespace accosim
