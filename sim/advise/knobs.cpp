#include "sim/advise/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/evaluation/chosen.hpp"

namespace accosim {
namespace {

constexpr const char* kPerRound = "micro_batches_per_round";
constexpr int kEvenSteps = 2;
/// Keys that a knob sets together.
const std::vector<std::string> kGradientKeys{
    "overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "overlap_param_gather", "align_param_gather"};
const std::vector<std::string> kShardKeys{"shard_group", "all_reduce"};

std::string quoted(const char* text) { return quoted_json(text); }

/// Alternatives of one key.
std::vector<Alternative> of_key(const std::string& key, std::initializer_list<std::string> values) {
  std::vector<Alternative> all;
  for (const std::string& value : values) {
    const std::vector<ScheduleKey> keys{{key, value}};
    all.push_back({in_words(keys), keys, {}});
  }
  return all;
}

std::vector<Alternative> of_keys(const std::vector<std::vector<ScheduleKey>>& all) {
  std::vector<Alternative> alternatives;
  for (const std::vector<ScheduleKey>& keys : all) alternatives.push_back({in_words(keys), keys, {}});
  return alternatives;
}

/// How gradients are reduced: after the backward pass, or beside it in buckets of several sizes, and then parameters
/// after the step or beside the forward pass.
std::vector<Alternative> of_gradients(const ScheduleTraits& traits, const Training& training) {
  std::vector<std::vector<ScheduleKey>> all{{{"overlap", quoted(name_of(Overlap::kNone))}}};
  const ScheduleKey beside{"overlap", quoted(name_of(Overlap::kBackward))};
  if (traits.sharding != Sharding::kNothing) all.push_back({beside, {"buckets", quoted(name_of(Buckets::kUnits))}});
  for (const char* const mib : {"25", "100", "400", "1600"}) all.push_back({beside, {"bucket_cap_mb", mib}});
  const std::size_t reduced = all.size();
  const bool own = training.implementation == Implementation::kAccocal;
  if (!own && traits.takes("overlap_param_gather") && lacking_param_gather(training.framework).empty())
    for (std::size_t i = 1; i < reduced; ++i) {
      all.push_back(all[i]);
      all.back().emplace_back("overlap_param_gather", "true");
    }
  return of_keys(all);
}

/// Who shares a copy, and when nodes add up their shards.
std::vector<Alternative> of_shards() {
  const ScheduleKey node{"shard_group", quoted(name_of(ShardGroup::kNode))};
  return of_keys({{{"shard_group", quoted(name_of(ShardGroup::kWorld))}},
                  {node},
                  {node, {"all_reduce", quoted(name_of(Sync::kLastMicroBatch))}}});
}

/// A knob of a schedule's own keys, before what is written there is put first.
struct OwnKnob {
  std::vector<std::string> keys;
  std::vector<Alternative> alternatives;
};

std::vector<OwnKnob> own_knobs(const ScheduleTraits& traits, const Cluster& cluster, const Training& training) {
  std::vector<OwnKnob> knobs;
  const auto add = [&](const char* key, std::initializer_list<std::string> values) {
    if (traits.takes(key)) knobs.push_back({{key}, of_key(key, values)});
  };
  if (traits.local) {  // others change what replicas learn, which no time shows
    add("meeting", {quoted(name_of(Meeting::kRing)), quoted(name_of(Meeting::kHierarchical))});
    return knobs;
  }
  if (traits.takes("overlap")) knobs.push_back({kGradientKeys, of_gradients(traits, training)});
  add("sync", {quoted(name_of(Sync::kLastMicroBatch)), quoted(name_of(Sync::kEveryMicroBatch))});
  add("gradient_as_bucket_view", {"true", "false"});
  add("optimizer_sharding",
      {quoted(name_of(OptimizerSharding::kNone)), quoted(name_of(OptimizerSharding::kZeroRedundancy))});
  int nodes = 0;
  for (const NodeGroup& group : cluster.nodes) nodes += group.count;
  if (nodes > 1 && traits.takes("shard_group")) knobs.push_back({kShardKeys, of_shards()});
  add("reshard_after_forward", {"true", "false"});
  add("reshard_after_backward", {"true", "false"});
  add("prefetch", {"1", "2"});
  add("late_communication",
      {quoted(name_of(LateCommunication::kAccumulate)), quoted(name_of(LateCommunication::kWait))});
  return knobs;
}

/// What an entry of the scenario's schedules writes, without its name and label.
std::vector<ScheduleKey> written_keys(const JsonValue& root, std::size_t index) {
  std::vector<ScheduleKey> keys;
  const std::string pointer = "/schedules" + pointer_part(index);
  const JsonValue* const origins = root.find("origins");
  const JsonValue* const entry = at_pointer(root, pointer);
  for (const JsonMember& member : entry->members) {
    const JsonValue* const origin = origins->find(pointer + pointer_part(member.key));
    if (member.key == "name" || member.key == "label" || origin == nullptr || !is_written(origin->text)) continue;
    keys.emplace_back(member.key, dump_json(member.value));
  }
  return keys;
}

/// Takes the named keys out of `keys`.
std::vector<ScheduleKey> taken(std::vector<ScheduleKey>& keys, const std::vector<std::string>& names) {
  std::vector<ScheduleKey> out;
  std::vector<ScheduleKey> rest;
  for (ScheduleKey& key : keys)
    (std::find(names.begin(), names.end(), key.first) != names.end() ? out : rest).push_back(std::move(key));
  keys = std::move(rest);
  return out;
}

/// Reads forms as the loader would, to know which alternatives are the same and which are refused.
class Forms {
 public:
  Forms(const Scenario& scenario, std::vector<std::string>& left_out)
      : training_(scenario.training), cluster_(scenario.cluster), left_out_(left_out) {
    // An odd number of micro-batches concerns single points, not the form.
    training_.gradient_accumulation_steps *= kEvenSteps;
    for (NodeGroup& group : cluster_->nodes) group.accumulation_steps.clear();
  }

  /// A form with its own knobs; nothing where the form itself is refused.
  std::optional<Form> form_of(const std::string& schedule, const std::string& label, std::vector<ScheduleKey> keys) {
    const ScheduleTraits& traits = *find_schedule(schedule, training_.framework);
    taken(keys, {kPerRound});  // it follows from the accumulation, which varies
    Form form{schedule, label, false, {}, {}};
    std::vector<std::pair<OwnKnob, std::vector<ScheduleKey>>> knobs;
    for (OwnKnob& knob : own_knobs(traits, *cluster_, training_)) {
      std::vector<ScheduleKey> written = taken(keys, knob.keys);
      knobs.emplace_back(std::move(knob), std::move(written));
    }
    form.keys = std::move(keys);
    std::vector<ScheduleKey> as_written = form.keys;
    for (const auto& [knob, written] : knobs) as_written.insert(as_written.end(), written.begin(), written.end());
    const std::optional<ScheduleSpec> spec = read(form, as_written, label);
    if (!spec) return std::nullopt;
    if (is_sharded_inside(*spec)) return form;  // has no choice of how replicas meet
    for (const auto& [knob, written] : knobs) add_knob(form, knob, written);
    return form;
  }

 private:
  void add_knob(Form& form, const OwnKnob& own, const std::vector<ScheduleKey>& written) {
    Knob knob{own.keys.front(), {{in_words(written), written, {}}}, false};
    std::vector<ScheduleSpec> known{*read(form, joined_keys(form, written), form.label)};
    for (const Alternative& each : own.alternatives) {
      const std::optional<ScheduleSpec> spec =
          read(form, joined_keys(form, each.keys), form.label + " with " + each.text);
      if (!spec || std::find(known.begin(), known.end(), *spec) != known.end()) continue;
      known.push_back(*spec);
      knob.alternatives.push_back(each);
    }
    if (knob.alternatives.size() > 1 || !written.empty()) form.knobs.push_back(std::move(knob));
  }

  static std::vector<ScheduleKey> joined_keys(const Form& form, const std::vector<ScheduleKey>& more) {
    std::vector<ScheduleKey> keys = form.keys;
    for (const Knob& knob : form.knobs)
      for (const ScheduleKey& key : knob.alternatives.front().keys) keys.push_back(key);
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  }

  std::optional<ScheduleSpec> read(const Form& form, const std::vector<ScheduleKey>& keys, const std::string& what) {
    std::string text = "{\"name\": " + quoted_json(form.schedule) + ", \"label\": " + quoted_json(form.label);
    for (const auto& [key, value] : keys) text += ", " + quoted_json(key) + ": " + value;
    JsonDocument document = parse_json(text + "}", "");
    Diagnostics diagnostics;
    ScheduleSpec spec = read_schedule(document.root, "", training_, cluster_, diagnostics);
    if (diagnostics.errors.empty()) return spec;
    left_out_.push_back(what + ": " + diagnostics.errors.front());
    return std::nullopt;
  }

  Training training_;
  std::optional<Cluster> cluster_;
  std::vector<std::string>& left_out_;
};

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

Knob recompute_knob(const Scenario& scenario) {
  const Training& training = scenario.training;
  const bool own = training.implementation == Implementation::kAccocal || family_of(scenario.model).measured;
  const RecomputedBlocks every{};
  const auto text = [](Recompute what) { return std::string("activation_recompute ") + name_of(what); };
  const bool none = training.activation_recompute == Recompute::kNone;
  std::string now = none ? "" : text(training.activation_recompute);
  if (training.recomputed_blocks.every != 1)
    now += fmt::format(" of every {}th block", training.recomputed_blocks.every);
  if (training.recomputed_blocks.fraction != 1)
    now += fmt::format(" of {:.3g} of the blocks", training.recomputed_blocks.fraction);
  Knob knob{"activation_recompute", {{now, {}, {}}}, true};
  if (own) return knob;
  const Recompute whole = training.framework == Framework::kPytorch ? Recompute::kFullEarlyStop : Recompute::kFull;
  for (const auto& [what, blocks] : {std::pair(Recompute::kNone, 1), std::pair(Recompute::kSelective, 1),
                                     std::pair(whole, 2), std::pair(whole, 1)}) {
    if (what == training.activation_recompute && training.recomputed_blocks == RecomputedBlocks{blocks, 1}) continue;
    Alternative each{text(what), {}, {std::string("/training/activation_recompute=") + name_of(what)}};
    if (blocks != 1) each.text += " of every 2nd block";
    if (blocks != training.recomputed_blocks.every)
      each.set.push_back(fmt::format("/training/recompute_every={}", blocks));
    if (training.recomputed_blocks.fraction != every.fraction) each.set.emplace_back("/training/recompute_fraction=1");
    knob.alternatives.push_back(std::move(each));
  }
  return knob;
}

/// A schedule of two rounds is told their size where the accumulation is odd.
void tell_rounds(Form& form, Knob& work) {
  const ScheduleTraits& traits = traits_of(form.schedule);
  if (!traits.takes(kPerRound)) return;
  constexpr std::string_view kSteps = "/training/gradient_accumulation_steps=";
  for (Alternative& each : work.alternatives)
    for (const std::string& set : each.set) {
      const std::optional<int> steps =
          set.rfind(kSteps, 0) == 0 ? whole_number(std::string_view(set).substr(kSteps.size())) : std::nullopt;
      if (steps && *steps % traits.rounds != 0)
        each.keys.emplace_back(kPerRound, std::to_string(*steps / traits.rounds + 1));
    }
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

std::vector<Knob> knobs_over(const std::vector<Axis>& over) {
  std::vector<Knob> knobs;
  for (const Axis& axis : over) {
    Knob knob{axis.pointer, {}, knobs.size() < 2};
    for (const std::string& value : axis.values)
      knob.alternatives.push_back({axis.pointer.substr(axis.pointer.rfind('/') + 1) + " " + printable(value),
                                   {},
                                   {axis.pointer + "=" + value}});
    knobs.push_back(std::move(knob));
  }
  return knobs;
}

}  // namespace

bool is_written(const std::string& origin) { return origin.rfind("default", 0) != 0; }

Searchable candidates_for(const LoadedScenario& loaded, const std::vector<std::string>& asked,
                          const std::vector<Axis>& over) {
  const Scenario& scenario = loaded.scenario;
  Searchable searchable;
  searchable.space.published = !scenario.published.empty();
  const JsonDocument resolved = parse_json(loaded.resolved(), "");
  std::vector<std::vector<ScheduleKey>> all_keys;
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i) all_keys.push_back(written_keys(resolved.root, i));
  Wanted wanted = wanted_of(scenario, asked);
  if (asked.empty() && !over.empty()) wanted.added.clear();
  Forms forms(scenario, searchable.left_out);
  const auto add = [&](std::optional<Form> form, bool written) {
    if (!form) return;
    if (!over.empty()) {
      form->written = written;
      form->knobs = knobs_over(over);
    } else {
      Knob work = work_knob(loaded);
      if (traits_of(form->schedule).delayed) add_smaller_work(work, loaded);
      tell_rounds(*form, work);
      form->knobs.insert(form->knobs.begin(), {work, recompute_knob(scenario)});
    }
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
    add(std::move(form), true);
  }
  // What was merged later has added knobs, at whose first alternative these are.
  for (Candidate& each : searchable.space.as_written) each.at.resize(searchable.space.forms[each.form].knobs.size(), 0);
  const std::vector<ScheduleKey> dtypes = shared_dtypes(all_keys);
  for (const std::string& name : wanted.added) add(forms.form_of(name, free_label(scenario, name), dtypes), false);
  return searchable;
}

}  // namespace accosim
