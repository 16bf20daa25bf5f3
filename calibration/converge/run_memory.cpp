// Counted in floating point from the sizes alone: they may be anything that was written.
#include "calibration/converge/run_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace accocal {
namespace {

constexpr double kFloat = 4;
constexpr double kMostVocabulary = 256;  // tokens are bytes

/// As parameter_count() of calibration/train/gpt.hpp.
double parameters_of(const TrainingOptions& options) {
  if (options.timed) return static_cast<double>(options.parameters);
  const GptShape& shape = options.gpt.shape;
  const double d = shape.width, vocabulary = std::max(kMostVocabulary, static_cast<double>(options.random_vocabulary));
  return d * (vocabulary + shape.context) + shape.layers * (12 * d * d + 13 * d) + 2 * d;
}

/// The matrices of Gpt::State; those of the backward pass where it is `both` ways.
Bytes activations_of(const GptShape& shape, double sequences, bool both) {
  const double d = shape.width, tokens = sequences * shape.context;
  const double attention = shape.heads * tokens * shape.context;
  const double layer = 20 * d * tokens + attention;
  const double once = (both ? 13 : 3) * d * tokens + kMostVocabulary * tokens + (both ? attention : 0);
  return Bytes{kFloat * (shape.layers * layer + once)};
}

std::string shown(Bytes bytes) {
  constexpr std::array kUnits = {"MB", "GB", "TB", "PB", "EB"};
  double value = 1e-6 * bytes.value;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

/// Throws BadInput where they are not free here.
void require(Bytes needed, const std::string& what, const std::string& smaller) {
  const Bytes there = available_memory();
  if (needed > there)
    throw BadInput(fmt::format("{} would take about {} of memory, and {} are free here; write {}", what, shown(needed),
                               shown(there), smaller));
}

std::string smaller_sizes(const TrainingOptions& options) {
  return options.timed ? "fewer --parameters or --ranks"
                       : "a smaller --width, --layers, --context or --sequences, or fewer --ranks";
}

/// The first number of a file; infinite where there is none.
double number_in(const std::string& path) {
  double number = 0;
  return std::ifstream(path) >> number ? number : std::numeric_limits<double>::infinity();
}

}  // namespace

RankMemory rank_memory(const TrainingOptions& options, int ranks) {
  const double parameters = parameters_of(options);
  const AlgorithmTraits& traits = traits_of(options.algorithm);
  const bool bf16 = options.storage == ElementType::kBf16;
  const double shard = traits.sharded ? parameters / ranks : parameters;
  const double stored = bf16 ? 2 : kFloat;
  const double state = kFloat * (options.optimizer.kind == OptimizerKind::kAdamW ? 3 : 1);
  const bool tried = traits.looks_ahead && !options.local_estimate;  // a copy of the states is kept aside
  double bytes = 3 * stored * parameters + (tried ? 2 : 1) * state * shard;
  if (options.local_estimate) bytes += stored * parameters;
  if (bf16) bytes += 2 * kFloat * parameters + kFloat * shard;
  bytes += traits.copies * kFloat * parameters;
  if (options.algorithm == Algorithm::kPipeSgd) bytes += options.delay * stored * parameters;
  // Fragments on the network.
  if (traits.takes("--fragments"))
    bytes += std::ceil(1.0 * options.delay * options.fragments / options.inner_updates) * kFloat * parameters /
             options.fragments;
  // Initial values are made in double precision.
  const double initial = options.timed ? kFloat + stored : 8 + kFloat + stored;
  RankMemory memory{.parameters = Bytes{std::max(bytes, initial * parameters)}};
  if (options.timed) return memory;
  memory.activations = activations_of(options.gpt.shape, options.gpt.sequences, true);
  memory.evaluation = activations_of(options.gpt.shape, kEvaluated, false);
  return memory;
}

Bytes available_memory() {
  double bytes = std::numeric_limits<double>::infinity();
  std::ifstream machine("/proc/meminfo");
  for (std::string line; std::getline(machine, line);)
    if (line.rfind("MemAvailable:", 0) == 0) bytes = 1024 * std::stod(line.substr(line.find(':') + 1));
  std::ifstream groups("/proc/self/cgroup");  // "0::/path", or of the older kind "4:memory:/path"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    if (line.rfind("0::", 0) == 0)
      bytes = std::min(bytes, number_in("/sys/fs/cgroup" + line.substr(path) + "/memory.max"));
    if (line.find(":memory:") != std::string::npos)
      bytes = std::min(bytes, number_in("/sys/fs/cgroup/memory" + line.substr(path) + "/memory.limit_in_bytes"));
  }
  return Bytes{bytes};
}

void check_memory(const TrainingOptions& options, int ranks) {
  // On a device the host has the initial values alone; what the device has is told where it is allocated.
  if (!options.device.empty())
    return require(Bytes{ranks * kFloat * parameters_of(options)}, "the initial values of this run",
                   "a smaller --width or --layers");
  const RankMemory rank = rank_memory(options, ranks);
  const Bytes needed = static_cast<double>(ranks) * (rank.parameters + rank.activations) + rank.evaluation;
  require(needed, ranks == 1 ? "this run" : fmt::format("this run of {} ranks", ranks), smaller_sizes(options));
}

void check_measure_memory(const TrainingOptions& options, int ranks, Bytes largest) {
  TrainingOptions alone = options;  // a micro-batch needs no optimizer
  alone.optimizer.kind = OptimizerKind::kSgd;
  const RankMemory rank = rank_memory(alone, ranks);
  const Bytes needed = static_cast<double>(ranks) * std::max(rank.parameters + rank.activations, largest);
  require(needed, fmt::format("these measurements on {} ranks", ranks),
          rank.parameters + rank.activations > largest ? smaller_sizes(options) : "smaller --bytes or fewer --ranks");
}

void check_memory(const ConvergenceOptions& options) {
  TrainingOptions training;
  training.gpt = options.gpt;
  RankMemory rank;  // of the algorithm that keeps the most
  for (const AlgorithmTraits& row : algorithms()) {
    training.algorithm = row.algorithm;
    const RankMemory one = rank_memory(training, options.ranks);
    if (one.parameters > rank.parameters) rank = one;
  }
  const double most = 10.0 * options.seeds;  // runs, or some more
  const double jobs = std::min(
      most, options.jobs > 0 ? options.jobs : static_cast<double>(std::max(1U, std::thread::hardware_concurrency())));
  const Bytes needed =
      jobs * (static_cast<double>(options.ranks) * (rank.parameters + rank.activations + rank.evaluation));
  require(needed, fmt::format("{:.0f} runs at a time of {} ranks", jobs, options.ranks),
          "a smaller --width, --layers, --context or --sequences, or fewer --jobs or --ranks");
}

}  // namespace accocal
