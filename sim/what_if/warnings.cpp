// The thresholds say when a reader should look, not what is wrong.
#include "sim/what_if/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "models/base/stages.hpp"
#include "models/price/spread.hpp"
#include "models/spec/constants.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/explain/windows.hpp"
#include "sim/knobs/settings.hpp"
#include "sim/what_if/network_advice.hpp"
#include "sim/what_if/ways_to_fit.hpp"

namespace accosim {
namespace {

constexpr double kMuchInflation = 1.05;
constexpr double kMuchExposed = 0.25;
constexpr double kMuchFitted = 0.25;
constexpr double kMuchCut = 0.5;        ///< of the sequences
constexpr double kHalvesAlike = 1e-9;   ///< as those of updates that repeat to rounding
constexpr double kLittleSaved = 0.001;  ///< of what is resident

bool launching_takes_longer(const Bill& bill, const BilledLayer& layer) {
  Seconds launching, computing;
  for (const BilledOperator& op : layer.operators) {
    launching += (op.forward_launches + op.backward_launches) * bill.launch_interval;
    computing += op.forward + op.backward;
  }
  return launching > computing;
}

/// Whether the layers in which launching takes longer than computing make up most of a micro-batch's time.
bool is_launch_bound(const RankKind& kind) {
  Seconds waiting;
  for (const BilledLayer& layer : kind.bill->layers) {
    if (!launching_takes_longer(kind.bill, layer)) continue;
    for (const std::size_t i : layer.indices) waiting += kind.times[i].forward + kind.times[i].backward;
  }
  return waiting > 0.5 * (kind.forward + kind.backward);
}

/// Named after the verdict.
std::optional<Warning> may_not_fit(const RunResult& result) {
  if (result.fit.verdict == FitVerdict::kFits) return std::nullopt;
  const auto gib = [](Bytes bytes) { return bytes.value / 0x1p30; };
  return Warning{
      name_of(result.fit.verdict),
      fmt::format("{:.1f} GiB resident on a GPU of {:.1f} GiB: probability to fit {}", gib(result.memory_resident),
                  gib(result.memory_capacity), in_percent(result.fit.probability)),
      in_words(result.ways_to_fit)};
}

/// Such as selective recomputation, which is of scores and softmax, under fused attention, which keeps neither.
std::optional<Warning> recompute_saves_nothing(const WhatIf& what_if, std::size_t schedule, const RunResult& result) {
  const Scenario& scenario = what_if.scenario();
  const Recompute set = scenario.training.activation_recompute;
  if (set == Recompute::kNone) return std::nullopt;
  const std::optional<double> ratio = needless_recompute(what_if, schedule, kLittleSaved * result.memory_resident);
  if (!ratio) return std::nullopt;
  const std::vector<NodeGroup>& groups = scenario.cluster.nodes;
  const bool fused =
      std::ranges::none_of(groups, [](const NodeGroup& group) { return group.attention == Attention::kNaive; });
  return Warning{
      "recompute_saves_nothing",
      fmt::format("activation_recompute {} saves no memory and takes {:.3f} times the time{}", name_of(set), *ratio,
                  set == Recompute::kSelective && fused ? ": fused attention keeps no scores to recompute" : ""),
      "set activation_recompute to none, or to full where memory is short"};
}

/// Parameters stored in fp32 take the GEMMs with them, whatever `precision` says.
std::optional<Warning> computes_in_fp32(const Scenario& scenario, const ScheduleSpec& spec) {
  const Training& training = scenario.training;
  const bool asked_for_less = bytes_of(training.precision) <= Bytes{2};
  if (!asked_for_less || spec.parameter_dtype != Dtype::kFp32 || training.autocast != Autocast::kNone)
    return std::nullopt;
  const char* const half = training.precision == Dtype::kFp16 ? "fp16" : "bf16";
  return Warning{
      "computes_in_fp32",
      fmt::format("parameters are stored in fp32, so GEMMs run in fp32 and not in {}", name_of(training.precision)),
      fmt::format("set training.autocast to {0}, or parameter_dtype to {0}", half)};
}

/// Parameters stored in 16 bits, of every schedule, leave autocast nothing to cast.
std::optional<Warning> autocast_casts_nothing(const Scenario& scenario, const ScheduleSpec& spec) {
  const Training& training = scenario.training;
  const auto is_wide = [](const ScheduleSpec& each) { return bytes_of(each.parameter_dtype) > Bytes{2}; };
  if (training.autocast == Autocast::kNone || std::ranges::any_of(scenario.schedules, is_wide)) return std::nullopt;
  const bool by_precision = spec.parameter_dtype == training.precision;
  return Warning{"autocast_casts_nothing",
                 fmt::format("autocast {} casts no weights: parameters are stored in {} already{}",
                             name_of(training.autocast), name_of(spec.parameter_dtype),
                             by_precision ? fmt::format(", as precision is {}", name_of(training.precision)) : ""),
                 fmt::format("torch.autocast keeps parameters in fp32: set {} to fp32 for that, or autocast to none",
                             by_precision ? "precision" : "parameter_dtype")};
}

/// Keys of the model's config that nobody reads.
std::optional<Warning> unread_keys(const Scenario& scenario) {
  std::vector<std::string> keys;
  std::string instead;
  for (const auto& [key, word] : scenario.model.unread) {
    if (scenario.training.dropout > 0 && key.find("drop") != std::string::npos) continue;
    keys.push_back(in_quotes(key));
    if (!word.empty() && instead.find(word) == std::string::npos)
      instead += fmt::format("{}{}: {}", instead.empty() ? "" : "; ", in_quotes(key), word);
  }
  if (keys.empty()) return std::nullopt;
  constexpr std::size_t kNamed = 8;
  const std::size_t more = keys.size() > kNamed ? keys.size() - kNamed : 0;
  keys.resize(keys.size() - more);
  if (more > 0) keys.push_back(fmt::format("{} more", more));
  return Warning{"keys_not_read",
                 fmt::format("the config of {} has {}, which {} not read and change{} nothing here",
                             in_quotes(scenario.model.name), in_words(keys), keys.size() == 1 ? "is" : "are",
                             keys.size() == 1 ? "s" : ""),
                 instead.empty() ? "see whether the real model differs in time or memory by them" : instead};
}

/// A precision of a node group's own stays when the training's changes.
std::optional<Warning> keeps_precision(const Scenario& scenario) {
  std::string groups, settings;
  const Cluster& cluster = scenario.cluster;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    if (group.precision == scenario.training.precision) continue;
    groups +=
        fmt::format("{}\"{}\" keeps precision {}", groups.empty() ? "" : ", ", group.name, name_of(group.precision));
    settings += fmt::format("{}/cluster/nodes/{}/precision", settings.empty() ? "" : " and ",
                            listed_index(cluster, static_cast<int>(g)));
  }
  if (groups.empty()) return std::nullopt;
  return Warning{
      "own_precision",
      fmt::format("node group {}, whatever the training's is ({})", groups, name_of(scenario.training.precision)),
      fmt::format("set {} too, where it shall change with the training's", settings)};
}

/// Ranks of two 16-bit types on one wire.
std::optional<Warning> casts_on_the_wire(const ScheduleSpec& spec, const SteadyPlay& play) {
  std::string devices;
  for (const RankKind& kind : play.costs->kinds) {
    const std::string name = device_name(play.costs->cluster, kind.device);
    if ((kind.casts_gradients || kind.casts_parameters) && devices.find(name) == std::string::npos)
      devices += fmt::format("{}{} in {}", devices.empty() ? "" : ", ", name, name_of(kind.workload.compute));
  }
  if (devices.empty()) return std::nullopt;
  return Warning{
      "casts_on_the_wire",
      fmt::format("gradients are reduced in {}, which is not the 16-bit type of all ranks ({}): those cast theirs "
                  "before, and what comes back after",
                  name_of(spec.gradient_dtype), devices),
      "fp16 has too small a range for plain gradients: scale the loss on every rank alike, and skip an update "
      "on all ranks where one overflows"};
}

/// The fewest and the most updates that a replica makes between two meetings: node groups may have their own.
std::pair<int, int> inner_updates_of(const ScheduleSpec& spec, const Costs& costs) {
  std::pair<int, int> limits{kMostInnerUpdates, 0};
  for (const RankKind& kind : costs.kinds) {
    const int own = kind.own_inner_updates.value_or(spec.inner_updates);
    limits = {std::min(limits.first, own), std::max(limits.second, own)};
  }
  return limits;
}

/// What an update holds is not what was asked for: because of the rounds' least, because someone waits, or because
/// node groups make more updates between two meetings than the schedule's.
std::optional<Warning> batch_differs(const ScheduleSpec& spec, const SteadyPlay& play, const RunResult& result,
                                     bool host_copies) {
  const int asked = play.accumulation_steps;
  const int rounds = rounds_of(spec);
  const std::vector<RankKind>& kinds = play.costs->kinds;
  const bool all_own = std::ranges::all_of(kinds, [](const RankKind& kind) { return kind.own_steps.has_value(); });
  if (!all_own && rounds > 1 && rounds * spec.micro_batches_per_round != asked)
    return Warning{"rounds_set_the_batch",
                   fmt::format("two rounds of at least {} micro-batches each stand against {} that "
                               "gradient_accumulation_steps asks for",
                               spec.micro_batches_per_round, asked),
                   "leave micro_batches_per_round out, or set it to half of gradient_accumulation_steps"};
  if (result.batch_inflation <= kMuchInflation) return std::nullopt;
  const bool unlike =
      std::ranges::any_of(kinds, [&](const RankKind& kind) { return !(kind.device == kinds.front().device); });
  if (traits_of(spec).local && inner_updates_of(spec, *play.costs).second > spec.inner_updates && rounds == 1)
    return Warning{
        "batch_grows",
        fmt::format("node groups make up to {} updates between two meetings where inner_updates is {}, so "
                    "an update holds {:.2f} times the samples asked for",
                    inner_updates_of(spec, *play.costs).second, spec.inner_updates, result.batch_inflation),
        "judge by speedup_same_batch; to keep the batch asked for, set inner_updates to the mean of the node "
        "groups' own, each weighted by its GPUs"};
  return Warning{"batch_grows",
                 fmt::format("communication is late or ranks are unequal, so an update holds {:.2f} times the "
                             "samples asked for",
                             result.batch_inflation),
                 fmt::format("judge by speedup_same_batch; raise gradient_accumulation_steps to the batch you would "
                             "train with{}",
                             unlike        ? ", or divide the work by speed (\"balance\": \"speed\")"
                             : host_copies ? ""
                                           : ", or use a faster network")};
}

/// A mean that is not well known, stragglers that come more rarely than anything is played, and pauses that come too
/// often.
void warn_of_draws(const SteadyPlay& play, const RunResult& result, std::vector<Warning>& warnings) {
  const Pace& pace = play.costs->pace;
  const double cut = pace.drawn() ? share_cut(pace.unsteady.lengths, pace.sequence_length) : 0;
  if (cut > kMuchCut)
    warnings.push_back({"lengths_cut",
                        fmt::format("{:.0f} % of the sequences are longer than the {} tokens of sequence_length and "
                                    "cut to them",
                                    100 * cut, pace.sequence_length),
                        "raise sequence_length, or write shorter sequence_lengths"});
  if (play.spells < kSpellsPlayed / 3)
    warnings.push_back(
        {"stragglers_rare",
         fmt::format("about {:.1f} spells of stragglers fall into the {} updates that are played: what "
                     "they cost is hardly known",
                     play.spells,
                     play.measured.durations.size() * static_cast<std::size_t>(play.folded.graph.updates_per_mark)),
         "play several seeds (--seeds), or take what one spell costs times how often it comes"});
  if (result.drawn && !result.drawn->narrow)
    warnings.push_back(
        {"mean_not_known",
         fmt::format("drawn {} scatter so much that {} of them give their mean to ±{:.1f} % (80 %)",
                     result.drawn->updates_each > 1 ? fmt::format("rounds of {} updates", result.drawn->updates_each)
                                                    : "updates",
                     result.drawn->played, 100 * result.drawn->band_of_mean),
         "take smaller differences for noise, or play several seeds (--seeds)"});
  for (const PauseCost& pause : result.pauses)
    if (pause.crowded)
      warnings.push_back(
          {"pauses_crowded",
           fmt::format("the pause \"{}\" would come again before the updates are over the last one; it is "
                       "charged as if it did not, at most once an update",
                       pause.name),
           "make it shorter or rarer, or take the figures for a lower bound of the time"});
}

/// An evaluation that more ranks take part in than it names.
void warn_of_evaluation(const ScheduleSpec& spec, const Costs& costs, std::vector<Warning>& warnings) {
  for (const Pause& pause : costs.pace.unsteady.pauses) {
    const std::size_t ranks = ranks_in(pause, spec, costs).size();
    if (ranks > pause.ranks.size())
      warnings.push_back(
          {"evaluates_together",
           fmt::format("no rank of {} has whole parameters, so all {} that share them take part in \"{}\"", spec.name,
                       ranks, pause.name),
           "name all ranks in the pause, and all their sequences"});
  }
}

/// Kernels outside of what was measured, and constants that another part lent.
void warn_of_constants(const Costs& costs, std::vector<Warning>& warnings) {
  if (std::optional<Warning> warning = seldom_measured(costs.cluster)) warnings.push_back(*std::move(warning));
  for (const RankKind& kind : costs.kinds) {
    const FitUse use = fit_use(kind);
    const auto share = [&](const char* code, double of_time, const char* which, const char* advice) {
      warnings.push_back(
          {code, fmt::format("{:.0f} % of the compute time on {} is {}", 100 * of_time, kind.device.name, which),
           advice});
    };
    const auto no_step = [&](const char* code, const char* but, const char* advice) {
      warnings.push_back(
          {code, fmt::format("no training step on {} was published that accosim knows{}", kind.device.name, but),
           advice});
    };
    if (use.extrapolated > kMuchFitted)
      share("extrapolated", use.extrapolated, "in kernels larger or smaller than any that was measured",
            "trust the trend, not the figure; measure such kernels and run accosim fit");
    if (kind.device.steps == StepEvidence::kOtherGeneration)
      no_step("no_step_measured", "",
              "the interval is that of 88 published steps, each generation's predicted by the fits of another (accosim "
              "validate --leave-out generation): they are off by 11.4 % in the mean");
    if (kind.device.steps == StepEvidence::kRelative)
      no_step("steps_of_a_relative", ", only on other parts of its architecture", "expect some 10 % more error");
    if (use.other_generation > kMuchFitted)
      share(
          "other_generation", use.other_generation, "priced by constants of another generation",
          "the interval is that of generations left out, whose published steps are off by 11.4 % in the mean (accosim "
          "validate --leave-out generation); measure kernels on the part itself and run accosim fit");
    else if (use.inherited > kMuchFitted)
      share("inherited_constants", use.inherited,
            "priced by constants that were measured on another part of its architecture",
            "expect some 10 % more error; measure kernels on the part itself and run accosim fit");
  }
}

/// "an update", "20 updates", "20 to 40 updates".
std::string updates_in_words(const std::pair<int, int>& limits) {
  const auto [least, most] = limits;
  if (most == 1) return "an update";
  return least == most ? fmt::format("{} updates", most) : fmt::format("{} to {} updates", least, most);
}

int replicas_of(const Costs& costs) { return costs.layout.size(Dim::kReplica); }

std::optional<Warning> meets_nobody(const ScheduleSpec& spec, const Costs& costs) {
  if (!traits_of(spec).local || replicas_of(costs) > 1) return std::nullopt;
  return Warning{"meets_nobody",
                 "there is one replica, which has nobody to meet: what is predicted is one GPU that trains by itself "
                 "and now and then does what belongs to a meeting",
                 "give it a cluster of more GPUs, or compare schedules that do not meet"};
}

/// partly_stale, stale_gradients, replicas_drift or local_estimate; nothing where updates are those of synchronous
/// training.
std::optional<Warning> statistics_warning(const ScheduleSpec& spec, const Costs& costs, Statistics statistics) {
  switch (statistics) {
    case Statistics::kSynchronous: return std::nullopt;
    case Statistics::kPartlyStale:
      return Warning{"partly_stale",
                     "gradients that do not arrive before the next forward pass needs their layer are one update late, "
                     "which this prediction does not charge for",
                     "expect somewhat more samples for the same loss, the slower the network the more"};
    case Statistics::kStaleGradients:
      return Warning{"stale_gradients",
                     spec.delay == 1 ? std::string("every gradient is one update late, which this prediction does not "
                                                   "charge for")
                                     : fmt::format("every gradient is {} updates late, which this prediction does not "
                                                   "charge for",
                                                   spec.delay),
                     "expect to need warm-up steps or more samples for the same loss; acco corrects the delay"};
    case Statistics::kReplicasDrift:
      return Warning{
          "replicas_drift",
          fmt::format("{} replicas make {} each before they meet, and drift apart, which this "
                      "prediction does not charge for",
                      replicas_of(costs), updates_in_words(inner_updates_of(spec, costs))),
          "expect more samples for the same loss, the more replicas and inner_updates the more, and learning "
          "rates of its own; with measured losses, --convergence FILE gives the time to a loss"};
    case Statistics::kLocalEstimate:
      return Warning{"local_estimate",
                     "half of each batch is computed at a rank's own estimate, which no other rank has, and this "
                     "prediction does not charge for that",
                     "expect somewhat more samples for the same loss; \"estimate\": \"gathered\" is ACCO as published"};
  }
  return std::nullopt;
}

/// All that is predicted is of the steady state, which a training so short never comes to.
std::optional<Warning> too_short(const SteadyPlay& play, const RunResult& result) {
  const int meets_every = play.folded.graph.updates_per_mark;
  const double updates = result.total_time / result.update_time;
  if (updates >= meets_every) return std::nullopt;
  return Warning{
      "training_too_short",
      fmt::format("/training/train_tokens are over after {:.2g} updates{}; all figures are those of a long training",
                  updates, meets_every > 1 ? fmt::format(", and replicas meet after {}", meets_every) : ""),
      "they are tokens, not samples: raise them, or lower the batch"};
}

/// What training.balance speed chose for a schedule, with the settings that write it down.
Warning work_is_divided(const Scenario& divided, const ScheduleSpec& spec) {
  std::string work, set;
  for (const Crew& crew : crews_of(divided.cluster)) {
    const NodeGroup& group = divided.cluster.nodes[crew.group];
    work += fmt::format("{}each {} does {}{} of {}", work.empty() ? "" : ", ", name_of(divided.cluster, crew),
                        accumulation_steps_of(group, crew.gpus.front(), divided.training),
                        work.empty() ? " micro-batches" : "", group.micro_batch_size);
  }
  for (const std::string& each : work_settings(divided.cluster)) set += " --set " + each;
  return {"work_divided", "the work is divided by speed: " + work,
          fmt::format("to write this division down, in a scenario of {} alone, without its balance:{} --set "
                      "/training/gradient_accumulation_steps={}{}",
                      spec.label, divided.training.balance == Balance::kNone ? "" : " --set /training/balance=none",
                      divided.training.gradient_accumulation_steps, set)};
}

std::string advice_to_hide(const WhatIf& what_if, std::size_t schedule, bool host_copies) {
  const std::string ways = ways_to_hide(what_if, schedule);
  const char* const more = "accosim advise FILE tries all together";
  std::string of_network;
  if (ways.empty() || host_copies) {
    const std::optional<std::string> network = network_that_helps(what_if, schedule);
    if (!network)
      of_network = ways.empty() && !host_copies ? "a faster network may; " : "";
    else if (!network->empty())
      of_network = fmt::format("{}of the network {} would help; ", host_copies ? "host copies bind: " : "", *network);
  }
  if (ways.empty()) return fmt::format("no setting of its own that was tried gains 3 %; {}{}", of_network, more);
  return fmt::format("any of these is faster: {}; {}{}", ways, of_network, more);
}

std::optional<Warning> is_exposed(const WhatIf& what_if, std::size_t schedule, const RunResult& result,
                                  bool host_copies) {
  const double exposed = result.exposed_communication / result.update_time;
  if (exposed <= kMuchExposed) return std::nullopt;
  return Warning{"communication_exposed",
                 fmt::format("{:.0f} % of an update is communication that no computation hides", 100 * exposed),
                 advice_to_hide(what_if, schedule, host_copies)};
}

std::vector<Warning> warnings_of(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play,
                                 const RunResult& result) {
  const Scenario& scenario = what_if.scenario();
  const ScheduleSpec& spec = scenario.schedules[schedule];
  const bool host_copies = binding_of(play).term == kHostCopies;
  std::vector<Warning> warnings = looks_wrong(scenario.cluster);
  const auto add = [&](const std::vector<std::optional<Warning>>& some) {
    for (const std::optional<Warning>& warning : some)
      if (warning) warnings.push_back(*warning);
  };
  add({may_not_fit(result), computes_in_fp32(scenario, spec), autocast_casts_nothing(scenario, spec),
       unread_keys(scenario), recompute_saves_nothing(what_if, schedule, result), keeps_precision(scenario),
       casts_on_the_wire(spec, play), too_short(play, result), batch_differs(spec, play, result, host_copies),
       idle_nics(scenario.cluster), slow_choice(what_if, schedule, play),
       is_exposed(what_if, schedule, result, host_copies), ranks_wait(what_if, schedule, play)});
  if (std::ranges::any_of(play.costs->kinds, is_launch_bound))
    warnings.push_back({"launch_bound", "the host launches kernels more slowly than the GPU runs them",
                        "raise micro_batch_size; the prediction then depends on launch_interval"});
  warn_of_constants(*play.costs, warnings);
  add({window_warning(play.folded.graph), meets_nobody(spec, *play.costs),
       statistics_warning(spec, *play.costs, result.statistics)});
  warn_of_draws(play, result, warnings);
  warn_of_evaluation(spec, play.costs, warnings);
  if (result.steady.lockstep)
    warnings.push_back(
        {"in_lockstep",
         fmt::format(
             "without jitter all pipelines would communicate at the same moments of every optimizer step, which then "
             "takes {:.4g} s; a jitter of {:g} ends that",
             result.steady.lockstep->value, kDisturbance),
         "treat what is between the two as open: the interval holds both"});
  else if (!play.measured.periodic && !result.drawn && std::abs(result.steady.halves_differ) > kHalvesAlike)
    warnings.push_back(
        {"not_periodic",
         fmt::format("none of {} updates repeats an earlier one exactly; figures are means over the "
                     "last {}, whose halves differ by {}",
                     result.steady.played, result.steady.averaged, difference_in_words(result.steady.halves_differ)),
         "treat differences below one micro-batch per update as noise"});
  return warnings;
}

}  // namespace

