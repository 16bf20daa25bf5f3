#include "reports/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/fair_text.hpp"
#include "reports/human.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/what_if/ways_to_fit.hpp"

namespace accosim {
namespace {

constexpr double kSame = 0.005;    ///< factors that differ by less are not told apart
constexpr double kGrown = 1.0005;  ///< batches that have grown by less have not

/// A factor without the x.
std::string digits(double factor) {
  const std::string text = human_factor(factor);
  return text.substr(0, text.size() - 1);
}

constexpr double kDays = 100 * 3600;  ///< s, from which on human_clock() counts days

/// "0:31:09 (80 %: 0:27:20 to 0:35:30)", all three in one form.
std::string time_in_words(const RunResult& result) {
  const auto at = [&](Seconds update) { return result.total_time * (update / result.update_time); };
  if (result.update_time_high <= Seconds{0}) return human_clock(result.total_time);
  const Seconds low = at(result.update_time_low), high = at(result.update_time_high);
  const auto text = [&](Seconds time) { return high.value >= kDays ? human_days(time) : human_clock(time); };
  return fmt::format("{} (80 %: {})", text(result.total_time), human_range(text(low), text(high)));
}

/// "1.52 times as fast as"; "as fast as" where nobody could tell.
std::string times_as_fast(double factor, const std::string& than) {
  return std::abs(factor - 1) < kSame ? "as fast " + than : fmt::format("{} times as fast {}", digits(factor), than);
}

/// The answer about one comparison.
class Words {
 public:
  Words(const Scenario& scenario, const Comparison& comparison)
      : scenario_(scenario),
        results_(comparison.results),
        standing_(comparison.standing),
        adding_(comparison.fair.adding),
        tuned_(comparison.tuned) {}

  std::string all() const {
    if (!standing_.best()) return "";
    const RunResult& best = results_[*standing_.best()];
    if (best.fit.verdict == FitVerdict::kDoesNotFit)
      return unfit(best) +
             (results_.size() == 1 ? first_sentence(best) : "Times below are as if memory were no limit.") +
             added_gpus();
    return (standing_.alike ? alike(*standing_.winner, *standing_.alike) : first_sentence(best)) + added_gpus() +
           elsewhere() + faster() + own_batch() + fit(best);
  }

 private:
  /// The added one that it is; nullptr: it is written. (The best delayed one is no row of its own where it is written.)
  const AddedSchedule* added(const RunResult& result) const {
    for (const std::optional<AddedSchedule>* each : {&tuned_.synchronous, &tuned_.delayed})
      if (*each && (*each)->label == result.label && result.label != (*each)->form) return &**each;
    return nullptr;
  }

  /// A schedule inside a sentence.
  std::string named(const RunResult& result) const {
    const AddedSchedule* const tuned = added(result);
    if (tuned == nullptr) return result.label;
    return is_synchronous(scenario_.schedules[tuned->index])
               ? fmt::format("the best synchronous schedule ({})", tuned->name())
               : tuned->name();
  }

  /// Whether it is another of the schedules once more.
  bool repeats(const RunResult& result) const {
    const AddedSchedule* const tuned = added(result);
    return tuned != nullptr && tuned->repeats();
  }

  /// Whether the best delayed or local one is the same at a better micro-batch.
  bool is_tuned_too(const RunResult& result) const {
    const std::optional<AddedSchedule>& tuned = tuned_.delayed;
    return tuned && !tuned->repeats() && !tuned->fixed_batch && tuned->form == result.label;
  }

  /// At the beginning of one: the labels of the user's stay as they are.
  std::string beginning(const RunResult& result) const {
    std::string text = named(result);
    if (text.rfind("the ", 0) == 0 && text != result.label) text.front() = 'T';
    return text;
  }

