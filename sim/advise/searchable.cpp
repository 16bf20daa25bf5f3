#include "sim/advise/searchable.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/knobs/in_settings.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// Keys of how numbers are stored that all of the scenario's schedules write alike: others then have them too.
std::vector<ScheduleKey> shared_dtypes(const std::vector<std::vector<ScheduleKey>>& all) {
  std::vector<ScheduleKey> shared;
  for (const ScheduleKey& key : all.front()) {
    const bool dtype =
        key.first == "parameter_dtype" || key.first == "gradient_dtype" || key.first == "optimizer_dtype";
    if (dtype && std::all_of(all.begin(), all.end(), [&](const std::vector<ScheduleKey>& keys) {
          return std::find(keys.begin(), keys.end(), key) != keys.end();
        }))
      shared.push_back(key);
  }
  return shared;
}

/// What is asked for: a schedule of the scenario by its index, or one that it does not have by its name.
struct Wanted {
  std::vector<std::size_t> written;
  std::vector<std::string> added;
};

Wanted wanted_of(const Scenario& scenario, const std::vector<std::string>& asked) {
  Wanted wanted;
  std::set<std::string> names;
  if (asked.empty()) {
    for (std::size_t i = 0; i < scenario.schedules.size(); ++i) {
      wanted.written.push_back(i);
      names.insert(scenario.schedules[i].name);
    }
    for (const ScheduleTraits& traits : schedules())
      if (!names.contains(traits.name) && traits.statistics != Statistics::kReplicasDrift)
        wanted.added.emplace_back(traits.name);
    return wanted;
  }
  std::set<std::size_t> chosen;
  for (const std::string& want : asked) {
    const bool here = std::any_of(scenario.schedules.begin(), scenario.schedules.end(),
                                  [&](const ScheduleSpec& spec) { return spec.label == want || spec.name == want; });
    if (!here && find_schedule(want) != nullptr) {
      if (std::find(wanted.added.begin(), wanted.added.end(), want) == wanted.added.end()) wanted.added.push_back(want);
      continue;
    }
    for (const int i : schedules_named(scenario, "--schedule", {want})) chosen.insert(static_cast<std::size_t>(i));
  }
  wanted.written.assign(chosen.begin(), chosen.end());
  return wanted;
}

std::string free_label(const Scenario& scenario, const std::string& name) {
  const bool taken = std::any_of(scenario.schedules.begin(), scenario.schedules.end(),
                                 [&](const ScheduleSpec& spec) { return spec.label == name; });
  return taken ? name + ", usual form" : name;
}

/// Of two entries that differ in what knobs vary alone, the first stands for both, with the alternatives of the second:
/// where those are. Nothing where there is no such first one.
std::optional<Candidate> merged_into(std::vector<Form>& forms, const Form& form) {
  const auto same = std::find_if(forms.begin(), forms.end(), [&](const Form& each) {
    return each.schedule == form.schedule && each.keys == form.keys;
  });
  if (same == forms.end()) return std::nullopt;
  Candidate candidate{static_cast<std::size_t>(same - forms.begin()), std::vector<std::size_t>(same->knobs.size(), 0)};
  for (const Knob& knob : form.knobs) {
    const Alternative& written = knob.alternatives.front();
    auto own =
        std::find_if(same->knobs.begin(), same->knobs.end(), [&](const Knob& each) { return each.name == knob.name; });
    if (own == same->knobs.end()) own = same->knobs.insert(own, Knob{knob.name, {Alternative{}}, false});
    std::vector<Alternative>& known = own->alternatives;
    const auto at = std::find(known.begin(), known.end(), written);
    candidate.at.resize(same->knobs.size(), 0);
    candidate.at[static_cast<std::size_t>(own - same->knobs.begin())] = static_cast<std::size_t>(at - known.begin());
    if (at == known.end()) known.push_back(written);
  }
  return candidate;
}

Knob knob_of(const Axis& axis) {
  Knob knob{axis.pointer, {}, false};
  for (const std::string& value : axis.values)
    knob.alternatives.push_back(
        {axis.pointer.substr(axis.pointer.rfind('/') + 1) + " " + printable(value), {}, {axis.pointer + "=" + value}});
  return knob;
}

/// A row of the scenario, for one schedule of a form that stands alone.
Knob for_form(const KnobRow& row, std::vector<Alternative> alternatives, const Form& form, const Training& training) {
  Knob knob{row.name, std::move(alternatives), row.coarse};
  for (Alternative& each : knob.alternatives)
    if (const std::optional<ScheduleKey> rounds = rounds_key(form.schedule, form.keys, each, training))
      each.keys.push_back(*rounds);
  return knob;
}

