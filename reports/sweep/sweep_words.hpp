// What a sweep found, in sentences: for the terminal and the page alike.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep/axis_words.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

/// What is called fast, and what a picture shows of it.
struct ScoreWords {
  const char* fastest;             ///< "fastest by tokens per second"
  const char* shown;               ///< "speedup over {}, per token": {} is the baseline
  const char* how;                 ///< "per token": behind "the fastest schedule"
  const char* best = "fastest";    ///< or "cheapest"
  const char* figure = "speedup";  ///< what a column has
};
const ScoreWords& words_of(Score by);
/// As a picture's title has it: "speedup over zero1, per token".
std::string shown_in_words(const SweepRows& rows, Score by);

/// "llama-3-8b on 1.00B tokens, in sequences of 4096": as far as all points have it alike.
std::string trains_in_words(const Heading& heading);
/// How many points there are, how many failed, and at how many the interval leaves open which schedule wins.
std::string counts_in_words(const SweepRows& rows, const Merit& merit);

/// "zero1 is the fastest at 806 of 1020 points, acco at 214. Faster at a price: dpu at 1006 points, with
/// gradients one update late."
std::string winners_in_words(const SweepRows& rows, const Merit& merit);

/// Indices of the axes that tell the points apart. Numbers that an axis of names decides, as --zip puts a price beside
/// each cluster, are none of them.
std::vector<std::size_t> telling_axes(const SweepRows& rows);
/// The others: "Beside cluster: price of a GPU-hour 2.25, 6.31."; empty where there are none.
std::string beside_in_words(const SweepRows& rows);

/// By the axes that tell it from others: "dgx-h100-4x8, 2 nodes, adapter = 100 Gbit/s".
std::string point_in_words(const SweepRows& rows, const Row& row);
/// Which point spends least: "Of all points the fastest is ...", how sure that is, and what the points have not alike
/// (prices, samples an update). Empty where there are not two to choose from.
std::string ranking_in_words(const SweepRows& rows, const Merit& merit);

/// "acco takes over from zero1 above 25 Gbit/s of bandwidth (8 lines of points).": at most `most`, then how many more.
std::vector<std::string> crossovers_in_words(const SweepRows& rows, const Merit& merit, std::size_t most);

/// What an axis of numbers that alone tells the points apart comes to: which schedule and form is the best where, and
/// what binds where. Empty of other sweeps.
std::vector<std::string> along_in_words(const SweepRows& rows, const Merit& merit);

/// "the host's copies (6 GB/s each way of a node) bind, not the network": that only of an axis of the network.
std::string binding_in_words(const Binding& binds, const std::string& pointer);

/// "From 100 to 400 Gbit/s (adapter) nothing changes: the host's copies (6 GB/s each way of a node) bind, not the
/// network.": at most `most`, then how many more.
std::vector<std::string> flat_in_words(const SweepRows& rows, std::size_t most);

/// Of a sweep with Heading::tuned: which schedule is the best synchronous one where, and what each is worth beside it.
std::vector<std::string> tuned_in_words(const SweepRows& rows);
/// Of a sweep with Heading::fair: where the whole cluster is faster than its fastest part alone, and where not.
std::vector<std::string> worth_in_words(const SweepRows& rows, const WinnerRule& rule);

/// Where no schedule fits, and what would: at most three points, then how many more.
std::vector<std::string> unfit_points_in_words(const SweepRows& rows);

/// What is to be held against points: "Caution at all 4 points, at the first: ... (inherited_constants)".
std::vector<std::string> cautions_in_words(const SweepRows& rows);
/// "Failed: 3 points, the first of them 12: why": at most `most`, then how many more.
std::vector<std::string> failures_in_words(const SweepRows& rows, std::size_t most);
/// "Left out: zero3 at 3 points, the first of them 2 stages: why", likewise.
std::vector<std::string> left_out_in_words(const SweepRows& rows, std::size_t most);

}  // namespace accosim
