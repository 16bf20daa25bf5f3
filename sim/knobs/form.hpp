// A schedule with what nothing varies, and the knobs of its own keys.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/form.hpp"
#include "models/read/scenario_tree.hpp"
#include "sim/knobs/knob.hpp"

namespace accosim {

/// The key that says how large the first round of two is, in micro-batches.
inline constexpr const char* kMicroBatchesPerRound = "micro_batches_per_round";

/// A schedule with the keys that nothing varies.
struct Form {
  std::string schedule;  ///< name of its row of traits
  std::string label;
  bool written = false;  ///< it is an entry of the scenario, whose keys are set in their place there
  std::vector<ScheduleKey> keys{};
  std::vector<Knob> knobs{};
  std::vector<std::string> first{}, last{};  ///< settings before those of its knobs and its keys, and behind them
};

/// Reads forms as the loader would, to know which alternatives are the same and which are refused.
class Forms {
 public:
  /// `left_out` gets what cannot be, with the reason: "ddp with overlap backward: ...", one a line. `typed_in`: what
  /// that lacks cannot be.
  Forms(const Scenario& scenario, std::vector<std::string>& left_out, std::optional<LaunchForm> typed_in = {});

  /// A form with the knobs of its own keys; nothing where the form itself is refused. micro_batches_per_round is left
  /// out: it follows from the accumulation (rounds_key()).
  std::optional<Form> form_of(const std::string& schedule, const std::string& label, std::vector<ScheduleKey> keys);

 private:
  void add_knob(Form& form, const std::string& name, const std::vector<Alternative>& alternatives,
                const std::vector<ScheduleKey>& written);
  std::optional<ScheduleSpec> read(const Form& form, const std::vector<ScheduleKey>& keys, const std::string& what);

  Training training_;
  std::optional<Cluster> cluster_;
  std::vector<std::string>& left_out_;
  std::optional<LaunchForm> typed_in_;
};

/// What an entry of the scenario's schedules writes, without its name and label.
std::vector<ScheduleKey> written_keys(const ScenarioTree& tree, std::size_t index);

/// A schedule of two rounds, of which `written` is written, is told their size where an alternative's accumulation, or
/// else the training's, is odd; nothing where it need not be, or the work is divided by speed.
std::optional<ScheduleKey> rounds_key(const std::string& schedule, const std::vector<ScheduleKey>& written,
                                      const Alternative& alternative, const Training& training);

}  // namespace accosim
