#include "models/read/balanced_groups.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "models/spec/training.hpp"

namespace accosim {
namespace {

constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kSize = "micro_batch_size";

/// The keys of a node group that a balance chooses.
std::vector<const char*> chosen_by(Balance balance) {
  switch (balance) {
    case Balance::kSpeed: return {kSize, kSteps};
    case Balance::kCounts: return {kSteps};
    case Balance::kNone: break;
  }
  return {};
}

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
  for (const char* const key : chosen_by(training.balance))
    if (group.has(key))
      group.fail(key, fmt::format("is what \"balance\": \"{}\" of the training chooses; remove it, or write "
                                  "\"balance\": \"none\"",
                                  name_of(training.balance)));
}

void forget_defaults(JsonValue& tree, const std::function<std::string(const std::string& pointer)>& source) {
  JsonValue* const cluster = tree.find("cluster");
  JsonValue* const nodes = cluster != nullptr ? cluster->find("nodes") : nullptr;
  const JsonValue* const training = tree.find("training");
  const JsonValue* const balance = training != nullptr ? training->find("balance") : nullptr;
  if (nodes == nullptr || balance == nullptr) return;
  const std::vector<const char*> chosen = chosen_by(value_named<Balance>(balance->text).value_or(Balance::kNone));
  for (std::size_t i = 0; i < nodes->elements.size(); ++i)
    for (const char* const key : chosen) {
      const JsonValue* const value = nodes->elements[i].find(key);
      const bool of_file = value != nullptr && value->origin.line > 0;
      if (of_file && source("/cluster/nodes" + pointer_part(i) + pointer_part(key)).rfind("default", 0) == 0)
        nodes->elements[i].erase(key);
    }
}

}  // namespace accosim
