// What advise may choose: schedules in several forms, and knobs with a few alternatives each. A candidate is a pure
// function of the space and its index, and comes down to settings that anybody can repeat with --set.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/launch/form.hpp"
#include "models/read/load.hpp"
#include "sim/knobs/form.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

/// Which form, and the alternative of each of its knobs.
struct Candidate {
  std::size_t form = 0;
  std::vector<std::size_t> at{};

  bool operator==(const Candidate&) const = default;
};

struct CandidateSpace {
  std::vector<Form> forms;
  std::vector<Candidate> as_written{};  ///< the scenario's own schedules, where nothing else is asked for
  std::vector<std::string> left_out{};  ///< what cannot be, with the reason: "ddp with overlap backward: ..."
};

inline constexpr std::size_t kMostCandidates = 1'000'000'000;

/// At most kMostCandidates, where the true number is larger.
std::size_t size_of(const CandidateSpace& space);
/// Form after form, the last knob changing fastest. `index` is below the size.
Candidate candidate_of(const CandidateSpace& space, std::size_t index);
std::size_t index_of(const CandidateSpace& space, const Candidate& candidate);
/// Those that differ from this one in the position of the form's knob `knob` alone, of its first `most` positions.
std::vector<std::size_t> changes_of(const CandidateSpace& space, std::size_t index, std::size_t knob, std::size_t most);

/// A schedule with the settings that make it.
struct Choice {
  std::string label;               ///< of the schedule
  std::vector<std::string> set{};  ///< as --set takes it, in order
  std::string schedule{};          ///< name of its row of traits
  bool written = false;            ///< it is an entry of the scenario
  std::string options{};           ///< "micro_batch_size 8, overlap backward"; empty where nothing is written
  std::string coarse_options{};    ///< those of its coarse knobs alone
};
Choice choice_of(const CandidateSpace& space, std::size_t index);

/// What makes the form with `set` in place of its knobs, and these keys of the schedule.
std::vector<std::string> settings_of(const Form& form, const std::vector<std::string>& set,
                                     const std::vector<ScheduleKey>& keys);

/// Which candidates there are for a scenario: the schedules in the forms that it writes and the others in their usual
/// one, and for each the options that can change its time or its memory without changing what an update computes.
/// `asked`: labels or names, those of the program included; empty: those of the scenario, and
/// all others whose replicas do not drift apart. With `over` (knobs by their names alone, and places with values), that
/// alone is varied, and schedules are those of the scenario as they are written, each alone. `nodes`: fewer of them are
/// tried too. `fits`: the model does, as one of the schedules is written; where it does not, or the GPUs are more than
/// a node's, it is split too. Types of parameters, gradients and states that nobody wrote are everywhere those of the
/// first delayed or local schedule. `typed_in`: nothing that this form
/// lacks; `like`: whose types these are, where that is no schedule of the scenario. Throws ScenarioError where a
/// schedule is not known.
CandidateSpace candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                              const std::vector<Axis>& over, bool nodes, bool fits = true,
                              std::optional<LaunchForm> typed_in = {}, const ScheduleSpec* like = nullptr);

}  // namespace accosim
