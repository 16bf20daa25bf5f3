#include "models/read/balanced_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/spec/training.hpp"

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kChosen[] = {"micro_batch_size", kSteps};

bool is_count(const JsonValue& value) {
  return value.kind == JsonKind::kNumber && value.number >= 1 && value.number <= kMaxInteger &&
         value.number == std::floor(value.number);
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
    if (group.has(key))
      group.fail(key,
                 "is what \"balance\": \"speed\" of the training chooses; remove it, or write \"balance\": "
                 "\"none\"");
}

void forget_defaults(JsonValue& tree, const std::function<std::string(const std::string& pointer)>& source) {
  JsonValue* const cluster = tree.find("cluster");
  JsonValue* const nodes = cluster != nullptr ? cluster->find("nodes") : nullptr;
  const JsonValue* const training = tree.find("training");
  const JsonValue* const balance = training != nullptr ? training->find("balance") : nullptr;
  if (nodes == nullptr || balance == nullptr || balance->text != name_of(Balance::kSpeed)) return;
  for (std::size_t i = 0; i < nodes->elements.size(); ++i)
    for (const char* const key : kChosen) {
      const JsonValue* const value = nodes->elements[i].find(key);
      const bool of_file = value != nullptr && value->origin.line > 0;
      if (of_file && source("/cluster/nodes" + pointer_part(i) + pointer_part(key)).rfind("default", 0) == 0)
        nodes->elements[i].erase(key);
    }
}

}  // namespace accosim