  /// "zero1 takes 0:47:30 (...), 3.79 times as fast as ddp (...)."
  std::string first_sentence(const RunResult& best) const {
    std::string text;
    if (best.fit.verdict == FitVerdict::kDoesNotFit)
      text = fmt::format("If memory were no limit, {}", named(best));
    else if (!standing_.winner && results_.size() > 1)
      text = fmt::format("No schedule is the fastest without a caveat. {} comes nearest: it", beginning(best));
    else
      text = beginning(best);
    text += (best.fit.verdict == FitVerdict::kDoesNotFit ? " would take " : " takes ") + time_in_words(best) +
            over_baseline(best) + over_best_synchronous(best);
    Caveats own = standing_.caveats[*standing_.best()];
    if (best.fit.verdict != FitVerdict::kFits) own.fit_probability = 1;  // fit() says more
    const std::string caveats = in_words(own);
    return text + (caveats.empty() ? "" : ", " + caveats) + charged(best) + "." + unlike_types(best);
  }

  /// " Gradients of zero1 are reduced in fp32, and here in bf16.", where that is part of what is gained over the
  /// baseline.
  std::string unlike_types(const RunResult& one) const {
    const ScheduleSpec* const spec = schedule_labelled(scenario_, one.label);
    const ScheduleSpec* const baseline = schedule_labelled(scenario_, scenario_.baseline);
    if (!one.speedup || spec == nullptr || baseline == nullptr || reduced_in(*spec) == reduced_in(*baseline)) return "";
    return fmt::format(" Gradients of {} are reduced in {}, and here in {}.", scenario_.baseline,
                       name_of(reduced_in(*baseline)), name_of(reduced_in(*spec)));
  }

  /// ", 1.40 times as fast as ddp (1.20 to 1.60) at the same batch, 3.79 times per token, over what does not fit": what
  /// it is ranked by comes first, with its interval.
  std::string over_baseline(const RunResult& best) const {
    if (!best.speedup || best.label == scenario_.baseline)
      return fmt::format(" for {} tokens", human_count(scenario_.training.train_tokens));
    const auto with = [](const std::optional<Interval>& interval) {
      return interval ? " (" + human_range(digits(interval->low), digits(interval->high)) + ")" : std::string();
    };
    const std::string as = "as " + scenario_.baseline + (best.baseline_fits ? "" : ", which does not fit");
    if (is_decided_by_loss(best))
      return ", " + times_as_fast(best.to_loss->speedup, "to the same loss " + as) +
             with(Interval{best.to_loss->speedup_low, best.to_loss->speedup_high});
    const bool same = !best.speedup_same_batch || std::abs(*best.speedup_same_batch / *best.speedup - 1) < kSame;
    if (same) return ", " + times_as_fast(*best.speedup, as) + with(best.speedup_interval);
    const bool said = standing_.caveats[*standing_.best()].batch_growth > 1;
    const std::string grown = said || best.batch_inflation <= kGrown
                                  ? std::string()
                                  : fmt::format(" at {:.3g} times the batch", best.batch_inflation);
    return fmt::format(", {}{} {}, {} times per token{}", times_as_fast(*best.speedup_same_batch, as),
                       with(best.speedup_same_batch_interval), measure(best), digits(*best.speedup), grown);
  }

  /// " and 1.20 times as fast as the best synchronous schedule (zero3, hybrid)": what is left of the gain of one that
  /// is not synchronous, where no other sentence says it.
  std::string over_best_synchronous(const RunResult& best) const {
    const std::optional<AddedSchedule>& synchronous = tuned_.synchronous;
    const ScheduleSpec* const spec = schedule_labelled(scenario_, best.label);
    if (!synchronous || spec == nullptr || is_synchronous(*spec) || is_decided_by_loss(best) ||
        !best.over_best_synchronous || !best.speedup_same_batch || best.label == scenario_.baseline)
      return "";
    if (std::abs(*best.over_best_synchronous / *best.speedup_same_batch - 1) < kSame) return "";
    return " and " + times_as_fast(*best.over_best_synchronous,
                                   fmt::format("as the best synchronous schedule ({})", synchronous->name()));
  }

