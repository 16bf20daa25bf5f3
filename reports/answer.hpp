// What was asked and the answer to it, in a sentence or two each.
#pragma once

#include <string>
#include <vector>

#include "models/spec/spec.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// "Which of 4 schedules trains gpt-neo-2.7b on 80.0M tokens fastest, with 8 GPUs, 2 nodes x 4 A100-SXM4-80GB?"
std::string question_in_words(const Scenario& scenario, const std::vector<RunResult>& results);

/// The answer in a line that a terminal has room for: "acco takes 0:31:09, 4.32 times as fast as DDP as released; at
/// the same batch 4.05." Behind it whether another is as fast, and whether the fastest may not fit.
std::string headline_in_words(const Scenario& scenario, const std::vector<RunResult>& results);

/// The fastest schedule that may fit, how much faster than the baseline, and which one it cannot be told apart from.
std::string answer_in_words(const Scenario& scenario, const std::vector<RunResult>& results);

}  // namespace accosim
