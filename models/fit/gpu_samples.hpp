// What accocal measured on a GPU, read from its document (schema accosim.gpu_samples/1): GEMMs, memory-bound kernels,
// launches, copies, interference, collectives, and steps of its own training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// Medians of the runs of a first pass, and of a second one.
struct Timing {
  Seconds median;
  std::optional<Seconds> again{};

  /// Mean of both passes' medians.
  Seconds mean() const { return again ? 0.5 * (median + *again) : median; }
};

struct GpuProductSample {
  Dtype dtype = Dtype::kBf16;
  Gemm gemm{};
  bool cold = false;  ///< no operand is in the L2; else as in a step
  Timing time{};
};

struct GpuKernelSample {
  StepKernel kernel = StepKernel::kCopy;
  Dtype dtype = Dtype::kBf16;
  double rows = 0, columns = 0;
  Bytes bytes{};
  bool cold = false;
  Timing time{};

  double elements() const { return rows * columns; }
};

struct GpuLaunchSample {
  std::string kind;  ///< host_launch, back_to_back, graph_node, graph_launch, event_record, stream_wait
  Timing time;
};

struct GpuCopySample {
  std::string direction, memory;
  Bytes bytes;
  Timing time;
};

struct GpuInterferenceSample {
  std::string kernel, shape, beside;
  int blocks = 0;
  double slowdown = 1;
  std::optional<double> other_slowdown;
  std::optional<Kernel> of;  ///< the kernel, where the document gives its sizes
  Dtype dtype = Dtype::kBf16;
};

struct GpuCollectiveSample {
  std::string experiment;  ///< how it was run, where the ranks did not each have a GPU of their own
  int ranks = 1, channels = 0;
};

struct GpuStepSample {
  std::string model, part, algorithm;  ///< part: micro_batch, optimizer or update
  int layers = 1, width = 1, heads = 1, context = 1, vocabulary = 1, sequences = 1, micro_batches = 1;
  double parameters = 0;
  Dtype storage = Dtype::kBf16;
  Bytes memory;  ///< 0: not said
  Timing time;
};

struct GpuSamples {
  std::string device;  ///< as the driver names it
  int sm_count = 0;
  Bytes memory, l2;
  BytesPerSecond memory_bandwidth;  ///< from memory clock and bus width; 0: unknown
  double power = 0;                 ///< limit of the board, W; 0: not said
  std::string driver, library;      ///< versions; `library` is cuBLASLt's
  std::string commit, date;
  std::string throttled;              ///< why clocks were held down before or after, in words; empty: they were not
  std::vector<std::string> left_out;  ///< what was not measured, and why
  std::vector<GpuProductSample> products;
  std::vector<GpuKernelSample> kernels;
  std::vector<GpuLaunchSample> launches;
  std::vector<GpuCopySample> copies;
  std::vector<GpuInterferenceSample> interference;
  std::vector<GpuCollectiveSample> collectives;
  std::vector<GpuStepSample> steps;
};

inline constexpr const char* kGpuSamplesSchema = "accosim.gpu_samples/1";

/// True for a document of that schema, whatever else is wrong with it.
bool is_gpu_samples(const std::string& text);

/// `name` is for errors. Throws ScenarioError with all that is wrong, each with its place.
GpuSamples read_gpu_samples(const std::string& text, const std::string& name);

}  // namespace accosim
