// A training run of real ranks: what may be asked of it and what comes back. Where the ACCO paper, the code released
// with it and its rebuttal differ there is an option, whose default is the paper's equations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/adamw.hpp"
#include "calibration/train/algorithm_traits.hpp"
#include "calibration/train/workload.hpp"
#include "models/base/errors.hpp"
#include "models/base/units.hpp"

namespace accosim {
struct JsonValue;
}
namespace accocal {

enum class Accumulate : std::uint8_t {
  kFixed,   ///< exactly micro_batches_per_round, then waits for the communication: deterministic
  kAtLeast  ///< at least so many, and more until the communication has ended; each rank decides alone
};

/// The optimizer's moments and number of steps after the estimate (or WP's prediction); the parameters always go back.
enum class EstimateState : std::uint8_t {
  kRollback,  ///< restored: the paper's equations
  kKeep,      ///< kept: what the rebuttal says
  kReleased   ///< restored, but for the first estimate's: what the released code does
};

struct TrainingOptions : UsualOptions {
  Algorithm algorithm = Algorithm::kAcco;

  // What is computed.
  bool timed = false;                 ///< sleep instead of training a GPT
  Seconds compute_time{0.01};         ///< of a timed micro-batch
  double jitter = 0;                  ///< coefficient of variation of a timed micro-batch
  std::int64_t parameters = 1 << 20;  ///< of the timed workload
  GptWorkloadOptions gpt;
  std::string data;                             ///< a text; empty: the one that comes with the program
  ElementType storage = ElementType::kFloat32;  ///< of parameters and gradients, kFloat32 or kBf16
  std::map<int, double> slow;                   ///< a rank's micro-batches take so many times as long, by sleeping

  // How far.
  std::int64_t updates = 100;
  std::int64_t samples = 0;  ///< 0: `updates` counts; else the length of the run in samples, also for the learning rate
  OptimizerOptions optimizer;

  // The schedule.
  int micro_batches_per_round = 1;               ///< on each rank; an update has two rounds in ACCO, one in the others
  Accumulate accumulate = Accumulate::kAtLeast;  ///< of the algorithms that compute beside communication
  int poll_every = 1;  ///< micro-batches between two checks for its end; released code: micro_batches_per_round
  std::int64_t warmup_updates = 0;  ///< DPU, WP, ACCO: synchronous ones before the first overlapped
  EstimateState estimate_state = EstimateState::kRollback;
  bool keep_initial_gradient = true;  ///< ACCO: the first estimate's gradient counts in the first update too
  bool local_estimate = false;        ///< ACCO: the estimate is each rank's own, calibration/train/acco.hpp

  // Of the algorithms whose rows name them, as are the usual ones.
  int outer_every = 48;   ///< updates between two outer steps of SlowMo, a multiple of inner_updates
  double outer_clip = 1;  ///< CO2: bound of the outer momentum, times inner_updates
  int delay = 1;          ///< PipeSGD: updates until a gradient is applied; Streaming DiLoCo: until a change is
  int fragments = 2;      ///< Streaming DiLoCo
  Payload payload = Payload::kFloat32;

  bool record_spans = true;
  std::int64_t observe_every = 1;  ///< updates between two looks of an observer, and one at the end

  // On a device.
  std::string device;         ///< "cuda:0", "cuda"; empty: on CPUs
  int random_vocabulary = 0;  ///< tokens drawn at random from so many instead of a text, to time a model; 0: the text
};

/// The loss has become NaN or infinite: nothing that comes after it is training. Exit code 1.
class Diverged : public BadInput {
 public:
  /// `of`: the first update, counted from 1, whose loss is not finite; `loss`: that loss.
  Diverged(std::int64_t of, double loss, const TrainingOptions& options);
  std::int64_t update;
};
/// Throws Diverged where the loss is not finite.
void check_loss(double loss, std::int64_t update, const TrainingOptions& options);

struct TrainingSpan {
  enum class Lane : std::uint8_t { kCompute, kCommunication };
  int rank = 0;
  Lane lane = Lane::kCompute;
  std::string label;
  Seconds begin;  ///< since the common start
  Seconds end;
  std::int64_t update = 0;  ///< the one that was being made

  static constexpr auto kReported = std::tuple(&TrainingSpan::rank, &TrainingSpan::lane, &TrainingSpan::label,
                                               &TrainingSpan::begin, &TrainingSpan::end, &TrainingSpan::update);
};

struct UpdateRecord {
  Seconds duration;          ///< from the update before, or from the start, until its parameters are in use, on rank 0
  double loss = 0;           ///< mean over its micro-batches, before it; NaN where nothing is learnt
  std::int64_t samples = 0;  ///< that it is made of, all ranks
};

/// What a run was made on, for a run on devices.
struct DeviceRecord {
  std::string name;         ///< of rank 0's; empty: no device
  std::int64_t memory = 0;  ///< bytes of it in use before the first update, by anybody, as the device counts them
  std::string experiment;   ///< what makes the run an experiment and no measurement, in words; empty: nothing
};

struct TrainingResult {
  DeviceRecord device{};
  int ranks = 1;
  int tokens_per_sample = 1;
  std::int64_t parameters = 0;
  std::vector<UpdateRecord> updates{};
  /// Share of the run in which threads of the worst rank were ready and had no processor: others used it.
  double processor_wait_share = 0;
  double held_out_loss = 0;  ///< of the last parameters; NaN where nothing is learnt
  std::vector<TrainingSpan>
      spans{};  ///< of all ranks on rank 0, elsewhere its own; at most kMostSpans a rank, the first
};
inline constexpr std::size_t kMostSpans = 100000;

/// After `updates` updates the parameters are these; `samples` were used for them, all ranks together.
struct Progress {
  std::int64_t updates = 0;
  std::int64_t samples = 0;
  std::span<const float> parameters;
};
/// Called before the first update and after each that is to be observed (DiLoCo: each outer one), on rank 0. Given on
/// all ranks or on none: with one, WP gathers its true parameters too, and ranks that make updates alone average
/// theirs. The time that it takes is part of the update that follows.
using Observer = std::function<void(const Progress&)>;

/// Gives what not every algorithm takes the values that are usual for this one.
void set_usual(TrainingOptions& options);

/// Throws BadInput for impossible options (updates < 1, a rank in `slow` that does not exist...), with what to write.
void check_options(const TrainingOptions& options, int ranks);

std::unique_ptr<Workload> make_workload(const TrainingOptions& options);

/// Called on every rank with equal options. Throws BadInput, Diverged, and TransportError when another rank is gone.
TrainingResult train(const TrainingOptions& options, Transport& transport);
TrainingResult train(const TrainingOptions& options, Workload& workload, Transport& transport,
                     const Observer& observer = {});

/// Sets the options that not every algorithm takes, for one that does.
void add_own_options(accosim::JsonValue& json, const TrainingOptions& options);

/// One document, schema accosim.run/1, with the members of `provenance` before its long lists.
std::string run_json(const TrainingOptions& options, const TrainingResult& result, const JsonValue& provenance);
/// The spans as Chrome trace events, which Perfetto opens: a process a rank, a thread a lane.
std::string trace_events_json(const TrainingOptions& options, const TrainingResult& result);
/// update,samples,seconds,loss: cumulative samples and seconds.
std::string loss_csv(const TrainingResult& result);

}  // namespace accocal

template <>
inline constexpr const char* accosim::kNames<accocal::EstimateState>[] = {"rollback", "keep", "released"};
