#include "sim/evaluation/steady.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "models/base/stages.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

Folded among_all(Folded folded, const FewReplicas& few) {
  for (Rank& rank : folded.graph.ranks) rank.multiplicity *= few.each;
  std::vector<int> class_of;
  for (const int rank : few.few) class_of.push_back(folded.class_of[rank]);
  folded.class_of = std::move(class_of);
  return folded;
}

namespace {

// A play with more spans than this is not continued in search of a period, or of a better known mean.
constexpr std::int64_t kMostSpans = 1'000'000;

double updates_allowed(const SteadyPlay& play) {
  return 1.0 * play.updates * kMostSpans / static_cast<double>(play.measured.spans);
}

/// Spells of stragglers that last for many updates are played shorter, and come as much oftener: a GPU is slow for the
/// same share of the time, and a play holds many spells. Changes the pace; the updates that a play needs for them.
double hurry_stragglers(SteadyPlay& play) {
  constexpr double kLongest = 10, kShortest = 3;  // updates of a spell; so many that its begin and end do not matter
  const Seconds update = play.folded.graph.updates_per_mark * play.measured.update_time;
  double wanted = 0;
  for (Stragglers& each : play.costs.edit().pace.unsteady.stragglers) {
    const double between = (each.every + each.duration) / each.duration * kSpellsPlayed / play.costs->ranks();
    const Seconds spell = std::clamp(updates_allowed(play) / between, kShortest, kLongest) * update;
    const double share = std::min(1.0, spell / each.duration);
    each.every = share * each.every;
    each.duration = share * each.duration;
    wanted = std::max(wanted, kSpellsPlayed / play.costs->ranks() * ((each.every + each.duration) / update));
  }
  return wanted;
}

/// How many marks a rank may be ahead of what it meets: so far it runs at its own pace, and not at the slowest one's.
int slack_of(const ScheduleSpec& spec) {
  if (traits_of(spec).delayed && traits_of(spec).takes("delay")) return spec.delay;
  return meets_beside(spec) ? 1 : 0;
}

/// As many updates as it takes for the band of their mean to be narrow and for spells of stragglers to be many, or as
/// the budget of spans allows.
void play_to_a_mean(SteadyPlay& play, const ScheduleSpec& spec, NetworkKind network, Keep keep) {
  constexpr int kFirst = 12;  // 9 of them count, one for each batch of the band
  constexpr double kMargin = 1.2;
  double updates = kFirst;
  if (!play.costs->pace.unsteady.stragglers.empty()) {
    play_updates(play, spec, kFirst, network, Keep::kLastUpdate);
    updates = std::floor(std::clamp(hurry_stragglers(play), updates, std::max(updates, updates_allowed(play))));
  }
  // A rank that is faster by a hundredth has used up its slack after so many.
  constexpr double kUsedUp = 100;
  if (const int slack = slack_of(spec); slack > 0) {
    play_updates(play, spec, kFirst, network, Keep::kLastUpdate);
    updates = std::floor(std::clamp(kUsedUp * slack, updates, std::max(updates, updates_allowed(play))));
  }
  for (;;) {
    play_updates(play, spec, static_cast<int>(updates), network, keep);
    const double band = band_of_mean(play.measured.durations);
    if (band <= kNarrowBand) return;
    const double wanted = kMargin * updates * (band / kNarrowBand) * (band / kNarrowBand);
    const double next = std::floor(std::min(updates_allowed(play), std::clamp(wanted, 2 * updates, 16 * updates)));
    if (next < 1.5 * updates) return;
    updates = next;
  }
}

/// Expected, of all GPUs together, in the updates that count; of the stragglers that come most rarely.
double spells_in(const SteadyPlay& play) {
  Seconds played;
  for (const Seconds each : play.measured.durations) played += play.folded.graph.updates_per_mark * each;
  double least = std::numeric_limits<double>::infinity();
  for (const Stragglers& each : play.costs->pace.unsteady.stragglers)
    least = std::min(least, play.costs->ranks() * (played / (each.every + each.duration)));
  return least;
}

// Updates after a pause that count as its. Ranks that accumulate can stay out of step for ever after it where nothing
// is drawn: their rounds are then a little longer and hold as many more micro-batches, which is no loss of the pause's.
constexpr int kRecovery = 8;

/// The same pace with every micro-batch as long as the mean one: what a pause costs does not depend on which draws meet
/// it, and their differences over a long play would.
Pace mean_pace(Pace pace) {
  constexpr int kDraws = 1000;
  Unsteady& unsteady = pace.unsteady;
  if (!unsteady.lengths.full()) {
    double padded = 0;
    for (int i = 0; i < kDraws; ++i) padded += micro_batch_of(pace, 0, 0, i).padded / kDraws;
    const int mean = static_cast<int>(std::lround(padded / pace.micro_batch_size.front()));
    unsteady.lengths = {};
    unsteady.lengths.histogram = {{mean, 1}};
    pace.below = {1};
  }
  unsteady.jitter.micro_batch = 0;
  unsteady.stragglers.clear();
  return pace;
}

/// One pause in the middle of a play, beside the same play without it, both at the mean pace.
PauseCost cost_of(const SteadyPlay& steady, const ScheduleSpec& spec, const Pause& pause, NetworkKind network) {
  const int before = std::clamp(steady.updates / 2, 4, 32), updates = before + kRecovery;
  SteadyPlay with{steady.accumulation_steps, steady.costs, {}, {}, {}, 0, {}};
  Pace pace = mean_pace(steady.costs->pace);
  pace.pauses = {placed(pause, spec, steady.costs, before)};
  with.costs.edit().pace = std::move(pace);
  SteadyPlay without = with;  // folded alike, with a pause that takes no time
  for (Seconds& lasts : without.costs.edit().pace.pauses.front().lasts) lasts = Seconds{0};
  play_updates(with, spec, updates, network, Keep::kLastUpdate);
  play_updates(without, spec, updates, network, Keep::kLastUpdate);

  PauseCost cost{.name = pause.name};
  const PlacedPause& made = with.costs->pace.pauses.front();
  for (std::size_t rank = 0; rank < with.costs->kind_of.size(); ++rank)
    if (made.ranks.empty() || std::ranges::binary_search(made.ranks, static_cast<int>(rank)))
      cost.lasts = std::max(cost.lasts, made.lasts[with.costs->kind_of[rank]]);
  cost.time = with.measured.end - without.measured.end;
  for (const int of : with.folded.class_of) {
    const auto rank = static_cast<std::size_t>(of);
    const std::int64_t more =
        with.measured.ranks[rank].last_micro_batch - without.measured.ranks[rank].last_micro_batch;
    cost.micro_batches.push_back(static_cast<double>(more));
  }
  return cost;
}

/// A pause's cost, spread over the updates between two of them.
void add_cost(SteadyPlay& play, const PauseCost& cost) {
  Measured& measured = play.measured;
  const Seconds before = measured.update_time;
  measured.update_time += 1 / cost.every_updates * cost.time;
  std::vector<double> more(measured.ranks.size());
  for (std::size_t rank = 0; rank < cost.micro_batches.size(); ++rank) {
    const auto of = static_cast<std::size_t>(play.folded.class_of[rank]);
    more[of] += cost.micro_batches[rank] / cost.every_updates / play.folded.graph.ranks[of].multiplicity;
  }
  for (std::size_t r = 0; r < more.size(); ++r) {
    RankMeasure& rank = measured.ranks[r];
    // All of it in one round: that in which the others wait for the paused ranks.
    rank.micro_batches_per_round_max += static_cast<std::int64_t>(std::ceil(more[r] * cost.every_updates));
    const double grown = 1 + more[r] / rank.micro_batches_per_update;
    // What is done more is forward and backward, as most of what is done anyhow.
    rank.idle_fraction = std::max(0.0, 1 - (1 - rank.idle_fraction) * grown * (before / measured.update_time));
    rank.micro_batches_per_update *= grown;
    rank.micro_batches_per_round *= grown;
  }
}

/// What slack takes of one pause it cannot take of the next: no rank does more than compute and pause. What that lacks
/// is a cost of the pauses, of each by its length.
void share_slack(SteadyPlay& play) {
  const Seconds update = play.measured.update_time;
  Seconds busy, paused, costs;
  for (const RankMeasure& rank : play.measured.ranks) busy = std::max(busy, (1 - rank.idle_fraction) * update);
  for (const PauseCost& cost : play.pauses) {
    paused += 1 / cost.every_updates * cost.lasts;
    costs += 1 / cost.every_updates * cost.time;
  }
  const Seconds lacks = busy + paused - (update + costs);
  if (lacks <= Seconds{0}) return;
  for (PauseCost& cost : play.pauses) cost.time += cost.lasts / paused * lacks;
}

void add_pauses(SteadyPlay& play, const ScheduleSpec& spec, const std::vector<Pause>& pauses, NetworkKind network) {
  const Seconds update = play.measured.update_time;
  double micro_batches = 0;
  for (std::size_t r = 0; r < play.measured.ranks.size(); ++r)
    micro_batches += play.folded.graph.ranks[r].multiplicity * play.measured.ranks[r].micro_batches_per_update;
  for (const Pause& pause : pauses) {
    PauseCost cost = cost_of(play, spec, pause, network);
    const double between = updates_between(pause, cost, update, micro_batches);
    cost.every_updates = std::max(1.0, between);
    cost.crowded = between < 1 || cost.lasts > cost.every_updates * update + cost.time;
    play.pauses.push_back(cost);
  }
  if (slack_of(spec) > 1) share_slack(play);
  for (const PauseCost& cost : play.pauses) add_cost(play, cost);
}

/// Never made; but ranks that differ by a pause are then folded apart, in the steady play too.
std::vector<PlacedPause> never(const Costs& costs, const ScheduleSpec& spec, const std::vector<Pause>& pauses) {
  return mapped<PlacedPause>(pauses, [&](const Pause& pause) {
    return PlacedPause{pause.name, ranks_in(pause, spec, costs), std::numeric_limits<std::int64_t>::max(),
                       std::vector<Seconds>(costs.kinds.size())};
  });
}

Folded folded_graph(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates) {
  std::optional<FewReplicas> few;
  EventGraph graph = [&] {
    const Stage stage("building the event graph");
    few = few_replicas(costs);
    return build(spec, costs, accumulation_steps, updates, few ? &*few : nullptr);
  }();
  const Stage stage("folding equal ranks and flows");
  tally("ranks in all plays", costs.ranks());
  tally("paths", static_cast<std::int64_t>(graph.paths.size()));
  Folded folded = fold_sample(std::move(graph));
  tally("of these ranks played by themselves", static_cast<std::int64_t>(folded.graph.ranks.size()));
  tally("of these paths", static_cast<std::int64_t>(folded.graph.paths.size()));
  if (few) return among_all(std::move(folded), *few);
  return folded;
}

void tally_play(std::int64_t updates, const Played& played) {
  tally("plays", 1);
  tally("updates", updates);
  tally("ops", played.ops);
}

/// Whether the updates repeat is looked at after so many: few show the period of equal ranks; unequal ones may take
/// many, or have none. Of a synchronous schedule, which begins every update as the one before, two show it, unless
/// adapters have buckets that many updates empty.
constexpr int kLooks[] = {2, 4, 8, 32, 128, 512};
const int* first_look(const ScheduleSpec& spec, const Costs& costs, Keep keep) {
  const bool buckets =
      std::ranges::any_of(costs.cluster.nodes, [](const NodeGroup& group) { return group.nics.burst > Bytes{0}; });
  return std::begin(kLooks) + (keep != Keep::kAll && is_synchronous(spec) && !buckets ? 0 : 1);
}

/// What was written for these updates alone.
void cut(Program& program, std::size_t updates) {
  program.ends.resize(updates);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane)
    program.lanes[lane].resize(static_cast<std::size_t>(program.ends.back()[lane]));
  const auto is_cut = [&](const Loop& loop) {
    const Loop::Part& first = loop.parts.front();
    return first.begin >= static_cast<int>(program.lanes[first.lane].size());
  };
  while (!program.loops.empty() && is_cut(program.loops.back())) program.loops.pop_back();
}