  /// How the baseline is played for what is ranked by.
  std::string measure(const RunResult& best) const {
    const ScheduleSpec* const spec = schedule_labelled(scenario_, scenario_.baseline);
    const bool reduces_once = spec != nullptr && !(accumulating(*spec) == *spec);
    if (!reduces_once) return "at the same batch";
    return best.batch_inflation > kGrown ? "at the same batch with one gradient sync per step"
                                         : "with one gradient sync per step";
  }

  /// What the curves of a schedule that they decide have charged it for.
  std::string charged(const RunResult& best) const {
    if (!is_decided_by_loss(best)) return "";
    Contender contender = contender_of(best, {});
    contender.fit_probability = 1;
    const std::string price = in_words(caveats_of(contender, standing_.rule));
    return price.empty() ? "" : fmt::format(", {}, for which the measured losses charge it", price);
  }

  bool synchronous(std::size_t i) const {
    const ScheduleSpec* const spec = schedule_labelled(scenario_, results_[i].label);
    return spec != nullptr && is_synchronous(*spec);
  }

  /// "zero1 and acco cannot be told apart: 0:47:30 (...) and 0:46:00, 3 % apart, less than our error." The synchronous
  /// one first, else the faster one. Where the times are of unlike batches, how far apart they are is of an equal one.
  std::string alike(std::size_t winner, std::size_t near) const {
    std::size_t first = winner, second = near;
    if (!synchronous(first) && synchronous(second)) std::swap(first, second);
    const RunResult &one = results_[first], &other = results_[second];
    const double apart = 1 / standing_.times[near] - 1;
    const bool same_batch = std::abs(one.samples_per_update / other.samples_per_update - 1) < kSame;
    return fmt::format("{} and {} cannot be told apart: {} and {}, {}{}{} the error of a prediction.{}", beginning(one),
                       named(other), time_in_words(one), human_clock(other.total_time),
                       apart < kSame ? "equal" : fmt::format("{:.0f} % apart", 100 * apart),
                       same_batch ? "" : " at equal global batch", apart < kSame ? " within" : ", less than",
                       over_baseline_too(one, other));
  }

  /// " The first is 1.20 times as fast as zero1 (1.08 to 1.33)."
  std::string over_baseline_too(const RunResult& one, const RunResult& other) const {
    if (!one.speedup || one.label == scenario_.baseline || other.label == scenario_.baseline) return "";
    return " The first is" + over_baseline(one).substr(1) + "." + unlike_types(one);
  }

  /// Is the slower part of a mix worth adding?
  std::string added_gpus() const { return adding_ ? " " + in_words(*adding_) : std::string(); }

  /// " Megatron-LM has zero1, overlap grad reduce, which is 1.03 times as fast as the best synchronous schedule here."
  std::string elsewhere() const {
    const std::optional<Elsewhere>& other = tuned_.elsewhere;
    if (!other) return "";
    return fmt::format(" {} has {}, which is {} the best synchronous schedule here.", other->framework,
                       other->added.name(), times_as_fast(other->times, "as"));
  }

  /// Of one whose gradients are not late and whose batch has grown, what it is per token.
  std::string own_batch() const {
    const std::optional<AddedSchedule>& best = tuned_.synchronous;
    if (!best) return "";
    const RunResult *fastest = nullptr, *synchronous = nullptr;
    for (const RunResult& each : results_) {
      if (each.label == best->label) synchronous = &each;
      if (each.batch_inflation > 1 + kSame && each.fits() && each.statistics == Statistics::kSynchronous &&
          (fastest == nullptr || each.tokens_per_second > fastest->tokens_per_second))
        fastest = &each;
    }
    if (fastest == nullptr || synchronous == nullptr) return "";
    const double times = fastest->tokens_per_second / synchronous->tokens_per_second;
    if (times < 1 + kSame) return "";
    return fmt::format(
        " Per token, each at its own batch, {} is {} the best synchronous schedule: at {:.3g} times the batch, and "
        "only if that needs no more tokens.",
        named(*fastest), times_as_fast(times, "as"), fastest->batch_inflation);
  }

