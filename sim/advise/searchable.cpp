// Which candidates there are for a scenario.

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// Keys of how numbers are stored that nobody wrote, where they would be other types than `like` has.
std::vector<ScheduleKey> dtypes_like(const ScheduleSpec& like, const ScheduleSpec& own,
                                     const std::vector<ScheduleKey>& written) {
  constexpr std::pair<const char*, Dtype ScheduleSpec::*> kDtypes[] = {
      {"parameter_dtype", &ScheduleSpec::parameter_dtype},
      {"gradient_dtype", &ScheduleSpec::gradient_dtype},
      {"optimizer_dtype", &ScheduleSpec::optimizer_dtype}};
  std::vector<ScheduleKey> keys;
  for (const auto& [key, dtype] : kDtypes) {
    const bool is_written =
        std::ranges::any_of(written, [name = key](const ScheduleKey& each) { return each.first == name; });
    const bool follows = !keys.empty() && dtype == &ScheduleSpec::gradient_dtype;  // the parameters, by default
    if (!is_written && (follows || own.*dtype != like.*dtype))
      keys.emplace_back(key, quoted_json(name_of(like.*dtype)));
  }
  return keys;
}

/// A schedule that the scenario does not list.
ScheduleSpec usual_spec(const Scenario& scenario, const std::string& name) {
  JsonValue entry = json_object({{"name", name}});
  Diagnostics of_the_form;  // whoever makes one tells them
  return read_schedule(entry, "", scenario.training, scenario.cluster, of_the_form);
}

/// What is asked for: a schedule of the scenario by its index, or one that it does not have by its name.
struct Wanted {
  std::vector<std::size_t> written;
  std::vector<std::string> added;
};

Wanted wanted_of(const Scenario& scenario, const std::vector<std::string>& asked) {
  Wanted wanted;
  const auto is_listed = [&](const std::string& text, std::string ScheduleSpec::*what) {
    return std::ranges::find(scenario.schedules, text, what) != scenario.schedules.end();
  };
  if (asked.empty()) {
    for (std::size_t i = 0; i < scenario.schedules.size(); ++i) wanted.written.push_back(i);
    for (const ScheduleTraits& traits : schedules())
      if (!is_listed(traits.name, &ScheduleSpec::name) && traits.statistics != Statistics::kReplicasDrift)
        wanted.added.emplace_back(traits.name);
    return wanted;
  }
  std::set<std::size_t> chosen;
  for (const std::string& want : asked) {
    const bool here = is_listed(want, &ScheduleSpec::label) || is_listed(want, &ScheduleSpec::name);
    if (!here && find_schedule(want) != nullptr) {
      if (std::ranges::find(wanted.added, want) == wanted.added.end()) wanted.added.push_back(want);
      continue;
    }
    for (const int i : schedules_named(scenario, "--schedule", {want})) chosen.insert(static_cast<std::size_t>(i));
  }
  wanted.written.assign(chosen.begin(), chosen.end());
  return wanted;
}

/// Whose types all others are compared in: the first delayed or local one, since the best synchronous one of a
/// comparison has them too (sim/study/tuned.hpp); of the scenario's own before others.
ScheduleSpec challenger_of(const Scenario& scenario, const Wanted& wanted) {
  std::vector<ScheduleSpec> specs;
  for (const std::size_t i : wanted.written) specs.push_back(scenario.schedules[i]);
  if (specs.empty())
    for (const std::string& name : wanted.added) specs.push_back(usual_spec(scenario, name));
  const auto challenger = std::ranges::find_if_not(specs, is_synchronous);
  return challenger == specs.end() ? specs.front() : *challenger;
}

bool is_varied(const std::vector<Axis>& over, const std::vector<std::string>& places) {
  return std::ranges::find_first_of(over, places, {}, &Axis::pointer) != over.end();
}

/// What leaves the form alone in the scenario, as others need not go with what it is tried with. `index`: of its entry,
/// where it is written; it is not alone where the entries themselves are varied.
std::vector<std::string> alone(const Scenario& scenario, const Form& form, std::optional<std::size_t> index,
                               const std::vector<Axis>& over) {
  std::vector<std::string> set;
  if (form.written && is_varied(over, {"/schedules"})) return set;
  if (form.written) {
    for (std::size_t i = scenario.schedules.size(); i-- > 0;)
      if (i != index) set.push_back("/schedules" + pointer_part(i) + "=null");
    if (set.empty()) return set;
  }
  set.push_back("/baseline=" + quoted_json(form.label));
  if (!scenario.published.empty()) set.emplace_back("/published={}");
  return set;
}

