// Reads what makes steps unlike each other: "sequence_lengths", "compute_jitter", "stragglers" and "pauses" of a
// training, and the seed of what is drawn.
#include "models/read/read_unsteady.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/text.hpp"
#include "models/read/parts.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostBars = 100'000;
constexpr std::size_t kMostListed = 100;
constexpr Range kWeight{0, 1e18};
constexpr Range kFactorSlower{1, 1000};
constexpr Seconds kShortestSpell{1e-3};

/// [[tokens, weight], ...], in any order.
std::vector<SequenceLengths::Bar> read_histogram(ObjectReader& reader) {
  std::vector<SequenceLengths::Bar> bars;
  double sum = 0;
  for (JsonValue* each : reader.list("histogram", 1, kMostBars)) {
    const std::vector<JsonValue>& pair = each->elements;
    const bool good = pair.size() == 2 && pair[0].kind == JsonKind::kNumber && pair[1].kind == JsonKind::kNumber;
    const double tokens = good ? pair[0].number : 0, weight = good ? pair[1].number : 0;
    if (tokens < 1 || tokens > kMaxInteger || tokens != std::floor(tokens) || !kWeight.holds(weight)) {
      reader.fail("histogram", "has a bar that is no length with its weight; write [[128, 0.25], [512, 0.75]]");
      return {};
    }
    bars.push_back({static_cast<int>(tokens), weight});
    sum += weight;
  }
  if (!bars.empty() && sum <= 0) reader.fail("histogram", "has no weight above 0; write how many are of each length");
  std::ranges::sort(bars, [](const auto& a, const auto& b) { return a.tokens < b.tokens; });
  const auto twice =
      std::adjacent_find(bars.begin(), bars.end(), [](const auto& a, const auto& b) { return a.tokens == b.tokens; });
  if (twice != bars.end())
    reader.fail("histogram", fmt::format("has two bars of {} tokens; add their weights", twice->tokens));
  return bars;
}

SequenceLengths read_lengths(ObjectReader& reader) {
  SequenceLengths lengths;
  // A file has become a histogram, unless it could not be read, which has been told.
  const bool file = reader.has("file"), histogram = reader.has("histogram"), lognormal = reader.has("lognormal");
  if (file + histogram + lognormal > 1)
    reader.fail(lognormal ? "lognormal" : "histogram",
                "is not all that says how long sequences are; keep one of "
                "\"histogram\", \"lognormal\" and \"file\"");
  if (file + histogram + lognormal == 0 && reader.value().kind == JsonKind::kObject)
    reader.diagnostics().add(
        reader.value().origin, reader.pointer(),
        "does not say how long sequences are; write \"lognormal\": {\"mean\": 200, \"cv\": 0.6}, a "
        "\"histogram\", or a \"file\" with one length a line");
  if (file && reader.find("file")->kind != JsonKind::kText)
    reader.fail("file", "is no path; write that of a text with one length a line");
  if (histogram) lengths.histogram = read_histogram(reader);
  read_part(reader, "lognormal", [&](ObjectReader& own) {
    lengths.mean = own.number("mean", Range{1, kMaxInteger});
    lengths.cv = own.number("cv", Range{0, 10});
  });
  lengths.padding = reader.choice("padding", Padding::kLongest);
  lengths.multiple = reader.integer("pad_to_multiple_of", 1, kMaxInteger, 1);
  if (lengths.padding != Padding::kLongest && lengths.multiple > 1)
    reader.fail("pad_to_multiple_of", fmt::format("changes nothing with padding {}; leave it out or pad to the longest",
                                                  name_of(lengths.padding)));
  lengths.separate = reader.boolean("separate", false);
  if (lengths.separate && lengths.padding != Padding::kPacked)
    reader.fail("separate", fmt::format("is of packed sequences, and padding is {}; write \"padding\": \"packed\"",
                                        name_of(lengths.padding)));
  return lengths;
}

