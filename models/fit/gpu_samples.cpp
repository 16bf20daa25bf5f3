#include "models/fit/gpu_samples.hpp"

#include <fmt/format.h>

#include "models/fit/document.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr Range kTime{0, 1e4, true};
constexpr Range kDifference{0, 1e4};  ///< of two times, so that noise may leave nothing of it
constexpr Range kSize{1, 1e15};
constexpr Range kBytes{0, 1e16};
constexpr Range kRate{0, 1e18};
constexpr Range kMemory{1 << 28, 1e15};
constexpr double kMostCounted = 1e15;  ///< elements of a kernel, bytes
constexpr double kMostSide = 1e9;      ///< rows, columns, sides of a product
constexpr std::size_t kLong = 4000;
constexpr std::size_t kMostSamples = 200'000;

Dtype read_storage(ObjectReader& reader, const char* key) {
  return reader.choice<Dtype>(key, {Dtype::kBf16, Dtype::kFp32});
}

Timing read_timing(ObjectReader& reader, const Range& possible = kTime) {
  Timing time{.median = Seconds{reader.number("median_s", possible)}};
  const Seconds p10{reader.number("p10_s", possible)}, p90{reader.number("p90_s", possible)};
  reader.integer("runs", 1, kMaxInteger);
  if (reader.has("again_s")) time.again = Seconds{reader.number("again_s", possible)};
  check_median(reader, time.median, p10, p90);
  return time;
}

Gemm read_gemm(ObjectReader& reader, Dtype dtype) {
  Gemm gemm{.batch = reader.whole("batch", 1, kMostSide),
            .m = reader.whole("m", 1, kMostSide),
            .n = reader.whole("n", 1, kMostSide),
            .k = reader.whole("k", 1, kMostSide)};
  if (const std::string wrong = wrong_flops(flops_of(gemm)); reader.good() && !wrong.empty()) reader.fail("m", wrong);
  gemm.in = bytes_of(dtype);
  gemm.out = std::max(bytes_of(dtype), Bytes{2});  // a product of fp8 writes bf16
  gemm.accumulate = reader.boolean("accumulate");
  const bool a = reader.boolean("transpose_a"), b = reader.boolean("transpose_b");
  gemm.layout = layout_of(a, b);
  return gemm;
}

GpuProductSample read_product(ObjectReader& reader) {
  GpuProductSample sample{.dtype = reader.choice("dtype", values_of<Dtype>())};
  reader.text("layout");
  sample.gemm = read_gemm(reader, sample.dtype);
  reader.boolean("bias", false);
  sample.cold = reader.boolean("cold");
  for (const char* key : {"model", "algorithm"}) reader.text(key, "");
  reader.number("waves", kBytes, 0);
  sample.time = read_timing(reader);
  return sample;
}

std::optional<StepKernel> read_kernel_name(ObjectReader& reader) {
  std::vector<std::string> names;
  for (int i = 0; i < kStepKernelCount; ++i) names.emplace_back(name_of(static_cast<StepKernel>(i)));
  return step_kernel(reader.one_of("kernel", names, ""));
}

void read_sides(ObjectReader& reader, double& rows, double& columns) {
  rows = reader.whole("rows", 1, kMostCounted);
  columns = reader.whole("columns", 1, kMostCounted);
  if (reader.good() && rows * columns > kMostCounted)
    reader.fail("rows", fmt::format("makes {:.3g} elements; write at most {:.0e}", rows * columns, kMostCounted));
}

GpuKernelSample read_kernel(ObjectReader& reader) {
  GpuKernelSample sample{.kernel = read_kernel_name(reader).value_or(StepKernel::kCopy),
                         .dtype = read_storage(reader, "dtype")};
  read_sides(reader, sample.rows, sample.columns);
  sample.bytes = Bytes{reader.number("bytes", kSize)};
  sample.cold = reader.boolean("cold");
  reader.text("model", "");
  sample.time = read_timing(reader);
  return sample;
}

