#include "models/recorded/convergence_file.hpp"

#include <cmath>

#include "models/fit/document.hpp"

namespace accosim {
namespace {

constexpr Range kCount{1, 1e15};
constexpr Range kRatio{1e-6, 1e6};
constexpr std::size_t kMostAlgorithms = 1000;

/// Absent and null both say that there is no number.
std::optional<double> number(ObjectReader& reader, const char* key, Range range) {
  const JsonValue* member = reader.find(key);
  if (member == nullptr || (member->kind == JsonKind::kNull && !member->refused)) return std::nullopt;
  return reader.number(key, range);
}

MeasuredConvergence::Algorithm read_algorithm(ObjectReader& reader) {
  MeasuredConvergence::Algorithm one;
  one.name = reader.text("name");
  one.samples = number(reader, "samples_ratio", kRatio);
  one.low = number(reader, "low", kRatio);
  one.high = number(reader, "high", kRatio);
  const std::optional<double> at_least = number(reader, "samples_ratio_at_least", kRatio);
  one.at_least = at_least.value_or(0);
  const bool whole = one.samples.has_value() == one.low.has_value() && one.low.has_value() == one.high.has_value();
  if (reader.good() && !whole)
    reader.fail("samples_ratio", "and its interval go together; write \"samples_ratio\", \"low\" and \"high\"");
  else if (reader.good() && one.samples && !(*one.low <= *one.samples && *one.samples <= *one.high))
    reader.fail("samples_ratio", "is not between \"low\" and \"high\"; measure again");
  if (reader.good() && !one.samples && !at_least)
    reader.fail("samples_ratio_at_least",
                "missing: the loss was not reached; write how many times DDP's samples were not enough");
  if (reader.has("options"))
    read_object(reader, "options", [&](ObjectReader& options) {
      one.inner_updates = options.integer("inner_updates", 0, kMaxInteger, 0);
      for (const auto& [key, member] : {std::pair("outer_every", &one.outer_every), std::pair("delay", &one.delay),
                                        std::pair("fragments", &one.fragments)})
        if (options.has(key)) *member = options.integer(key, 0, kMaxInteger);
      if (options.has("mixing")) one.mixing = options.number("mixing", Range{0, 1});
      options.drop_unknown();
    });
  reader.drop_unknown();  // curves, losses and more for people
  return one;
}

void read_range(ObjectReader& range, MeasuredConvergence& out) {
  out.updates = range.number("updates", kCount);
  out.samples = range.number("samples", kCount);
  out.least_batch = range.number("batch_samples_low", kCount);
  out.most_batch = range.number("batch_samples_high", kCount);
  if (range.good() && out.most_batch < out.least_batch)
    range.fail("batch_samples_high", "is below \"batch_samples_low\"; exchange the two");
  out.tokens_per_sample = range.number("tokens_per_sample", kCount, 1);
  out.inner_updates = range.integer("inner_updates", 0, kMaxInteger, 0);
  pass_over(range, {"ranks", "learning_rate", "learning_rate_warmup", "weight_decay", "seeds", "confidence",
                    "early_share", "late_share", "equivalence"});
}

void read_size(ObjectReader& top, MeasuredConvergence& out) {
  read_object(top, "model", [&](ObjectReader& model) {
    out.model = model.text("name");
    out.parameters = model.number("parameters", kCount);
    pass_over(model, {"layers", "width", "heads", "context", "vocabulary", "data"});
  });
  read_object(top, "range", [&](ObjectReader& range) { read_range(range, out); });
  out.critical_batch = number(top, "critical_batch_samples", Range{0, 1e15, true}).value_or(0);
  read_objects(top, "algorithms", 1, kMostAlgorithms,
               [&](ObjectReader& algorithm) { out.algorithms.push_back(read_algorithm(algorithm)); });
  pass_over(top, {"batch_samples", "diverged", "critical_batch_samples_low", "critical_batch_samples_high", "batches",
                  "network", "tuning"});
}

}  // namespace

MeasuredConvergence read_convergence(const std::string& text, const std::string& name) {
  constexpr std::size_t kMostSizes = 100;
  MeasuredConvergence out;
  read_document(text, name, {"accosim.convergence/1", "accocal converge"}, [&](ObjectReader& top) {
    read_size(top, out);
    if (top.has("sizes"))
      read_objects(top, "sizes", 0, kMostSizes, [&](ObjectReader& size) { read_size(size, out.sizes.emplace_back()); });
    pass_over(top, {"machine", "compiler", "commit", "date"});
  });
  return out;
}

const MeasuredConvergence& nearest_size(const MeasuredConvergence& measured, double parameters) {
  const auto away = [&](const MeasuredConvergence& size) { return std::abs(std::log(size.parameters / parameters)); };
  const MeasuredConvergence* nearest = &measured;
  for (const MeasuredConvergence& size : measured.sizes)
    if (away(size) < away(*nearest)) nearest = &size;
  return *nearest;
}

}  // namespace accosim
