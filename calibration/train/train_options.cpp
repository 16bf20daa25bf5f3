// Words to options, each mistake with the words that would do.
#include "calibration/train/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "models/base/quantity.hpp"

namespace accocal {
namespace {

template <typename Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

template <typename Value>
Value choose(std::string_view option, std::string_view word, const Words<Value>& words) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    known += known.empty() ? "" : ", ";
    known += name;
  }
  throw BadInput(fmt::format("{} {}: not known; write one of {}", option, word, known));
}

Words<Algorithm> algorithm_words() {
  Words<Algorithm> words;
  for (const AlgorithmTraits& row : algorithms()) words.emplace_back(row.name, row.algorithm);
  return words;
}

// The whole text as a number.
template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "at-least", "at-least:3", "fixed:2".
void set_accumulate(TrainingOptions& options, const TrainArguments& arguments) {
  const std::string_view text = arguments.accumulate;
  const std::size_t colon = text.find(':');
  options.accumulate = choose<Accumulate>("--accumulate", text.substr(0, colon),
                                          {{"at-least", Accumulate::kAtLeast}, {"fixed", Accumulate::kFixed}});
  if (colon != std::string_view::npos) {
    if (!parse(text.substr(colon + 1), options.micro_batches_per_round))
      throw BadInput(
          fmt::format("--accumulate {}: write {}:1, the micro-batches of a round", text, text.substr(0, colon)));
    return;
  }
  options.micro_batches_per_round = arguments.micro_batches;
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  if (arguments.micro_batches % traits.rounds != 0 && arguments.micro_batches < std::numeric_limits<int>::max()) {
    throw BadInput(
        fmt::format("--micro-batches {}: {}'s update is made of two rounds, so they are even; write {}, or "
                    "--accumulate {}:M with the micro-batches of one round",
                    arguments.micro_batches, traits.title, arguments.micro_batches + 1, text));
  }
  options.micro_batches_per_round /= traits.rounds;
}

/// "16:1,32:2.5,64:1".
std::map<int, double> lengths_of(std::string_view text) {
  std::map<int, double> lengths;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view bar = text.substr(at, end - at);
    const std::size_t colon = bar.find(':');
    int tokens = 0;
    double weight = 0;
    const bool read = colon != std::string_view::npos && parse(bar.substr(0, colon), tokens) &&
                      parse(bar.substr(colon + 1), weight) && tokens >= 1 && weight > 0 && std::isfinite(weight);
    if (!read || (end < text.size() && end + 1 == text.size()) || !lengths.emplace(tokens, weight).second)
      throw BadInput(
          fmt::format("--lengths {}: write each length once and how often, such as --lengths 16:1,64:3", text));
    at = end + 1;
  }
  return lengths;
}

void add_slow(TrainingOptions& options, std::string_view text) {
  const std::size_t equals = text.find('=');
  int rank = 0;
  double factor = 0;
  if (equals == std::string_view::npos || !parse(text.substr(0, equals), rank) ||
      !parse(text.substr(equals + 1), factor))
    throw BadInput(fmt::format("--slow {}: write RANK=FACTOR, such as --slow 1=4", text));
  if (!options.slow.emplace(rank, factor).second) throw BadInput(fmt::format("--slow names rank {} twice", rank));
}

}  // namespace

TrainArguments::TrainArguments() {
  options.gpt.shape.vocabulary = 0;  // the text's
  options.optimizer.learning_rate = 0.004;
  options.optimizer.warmup = 0.05;
}

TrainingOptions training_options(const TrainArguments& arguments, int ranks) {
  TrainingOptions options = arguments.options;
  options.algorithm = choose<Algorithm>("--algorithm", arguments.algorithm, algorithm_words());
  if (!arguments.compute_time.empty()) {
    const ParsedQuantity time = parse_quantity(arguments.compute_time, Dimension::kTime);
    if (!time.error.empty()) throw BadInput(fmt::format("--compute-time {}: {}", arguments.compute_time, time.error));
    options.timed = true;
    options.compute_time = Seconds{time.value};
  }
  options.gpt.lengths = lengths_of(arguments.lengths);
  options.storage = choose<ElementType>("--storage", arguments.storage,
                                        {{"fp32", ElementType::kFloat32}, {"bf16", ElementType::kBf16}});
  for (const std::string& slow : arguments.slow) add_slow(options, slow);
  set_accumulate(options, arguments);
  options.estimate_state = choose<EstimateState>(
      "--estimate-state", arguments.estimate_state,
      {{"rollback", EstimateState::kRollback}, {"keep", EstimateState::kKeep}, {"released", EstimateState::kReleased}});
  options.keep_initial_gradient =
      choose<bool>("--initial-gradient", arguments.initial_gradient, {{"kept", true}, {"dropped", false}});
  options.local_estimate = choose<bool>("--estimate", arguments.estimate, {{"gathered", false}, {"local", true}});
  options.payload =
      choose<Payload>("--payload", arguments.payload, {{"fp32", Payload::kFloat32}, {"e3m0", Payload::kE3m0}});
  set_usual(options);
  options.inner_updates = arguments.inner_updates.value_or(options.inner_updates);
  options.outer_learning_rate = arguments.outer_learning_rate.value_or(options.outer_learning_rate);
  options.outer_momentum = arguments.outer_momentum.value_or(options.outer_momentum);
  options.mixing = arguments.mixing.value_or(options.mixing);
  options.optimizer.kind = choose<OptimizerKind>("--optimizer", arguments.optimizer,
                                                 {{"adamw", OptimizerKind::kAdamW}, {"sgd", OptimizerKind::kSgd}});
  options.optimizer.cosine = choose<bool>("--schedule", arguments.schedule, {{"cosine", true}, {"constant", false}});
  check_options(options, ranks);
  return options;
}

}  // namespace accocal
