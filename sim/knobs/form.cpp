#include "sim/knobs/form.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/base/text.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

constexpr int kEvenSteps = 2;

/// Takes the named keys out of `keys`.
std::vector<ScheduleKey> taken(std::vector<ScheduleKey>& keys, const std::vector<std::string>& names) {
  std::vector<ScheduleKey> out;
  std::vector<ScheduleKey> rest;
  for (ScheduleKey& key : keys)
    (std::ranges::find(names, key.first) != names.end() ? out : rest).push_back(std::move(key));
  keys = std::move(rest);
  return out;
}

std::vector<ScheduleKey> joined_keys(const Form& form, const std::vector<ScheduleKey>& more) {
  std::vector<ScheduleKey> keys = form.keys;
  for (const Knob& knob : form.knobs)
    for (const ScheduleKey& key : knob.alternatives.front().keys) keys.push_back(key);
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

}  // namespace

Forms::Forms(const Scenario& scenario, std::vector<std::string>& left_out, std::optional<LaunchForm> typed_in)
    : training_(scenario.training), cluster_(scenario.cluster), left_out_(left_out), typed_in_(typed_in) {
  // An odd number of micro-batches concerns single points, not the form.
  training_.gradient_accumulation_steps *= kEvenSteps;
  for (NodeGroup& group : cluster_->nodes) group.accumulation_steps.clear();
}

std::optional<Form> Forms::form_of(const std::string& schedule, const std::string& label,
                                   std::vector<ScheduleKey> keys) {
  const ScheduleGround ground{*find_schedule(schedule, training_.framework), *cluster_, training_};
  taken(keys, {kMicroBatchesPerRound});
  Form form{schedule, label};
  std::vector<std::pair<const KnobRow*, std::vector<ScheduleKey>>> knobs;  // with what is written of each
  for (const KnobRow& row : knob_rows())
    if (row.is_for(ground)) knobs.emplace_back(&row, taken(keys, row.keys));
  form.keys = std::move(keys);
  std::vector<ScheduleKey> as_written = form.keys;
  for (const auto& [row, written] : knobs) as_written.insert(as_written.end(), written.begin(), written.end());
  const std::optional<ScheduleSpec> spec = read(form, as_written, label);
  if (!spec) return std::nullopt;
  if (is_sharded_inside(*spec)) {  // has no choice of how replicas meet
    form.keys = std::move(as_written);
    return form;
  }
  for (const auto& [row, written] : knobs) add_knob(form, row->name, row->of_schedule(ground), written);
  return form;
}

void Forms::add_knob(Form& form, const std::string& name, const std::vector<Alternative>& alternatives,
                     const std::vector<ScheduleKey>& written) {
  Knob knob{name, {{in_words(written), written, {}}}, false};
  std::vector<ScheduleSpec> known{*read(form, joined_keys(form, written), form.label)};
  for (const Alternative& each : alternatives) {
    const std::optional<ScheduleSpec> spec =
        read(form, joined_keys(form, each.keys), form.label + " with " + each.text);
    if (!spec || std::ranges::find(known, *spec) != known.end()) continue;
    known.push_back(*spec);
    knob.alternatives.push_back(each);
  }
  if (knob.alternatives.size() > 1 || !written.empty()) form.knobs.push_back(std::move(knob));
}

std::optional<ScheduleSpec> Forms::read(const Form& form, const std::vector<ScheduleKey>& keys,
                                        const std::string& what) {
  std::string text = "{\"name\": " + quoted_json(form.schedule) + ", \"label\": " + quoted_json(form.label);
  for (const auto& [key, value] : keys) text += ", " + quoted_json(key) + ": " + value;
  JsonDocument document = parse_json(text + "}", "");
  Diagnostics diagnostics;
  ScheduleSpec spec = read_schedule(document.root, "", training_, cluster_, diagnostics);
  const bool good = diagnostics.errors.empty();
  const std::string lacking = good && typed_in_ ? not_typed(*typed_in_, training_, cluster_, document.root) : "";
  if (good && lacking.empty()) return spec;
  if (good && what != form.label) return std::nullopt;  // a choice that nobody asked for
  left_out_.push_back(what + ": " + (good ? lacking : diagnostics.errors.front()));
  return std::nullopt;
}

std::vector<ScheduleKey> written_keys(const ScenarioTree& tree, std::size_t index) {
  std::vector<ScheduleKey> keys;
  const std::string pointer = "/schedules" + pointer_part(index);
  for (const JsonMember& member : at_pointer(tree.root, pointer)->members)
    if (member.key != "name" && member.key != "label" && writes(tree, pointer + pointer_part(member.key)))
      keys.emplace_back(member.key, dump_json(member.value));
  return keys;
}

std::optional<ScheduleKey> rounds_key(const std::string& schedule, const std::vector<ScheduleKey>& written,
                                      const Alternative& alternative, const Training& training) {
  const ScheduleTraits& traits = traits_of(schedule);
  std::string balance = quoted_json(name_of(training.balance));
  for (const std::vector<ScheduleKey>* const keys : {&written, &alternative.keys})
    for (const auto& [key, value] : *keys)
      if (key == "balance") balance = value;
  if (!traits.takes(kMicroBatchesPerRound) || balance != quoted_json(name_of(Balance::kNone))) return std::nullopt;
  constexpr std::string_view kSteps = "/training/gradient_accumulation_steps=";
  int steps = training.gradient_accumulation_steps;
  for (const std::string& set : alternative.set)
    if (set.rfind(kSteps, 0) == 0) steps = whole_number(std::string_view(set).substr(kSteps.size())).value_or(steps);
  if (steps % traits.rounds == 0) return std::nullopt;
  return ScheduleKey{kMicroBatchesPerRound, std::to_string(steps / traits.rounds + 1)};
}

}  // namespace accosim