/// One play, written on update by update until its updates repeat. It is always an update ahead of the next look, so
/// that what ends there has met what comes next.
void play_to_a_period(SteadyPlay& play, const ScheduleSpec& spec, NetworkKind network, Keep keep) {
  const int* look = first_look(spec, play.costs, keep);
  play.folded = folded_graph(spec, play.costs, play.accumulation_steps, *look + 1);
  EventGraph& graph = play.folded.graph;
  // What drains a pipeline behind the last update is not there when more are written.
  for (Program& program : graph.programs) cut(program, static_cast<std::size_t>(*look) + 1);
  Recorder recorder(graph, static_cast<std::size_t>(*look), keep);
  bool done = false;
  std::int64_t spans = 0;
  int written = *look + 1;
  std::vector<std::vector<Program>> earlier;  // whose ops the player may still be at
  const auto write_more = [&] {
    const int* const next = std::upper_bound(std::begin(kLooks), std::end(kLooks) - 1, written - 1);
    written = std::max(written, *next) + 1;
    const Stage stage("building the event graph");
    earlier.push_back(std::exchange(graph.programs, programs_of(spec, play.costs, play.accumulation_steps, written)));
    for (Program& program : graph.programs) cut(program, static_cast<std::size_t>(written));
  };
  const auto take = [&](const Span& span) {
    const auto has = [&] {
      const Program& program = graph.programs[graph.ranks[span.rank].program];
      return span.op < static_cast<int>(program.lanes[span.lane].size());
    };
    while (!has()) write_more();  // as the child did that plays
    recorder.take(span);
    ++spans;
    if (done || recorder.complete() < static_cast<std::size_t>(*look)) return;
    done = recorder.is_periodic() || look + 1 == std::end(kLooks) || (spans > kMostSpans && *look > kLooks[0]);
    if (!done) recorder.go_on_to(static_cast<std::size_t>(*++look));
  };
  const GoingOn go_on{[&] { return done; }, write_more};
  {
    const Stage stage("playing");
    Played played = accosim::play(graph, network, take, &go_on);
    if (played.ops == 0) played.ops = spans;  // of a child that was stopped
    tally_play(static_cast<std::int64_t>(recorder.complete()), played);
  }
  const Stage stage("measuring");
  play.updates = *look;
  for (Program& program : graph.programs) cut(program, static_cast<std::size_t>(*look));
  play.measured = recorder.measured();
  play.spans = recorder.take_spans();
}

