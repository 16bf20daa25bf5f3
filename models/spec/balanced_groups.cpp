#include "models/spec/balanced_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kChosen[] = {"micro_batch_size", kSteps};

bool is_count(const JsonValue& value) {
  return value.kind == JsonKind::kNumber && value.number >= 1 && value.number <= kMaxInteger &&
         value.number == std::floor(value.number);
}

bool has_source(const JsonValue& value, const std::string& source) {
  const bool list = value.kind == JsonKind::kArray && !value.elements.empty();
  return text_of(list ? value.elements.front().origin : value.origin) == source;
}

}  // namespace

std::vector<int> read_accumulation_steps(ObjectReader& group, int gpus) {
  const JsonValue* const value = group.find(kSteps);
  const auto count = static_cast<std::size_t>(gpus);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kArray) {
    const int steps = group.integer(kSteps, 1, kMaxInteger);
    return group.good(kSteps) ? std::vector<int>(count, steps) : std::vector<int>();
  }
  std::vector<int> steps;
  for (const JsonValue& each : value->elements)
    if (is_count(each)) steps.push_back(static_cast<int>(each.number));
  if (value->elements.size() == count && steps.size() == count) return steps;
  group.fail(kSteps, fmt::format("is a list that does not hold a whole number from 1 on for each of the {} GPUs; list "
                                 "{} of them, or write one number for all",
                                 gpus, gpus));
  return {};
}

void refuse_what_balance_chooses(ObjectReader& group, const Training& training) {
  if (training.balance != Balance::kSpeed) return;
  for (const char* const key : kChosen)
    if (const JsonValue* const value = group.find(key); value != nullptr && !has_source(*value, kBalanceSource))
      group.fail(key,
                 "is what \"balance\": \"speed\" of the training chooses; remove it, or write \"balance\": "
                 "\"none\"");
}

void forget_choice(JsonValue& tree, const std::function<std::string(const std::string& pointer)>& source) {
  JsonValue* const cluster = tree.find("cluster");
  JsonValue* const nodes = cluster != nullptr ? cluster->find("nodes") : nullptr;
  const JsonValue* const training = tree.find("training");
  const JsonValue* const balance = training != nullptr ? training->find("balance") : nullptr;
  if (nodes == nullptr || balance == nullptr || balance->text != name_of(Balance::kSpeed)) return;
  for (std::size_t i = 0; i < nodes->elements.size(); ++i)
    for (const char* const key : kChosen) {
      const std::string pointer = "/cluster/nodes" + pointer_part(i) + pointer_part(key);
      JsonValue* const value = nodes->elements[i].find(key);
      const bool of_file = value != nullptr && value->origin.line > 0;
      if (of_file && (source(pointer) == kBalanceSource || source(pointer + "/0") == kBalanceSource))
        *value = json_number(1, origin_named(kBalanceSource));
    }
}

std::vector<Setting> choice_of(const Cluster& balanced) {
  const JsonOrigin origin = origin_named(kBalanceSource);
  std::vector<Setting> settings;
  for (std::size_t g = 0; g < balanced.nodes.size(); ++g) {
    const NodeGroup& group = balanced.nodes[g];
    const std::vector<int>& steps = group.accumulation_steps;
    const std::string at = fmt::format("/cluster/nodes/{}/", listed_index(balanced, static_cast<int>(g)));
    settings.push_back({at + kChosen[0], json_number(group.micro_batch_size, origin)});
    if (steps.empty()) continue;
    const bool equal = std::all_of(steps.begin(), steps.end(), [&](int each) { return each == steps.front(); });
    JsonValue value = equal ? JsonValue(steps.front()) : JsonValue(steps);
    give_origin(value, origin);
    settings.push_back({at + kSteps, std::move(value)});
  }
  return settings;
}

}  // namespace accosim