  /// "; at 192 samples a step the best synchronous schedule is zero1, micro-batch 6": of one whose batch has grown,
  /// what it stands beside.
  std::string best_at(double samples) const {
    const TunedBatch* const there = tuned_.at(samples);
    if (there == nullptr || !tuned_.synchronous || there->name == tuned_.synchronous->name()) return "";
    return fmt::format("; at {:.0f} samples a step the best synchronous schedule is {}", there->samples, there->name);
  }

  /// " as the best synchronous schedule", where two are named before.
  std::string as_the_best() const {
    if (!standing_.alike) return "";
    const std::size_t best = *standing_.best();
    return " as " + (added(results_[best]) != nullptr && synchronous(best) ? "the best synchronous schedule"
                                                                           : named(results_[best]));
  }

  /// " dpu is 1.08 times as fast, with gradients one update late; acco 1.17 times, at 1.5 times the batch."
  std::string faster() const {
    std::string text;
    bool elsewhere = false;
    double grown = 0;  // samples an update of the first whose batch is larger than the rule has it
    for (const std::size_t i : standing_.faster) {
      if (repeats(results_[i]) || is_tuned_too(results_[i])) continue;
      text += fmt::format("{}{} {}{} times{}, {}", text.empty() ? " " : "; ",
                          text.empty() ? beginning(results_[i]) : named(results_[i]), text.empty() ? "is " : "",
                          digits(standing_.times[i]), text.empty() ? " as fast" + as_the_best() : "",
                          in_words(standing_.caveats[i]));
      if (grown == 0 && standing_.caveats[i].batch_growth > 1)
        grown = results_[i].batch_inflation * samples_asked(scenario_);
      const std::string loss = to_loss(results_[i]);
      elsewhere = elsewhere || !loss.empty();
      text += loss;
    }
    if (elsewhere) text += "; losses are by curves of another model, batch or options";
    if (grown > 0) text += best_at(grown);
    return text.empty() ? "" : text + ".";
  }

  /// What curves say that were measured elsewhere.
  std::string to_loss(const RunResult& result) const {
    const RunResult& best = results_[*standing_.best()];
    if (!result.to_loss || result.to_loss->holds || result.to_loss->far || !best.to_loss || !best.to_loss->reached)
      return "";
    return fmt::format(" (to the same loss {}{} times)", result.to_loss->reached ? "" : "below ",
                       digits(result.to_loss->speedup / best.to_loss->speedup));
  }

  static std::string memory(const RunResult& best) {
    return fmt::format("{} of {} a GPU", human_memory(best.memory_resident), human_memory(best.memory_capacity));
  }

  static std::string fit(const RunResult& best) {
    return best.fit.verdict == FitVerdict::kFits ? "" : fmt::format(" Whether it fits is not sure: {}.", memory(best));
  }

  /// "No schedule fits: zero3, which comes nearest, needs 50.9 GiB of 31.8 GiB a GPU. The fastest way to fit that was
  /// found is zero3 with activation_recompute full: about 1:10:00. ": whoever rents by a time needs to know that first.
  std::string unfit(const RunResult& best) const {
    std::string text =
        results_.size() == 1
            ? fmt::format("{} does not fit: it needs {}.", beginning(best), memory(best))
            : fmt::format("No schedule fits: {}, which comes nearest, needs {}.", named(best), memory(best));
    const std::optional<FastestFit> fastest = fastest_fit(results_);
    if (!fastest) return text + " No change that was tried makes one fit: take more GPUs, or GPUs with more memory. ";
    return text + fmt::format(" The fastest way to fit that was found is {} with {}: about {}. ",
                              named(*fastest->result), fastest->change, human_clock(fastest->total_time));
  }

