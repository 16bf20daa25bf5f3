// Ratios of two measured steps that differ in one setting: how far off they are predicted, which is what "A is 1.2
// times as fast as B" rests on.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/fit/published.hpp"
#include "sim/evidence/scores.hpp"

namespace accosim {

/// What was set where a published step was timed: every setting of its scenario by its pointer, with the defaults that
/// were filled in, but for names and citations. Settings of the schedule that was timed begin with "/schedule".
struct StepSettings {
  std::map<std::string, std::string> values;
  std::set<std::string> written;  ///< by a file or a setting, and no default
  double samples = 0;             ///< asked for an update
};
StepSettings settings_of(const PublishedCase& one);

/// The one knob in which two steps differ, as the field writes it: "micro batch size"; empty where they differ in none,
/// in several, or in what is no knob (the model, its sequences, the GPUs and links). Settings differ where their values
/// do and at least one of the two writes its own; all settings of the schedule are one knob, and so are the numbers of
/// nodes and of their GPUs (kGpuCount). The number of micro-batches follows from another knob where both steps ask for
/// as many samples, and is one by itself otherwise.
std::string knob_between(const StepSettings& a, const StepSettings& b);
inline constexpr const char* kGpuCount = "number of GPUs";

/// Every two scored steps of one source that differ in one knob, each step with its source left out where that was
/// asked. Intervals have the shipped spread until judge_ratios() gives them others.
std::vector<RatioRow> ratios_of(const std::vector<ValidationRow>& rows, const Published& published);

/// Whether the spread of ratios is fitted to it: on the same GPUs, of a source that may say something of spreads.
bool is_fitted(const RatioRow& row);
/// The spread of ratios that the pairs give to which it is fitted: that of the least mean log score, each publisher
/// weighing the same however many pairs it has, as one with many would decide alone. The spread of pairs whose times
/// share everything is their errors' root mean square. Without the pairs of `left_out`. None where nothing is left.
std::optional<double> fitted_ratio_spread(const std::vector<RatioRow>& rows, const std::string& left_out = {});
/// What is wrong with the shipped spread, where it is not that of the pairs to 1 %; empty where it is.
std::string stale_ratio_spread(const std::vector<RatioRow>& rows);
/// Gives each row the interval that it has where its publisher is left out of that fit, too.
void judge_ratios(std::vector<RatioRow>& rows);

/// Those to which the spread is fitted (kSameGpus) first, then those of each knob, the most frequent first, and last
/// those of sources that say nothing of spreads (kApart). Each publisher weighs the same.
std::vector<RatioPart> ratio_parts(const std::vector<RatioRow>& rows);
inline constexpr const char* kSameGpus = "any, on the same GPUs";
inline constexpr const char* kApart = "of sources left out of spreads";

}  // namespace accosim
