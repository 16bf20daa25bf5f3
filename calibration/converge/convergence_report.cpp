// The comparison as a document for accosim and as a page for people. The page's sentences follow from the numbers: what
// was expected and not found is said as plainly as what was.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/base/machine.hpp"
#include "calibration/base/names.hpp"
#include "calibration/converge/convergence.hpp"
#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/recorded/convergence_curves.hpp"

namespace accocal {
namespace {

/// null where there is none.
JsonValue member_of(const std::optional<Estimate>& estimate, double Estimate::*member) {
  return estimate ? JsonValue((*estimate).*member) : JsonValue();
}

void put(JsonValue& json, const std::string& key, const std::optional<Estimate>& estimate) {
  json.set(key, member_of(estimate, &Estimate::value));
  json.set(key + "_low", member_of(estimate, &Estimate::low));
  json.set(key + "_high", member_of(estimate, &Estimate::high));
}

// null where a seed does not reach the loss; then `at_least` times what DDP needs.
void put_ratio(JsonValue& json, const std::string& prefix, const std::optional<Estimate>& ratio, double at_least) {
  json.set(prefix + "samples_ratio", member_of(ratio, &Estimate::value));
  json.set(prefix + "low", member_of(ratio, &Estimate::low));
  json.set(prefix + "high", member_of(ratio, &Estimate::high));
  if (!ratio) json.set(prefix + "samples_ratio_at_least", at_least);
}

JsonValue curve_json(const Curve& curve) {
  return mapped<JsonValue>(curve, [](const CurvePoint& point) {
    return std::vector<JsonValue>{point.updates, point.samples, std::round(point.loss * 1e6) / 1e6};
  });
}

JsonValue algorithm_json(const AlgorithmConvergence& algorithm) {
  JsonValue json = json_object({{"name", algorithm.name}, {"what", algorithm.what}});
  put_ratio(json, "", algorithm.samples_ratio, algorithm.samples_at_least);
  put_ratio(json, "early_", algorithm.early_samples_ratio, algorithm.early_samples_at_least);
  if (algorithm.update_time > Seconds{0}) json.set("update_time_s", algorithm.update_time.value);
  json.set("final_loss", algorithm.final_loss);
  put(json, "final_loss_difference", algorithm.final_difference);
  put(json, "early_loss_difference", algorithm.early_difference);
  json.set("equivalent", is_equivalent(algorithm.final_difference));
  json.set("equivalent_early", is_equivalent(algorithm.early_difference));
  JsonValue own = json_object({});
  add_own_options(own, algorithm.options);
  if (!own.members.empty()) json.set("options", std::move(own));
  json.set("curves", mapped<JsonValue>(algorithm.curves, [](const Curve& curve) { return curve_json(curve); }));
  return json;
}

std::string ratio_text(const std::optional<Estimate>& ratio, double at_least) {
  if (!ratio) return fmt::format("at least {:.2f}", at_least);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio->value, ratio->low, ratio->high);
}

/// Time to DDP's late loss over DDP's own.
std::string wall_clock_text(const ConvergenceReport& report) {
  if (report.network.empty()) return "";
  const Machine machine = this_machine();
  std::string text = fmt::format(
      "## On the clock\n\nMeasured on {} ({} cores), {}. The same algorithms with {} ranks as processes over {}, so "
      "many micro-batches an update and no more: the median update, and the time to the loss that DDP has after {:g} % "
      "of its updates, over DDP's own. "
      "On another network the times are others (that is what accosim predicts), the samples are not. Intervals are of "
      "the samples alone.\n\n"
      "| algorithm | an update | samples, late | time, late |\n|---|--:|--:|--:|\n",
      in_markdown(machine.cpu), machine.cores, date_now(), report.options.ranks, in_markdown(report.network),
      100 * kLate);
  const double base = report.algorithms.front().update_time.value;
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    if (algorithm.name == "dpu-warmup") continue;  // two speeds, one after the other
    const double relative = algorithm.update_time.value / base;
    const std::optional<Estimate>& samples = algorithm.samples_ratio;
    std::optional<Estimate> time = samples;
    if (time) time = {relative * samples->value, relative * samples->low, relative * samples->high};
    text += fmt::format(
        "| {} | {:.3f} ms | {} | {} |\n", algorithm.name, 1e3 * algorithm.update_time.value,
        samples ? fmt::format("{:.3f}", samples->value) : fmt::format("at least {:.2f}", algorithm.samples_at_least),
        ratio_text(time, relative * algorithm.samples_at_least));
  }
  return text + "\n";
}

