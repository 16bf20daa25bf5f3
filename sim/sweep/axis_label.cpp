// What an axis is called in words and pictures, where the user gives it no label.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

using Keys = std::vector<std::string>;

bool is_index(const std::string& key) { return key.find_first_not_of("0123456789") == std::string::npos; }

std::string text_at(const JsonValue* value, const char* key) {
  const JsonValue* const text = value == nullptr ? nullptr : value->find(key);
  return text != nullptr && text->kind == JsonKind::kText ? text->text : std::string();
}

/// "A100" of a group of A100-SXM4-80GB; of unlike GPUs nothing.
std::string family_of(const JsonValue& group) {
  const JsonValue* device = group.find("device");
  std::string family;
  if (device == nullptr) return family;
  const std::vector<JsonValue> one = {*device};
  for (const JsonValue& each : device->kind == JsonKind::kArray ? device->elements : one) {
    const std::string name = each.kind == JsonKind::kText ? each.text : text_at(&each, "name");
    const std::string own = name.substr(0, name.find('-'));
    if (!family.empty() && own != family) return {};
    family = own;
  }
  return family;
}

/// What tells a node group from the others: its GPUs, else its name; nothing where there is one group, or all are
/// meant.
std::string group_called(const JsonValue* nodes, const std::string& key) {
  const JsonValue* const group = nodes == nullptr ? nullptr : child_of(*nodes, key);
  if (group == nullptr || nodes->elements.size() < 2) return {};
  const std::string family = family_of(*group);
  const auto same = [&](const JsonValue& other) { return family_of(other) == family; };
  return std::ranges::count_if(nodes->elements, same) == 1 && !family.empty() ? family : text_at(group, "name");
}

/// The last key that is a word, with blanks.
std::string words_of(const Keys& keys) {
  const auto word = std::find_if(keys.rbegin(), keys.rend(), [](const std::string& key) { return !is_index(key); });
  std::string words = word == keys.rend() ? std::string() : *word;
  std::ranges::replace(words, '_', ' ');
  return words;
}

/// Of what stands in a node group; {} is for "V100 " or nothing.
std::string label_in_group(const Keys& keys, const std::string& who) {
  static const std::map<std::string, const char*> kLabels = {{"count", "{}nodes"},
                                                             {"gpus", "GPUs of a {}node"},
                                                             {"device", "device of the {}nodes"},
                                                             {"nics/count", "adapters of a {}node"},
                                                             {"intra/bandwidth", "link inside a {}node"},
                                                             {"price_per_gpu_hour", "price of a {}GPU-hour"}};
  std::string path;
  for (const std::string& key : keys) path += (path.empty() ? "" : "/") + key;
  const std::string name = who.empty() ? "" : who + " ";
  if (const auto known = kLabels.find(path); known != kLabels.end())
    return fmt::format(fmt::runtime(known->second), name);
  const std::string what = path == "nics/bandwidth" ? "adapter" : words_of(keys);
  return what + (who.empty() ? "" : " of " + name + "nodes");
}

std::string label_of(const Axis& axis, const JsonValue& scenario) {
  static const std::map<std::string, const char*> kLabels = {
      {"/training/gradient_accumulation_steps", "micro-batches an update"},
      {"/training/global_batch_size", "samples an update"},
      {"/training/micro_batch_size", "samples of a micro-batch"},
      {"/training/parallel/tensor_parallel_size", "tensor ranks"},
      {"/training/parallel/pipeline_parallel_size", "stages"},
      {"/training/parallel/virtual_pipeline_stages", "virtual pipeline stages"},
      {"/training/sequence_length", "tokens of a sequence"},
      {"/cluster/fabric/latency", "latency of the fabric"},
      {"/cluster/fabric/between_groups/bandwidth", "bandwidth between groups"},
      {"/cluster/fabric/between_groups/latency", "latency between groups"}};
  if (const auto known = kLabels.find(axis.pointer); known != kLabels.end()) return known->second;
  const std::optional<Keys> keys = pointer_keys(axis.pointer);
  if (!axis.set.empty() || !keys || keys->empty()) return {};
  if (keys->size() > 3 && keys->at(0) == "cluster" && keys->at(1) == "nodes") {
    const std::string who = group_called(at_pointer(scenario, "/cluster/nodes"), keys->at(2));
    return label_in_group({keys->begin() + 3, keys->end()}, who);
  }
  if (keys->size() == 3 && keys->at(0) == "schedules") {
    const JsonValue* const schedule = at_pointer(scenario, "/schedules" + pointer_part(keys->at(1)));
    const std::string label = text_at(schedule, "label"), name = label.empty() ? text_at(schedule, "name") : label;
    return words_of(*keys) + (name.empty() ? "" : " of " + name);
  }
  if (keys->size() > 2 && is_index(keys->at(keys->size() - 2))) return {};  // of one of several: the keys say which
  return words_of(*keys);
}

}  // namespace

void add_labels(std::vector<Axis>& axes, const JsonValue& scenario) {
  std::vector<std::string> labels;
  for (const Axis& axis : axes) labels.push_back(axis.label.empty() ? label_of(axis, scenario) : axis.label);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::ranges::count(labels, labels[i]) == 1) axes[i].label = labels[i];
}

std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
  std::vector<std::string> names = short_names(axes);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].label.empty()) names[i] = axes[i].label;
  return names;
}

}  // namespace accosim
