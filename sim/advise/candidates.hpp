// What advise may choose: schedules in several forms, and knobs with a few alternatives each. A candidate is a pure
// function of the space and its index, and comes down to settings that anybody can repeat with --set.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/knobs/form.hpp"

namespace accosim {

/// Which form, and the alternative of each of its knobs.
struct Candidate {
  std::size_t form = 0;
  std::vector<std::size_t> at{};

  bool operator==(const Candidate&) const = default;
};

struct CandidateSpace {
  std::vector<Form> forms;
  bool published = false;               ///< the scenario says what was published of its own schedules, which then goes
  std::vector<Candidate> as_written{};  ///< the scenario's own schedules, where nothing else is asked for
};

inline constexpr std::size_t kMostCandidates = 1'000'000'000;

/// At most kMostCandidates, where the true number is larger.
std::size_t size_of(const Form& form);
std::size_t size_of(const CandidateSpace& space);
/// Form after form, the last knob changing fastest. `index` is below the size.
Candidate candidate_of(const CandidateSpace& space, std::size_t index);
std::size_t index_of(const CandidateSpace& space, const Candidate& candidate);

/// What makes the form with these settings of knobs, and these keys of the schedule: as --set takes it, in order.
std::vector<std::string> settings_of(const CandidateSpace& space, const Form& form, std::vector<std::string> set,
                                     const std::vector<ScheduleKey>& keys);
std::vector<std::string> settings_of(const CandidateSpace& space, const Candidate& candidate);
/// "micro_batch_size 8, gradient_accumulation_steps 4, overlap backward"; empty where nothing is written.
std::string options_in_words(const CandidateSpace& space, const Candidate& candidate);
}  // namespace accosim