/// The kernel beside which something runs, where the sample has its sizes as a sample of its own would.
void read_shape(ObjectReader& reader, GpuInterferenceSample& sample) {
  if (reader.has("m")) {
    sample.dtype = reader.choice("dtype", values_of<Dtype>());
    sample.of = gemm_kernel(read_gemm(reader, sample.dtype));
  } else if (const std::optional<StepKernel> kernel = step_kernel(sample.kernel); kernel && reader.has("rows")) {
    sample.dtype = read_storage(reader, "dtype");
    double rows = 1, columns = 1;
    read_sides(reader, rows, columns);
    sample.of = accocal_kernel(*kernel, sample.dtype, rows, columns);
  }
}

GpuInterferenceSample read_interference(ObjectReader& reader) {
  GpuInterferenceSample sample;
  sample.kernel = reader.text("kernel");
  sample.shape = reader.text("shape", "");
  sample.beside = reader.one_of(
      "beside", {"hold_multiprocessors", "stream_memory", "copy_to_device", "copy_to_host", "adamw", "collective"}, "");
  sample.blocks = reader.integer("blocks", 0, kMaxInteger, 0);
  reader.number("alone_s", kTime);
  constexpr Range kFactor{0, 1e6, true};
  sample.slowdown = reader.number("slowdown", kFactor);
  if (reader.has("other_slowdown")) sample.other_slowdown = reader.number("other_slowdown", kFactor);
  read_shape(reader, sample);
  if (reader.has("median_s")) read_timing(reader);
  pass_over(reader, {"layout", "bias", "model", "algorithm", "waves", "cold", "bytes", "dtype", "rows", "columns"});
  return sample;
}

GpuCollectiveSample read_collective(ObjectReader& reader) {
  GpuCollectiveSample sample;
  reader.one_of("collective", {"all_reduce", "reduce_scatter", "all_gather"}, "");
  reader.number("bytes", kSize);
  sample.ranks = reader.integer("ranks", 1, kMaxInteger);
  sample.channels = reader.integer("channels", 0, 1024, 0);
  for (const char* key : {"algorithm", "protocol"}) reader.text(key, "");
  sample.experiment = reader.text("experiment", "");
  read_timing(reader);
  return sample;
}