std::string free_label(const Scenario& scenario, const std::string& name) {
  const bool taken =
      std::ranges::any_of(scenario.schedules, [&](const ScheduleSpec& spec) { return spec.label == name; });
  return taken ? name + ", usual form" : name;
}

/// Of two entries that differ in what knobs vary alone, the first stands for both, with the alternatives of the second:
/// where those are. Nothing where there is no such first one.
std::optional<Candidate> merged_into(std::vector<Form>& forms, const Form& form) {
  const auto same = std::ranges::find_if(
      forms, [&](const Form& each) { return each.schedule == form.schedule && each.keys == form.keys; });
  if (same == forms.end()) return std::nullopt;
  Candidate candidate{static_cast<std::size_t>(same - forms.begin()), std::vector<std::size_t>(same->knobs.size(), 0)};
  for (const Knob& knob : form.knobs) {
    const Alternative& written = knob.alternatives.front();
    auto own = std::ranges::find(same->knobs, knob.name, &Knob::name);
    if (own == same->knobs.end()) own = same->knobs.insert(own, Knob{knob.name, {Alternative{}}, false});
    std::vector<Alternative>& known = own->alternatives;
    const auto at = std::ranges::find(known, written);
    candidate.at.resize(same->knobs.size(), 0);
    candidate.at[own - same->knobs.begin()] = static_cast<std::size_t>(at - known.begin());
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
  UsualKnobs(const LoadedScenario& loaded, bool nodes, bool fits, std::optional<LaunchForm> typed_in)
      : smaller_(smaller_work(loaded)), training_(loaded.scenario.training) {
    // How many nodes, in how many parts the model is and how large a micro-batch is decide together how often gradients
    // are accumulated. Whom nobody asked to split the model gets it split in no more ways than are cheap to try: all
    // where it fits in no other, and else around the best, where the network may be what it waits for.
    const bool written = writes(*loaded.tree, "/training/parallel");
    const bool split = !written && (!fits || node_count(loaded.scenario.cluster) > 1);
    const char* const work = written || split ? kDegreesKnob : kMicroBatchKnob;
    const auto ways = [&](bool degrees, bool sizes) {
      return ways_to_work(loaded, {.nodes = nodes, .degrees = degrees, .sizes = sizes, .interleaved = written});
    };
    for (const KnobRow& row : knob_rows()) {
      const std::string_view name = row.name;
      const bool of_work = name == kNodesKnob || name == kDegreesKnob || name == kMicroBatchKnob;
      if (row.of_scenario == nullptr || (of_work && name != work)) continue;
      rows_.push_back({&row, of_work ? ways(written || !fits, true) : row.of_scenario(loaded)});
      if (!of_work || !split || !fits) continue;
      std::vector<Alternative>& whole = rows_.back().second;
      for (Alternative& each : ways(true, false))
        if (std::ranges::find(whole, each) == whole.end()) parts_.push_back(std::move(each));
    }
    const auto cannot = [&](const Alternative& each) {
      return typed_in && !std::ranges::all_of(each.set, [&](const auto& set) { return can_say(*typed_in, set); });
    };
    std::erase_if(parts_, cannot);
    for (auto& [row, alternatives] : rows_) std::erase_if(alternatives, cannot);
  }

  std::vector<Knob> of(const Form& form) const {
    std::vector<Knob> knobs;
    for (const auto& [row, alternatives] : rows_) {
      std::vector<Alternative> all = alternatives;
      const std::string_view name = row->name;
      const bool more =
          (name == kMicroBatchKnob || name == kDegreesKnob) && traits_of(form.schedule).takes("late_communication");
      if (more) all.insert(all.end(), smaller_.begin(), smaller_.end());
      const std::size_t whole = all.size();
      const bool split = name == kDegreesKnob && !parts_.empty();
      if (split) all.insert(all.end(), parts_.begin(), parts_.end());
      knobs.push_back(for_form(*row, std::move(all), form, training_));
      if (split) knobs.back().later = whole;
    }
    return knobs;
  }

 private:
  std::vector<Alternative> smaller_, parts_;  // fewer micro-batches; ways with the model split, which are tried later
  Training training_;
  std::vector<std::pair<const KnobRow*, std::vector<Alternative>>> rows_;
};

/// A schedule's usual keys with those that it is typed with; as they are where it cannot be.
std::vector<ScheduleKey> typed_keys(LaunchForm typed_in, const Scenario& scenario, const std::string& name,
                                    const std::vector<ScheduleKey>& keys) {
  JsonValue entry = json_object({{"name", name}});
  for (const auto& [key, value] : keys) entry.set(key, parse_json(value, "").root);
  const JsonValue near = nearest_entry(typed_in, scenario.training, scenario.cluster, entry);
  if (near.find("name")->text != name || traits_of(name).delayed) return keys;
  std::vector<ScheduleKey> all;
  for (const JsonMember& member : near.members)
    if (member.key != "name") all.emplace_back(member.key, dump_json(member.value));
  return all;
}

/// Those that are named, of a form; `index`: of its entry, where it is one of the scenario's.
std::vector<Knob> named_knobs(const LoadedScenario& loaded, const std::vector<Axis>& over, const Form& form,
                              std::optional<std::size_t> index) {
  std::vector<Knob> knobs;
  for (const Axis& axis : over) {
    if (!is_knob_name(axis.pointer)) {
      knobs.push_back(knob_of(axis));
      continue;
    }
    const KnobRow& row = knob_named(axis.pointer);
    if (index)
      knobs.push_back(knob_in_settings(loaded, row, {*index}));
    else if (row.of_scenario != nullptr)
      knobs.push_back(for_form(row, row.of_scenario(loaded), form, loaded.scenario.training));
    else
      std::ranges::copy_if(form.knobs, std::back_inserter(knobs),
                           [&](const Knob& own) { return own.name == row.name; });
  }
  for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i].coarse = i < 2;  // where a search begins
  return knobs;
}

}  // namespace

