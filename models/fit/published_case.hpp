// A measurement that somebody published, as a question to the model: a training run, a collective or a kernel with all
// that its source says and what had to be inferred, and the measured answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/collectives/collective_query.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

struct ScenarioTree;

/// Where measurements were published: one file.
struct PublishedSource {
  std::string key;        ///< the file's stem
  std::string publisher;  ///< who measured; a fit leaves out all of a publisher together
  std::string title, url, commit, licence, description;
  std::string simulated;  ///< how its figures show that a simulator made them; empty: measurements
};

/// What a case asks for.
enum class Asked : std::uint8_t {
  kNothing,           ///< the case cannot be predicted yet
  kStepTime,          ///< of one update, s
  kMicroBatchTime,    ///< forward and backward of one micro-batch on a GPU, no communication, s
  kForwardBackward,   ///< one update without its optimizer, s
  kBlockForward,      ///< of the first transformer block for one micro-batch, s
  kBlockBackward,     ///< the same backward, s
  kMemoryAllocated,   ///< peak of the tensors on a GPU, B
  kMemoryReserved,    ///< peak of what the framework's allocator took, B
  kMemoryUsed,        ///< the same with the CUDA context and the libraries, as nvidia-smi counts, B
  kSpeedup,           ///< per token over the scenario's baseline
  kRunTime,           ///< of all the scenario's train_tokens, s
  kCollectiveTime,    ///< s
  kKernelTime,        ///< s
  kOptimizerTime,     ///< of one step on all parameters, s
  kMemoryInUse,       ///< what a rank of accocal holds on the device, without the CUDA context, B
  kMemoryMicroBatch,  ///< the same without the communication buffer
  kMemoryOptimizer,   ///< the same, also without activations and logits
};
template <>
inline constexpr const char* kNames<Asked>[] = {
    "nothing",        "step time",        "micro-batch time", "forward and backward", "block forward",
    "block backward", "memory allocated", "memory reserved",  "memory used",          "speedup",
    "run time",       "collective time",  "kernel time",      "optimizer time",       "memory in use",
    "memory in use",  "memory in use"};

struct KernelQuery {
  std::shared_ptr<const Device> device;
  Kernel kernel;
  Dtype dtype = Dtype::kBf16;
};

struct PublishedCase {
  std::string id{};      ///< unique: the source's key, "/", and a name of its own
  std::string group{};   ///< one of published_groups()
  std::string source{};  ///< PublishedSource::key
  std::string url{};     ///< of the source, or the case's own
  std::string device{};  ///< of the (first) GPU; empty where nothing can be predicted
  std::string series{};  ///< cases that share one line of a report, such as the sizes of one collective on one cluster
  std::string configuration{};          ///< in words
  std::string published{};              ///< the measured value as its source has it
  char trust = 'A';                     ///< A: exact and fully configured; B: approximate or under-specified
  std::vector<std::string> inferred{};  ///< what its source does not say
  std::string explanation{};            ///< why the prediction is off
  std::string memory_explanation{};     ///< why it ran though it is said not to fit; the file's, or the case's own
  std::string left_out{};               ///< why it is not scored; empty when it is
  std::string not_expressible{};        ///< why it cannot be predicted; empty when it can

  /// Priced by what was measured on the very machine, as all is that accocal measured. So no fit to published data may
  /// use it, and it is not predicted again when something is left out of those fits.
  bool own_machine = false;
  bool in_fits = true;     ///< whether fits may use it
  bool in_spreads = true;  ///< of a training step: whether its errors say how far off others may be
  Asked asked = Asked::kNothing;
  double measured = 0;                         ///< in the unit of `asked`
  std::shared_ptr<const Scenario> scenario{};  ///< of all but collectives and kernels
  std::shared_ptr<const ScenarioTree> tree{};  ///< what that was read from
  int schedule = 0;                            ///< index in the scenario's
  CollectiveQuery collective{};
  KernelQuery kernel{};

  bool scored() const { return left_out.empty() && not_expressible.empty(); }
};

struct Published {
  std::vector<PublishedSource> sources;  ///< by key
  std::vector<PublishedCase> cases;      ///< in the order of the files, and within each file in its own
};

// What cases are about.
inline constexpr const char* kTrainingGroup = "training step";
inline constexpr const char* kMemoryGroup = "memory";
/// Of models that several GPUs share (training.parallel); no fit uses them.
inline constexpr const char* kSplitGroup = "training step of a split model";
/// Of models with experts; no fit uses them.
inline constexpr const char* kExpertGroup = "training step of experts";
/// Of GPUs of several kinds in one job, models split or whole; no fit of constants uses them.
inline constexpr const char* kMixedGroup = "training step of mixed GPUs";
/// Of adapters (LoRA), whose base is frozen, models split or whole; no fit uses them.
inline constexpr const char* kAdapterGroup = "training step of adapters";
/// On a machine whose own kernels and links were measured and are what its prices go by; no fit uses them.
inline constexpr const char* kMeasuredMachineGroup = "training step on a measured machine";
/// All that are about the time of a step.
inline constexpr const char* kStepGroups[] = {kTrainingGroup, kSplitGroup,   kExpertGroup,
                                              kMixedGroup,    kAdapterGroup, kMeasuredMachineGroup};
inline constexpr const char* kSplitMemoryGroup = "memory of a split model";
inline constexpr const char* kLargeGroup = "collectives in a node from 1 MiB";
inline constexpr const char* kSmallGroup = "collectives in a node below 1 MiB";
/// Launched one after another (CollectiveQuery::back_to_back).
inline constexpr const char* kLargeBackToBackGroup = "back-to-back collectives from 1 MiB";
inline constexpr const char* kSmallBackToBackGroup = "back-to-back collectives below 1 MiB";
inline constexpr const char* kLargeBetweenGroup = "collectives between nodes from 1 MiB";
inline constexpr const char* kSmallBetweenGroup = "collectives between nodes below 1 MiB";
inline constexpr const char* kKernelGroup = "kernels";
inline constexpr const char* kApartGroup = "kernels of other devices and frameworks";
inline constexpr const char* kLayerGroup = "layers";
/// Ratios and times of its rows: a ratio alone can be right where both times are wrong.
inline constexpr const char* kPaperGroup = "ACCO paper";
inline constexpr const char* kSimulatorGroup = "other simulators";  ///< compared; never scored, never in a fit
inline constexpr const char* kMeasuredGroup = "measured by us";
inline constexpr const char* kMeasuredMemoryGroup = "memory measured by us";

}  // namespace accosim