std::string percent(const Estimate& e) {
  return fmt::format("{:+.2f} % [{:+.2f}, {:+.2f}]", 100 * e.value, 100 * e.low, 100 * e.high);
}

std::string verdict(const AlgorithmConvergence& algorithm, const Estimate& difference, const std::string& when) {
  const std::string limit = fmt::format("{:g} %", 100 * kEquivalent);
  if (is_equivalent(difference)) {
    return fmt::format("**{}** is equivalent to DDP within {} of the loss {}: {}.", algorithm.name, limit, when,
                       percent(difference));
  }
  const char* how = difference.low > kEquivalent     ? "is worse than DDP by more than that"
                    : difference.high < -kEquivalent ? "is better than DDP by more than that"
                                                     : "is not shown to be equivalent to DDP";
  return fmt::format("**{}** fails the test of equivalence within {} {} and {}: {}.", algorithm.name, limit, when, how,
                     percent(difference));
}

std::string verdicts(const ConvergenceReport& report) {
  const auto early = fmt::format("after {:g} % of the updates", 100 * kEarly);
  std::string text;
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    if (is_synchronous(algorithm)) continue;
    text += "- " + verdict(algorithm, algorithm.early_difference, early) + "\n";
    text += "- " + verdict(algorithm, algorithm.final_difference, "at the end") + "\n";
  }
  return text;
}

// The differences at other times than the two that the verdicts are about.
std::string along_the_run(const ConvergenceReport& report) {
  constexpr std::array<int, 7> kShares = {5, 10, 20, 30, 50, 75, 100};
  std::string text = "Loss over DDP's along the run, in %:\n\n| algorithm |";
  std::string rule = "|---|";
  for (const int share : kShares) {
    text += fmt::format(" {} % |", share);
    rule += "--:|";
  }
  text += "\n" + rule + "\n";
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    if (is_synchronous(algorithm)) continue;
    text += "| " + algorithm.name + " |";
    const std::size_t last = algorithm.differences.size() - 1;
    for (const int share : kShares) {
      const Estimate& e = algorithm.differences[static_cast<std::size_t>(share) * last / 100];
      text += fmt::format(" {:+.2f} [{:+.2f}, {:+.2f}] |", 100 * e.value, 100 * e.low, 100 * e.high);
    }
    text += "\n";
  }
  text +=
      "\nEach point is a look of its own: one interval in ten misses by chance. Points at which an algorithm is shown "
      "to be equivalent:";
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    if (is_synchronous(algorithm)) continue;
    const auto from = algorithm.differences.begin() + 1;  // not the common start
    text +=
        fmt::format(" {} {} of {};", algorithm.name, std::count_if(from, algorithm.differences.end(), is_equivalent),
                    algorithm.differences.end() - from);
  }
  text.back() = '.';
  return text + "\n";
}

std::string tuning_text(const ConvergenceReport& report) {
  if (report.tuning.empty()) return "as given";
  std::string text = "the best of these for DDP on two other seeds (held-out loss at the end): ";
  for (std::size_t i = 0; i < report.tuning.size(); ++i)
    text += fmt::format(
        "{}{:g} ({})", i == 0 ? "" : ", ", report.tuning[i].first,
        std::isfinite(report.tuning[i].second) ? fmt::format("{:.4f}", report.tuning[i].second) : "diverged");
  return text;
}

std::string batches_text(const ConvergenceReport& report) {
  std::string text = fmt::format(
      "## What a larger batch is worth\n\nDDP at other batches over as many samples, the learning rate in proportion "
      "to the batch's square root; samples until the held-out loss is {:.3f}:\n\n| batch | learning rate | samples |\n"
      "|--:|--:|--:|\n",
      report.batch_target);
  for (const BatchSize& batch : report.batches) {
    const Estimate& samples = batch.samples_to_target;
    text += fmt::format("| {} | {:.4g} | {:.0f} [{:.0f}, {:.0f}] |\n", batch.samples, batch.learning_rate,
                        samples.value, samples.low, samples.high);
  }
  text += "\nS(B) = S_min (1 + B / B_critical) (McCandlish et al. 2018), fitted seed by seed: ";
  if (!report.critical_batch) return text + "no positive critical batch follows from these, so none is given.\n";
  return text + fmt::format("B_critical = {:.0f} samples [{:.0f}, {:.0f}].\n", report.critical_batch->value,
                            report.critical_batch->low, report.critical_batch->high);
}