/// The play without the lockstep that it may be in.
void disturb(SteadyPlay& play, const ScheduleSpec& spec, NetworkKind network, Keep keep) {
  if (network != NetworkKind::kSimgrid || is_synchronous(spec) || play.costs->layout.size(Dim::kPipeline) == 1 ||
      play.costs->ranks() > kMostDisturbed)
    return;
  const auto moves = [](const SteadyPlay& a, const SteadyPlay& b) {
    return std::abs(a.measured.update_time / b.measured.update_time - 1) > kMoved;
  };
  SteadyPlay other{play.accumulation_steps, play.costs, {}, {}, {}, 0, {}};
  play_to_a_period(other, spec, NetworkKind::kReference, Keep::kLastUpdate);
  if (!moves(other, play)) return;  // nobody waits for a link that another has
  other.costs.edit().pace.unsteady.jitter.micro_batch = kDisturbance;
  play_to_a_mean(other, spec, network, keep);
  if (!moves(other, play)) return;
  other.lockstep = play.measured.update_time;
  play = std::move(other);
}

}  // namespace

void play_updates(SteadyPlay& play, const ScheduleSpec& spec, int updates, NetworkKind network, Keep keep) {
  play.updates = updates;
  play.folded = folded_graph(spec, play.costs, play.accumulation_steps, updates);
  play.spans = {};
  Recorder recorder(play.folded.graph, static_cast<std::size_t>(updates), keep);
  {
    const Stage stage("playing");
    set_share(0);
    const Played played = accosim::play(play.folded.graph, network, [&](const Span& span) {
      const std::size_t before = recorder.complete();
      recorder.take(span);
      if (recorder.complete() > before) set_share(static_cast<double>(recorder.complete()) / updates);
    });
    tally_play(updates, played);
  }
  const Stage stage("measuring");
  play.measured = recorder.measured();
  play.spans = recorder.take_spans();
}