/// The knobs of the scenario that are turned for a schedule when nobody names any.
class UsualKnobs {
 public:
  UsualKnobs(const LoadedScenario& loaded, bool nodes)
      : smaller_(smaller_work(loaded)), training_(loaded.scenario.training) {
    // How many nodes, in how many parts the model is and how large a micro-batch is decide together how often gradients
    // are accumulated. Who has written no "parallel" has a model that is whole on each GPU.
    const bool degrees = writes(*loaded.tree, "/training/parallel");
    const char* const work = degrees ? kDegreesKnob : kMicroBatchKnob;
    for (const KnobRow& row : knob_rows()) {
      const std::string_view name = row.name;
      const bool of_work = name == kNodesKnob || name == kDegreesKnob || name == kMicroBatchKnob;
      if (row.of_scenario == nullptr || (of_work && name != work)) continue;
      rows_.push_back({&row, of_work ? ways_to_work(loaded, {.nodes = nodes, .degrees = degrees, .sizes = true})
                                     : row.of_scenario(loaded)});
    }
  }

  std::vector<Knob> of(const Form& form) const {
    std::vector<Knob> knobs;
    for (const auto& [row, alternatives] : rows_) {
      std::vector<Alternative> all = alternatives;
      const std::string_view name = row->name;
      const bool more =
          (name == kMicroBatchKnob || name == kDegreesKnob) && traits_of(form.schedule).takes("late_communication");
      if (more) all.insert(all.end(), smaller_.begin(), smaller_.end());
      knobs.push_back(for_form(*row, std::move(all), form, training_));
    }
    return knobs;
  }

 private:
  std::vector<Alternative> smaller_;
  Training training_;
  std::vector<std::pair<const KnobRow*, std::vector<Alternative>>> rows_;
};

/// Those that are named, of a form; `index`: of its entry, where it is one of the scenario's.
std::vector<Knob> named_knobs(const LoadedScenario& loaded, const std::vector<Varied>& over, const Form& form,
                              std::optional<std::size_t> index) {
  std::vector<Knob> knobs;
  for (const auto& [axis, row] : over) {
    if (row == nullptr) {
      knobs.push_back(knob_of(axis));
    } else if (index) {
      knobs.push_back(knob_in_settings(loaded, *row, {*index}));
    } else if (row->of_scenario != nullptr) {
      knobs.push_back(for_form(*row, row->of_scenario(loaded), form, loaded.scenario.training));
    } else {
      for (const Knob& own : form.knobs)
        if (own.name == row->name) knobs.push_back(own);
    }
  }
  for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i].coarse = i < 2;  // where a search begins
  return knobs;
}

}  // namespace

Searchable candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                          const std::vector<Varied>& over, bool nodes) {
  const Scenario& scenario = loaded.scenario;
  Searchable searchable;
  searchable.space.published = !scenario.published.empty();
  std::vector<std::vector<ScheduleKey>> all_keys;
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i) all_keys.push_back(written_keys(*loaded.tree, i));
  Wanted wanted = wanted_of(scenario, asked);
  if (asked.empty() && !over.empty()) wanted.added.clear();
  Forms forms(scenario, searchable.left_out);
  std::optional<UsualKnobs> usual;
  if (over.empty()) usual.emplace(loaded, nodes);
  const auto add = [&](std::optional<Form> form, std::optional<std::size_t> index) {
    if (!form) return;
    form->written = index && !over.empty();
    const std::vector<Knob> knobs = over.empty() ? usual->of(*form) : named_knobs(loaded, over, *form, index);
    if (!over.empty()) form->knobs.clear();
    form->knobs.insert(form->knobs.begin(), knobs.begin(), knobs.end());
    searchable.space.forms.push_back(std::move(*form));
  };
  for (const std::size_t i : wanted.written) {
    const ScheduleSpec& spec = scenario.schedules[i];
    std::optional<Form> form = forms.form_of(spec.name, spec.label, all_keys[i]);
    std::vector<Candidate>& as_written = searchable.space.as_written;
    if (form && over.empty()) {
      if (std::optional<Candidate> merged = merged_into(searchable.space.forms, *form)) {
        as_written.push_back(std::move(*merged));
        continue;
      }
      as_written.push_back({searchable.space.forms.size(), {}});
    }
    add(std::move(form), i);
  }
  // What was merged later has added knobs, at whose first alternative these are.
  for (Candidate& each : searchable.space.as_written) each.at.resize(searchable.space.forms[each.form].knobs.size(), 0);
  const std::vector<ScheduleKey> dtypes = shared_dtypes(all_keys);
  for (const std::string& name : wanted.added)
    add(forms.form_of(name, free_label(scenario, name), dtypes), std::nullopt);
  return searchable;
}

}  // namespace accosim
