// A knob as settings that anybody can repeat with --set: for schedules that stay in their scenario.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/knobs/form.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// Settings of a schedule's keys in the entry `index`; those that are written there and of `cleared` go.
std::vector<std::string> in_entry(std::size_t index, const std::vector<ScheduleKey>& keys,
                                  const std::vector<ScheduleKey>& written, const std::vector<std::string>& cleared) {
  std::vector<std::string> set;
  const auto pointer = [&](const std::string& key) { return fmt::format("/schedules/{}/{}", index, key); };
  const auto is_set = [&](const std::string& key) {
    return std::ranges::any_of(keys, [&](const ScheduleKey& each) { return each.first == key; });
  };
  for (const ScheduleKey& each : written)
    if (std::ranges::find(cleared, each.first) != cleared.end() && !is_set(each.first))
      set.push_back(pointer(each.first) + "=null");
  for (const auto& [key, value] : keys) set.push_back(pointer(key) + "=" + value);
  return set;
}

struct Entry {
  std::size_t index = 0;
  std::string schedule;
  std::vector<ScheduleKey> written;
};

/// What the scenario's alternatives ask of the schedules' own keys too.
Knob of_the_scenario(const LoadedScenario& loaded, const KnobRow& row, const std::vector<Entry>& entries) {
  Knob knob{row.name, row.of_scenario(loaded), row.coarse};
  for (std::size_t a = 1; a < knob.alternatives.size(); ++a) {
    Alternative& each = knob.alternatives[a];
    for (const Entry& entry : entries) {
      std::vector<ScheduleKey> keys = each.keys;
      if (const auto rounds = rounds_key(entry.schedule, entry.written, each, loaded.scenario.training)) {
        keys.push_back(*rounds);
        const std::string said = ", " + in_words({*rounds});
        if (each.text.find(said) == std::string::npos) each.text += said;
      }
      for (std::string& set : in_entry(entry.index, keys, entry.written, {kMicroBatchesPerRound}))
        each.set.push_back(std::move(set));
    }
    each.keys.clear();
  }
  return knob;
}

/// Alternatives by their texts, each in all entries that have it.
Knob of_the_schedules(const LoadedScenario& loaded, const KnobRow& row, const std::vector<Entry>& entries) {
  Knob knob{row.name, {{}}, row.coarse};
  std::vector<std::string> left_out;
  Forms forms(loaded.scenario, left_out);
  for (const Entry& entry : entries) {
    const std::optional<Form> form =
        forms.form_of(entry.schedule, loaded.scenario.schedules[entry.index].label, entry.written);
    if (!form) continue;
    for (const Knob& own : form->knobs)
      for (std::size_t a = 1; own.name == row.name && a < own.alternatives.size(); ++a) {
        const Alternative& each = own.alternatives[a];
        auto known = std::ranges::find(knob.alternatives, each.text, &Alternative::text);
        if (known == knob.alternatives.end()) known = knob.alternatives.insert(known, {each.text, {}, {}});
        for (std::string& set : in_entry(entry.index, each.keys, entry.written, row.keys))
          known->set.push_back(std::move(set));
      }
  }
  return knob;
}

}  // namespace

Knob knob_in_settings(const LoadedScenario& loaded, const KnobRow& row, const std::vector<std::size_t>& indices) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i)
    if (row.of_scenario != nullptr || std::ranges::find(indices, i) != indices.end())
      entries.push_back({i, loaded.scenario.schedules[i].name, written_keys(*loaded.tree, i)});
  return row.of_scenario != nullptr ? of_the_scenario(loaded, row, entries) : of_the_schedules(loaded, row, entries);
}

}  // namespace accosim
