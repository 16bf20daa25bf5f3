// Sums by the collectives; spans as texts, a line each.
#include "calibration/train/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "calibration/ranks/gather.hpp"

namespace accocal {
namespace {

// Lane, update, begin, end, label.
std::string packed(const std::vector<TrainingSpan>& spans) {
  std::string text;
  for (const TrainingSpan& span : spans) {
    text += fmt::format("{} {} {:.9f} {:.9f} {}\n", static_cast<int>(span.lane), span.update, span.begin.value,
                        span.end.value, span.label);
  }
  return text;
}

void unpack(const std::string& text, int rank, std::vector<TrainingSpan>& spans) {
  std::istringstream lines(text);
  int lane = 0;
  for (TrainingSpan span; lines >> lane >> span.update >> span.begin.value >> span.end.value;) {
    lines.ignore();
    std::getline(lines, span.label);
    span.rank = rank;
    span.lane = static_cast<TrainingSpan::Lane>(lane);
    spans.push_back(span);
  }
}

}  // namespace

void add_all_ranks(TrainingResult& result, RankSummary own, Transport& transport) {
  std::vector<double> waited(static_cast<std::size_t>(transport.size()));
  waited[static_cast<std::size_t>(transport.rank())] = own.waited_share;
  transport.all_reduce(buffer_of(std::span(waited)));
  result.processor_wait_share = *std::max_element(waited.begin(), waited.end());
  transport.all_reduce(buffer_of(std::span(own.loss_sums)));
  transport.all_reduce(buffer_of(std::span(own.loss_counts)));
  for (std::size_t i = 0; i < own.loss_sums.size(); ++i)
    result.updates[i].loss = own.loss_sums[i] / static_cast<double>(own.loss_counts[i]);
}

void gather_spans(TrainingResult& result, Transport& transport) {
  const std::vector<std::string> texts = gather_texts(transport, packed(result.spans));
  if (transport.rank() != 0) return;
  result.spans.clear();
  for (std::size_t rank = 0; rank < texts.size(); ++rank) unpack(texts[rank], static_cast<int>(rank), result.spans);
}

}  // namespace accocal