ComputeJitter read_jitter(ObjectReader& reader) {
  ComputeJitter jitter{.micro_batch = reader.number("micro_batch", Range{0, 10}, 0),
                       .gpu = reader.number("gpu", Range{0, 10}, 0),
                       .distribution = reader.choice("distribution", Distribution::kLognormal)};
  // Beyond these a normal and an exponential one would give times below zero, or a mean that is not 1.
  const double most = jitter.distribution == Distribution::kNormal ? 0.25 : 1;
  if (jitter.distribution != Distribution::kLognormal && jitter.micro_batch > most && reader.good("micro_batch"))
    reader.fail("micro_batch",
                fmt::format("is {:g}, and of the distribution {} at most {:g} leaves times above 0; write "
                            "less, or the distribution lognormal",
                            jitter.micro_batch, name_of(jitter.distribution), most));
  return jitter;
}

Stragglers read_stragglers(ObjectReader& reader) {
  Stragglers stragglers;
  for (const auto& [key, time] : {std::pair("every", &stragglers.every), std::pair("duration", &stragglers.duration)}) {
    *time = reader.seconds(key);
    if (reader.good(key) && *time < kShortestSpell && reader.value().kind == JsonKind::kObject)
      reader.fail(key, "is below 1 ms, which is jitter; write how long, such as \"5 min\", or a compute_jitter");
  }
  stragglers.factor = reader.number("factor", kFactorSlower);
  return stragglers;
}

std::vector<int> read_ranks(ObjectReader& reader) {
  std::vector<int> ranks;
  JsonValue* value = reader.find("ranks");
  if (value == nullptr || (value->kind == JsonKind::kText && value->text == "all")) {
    reader.text("ranks", "all");
    return ranks;
  }
  const std::vector<double> listed = value->kind == JsonKind::kArray
                                         ? reader.numbers("ranks", Range{0, kMaxInteger}, 1'000'000)
                                         : std::vector<double>();
  for (const double each : listed)
    if (each == std::floor(each)) ranks.push_back(static_cast<int>(each));
  std::ranges::sort(ranks);
  const bool twice = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
  if (reader.good("ranks") && (ranks.empty() || twice || ranks.size() != listed.size()))
    reader.fail("ranks",
                "names no ranks, or one twice, or no whole number; write \"all\", or each rank once: [0] or [0, 8]");
  return ranks;
}

/// Which of the keys are there; says when it is not exactly one.
void want_one(ObjectReader& reader, const std::vector<const char*>& keys, const char* what) {
  const std::vector<const char*> given = matching(keys, [&](const char* key) { return reader.has(key); });
  if (given.size() > 1) reader.fail(given[1], fmt::format("says again {}; {} does already", what, in_quotes(given[0])));
  if (given.empty() && reader.value().kind == JsonKind::kObject)
    reader.diagnostics().add(reader.value().origin, reader.pointer(),
                             fmt::format("does not say {}; write \"{}\"", what, fmt::join(keys, "\", or \"")));
}

Pause read_pause(ObjectReader& reader) {
  constexpr Range kCounts{1, 1e12};
  Pause pause{.name = reader.text("name", "pause"), .ranks = read_ranks(reader)};
  want_one(reader, {"every_updates", "every_gradients", "every"}, "when it comes");
  want_one(reader, {"duration", "sequences", "bytes"}, "how long it lasts");
  if (reader.has("every_updates")) pause.every_updates = reader.number("every_updates", kCounts);
  if (reader.has("every_gradients")) pause.every_gradients = reader.number("every_gradients", kCounts);
  if (reader.has("sequences")) pause.sequences = reader.number("sequences", kCounts);
  if (reader.has("every")) pause.every = reader.seconds("every");
  if (reader.has("duration")) pause.duration = reader.seconds("duration");
  if (reader.has("bytes")) {
    pause.bytes = reader.bytes("bytes");
    pause.bandwidth = reader.bandwidth("bandwidth");
    if (reader.good("bandwidth") && !(pause.bandwidth > BytesPerSecond{0}))
      reader.fail("bandwidth", "is not above 0; write what a rank writes, such as \"2 GB/s\"");
  } else if (reader.has("bandwidth")) {
    reader.fail("bandwidth", "is of what is written; write \"bytes\" too");
  }
  if (reader.has("every") && reader.good("every") && !(pause.every > Seconds{0}))
    reader.fail("every", "is not above 0; write how often, such as \"10 min\"");
  return pause;
}

