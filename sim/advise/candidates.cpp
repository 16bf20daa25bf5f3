#include "sim/advise/candidates.hpp"

#include <algorithm>

namespace accosim {
namespace {

std::size_t size_of(const Form& form) {
  std::size_t size = 1;
  for (const Knob& knob : form.knobs) {
    if (knob.alternatives.empty()) return 0;
    if (size > kMostCandidates / knob.alternatives.size()) return kMostCandidates;
    size *= knob.alternatives.size();
  }
  return size;
}

/// The value of a key, in the place of an earlier one.
void set_key(std::vector<ScheduleKey>& keys, const ScheduleKey& key) {
  const auto same = std::ranges::find(keys, key.first, &ScheduleKey::first);
  if (same == keys.end())
    keys.push_back(key);
  else
    same->second = key.second;
}

void add_option(std::string& options, const std::string& text) { options += (options.empty() ? "" : ", ") + text; }

}  // namespace

std::size_t size_of(const CandidateSpace& space) {
  std::size_t size = 0;
  for (const Form& form : space.forms) size = std::min(kMostCandidates, size + size_of(form));
  return size;
}

Candidate candidate_of(const CandidateSpace& space, std::size_t index) {
  Candidate candidate;
  while (index >= size_of(space.forms[candidate.form])) index -= size_of(space.forms[candidate.form++]);
  const std::vector<Knob>& knobs = space.forms[candidate.form].knobs;
  candidate.at.resize(knobs.size());
  for (std::size_t i = knobs.size(); i-- > 0;) {
    candidate.at[i] = index % knobs[i].alternatives.size();
    index /= knobs[i].alternatives.size();
  }
  return candidate;
}

std::size_t index_of(const CandidateSpace& space, const Candidate& candidate) {
  std::size_t before = 0, index = 0;
  for (std::size_t f = 0; f < candidate.form; ++f) before += size_of(space.forms[f]);
  const std::vector<Knob>& knobs = space.forms[candidate.form].knobs;
  for (std::size_t i = 0; i < knobs.size(); ++i) index = index * knobs[i].alternatives.size() + candidate.at[i];
  return before + index;
}

std::vector<std::size_t> changes_of(const CandidateSpace& space, std::size_t index, std::size_t knob,
                                    std::size_t most) {
  std::vector<std::size_t> changes;
  const Candidate from = candidate_of(space, index);
  const std::size_t count = space.forms[from.form].knobs[knob].alternatives.size();
  for (std::size_t i = 0; i < std::min(most, count); ++i) {
    Candidate to = from;
    to.at[knob] = i;
    if (i != from.at[knob]) changes.push_back(index_of(space, to));
  }
  return changes;
}

Choice choice_of(const CandidateSpace& space, std::size_t index) {
  const Candidate candidate = candidate_of(space, index);
  const Form& form = space.forms[candidate.form];
  Choice choice{.label = form.label, .schedule = form.schedule, .written = form.written};
  std::vector<std::string> set;
  std::vector<ScheduleKey> keys = form.keys;
  for (std::size_t i = 0; i < form.knobs.size(); ++i) {
    const Alternative& chosen = form.knobs[i].alternatives[candidate.at[i]];
    for (const ScheduleKey& key : chosen.keys) set_key(keys, key);
    set.insert(set.end(), chosen.set.begin(), chosen.set.end());
    if (chosen.text.empty()) continue;
    add_option(choice.options, chosen.text);
    if (form.knobs[i].coarse) add_option(choice.coarse_options, chosen.text);
  }
  choice.set = settings_of(form, set, keys);
  return choice;
}

std::vector<std::string> settings_of(const Form& form, const std::vector<std::string>& set,
                                     const std::vector<ScheduleKey>& keys) {
  std::vector<std::string> all = form.first;
  all.insert(all.end(), set.begin(), set.end());
  if (!form.written) {
    std::string entry = "{\"name\": " + quoted_json(form.schedule);
    if (form.label != form.schedule) entry += ", \"label\": " + quoted_json(form.label);
    for (const auto& [key, value] : keys) entry += ", " + quoted_json(key) + ": " + value;
    all.push_back("/schedules=[" + entry + "}]");
  }
  all.insert(all.end(), form.last.begin(), form.last.end());
  return all;
}

}  // namespace accosim