SteadyPlay play_steady(const Shared<Costs>& costs, const ScheduleSpec& spec, int accumulation_steps,
                       NetworkKind network, Keep keep) {
  SteadyPlay play{.accumulation_steps = accumulation_steps, .costs = costs};
  const Unsteady& unsteady = costs->pace.unsteady;
  if (!unsteady.pauses.empty()) play.costs.edit().pace.pauses = never(costs, spec, unsteady.pauses);
  if (unsteady.varies()) {
    if (const double jitter = unsteady.jitter.micro_batch; jitter > 0 && jitter < kDisturbance)
      play.costs.edit().pace.unsteady.jitter.micro_batch = kDisturbance;
    play_to_a_mean(play, spec, network, keep);
    play.spells = spells_in(play);
  } else {
    play_to_a_period(play, spec, network, keep);
    disturb(play, spec, network, keep);
  }
  play.costs = costs;  // for whoever draws or explains
  if (keep == Keep::kNothing)
    for (Program& program : play.folded.graph.programs) program.lanes = {}, program.waits = {};
  add_pauses(play, spec, unsteady.pauses, network);
  return play;
}

SteadyPlay play_steady(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps, NetworkKind network,
                       Keep keep) {
  return play_steady(Shared<Costs>(price(scenario, spec)), spec, accumulation_steps, network, keep);
}

}  // namespace accosim