  const Scenario& scenario_;
  const std::vector<RunResult>& results_;
  const Standing& standing_;
  const std::optional<Adding>& adding_;
  const Tuned& tuned_;
};

/// "2 nodes x 4 A100-SXM4-80GB"; a node of several kinds as "1 node x (3 A100-SXM4-80GB + 1 V100-SXM2-32GB)".
std::string describe(const Cluster& cluster, const NodeGroup& group) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const Device& device : group.devices) {
    const std::string name = device_name(cluster, device);
    const auto same = std::ranges::find_if(kinds, [&](const auto& kind) { return kind.first == name; });
    if (same == kinds.end()) {
      kinds.emplace_back(name, 1);
    } else {
      ++same->second;
    }
  }
  std::string gpus;
  for (const auto& [name, count] : kinds) gpus += fmt::format("{}{} {}", gpus.empty() ? "" : " + ", count, name);
  if (kinds.size() > 1) gpus = "(" + gpus + ")";
  return fmt::format("{} node{} x {}", group.count, group.count == 1 ? "" : "s", gpus);
}

constexpr double kMayFit = 0.1;  ///< probability from which on it is not sure that it does not fit

std::string listed(const Caveats& caveats, bool worst) {
  std::vector<std::string> texts;
  switch (caveats.statistics) {
    case Statistics::kSynchronous: break;
    case Statistics::kPartlyStale: texts.emplace_back("with some gradients one update late"); break;
    case Statistics::kStaleGradients:
      texts.push_back(caveats.updates_late == 1 ? std::string("with gradients one update late")
                                                : fmt::format("with gradients {}{} updates late", worst ? "up to " : "",
                                                              caveats.updates_late));
      break;
    case Statistics::kReplicasDrift: texts.emplace_back("with replicas that drift apart"); break;
    case Statistics::kLocalEstimate: texts.emplace_back("with estimates that differ by rank"); break;
  }
  if (caveats.batch_growth > 1)
    texts.push_back(fmt::format("at {}{:.3g} times the batch", worst ? "up to " : "", caveats.batch_growth));
  if (caveats.fit_probability < kMayFit)
    texts.emplace_back("without fitting into memory");
  else if (caveats.fit_probability < 1)
    texts.push_back(fmt::format("with a probability of {}{} to fit into memory", in_percent(caveats.fit_probability),
                                worst ? " or more" : ""));
  if (caveats.loss_unreached) texts.emplace_back("without reaching the loss in the measured runs");
  return in_words(texts);
}

}  // namespace

std::string gpus_in_words(const Cluster& cluster) {
  std::string nodes;
  for (const NodeGroup& group : cluster.nodes) nodes += (nodes.empty() ? "" : " + ") + describe(cluster, group);
  return fmt::format("{} GPU{}, {}", human_count(gpu_count(cluster)), gpu_count(cluster) == 1 ? "" : "s", nodes);
}

std::string question_in_words(const Scenario& scenario, const std::vector<RunResult>& results) {
  const std::string tokens = human_count(scenario.training.train_tokens), gpus = gpus_in_words(scenario.cluster);
  if (results.size() == 1)
    return fmt::format("How long does {} take to train {} on {} tokens, with {}?", results.front().label,
                       scenario.model.name, tokens, gpus);
  return fmt::format("Which of {} schedules trains {} on {} tokens fastest, with {}?", results.size(),
                     scenario.model.name, tokens, gpus);
}

std::string answer_in_words(const Scenario& scenario, const Comparison& comparison) {
  return Words(scenario, comparison).all();
}

std::string in_words(const Caveats& caveats) { return listed(caveats, false); }

std::string worst_in_words(const Caveats& caveats) { return listed(caveats, true); }

JsonValue caveats_json(const Caveats& caveats) {
  JsonValue json = json_object({});
  if (caveats.statistics != Statistics::kSynchronous) json.set("statistics", name_of(caveats.statistics));
  if (caveats.updates_late > 1) json.set("updates_late", caveats.updates_late);
  if (caveats.batch_growth > 1) json.set("batch_inflation", caveats.batch_growth);
  if (caveats.fit_probability < 1) json.set("fit_probability", caveats.fit_probability);
  if (caveats.loss_unreached) json.set("loss_reached", false);
  return json;
}

}  // namespace accosim
