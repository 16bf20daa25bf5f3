// Schedules side by side as a page: what each takes, sends, holds and does to the training.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>

#include "models/base/text.hpp"
#include "models/spec/schedule_traits.hpp"
#include "reports/answer.hpp"
#include "reports/console.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

std::string updates_are(const RunResult& result) {
  switch (result.statistics) {
    case Statistics::kSynchronous: return "synchronous, or corrected";
    case Statistics::kPartlyStale: return "of gradients late in part";
    case Statistics::kStaleGradients: return "of late gradients";
    case Statistics::kReplicasDrift: return "of replicas that drift";
    case Statistics::kLocalEstimate: return "half at local estimates";
  }
  return "";
}

/// The measured multiple of the baseline's samples. An interval of the speedup is one of the samples.
std::string samples_to_loss(const std::optional<TimeToLoss>& loss) {
  if (!loss) return "not measured";
  if (!loss->reached) return fmt::format("at least {:.2f}", loss->samples);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", loss->samples, loss->samples * loss->speedup / loss->speedup_high,
                     loss->samples * loss->speedup / loss->speedup_low);
}

std::string time_to_loss(const RunResult& result) {
  const std::optional<TimeToLoss>& loss = result.to_loss;
  if (!loss) return "-";
  return fmt::format("{}{:.2f}x", loss->reached ? "" : "below ", loss->speedup);
}

std::string eligible(const Caveats& caveats) { return caveats.none() ? "yes" : "no: " + in_words(caveats); }

}  // namespace

void write_comparison_markdown(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                               const Standing& standing, const std::string& command) {
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return results[a].tokens_per_second > results[b].tokens_per_second;
  });
  const bool loss =
      std::any_of(results.begin(), results.end(), [](const RunResult& r) { return r.to_loss.has_value(); });
  out << "# " << in_markdown(scenario.name) << "\n\nWritten by " << in_code(command)
      << "; not to be edited by hand.\n\n"
      << in_markdown(scenario.description) << "\n\n"
      << "| schedule | all tokens | an update | same batch | samples an update | states, papers | memory | fits | sent "
         "| updates |"
      << (loss ? " samples to the loss | time to it |" : "") << " may win |\n"
      << "|---|--:|--:|--:|--:|--:|--:|---|--:|---|" << (loss ? "--:|--:|" : "") << "---|\n";
  for (const std::size_t i : order) {
    const RunResult& r = results[i];
    out << fmt::format("| {} | {} | {} | {} | {}{} | {} | {} | {} | {} | {} |", in_markdown(r.label),
                       human_clock(r.total_time), human_time(r.update_time),
                       r.speedup_same_batch ? human_factor(*r.speedup_same_batch) : "-",
                       human_count(r.samples_per_update),
                       r.batch_inflation > 1.0005 ? fmt::format(" ({:.2f}x)", r.batch_inflation) : "",
                       human_memory(r.memory_formula), human_memory(r.memory_resident),
                       r.fit.verdict == FitVerdict::kFits    ? "yes"
                       : r.fit.verdict == FitVerdict::kTight ? "tight"
                                                             : "no",
                       human_bytes(r.bytes_sent_per_rank_per_update), updates_are(r));
    if (loss) out << fmt::format(" {} | {} |", samples_to_loss(r.to_loss), time_to_loss(r));
    out << " " << eligible(standing.caveats[i]) << " |\n";
  }
  out << "\n*All tokens*: " << human_count(scenario.training.train_tokens)
      << ", as h:mm:ss. *Same batch*: speedup over " << in_markdown(scenario.baseline)
      << " at as many samples an update. *States, papers*: what papers count of parameters, gradients, buffers and "
         "states, in 16 bits but the optimizer's. *Memory*: resident on a GPU at its peak, of "
      << human_memory(results.front().memory_capacity)
      << ". *Sent*: bytes that a GPU sends in an update, in the mean. *May win*: gradients fresh or corrected, batch "
      << fmt::format("grown at most {:.3g} times, memory that fits with {}.", standing.rule.batch_growth,
                     in_percent(standing.rule.fit_probability));
  if (loss)
    out << " *Samples to the loss*: measured by `accocal converge` on small models, as a multiple of those of "
        << in_markdown(scenario.baseline)
        << ", with the batch's growth, and 90 % intervals; *time to it*: the speedup that remains. Another model's "
           "samples "
           "decide nothing here: they are shown beside the times.";
  out << "\n";
}

}  // namespace accosim