/// What a measured model lacks to be run at these lengths; empty: nothing.
std::string lacking_lengths(const Model& model, const Training& training) {
  const SequenceLengths& lengths = training.unsteady.lengths;
  if (!family_of(model).measured || lengths.full() || lengths.padding != Padding::kLongest) return "";
  const char* const measure = "(\"shorter_micro_batches\", which accocal measure --lengths 16,32 makes)";
  if (model.shorter_micro_batches.empty())
    return fmt::format("needs the measured model's time at other lengths {}; measure it, or leave sequence_lengths out",
                       measure);
  const double shortest = model.shorter_micro_batches.begin()->first / training.micro_batch_size;
  if (lengths.histogram.empty() || lengths.histogram.front().tokens < shortest)
    return fmt::format(
        "has lengths below {:g} tokens, the shortest at which the model was measured {}; measure shorter "
        "ones, or write a histogram from there on",
        shortest, measure);
  return "";
}

}  // namespace

void check_unsteady(const Training& checked, const Model& model, int ranks, ObjectReader& top) {
  const Unsteady& unsteady = checked.unsteady;
  const JsonValue* const training = top.find("training");
  if (training == nullptr) return;
  const std::string at = top.pointer("training"), lacking = lacking_lengths(model, checked);
  if (const JsonValue* lengths = training->find("sequence_lengths"); lengths != nullptr && !lacking.empty())
    top.diagnostics().add(lengths->origin, at + "/sequence_lengths", lacking);
  for (std::size_t i = 0; i < unsteady.pauses.size(); ++i) {
    const std::vector<int>& paused = unsteady.pauses[i].ranks;
    if (paused.empty() || paused.back() < ranks) continue;
    const JsonValue* const pause = &training->find("pauses")->elements[i];
    top.diagnostics().add(pause->origin, at + "/pauses" + pointer_part(i) + "/ranks",
                          fmt::format("names rank {}; the ranks are 0 to {}", paused.back(), ranks - 1));
  }
}

Unsteady read_unsteady(ObjectReader& training, int sequence_length) {
  Unsteady unsteady;
  read_part(training, "sequence_lengths", [&](ObjectReader& lengths) { unsteady.lengths = read_lengths(lengths); });
  if (unsteady.lengths.multiple > sequence_length && training.good("sequence_length"))
    training.fail("sequence_lengths", fmt::format("pads to a multiple of {}, and sequence_length is {}; write less",
                                                  unsteady.lengths.multiple, sequence_length));
  read_part(training, "compute_jitter", [&](ObjectReader& jitter) { unsteady.jitter = read_jitter(jitter); });
  read_objects(training, "stragglers", 0, kMostListed,
               [&](ObjectReader& each) { unsteady.stragglers.push_back(read_stragglers(each)); });
  read_objects(training, "pauses", 0, kMostListed,
               [&](ObjectReader& each) { unsteady.pauses.push_back(read_pause(each)); });
  if (unsteady.drawn())
    unsteady.seed = static_cast<std::uint64_t>(training.integer("seed", 0, kMaxInteger, 0));
  else if (training.has("seed") && training.good())
    training.fail("seed", "changes nothing: no sequence_lengths, compute_jitter or stragglers are drawn; leave it out");
  return unsteady;
}

}  // namespace accosim