GpuStepSample read_step(ObjectReader& reader) {
  GpuStepSample sample;
  constexpr int kMost = 1 << 24, kMostWidth = 1 << 20;  // of a model that can be priced
  sample.model = reader.text("model");
  sample.part = reader.one_of("part", {"micro_batch", "optimizer", "update"}, "");
  sample.layers = reader.integer("layers", 1, 10'000);
  sample.width = reader.integer("width", 1, kMostWidth);
  sample.heads = reader.integer("heads", 1, kMostWidth);
  sample.context = reader.integer("context", 1, kMost);
  sample.vocabulary = reader.integer("vocabulary", 1, kMost);
  sample.sequences = reader.integer("sequences", 1, kMost);
  sample.parameters = reader.whole("parameters", 1, kMostCounted);
  sample.storage = read_storage(reader, "storage");
  if (reader.has("algorithm"))
    sample.algorithm = reader.one_of("algorithm", accocal_algorithms(AccocalRuns::kOnGpu), "");
  sample.micro_batches = reader.integer("micro_batches", 1, kMost, 1);
  sample.memory = Bytes{reader.number("memory_bytes", kBytes, 0)};
  reader.number("activation_bytes", kBytes, 0);
  sample.time = read_timing(reader);
  if (reader.good() && sample.width % sample.heads != 0)
    reader.fail("heads", fmt::format("is {}, which does not divide the width {}", sample.heads, sample.width));
  if (reader.good() && sample.part == "update" && sample.algorithm.empty())
    reader.fail("algorithm", fmt::format("missing; an update is of an algorithm: write {}",
                                         in_words(accocal_algorithms(AccocalRuns::kOnGpu), " or ")));
  return sample;
}

/// Of a sample of an unknown kind nobody knows which keys are wrong.
void pass_over_all(ObjectReader& reader) {
  for (const JsonMember& member : reader.value().members) reader.find(member.key);
}

void read_sample(ObjectReader& reader, GpuSamples& samples) {
  const std::string what =
      reader.one_of("what", {"gemm", "kernel", "launch", "copy", "interference", "collective", "step"}, "");
  if (!reader.good("what")) return pass_over_all(reader);
  if (what == "gemm") samples.products.push_back(read_product(reader));
  if (what == "kernel") samples.kernels.push_back(read_kernel(reader));
  if (what == "launch") {
    const std::string kind = reader.one_of(
        "kind", {"host_launch", "back_to_back", "graph_node", "graph_launch", "event_record", "stream_wait"}, "");
    const bool difference = kind == "graph_node" || kind == "stream_wait";
    samples.launches.push_back({kind, read_timing(reader, difference ? kDifference : kTime)});
  }
  if (what == "copy") {
    const std::string direction = reader.one_of("direction", {"to_device", "to_host", "on_device", "both"}, "");
    const std::string memory = reader.one_of("memory", {"pinned", "pageable", "device"}, "");
    const Bytes bytes{reader.number("bytes", kSize)};
    samples.copies.push_back({direction, memory, bytes, read_timing(reader)});
  }
  if (what == "interference") samples.interference.push_back(read_interference(reader));
  if (what == "collective") samples.collectives.push_back(read_collective(reader));
  if (what == "step") samples.steps.push_back(read_step(reader));
}

void read_device_of(ObjectReader& reader, GpuSamples& samples) {
  samples.device = reader.text("name");
  reader.text("compute_capability", "");
  samples.sm_count = reader.integer("sm_count", 1, 10'000);
  samples.memory = Bytes{reader.number("memory_bytes", kMemory)};
  samples.l2 = Bytes{reader.number("l2_bytes", kBytes)};
  samples.memory_bandwidth = BytesPerSecond{reader.number("memory_bandwidth_bytes_per_s", kRate, 0)};
  constexpr double kLeastBandwidth = 1e9;  // a profile counts in GB/s
  if (samples.memory_bandwidth.value > 0 && samples.memory_bandwidth.value < kLeastBandwidth)
    reader.fail("memory_bandwidth_bytes_per_s", "is below 1 GB/s; write bytes a second, or 0 where it is not known");
  samples.power = reader.number("power_limit_w", Range{0, 1e6}, 0);
  for (const char* key : {"sm_clock_hz", "memory_clock_hz"}) reader.number(key, kRate, 0);
}

void read_state(ObjectReader& reader, GpuSamples& samples) {
  const std::string why = reader.text("throttled", "");
  if (!why.empty() && samples.throttled.find(why) == std::string::npos)
    samples.throttled += (samples.throttled.empty() ? "" : ", ") + why;
  for (const char* number : {"sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c"})
    reader.number(number, kRate, 0);
}

void read_versions(ObjectReader& reader, GpuSamples& samples) {
  samples.driver = reader.text("driver", "");
  samples.library = reader.text("cublaslt", "");
  for (const char* key : {"runtime", "nccl", "compiler"}) reader.text(key, "");
}

GpuSamples read_top(ObjectReader& top) {
  GpuSamples samples;
  if (!read_part(top, "device", [&](ObjectReader& device) { read_device_of(device, samples); }))
    top.fail("device", "missing; name a file that accocal measure --device wrote");
  for (const char* key : {"state_before", "state_after"})
    read_part(top, key, [&](ObjectReader& state) { read_state(state, samples); });
  read_part(top, "versions", [&](ObjectReader& versions) { read_versions(versions, samples); });
  samples.commit = top.text("commit", "");
  samples.date = top.text("date", "");
  // For people: the machine around the GPU, how it was asked, how bytes are counted.
  pass_over(top, {"machine", "took_s", "command", "how", "bytes"});
  read_objects(top, "left_out", 0, kMostSamples, [&](ObjectReader& reader) {
    const std::string what = reader.text("what", "", kLong), why = reader.text("why", "", kLong);
    samples.left_out.push_back(fmt::format("{} ({})", what, why));
  });
  read_objects(top, "samples", 1, kMostSamples, [&](ObjectReader& reader) { read_sample(reader, samples); });
  return samples;
}

}  // namespace

bool is_gpu_samples(const std::string& text) { return has_schema(text, kGpuSamplesSchema); }

GpuSamples read_gpu_samples(const std::string& text, const std::string& name) {
  GpuSamples samples;
  read_document(text, name, {kGpuSamplesSchema, "accocal measure --device"},
                [&](ObjectReader& top) { samples = read_top(top); });
  return samples;
}

}  // namespace accosim
