// What was asked and the answer to it, in a sentence or two each, and what is held against a schedule. Who is the
// fastest is said by sim/what_if/winner.hpp.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/fairness.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// Schedules that were compared, or one by itself, with what is said of them.
struct Comparison {
  std::vector<RunResult> results{};
  Standing standing{};
  FairComparison fair{};
  Tuned tuned{};
};

/// "8 GPUs, 2 nodes x 4 A100-SXM4-80GB".
std::string gpus_in_words(const Cluster& cluster);

/// "Which of 4 schedules trains gpt-neo-2.7b on 80.0M tokens fastest, with 8 GPUs, 2 nodes x 4 A100-SXM4-80GB?"
std::string question_in_words(const Scenario& scenario, const std::vector<RunResult>& results);

/// The answer: the schedule that is the fastest without a caveat, how long it takes and how much faster than the
/// baseline it is, with 80 % intervals; whether another one is as fast; whether the slower kinds of GPU are worth
/// adding; who is faster at a price, and that price; and whether the fastest may not fit.
std::string answer_in_words(const Scenario& scenario, const Comparison& comparison);

/// The caveats of a schedule as they follow "1.08 times as fast, ": "with gradients one update late and at 1.5 times
/// the batch"; empty without one.
std::string in_words(const Caveats& caveats);
/// The same of the worst of several: "at up to 33 times the batch".
std::string worst_in_words(const Caveats& caveats);
/// The figures that count against it, by the keys that they have in results.
JsonValue caveats_json(const Caveats& caveats);

}  // namespace accosim