/// What is said of one size of the model.
void add_size(JsonValue& json, const ConvergenceReport& report) {
  const ConvergenceOptions& options = report.options;
  const GptShape& shape = options.gpt.shape;
  json.set("model", json_object({{"name", "gpt"},
                                 {"parameters", report.parameters},
                                 {"layers", shape.layers},
                                 {"width", shape.width},
                                 {"heads", shape.heads},
                                 {"context", shape.context},
                                 {"vocabulary", shape.vocabulary},
                                 {"data", options.data.empty() ? "devils_dictionary.txt" : options.data}}));
  json.set("batch_samples", report.batch_samples);
  json.set("range", json_object({{"updates", options.updates},
                                 {"samples", options.updates * report.batch_samples},
                                 {"batch_samples_low", report.batches.front().samples},
                                 {"batch_samples_high", report.batches.back().samples},
                                 {"ranks", options.ranks},
                                 {"tokens_per_sample", shape.context},
                                 {"learning_rate", options.optimizer.learning_rate},
                                 {"learning_rate_warmup", options.optimizer.warmup},
                                 {"weight_decay", options.optimizer.adamw.weight_decay},
                                 {"seeds", options.seeds},
                                 {"confidence", 0.9},
                                 {"early_share", kEarly},
                                 {"late_share", kLate},
                                 {"equivalence", kEquivalent}}));
  std::vector<JsonValue> algorithms;
  for (const AlgorithmConvergence& algorithm : report.algorithms) algorithms.push_back(algorithm_json(algorithm));
  json.set("algorithms", std::move(algorithms));
  if (!report.diverged.empty()) {
    std::vector<JsonValue> diverged;
    for (const DivergedAlgorithm& algorithm : report.diverged)
      diverged.push_back(json_object({{"name", algorithm.name},
                                      {"what", algorithm.what},
                                      {"seeds", algorithm.seeds},
                                      {"first_update", algorithm.first_update}}));
    json.set("diverged", std::move(diverged));
  }
  put(json, "critical_batch_samples", report.critical_batch);
  std::vector<JsonValue> batches;
  for (const BatchSize& batch : report.batches) {
    batches.push_back(json_object({{"samples", batch.samples}, {"learning_rate", batch.learning_rate}}));
    put(batches.back(), "samples_to_target", batch.samples_to_target);
  }
  json.set("batches", std::move(batches));
  if (!report.network.empty()) json.set("network", report.network);
  std::vector<JsonValue> tuning;
  for (const auto& [rate, loss] : report.tuning)
    tuning.push_back(json_object({{"learning_rate", rate}, {"loss", loss}}));
  json.set("tuning", std::move(tuning));
}

std::string table_text(const ConvergenceReport& report) {
  std::string text = fmt::format(
      "Samples are those until the loss that DDP has after {:g} % and {:g} % of its updates, as a multiple of DDP's "
      "own; \"at least\" where a seed does not get there in the whole run, and counts as if it did with its last "
      "sample.\n\n"
      "| algorithm | | loss at {:g} % | loss at the end | samples, early | samples, late | final loss |\n"
      "|---|---|--:|--:|--:|--:|--:|\n",
      100 * kEarly, 100 * kLate, 100 * kEarly);
  for (const AlgorithmConvergence& algorithm : report.algorithms) {
    const bool baseline = &algorithm == &report.algorithms.front();
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {:.4f} |\n", algorithm.name, algorithm.what,
        baseline ? "0" : percent(algorithm.early_difference), baseline ? "0" : percent(algorithm.final_difference),
        baseline ? "1" : ratio_text(algorithm.early_samples_ratio, algorithm.early_samples_at_least),
        baseline ? "1" : ratio_text(algorithm.samples_ratio, algorithm.samples_at_least), algorithm.final_loss);
  }
  for (const DivergedAlgorithm& algorithm : report.diverged)
    text += fmt::format("| {} | {} | diverged on {} of {} seeds, at update {} first | | | | |\n", algorithm.name,
                        algorithm.what, algorithm.seeds, report.options.seeds, algorithm.first_update);
  return text;
}

}  // namespace