void add_advice(RunResult& result, const WhatIf& what_if, std::size_t schedule) {
  if (result.fit.verdict != FitVerdict::kFits) {
    const Stage stage("looking for ways to fit");
    result.ways_to_fit = ways_to_fit(what_if, schedule);
  }
  const Stage stage("looking for warnings");
  const ScheduleSpec& spec = what_if.scenario().schedules[schedule];
  const Division own = what_if.evaluations().divided(what_if.scenario(), spec);
  const auto play = what_if.evaluations().play(own.scenario, own.spec);
  result.warnings = warnings_of(what_if, schedule, *play, result);
  if (!own.as_written) result.warnings.push_back(work_is_divided(own.scenario, spec));
}

std::string difference_in_words(double fraction) {
  constexpr double kLeastSaid = 0.01;
  const double percent = 100 * std::abs(fraction);
  return percent < kLeastSaid ? fmt::format("less than {} %", kLeastSaid) : fmt::format("{:.2g} %", percent);
}

void add_advice(std::vector<RunResult>& results, const WhatIf& what_if) {
  const Scenario& scenario = what_if.scenario();
  Steps steps(results.size());
  for (RunResult& result : results) {
    add_advice(result, what_if,
               static_cast<std::size_t>(schedule_labelled(scenario, result.label) - scenario.schedules.data()));
    steps.over();
  }
}

std::optional<Warning> seldom_measured(const Cluster& cluster) {
  if (!mixes_gpus(cluster)) return std::nullopt;
  const int cases = constants().mixed.cases;
  return Warning{"few_mixed_steps",
                 fmt::format("of GPUs of several kinds in one job accosim knows {} published training step{}, by whose "
                             "errors the interval is widened",
                             cases == 0 ? "no" : fmt::format("only {}", cases), cases == 1 ? "" : "s"),
                 "measure a step of the mix before much depends on it"};
}

std::vector<Warning> cautions_of(const Scenario& scenario, const Costs& costs) {
  std::vector<Warning> warnings = looks_wrong(scenario.cluster);
  warn_of_constants(costs, warnings);
  return warnings;
}

}  // namespace accosim
