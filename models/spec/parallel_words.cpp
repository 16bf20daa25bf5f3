#include "models/spec/parallel_words.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace accosim {
namespace {

std::string pipeline_in_words(const Parallel& parallel) {
  const std::string schedule =
      parallel.chunks > 1 ? fmt::format("interleaved by {}", parallel.chunks) : name_of(parallel.schedule);
  return fmt::format("pipeline {} ({}{})", parallel.pipeline, schedule,
                     parallel.blocks_by_speed ? ", blocks by speed" : "");
}

}  // namespace

std::string in_words(const Parallel& parallel, int ranks) {
  if (model_ranks_of(parallel) == 1 && parallel.experts == 1) return "";
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : " x ") + part; };
  if (parallel.tensor > 1)
    add(fmt::format("tensor {}{}", parallel.tensor, parallel.sequence ? " (sequences too)" : ""));
  if (parallel.context > 1) add(fmt::format("context {}", parallel.context));
  if (parallel.pipeline > 1) add(pipeline_in_words(parallel));
  add(fmt::format("data {}{}", ranks / model_ranks_of(parallel),
                  parallel.experts > 1 ? fmt::format(" (experts over {})", parallel.experts) : ""));
  return words;
}

std::string micro_batch_owner(const Parallel& parallel) {
  const int ranks = model_ranks_of(parallel);
  return ranks == 1 ? "a GPU" : fmt::format("a replica of {} GPUs", ranks);
}

std::string stage_numbers(const std::vector<int>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t last = i;
    while (last + 1 < stages.size() && stages[last + 1] == stages[last] + 1) ++last;
    text += (text.empty() ? "" : ",") +
            (last == i ? fmt::format("{}", stages[i]) : fmt::format("{}-{}", stages[i], stages[last]));
    i = last + 1;
  }
  return text;
}

std::string stages_in_words(const std::vector<int>& stages) {
  return (stages.size() == 1 ? "stage " : "stages ") + stage_numbers(stages);
}

}  // namespace accosim