std::string convergence_json(const ConvergenceReport& report, const ConvergenceReport* larger) {
  JsonValue json = json_object({{"schema", "accosim.convergence/1"}});
  add_size(json, report);
  if (larger != nullptr) {
    JsonValue size = json_object({});
    add_size(size, *larger);
    json.set("sizes", std::vector<JsonValue>{std::move(size)});
  }
  return dump_json(json, 1) + "\n";
}

std::string convergence_markdown(const ConvergenceReport& report, const std::string& svg, const std::string& command) {
  const ConvergenceOptions& options = report.options;
  const GptShape& shape = options.gpt.shape;
  std::string text = fmt::format(
      "# Convergence, measured\n\nWritten by {}; not to be edited by hand.\n\nAll algorithms train the same GPT ({} "
      "layers of width {}, {} parameters, context {}, bytes of a public-domain text) from the same start on the same "
      "micro-batches, on {} ranks, seed by seed: {} seeds, {} updates of {} samples each for every algorithm (ACCO's "
      "two halves together are DDP's batch). AdamW (betas {:g}, {:g}, weight decay {:g}), cosine schedule with {:g} % "
      "warm-up, one learning rate for all, {:g}: {}. Losses are of text that is held out. Differences are paired by "
      "seed, with 90 % intervals (Student's t).\n\n![Loss, and its difference from DDP's, by algorithm]({})\n\n",
      in_code(command), shape.layers, shape.width, report.parameters, shape.context, options.ranks, options.seeds,
      options.updates, report.batch_samples, options.optimizer.adamw.beta1, options.optimizer.adamw.beta2,
      options.optimizer.adamw.weight_decay, 100 * options.optimizer.warmup, options.optimizer.learning_rate,
      tuning_text(report), in_markdown(svg));
  text += fmt::format(
      "## What was found\n\nEquivalent means that the interval of the relative difference of the loss lies within {:g} "
      "% on either side (two one-sided tests at 5 %).\n\n{}\n",
      100 * kEquivalent, verdicts(report));
  text += table_text(report);
  text += "\n" + along_the_run(report) + "\n" + wall_clock_text(report) + batches_text(report);
  text +=
      "\n## How far it reaches\n\nThe set-up was enlarged until half a percent could be told from chance, by looking "
      "at other seeds and at shorter runs: `accocal converge --updates 400 --seeds 5 --width 48 --context 64` is the "
      "first one, in which ACCO is not shown to be equivalent; `calibration/training.md` says what else was seen. All "
      "seeds share one text, so the intervals are of seeds alone. A small model, a short run and one learning rate, "
      "tuned for DDP alone; what the others take besides is their authors', or was chosen on other seeds "
      "(`calibration/training.md`). The ratios are of runs whose learning rate falls to 0 at the same number of "
      "updates. "
      "Beyond these numbers of updates, batches and parameters they are an extrapolation.\n";
  return text;
}

std::string larger_markdown(const ConvergenceReport& report, const std::string& svg) {
  const ConvergenceOptions& options = report.options;
  const GptShape& shape = options.gpt.shape;
  return fmt::format(
             "\n## A larger model\n\nThe same on a GPT of {} parameters ({} layers of width {}, context {}): {} seeds, "
             "{} "
             "updates of {} samples, learning rate {:g}: {}. A short run: the loss is still falling fast where it "
             "ends.\n\n![Loss, and its difference from DDP's, of the larger model]({})\n\n{}\n",
             report.parameters, shape.layers, shape.width, shape.context, options.seeds, options.updates,
             report.batch_samples, options.optimizer.learning_rate, tuning_text(report), in_markdown(svg),
             verdicts(report)) +
         table_text(report) + "\n" + along_the_run(report);
}

std::string convergence_svg(const ConvergenceReport& report) {
  constexpr double kWidth = 1000;
  const accosim::MeasuredCurves curves = accosim::read_curves(convergence_json(report), "the document");
  return accosim::curves_svg(accosim::kConvergenceFigure, accosim::convergence_panels(curves), accosim::Theme::kLight,
                             kWidth);
}

}  // namespace accocal
