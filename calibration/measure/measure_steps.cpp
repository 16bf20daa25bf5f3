// The step itself, as it runs in training: what the sum of the kernels is held against.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "calibration/base/random.hpp"
#include "calibration/device/device_gpt.hpp"
#include "calibration/device/device_training.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/measure/measure_items.hpp"
#include "calibration/measure/measure_rank.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/ranks/local_transport.hpp"

namespace accocal {
namespace {

using Values = std::vector<double>;

/// What a rank alone keeps on the device: bf16 parameters and gradients, fp32 master copy and moments.
class Training {
 public:
  explicit Training(const ModelShape& model)
      : count_(parameter_count(model)),
        parameters_(count_ * sizeof(Bf16)),
        gradient_(count_ * sizeof(Bf16)),
        master_(count_ * sizeof(float)),
        m_(count_ * sizeof(float)),
        v_(count_ * sizeof(float)),
        total_(sizeof(std::int64_t)),
        loss_(sizeof(float)) {
    // As a start of training is, but for one deviation of all weights.
    for (const ParameterBlock& block : parameter_blocks(model)) {
      Bf16* at = parameters() + block.offset;
      if (block.deviation > 0) {
        fill_random(at, block.size(), 0.02F, block.offset + 1, stream_);
      } else {
        const std::vector<Bf16> constants(block.size(), to_bf16(static_cast<float>(block.constant)));
        stream_.copy_to_device(at, constants.data(), constants.size() * sizeof(Bf16));
        stream_.synchronise();
      }
    }
    fill_random(gradient(), count_, 1e-3F, 2, stream_);
    cast(master_.as<float>(), static_cast<const Bf16*>(parameters()), count_, stream_);
    stream_.set_zero(m_.data(), m_.size());
    stream_.set_zero(v_.data(), v_.size());
    stream_.set_zero(loss_.data(), loss_.size());
    const std::int64_t total = 1;
    stream_.copy_to_device(total_.data(), &total, sizeof(total));
    stream_.synchronise();
  }

  std::size_t count() const { return count_; }
  Bf16* parameters() const { return parameters_.as<Bf16>(); }
  Bf16* gradient() const { return gradient_.as<Bf16>(); }
  float* loss() const { return loss_.as<float>(); }
  Stream& stream() { return stream_; }
  void clear_gradient() { stream_.set_zero(gradient_.data(), gradient_.size()); }
  void optimizer() {
    adamw(master_.as<float>(), m_.as<float>(), v_.as<float>(), parameters(), static_cast<const Bf16*>(gradient()),
          total_.as<std::int64_t>(), {.learning_rate = 1e-5F}, count_, stream_);
  }

