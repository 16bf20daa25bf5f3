// Sums by the collectives; spans as each rank's report.
#include "calibration/train/summary.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/ranks/gather.hpp"
#include "calibration/ranks/report.hpp"

namespace accocal {

void add_all_ranks(TrainingResult& result, RankSummary own, Transport& transport) {
  std::vector<double> waited(static_cast<std::size_t>(transport.size()));
  waited[static_cast<std::size_t>(transport.rank())] = own.waited_share;
  transport.all_reduce(buffer_of(std::span(waited)));
  result.processor_wait_share = *std::ranges::max_element(waited);
  transport.all_reduce(buffer_of(std::span(own.loss_sums)));
  transport.all_reduce(buffer_of(std::span(own.loss_counts)));
  for (std::size_t i = 0; i < own.loss_sums.size(); ++i)
    result.updates[i].loss = own.loss_sums[i] / static_cast<double>(own.loss_counts[i]);
}

void gather_spans(TrainingResult& result, Transport& transport) {
  // To a nanosecond, which is what they are taken to: documents are shorter.
  const auto rounded = [](Seconds time) { return Seconds{std::round(time.value * 1e9) / 1e9}; };
  for (TrainingSpan& span : result.spans) {
    span.begin = rounded(span.begin);
    span.end = rounded(span.end);
  }
  const std::vector<std::string> reports = gather_texts(transport, report_of(result.spans));
  if (transport.rank() != 0) return;
  result.spans.clear();
  for (const std::string& report : reports)
    for (TrainingSpan& span : read_report<std::vector<TrainingSpan>>(report)) result.spans.push_back(std::move(span));
}

}  // namespace accocal
