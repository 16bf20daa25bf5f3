#include "sim/advise/candidates.hpp"

#include <algorithm>
#include <utility>

#include "models/base/json.hpp"

namespace accosim {
namespace {

/// The value of a key, in the place of an earlier one.
void set_key(std::vector<ScheduleKey>& keys, const ScheduleKey& key) {
  const auto same = std::ranges::find(keys, key.first, &ScheduleKey::first);
  if (same == keys.end())
    keys.push_back(key);
  else
    same->second = key.second;
}

std::string schedule_json(const Form& form, const std::vector<ScheduleKey>& keys) {
  std::string json = "{\"name\": " + quoted_json(form.schedule);
  if (form.label != form.schedule) json += ", \"label\": " + quoted_json(form.label);
  for (const auto& [key, value] : keys) json += ", " + quoted_json(key) + ": " + value;
  return json + "}";
}

}  // namespace

std::size_t size_of(const Form& form) {
  std::size_t size = 1;
  for (const Knob& knob : form.knobs) {
    if (knob.alternatives.empty()) return 0;
    if (size > kMostCandidates / knob.alternatives.size()) return kMostCandidates;
    size *= knob.alternatives.size();
  }
  return size;
}

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

std::vector<std::string> settings_of(const CandidateSpace& space, const Form& form, std::vector<std::string> set,
                                     const std::vector<ScheduleKey>& keys) {
  set.insert(set.begin(), form.first.begin(), form.first.end());
  if (form.written) {
    set.insert(set.end(), form.last.begin(), form.last.end());
    return set;
  }
  set.push_back("/schedules=[" + schedule_json(form, keys) + "]");
  set.push_back("/baseline=" + quoted_json(form.label));
  if (space.published) set.emplace_back("/published={}");
  return set;
}

std::vector<std::string> settings_of(const CandidateSpace& space, const Candidate& candidate) {
  const Form& form = space.forms[candidate.form];
  std::vector<std::string> settings;
  std::vector<ScheduleKey> keys = form.keys;
  for (std::size_t i = 0; i < form.knobs.size(); ++i) {
    const Alternative& chosen = form.knobs[i].alternatives[candidate.at[i]];
    for (const ScheduleKey& key : chosen.keys) set_key(keys, key);
    settings.insert(settings.end(), chosen.set.begin(), chosen.set.end());
  }
  return settings_of(space, form, std::move(settings), keys);
}

std::string options_in_words(const CandidateSpace& space, const Candidate& candidate) {
  const Form& form = space.forms[candidate.form];
  std::string text;
  for (std::size_t i = 0; i < form.knobs.size(); ++i) {
    const std::string& chosen = form.knobs[i].alternatives[candidate.at[i]].text;
    if (!chosen.empty()) text += (text.empty() ? "" : ", ") + chosen;
  }
  return text;
}

}  // namespace accosim