 private:
  std::size_t count_;
  Stream stream_;
  DeviceMemory parameters_, gradient_, master_, m_, v_, total_, loss_;
};

/// Random tokens, a few micro-batches of them.
std::vector<std::vector<std::int32_t>> texts_for(const StepCase& one) {
  constexpr std::uint64_t kTexts = 8;
  std::vector<std::vector<std::int32_t>> texts(kTexts);
  const auto size = static_cast<std::size_t>(one.sequences) * static_cast<std::size_t>(one.model.context + 1);
  for (std::uint64_t i = 0; i < kTexts; ++i) {
    texts[i].resize(size);
    draw_tokens(mixed({13, i}), one.model.vocabulary, texts[i]);
  }
  return texts;
}

struct StepTimes {
  Values rested, loaded;
};

/// After a rest, then under lasting load; `warm` of its own. Nothing where there is no time.
template <typename Once>
std::optional<StepTimes> step_times(Stream& stream, Lab lab, Seconds most, bool again, bool rest, Once&& once) {
  constexpr int kMostRuns = 200;
  const Efforts& efforts = lab.efforts;
  Events& events = lab.bench.events();
  once();  // loads and chooses kernels
  stream.synchronise();
  const double each = std::max(timed(2, stream, events, once).back(), 1e-7);
  const auto runs = [&](Seconds time, int least) {
    return static_cast<int>(std::clamp<double>(time.value / each, least, 100000));
  };
  const Seconds load = again ? 0.5 * efforts.load : efforts.load;
  const Seconds counted = again ? 0.5 * efforts.step : efforts.step;
  const int loading = runs(load, 1), counting = std::min(runs(counted, 5), kMostRuns);
  const bool rests = rest && !again;
  const double rested_for = rests ? (efforts.rest + efforts.rested).value : 0;
  if ((loading + counting) * each + rested_for > most.value) return std::nullopt;
  StepTimes times;
  if (rests) {
    std::this_thread::sleep_for(std::chrono::duration<double>(efforts.rest.value));
    times.rested = timed(std::min(runs(efforts.rested, 2), 20), stream, events, once);
  }
  for (int i = 0; i < loading; ++i) once();
  times.loaded = timed(counting, stream, events, once);
  return times;
}

Entries keys_of_step(const StepCase& one, const std::string& part) {
  const ModelShape& m = one.model;
  return {{"what", "step"},
          {"model", m.name},
          {"layers", m.layers},
          {"width", m.width},
          {"heads", m.heads},
          {"context", m.context},
          {"vocabulary", m.vocabulary},
          {"parameters", static_cast<std::int64_t>(parameter_count(m))},
          {"sequences", one.sequences},
          {"storage", "bf16"},
          {"part", part}};
}

Entries memory_keys(std::int64_t before, std::int64_t activations) {
  return {{"memory_bytes", device_memory_used() - before}, {"activation_bytes", activations}};
}

/// Bytes of the device in use before a step, which may have what the operands took.
std::int64_t memory_before(Lab lab) {
  lab.bench.release();
  synchronise_device();
  return device_memory_used();
}

std::optional<ItemTimes> measure_micro_batch(const StepCase& one, Lab lab, Seconds most, bool again,
                                             std::vector<Entries>& rested) {
  const std::int64_t before = memory_before(lab);
  Training training(one.model);
  DeviceGpt<Bf16> gpt(one.model, one.sequences);
  const std::vector<std::vector<std::int32_t>> texts = texts_for(one);
  std::size_t next = 0;
  training.clear_gradient();
  const auto once = [&] {
    gpt.accumulate(training.parameters(), texts[next], training.gradient(), training.loss(), training.stream());
    next = (next + 1) % texts.size();
  };
  const std::optional<StepTimes> times = step_times(training.stream(), lab, most, again, true, once);
  if (!times) return std::nullopt;
  if (!times->rested.empty()) {
    rested.push_back({{"model", one.model.name},
                      {"vocabulary", one.model.vocabulary},
                      {"sequences", one.sequences},
                      {"median_s", spread_of(times->rested).median}});
  }
  return ItemTimes{spread_of(times->loaded), memory_keys(before, gpt.memory())};
}

std::optional<ItemTimes> measure_optimizer(const StepCase& one, Lab lab, Seconds most, bool again) {
  const std::int64_t before = memory_before(lab);
  Training training(one.model);
  Efforts efforts = lab.efforts;
  efforts.load = 0.1 * efforts.load;
  efforts.step = 0.2 * efforts.step;
  const std::optional<StepTimes> times = step_times(training.stream(), {lab.bench, lab.products, efforts}, most, again,
                                                    false, [&] { training.optimizer(); });
  if (!times) return std::nullopt;
  return ItemTimes{spread_of(times->loaded), memory_keys(before, 0)};
}

TrainingOptions training_options_of(const UpdateCase& one, std::int64_t updates) {
  TrainingOptions options;
  options.algorithm = one.algorithm;
  options.gpt.shape = one.step.model;
  options.gpt.sequences = one.step.sequences;
  options.random_vocabulary = one.step.model.vocabulary;
  options.storage = ElementType::kBf16;
  options.updates = updates;
  options.optimizer.learning_rate = 1e-5;
  options.micro_batches_per_round = one.micro_batches / traits_of(one.algorithm).rounds;
  options.accumulate = Accumulate::kFixed;
  options.record_spans = false;
  return options;
}

std::optional<ItemTimes> measure_update(const UpdateCase& one, Lab lab, Seconds most, bool again) {
  constexpr std::int64_t kFirst = 2, kMost = 400;
  const Efforts& efforts = lab.efforts;
  const std::int64_t before = memory_before(lab);
  const double asked = monotonic_seconds();
  std::optional<ItemTimes> measured;
  run_local_ranks(1, [&](Transport& ranks) {
    use_device(lab.device);  // which is a thread's own
    const std::unique_ptr<DeviceWorkload<Bf16>> workload = gpt_on_device<Bf16>(training_options_of(one, 1));
    const std::unique_ptr<DeviceTransport> network = alone_transport();
    const double made = monotonic_seconds();
    const auto durations = [&](std::int64_t updates) {
      const TrainingResult result = train_by_streams(training_options_of(one, updates), *workload, *network, ranks);
      Values values;
      for (const UpdateRecord& update : result.updates) values.push_back(update.duration.value);
      return std::make_pair(values, result.device.memory);
    };
    // The last of a few, then as many as the load and the count need.
    const double each = std::max(durations(kFirst).first.back(), 1e-6);
    const double share = again ? 0.5 : 1.0;
    const auto loading =
        static_cast<std::int64_t>(std::clamp<double>(share * efforts.load.value / each, 1, static_cast<double>(kMost)));
    const auto counting =
        static_cast<std::int64_t>(std::clamp<double>(share * efforts.step.value / each, 3, static_cast<double>(kMost)));
    // A rank is set up once more.
    const double now = monotonic_seconds();
    if (now - asked + now - made + static_cast<double>(loading + counting) * each > most.value) return;
    auto [values, memory] = durations(loading + counting);
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(loading));
    measured = ItemTimes{spread_of(values), {}};
    measured->more = {{"memory_bytes", memory - before}, {"activation_bytes", workload->memory()}};
  });
  return measured;
}

}  // namespace

