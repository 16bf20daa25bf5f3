#include "reports/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/console_rows.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

/// From the fastest on; those that may fit before the others.
std::vector<const RunResult*> by_merit(const std::vector<RunResult>& results) {
  std::vector<const RunResult*> order;
  for (const RunResult& result : results) order.push_back(&result);
  std::stable_sort(order.begin(), order.end(), [](const RunResult* a, const RunResult* b) {
    return a->fits() != b->fits() ? a->fits() : a->total_time < b->total_time;
  });
  return order;
}

std::string with_interval(const std::string& value, const std::string& low, const std::string& high) {
  return fmt::format("{} (80 % interval: {} to {})", value, low, high);
}

/// A factor without the x.
std::string digits(double factor) {
  const std::string text = human_factor(factor);
  return text.substr(0, text.size() - 1);
}

/// "; at the same batch 4.05" where the batch has grown.
std::string same_batch_in_words(const RunResult& best) {
  constexpr double kSameBatch = 1.0005;
  if (!best.speedup_same_batch || best.batch_inflation <= kSameBatch) return "";
  return fmt::format("; at the same batch {}", digits(*best.speedup_same_batch));
}

/// ", 4.32 times as fast as the baseline (...), at the same batch 4.05 times"; empty for the baseline itself.
std::string speedup_in_words(const RunResult& best, const std::string& baseline) {
  if (!best.speedup || !best.speedup_interval) return "";
  const std::string text = fmt::format(", {} times as fast as {} ({} to {})", digits(*best.speedup), baseline,
                                       digits(best.speedup_interval->low), digits(best.speedup_interval->high));
  const std::string same = same_batch_in_words(best);
  return same.empty() ? text : text + same + " times";
}

/// The next one, where the interval of the two times' ratio holds 1.
std::string near_in_words(const RunResult& best, const RunResult& next) {
  const double ratio = next.total_time / best.total_time;
  if (!next.fits() || interval_80(ratio, ratio_spread(next.spread, best.spread)).low > 1) return "";
  return fmt::format(" {} takes {} times as long, too near to tell the two apart.", next.label,
                     fmt::format("{:.2f}", ratio));
}

std::string fit_in_words(const RunResult& best, bool alone) {
  const std::string memory =
      fmt::format("{} of {}", human_memory(best.memory_resident), human_memory(best.memory_capacity));
  switch (best.fit.verdict) {
    case FitVerdict::kFits: return fmt::format(" It fits: {} a GPU.", memory);
    case FitVerdict::kTight: return fmt::format(" Whether it fits is not sure: {} a GPU.", memory);
    case FitVerdict::kDoesNotFit:
      return fmt::format(" But it does not fit{}: {} a GPU.", alone ? "" : ", nor does any other", memory);
  }
  return "";
}

}  // namespace

std::string question_in_words(const Scenario& scenario, const std::vector<RunResult>& results) {
  const std::string tokens = human_count(scenario.training.train_tokens), gpus = gpus_in_words(scenario.cluster);
  if (results.size() == 1)
    return fmt::format("How long does {} take to train {} on {} tokens, with {}?", results.front().label,
                       scenario.model.name, tokens, gpus);
  return fmt::format("Which of {} schedules trains {} on {} tokens fastest, with {}?", results.size(),
                     scenario.model.name, tokens, gpus);
}

std::string headline_in_words(const Scenario& scenario, const std::vector<RunResult>& results) {
  if (results.empty()) return "";
  const std::vector<const RunResult*> order = by_merit(results);
  const RunResult& best = *order.front();
  std::string text = fmt::format("{} takes {}", best.label, human_clock(best.total_time));
  if (best.label != scenario.baseline && best.speedup)
    text +=
        fmt::format(", {} times as fast as {}{}", digits(*best.speedup), scenario.baseline, same_batch_in_words(best));
  else
    text += fmt::format(" for {} tokens", human_count(scenario.training.train_tokens));
  text += ".";
  if (order.size() > 1) text += near_in_words(best, *order[1]);
  return best.fit.verdict == FitVerdict::kFits ? text : text + fit_in_words(best, order.size() == 1);
}

std::string answer_in_words(const Scenario& scenario, const std::vector<RunResult>& results) {
  if (results.empty()) return "";
  const std::vector<const RunResult*> order = by_merit(results);
  const RunResult& best = *order.front();
  std::string text =
      fmt::format("{} takes {}{}.", best.label,
                  with_interval(human_time(best.total_time),
                                human_time(best.total_time * (best.update_time_low / best.update_time)),
                                human_time(best.total_time * (best.update_time_high / best.update_time))),
                  speedup_in_words(best, scenario.baseline));
  if (order.size() > 1) text += near_in_words(best, *order[1]);
  return text + fit_in_words(best, order.size() == 1);
}

}  // namespace accosim