CandidateSpace candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                              const std::vector<Axis>& over, bool nodes, bool fits, std::optional<LaunchForm> typed_in,
                              const ScheduleSpec* like) {
  const Scenario& scenario = loaded.scenario;
  CandidateSpace space;
  Wanted wanted = wanted_of(scenario, asked);
  if (asked.empty() && !over.empty()) wanted.added.clear();
  Forms forms(scenario, space.left_out, typed_in);
  const ScheduleSpec challenger = like != nullptr ? *like : challenger_of(scenario, wanted);
  const bool own_types = is_varied(over, {"/training", "/training/precision", "/training/framework"});
  const auto types_of = [&](const ScheduleSpec& own, const std::vector<ScheduleKey>& written) {
    return own_types ? std::vector<ScheduleKey>() : dtypes_like(challenger, own, written);
  };
  std::optional<UsualKnobs> usual;
  if (over.empty()) usual.emplace(loaded, nodes, fits, typed_in);
  const auto add = [&](Form form, std::optional<std::size_t> index) {
    form.last = alone(scenario, form, index, over);
    if (usual) {
      const std::vector<Knob> knobs = usual->of(form);
      form.knobs.insert(form.knobs.begin(), knobs.begin(), knobs.end());
    } else {
      form.knobs = named_knobs(loaded, over, form, index);
    }
    space.forms.push_back(std::move(form));
  };
  for (const std::size_t i : wanted.written) {
    const ScheduleSpec& spec = scenario.schedules[i];
    std::vector<ScheduleKey> keys = written_keys(*loaded.tree, i);
    const std::vector<ScheduleKey> types = types_of(spec, keys);
    if (usual) keys.insert(keys.end(), types.begin(), types.end());
    std::optional<Form> form = forms.form_of(spec.name, spec.label, std::move(keys));
    if (!form) continue;
    if (usual) {
      const std::optional<Candidate> merged = merged_into(space.forms, *form);
      space.as_written.push_back(merged.value_or(Candidate{space.forms.size()}));
      if (merged) continue;
    } else {
      form->written = true;
      for (const auto& [key, value] : types)
        form->first.push_back("/schedules" + pointer_part(i) + pointer_part(key) + "=" + value);
    }
    add(std::move(*form), i);
  }
  // What was merged later has added knobs, at whose first alternative these are.
  for (Candidate& each : space.as_written) each.at.resize(space.forms[each.form].knobs.size(), 0);
  for (const std::string& name : wanted.added) {
    std::vector<ScheduleKey> keys = types_of(usual_spec(scenario, name), {});
    if (typed_in) keys = typed_keys(*typed_in, scenario, name, keys);
    if (std::optional<Form> form = forms.form_of(name, free_label(scenario, name), std::move(keys)))
      add(std::move(*form), std::nullopt);
  }
  return space;
}

}  // namespace accosim