std::vector<MeasureItem> step_items(const std::vector<StepCase>& cases, Lab lab, std::vector<Entries>& rested) {
  std::vector<MeasureItem> items;
  std::vector<std::string> optimizers;  // the models that have one already
  for (const StepCase& one : cases) {
    items.push_back(
        {fmt::format("micro-batch of {} with {} sequences", one.model.name, one.sequences),
         "micro-batches of " + one.model.name, keys_of_step(one, "micro_batch"),
         [one, lab, &rested](Seconds most, bool again) { return measure_micro_batch(one, lab, most, again, rested); }});
    if (std::ranges::find(optimizers, one.model.name) != optimizers.end()) continue;
    optimizers.push_back(one.model.name);
    const std::string text = "optimizer of " + one.model.name;
    items.push_back({text, text, keys_of_step(one, "optimizer"),
                     [one, lab](Seconds most, bool again) { return measure_optimizer(one, lab, most, again); }});
  }
  return items;
}

std::vector<MeasureItem> update_items(const std::vector<UpdateCase>& cases, Lab lab) {
  std::vector<MeasureItem> items;
  for (const UpdateCase& one : cases) {
    items.push_back({fmt::format("update of {} with {} sequences under {}", one.step.model.name, one.step.sequences,
                                 name_of(one.algorithm)),
                     "updates of " + one.step.model.name,
                     joined(keys_of_step(one.step, "update"),
                            {{"algorithm", name_of(one.algorithm)}, {"micro_batches", one.micro_batches}}),
                     [one, lab](Seconds most, bool again) { return measure_update(one, lab, most, again); }});
  }
  return items;
}

}  // namespace accocal
