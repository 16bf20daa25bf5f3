// Does every sample of `accocal measure` run on a device, and does the document say what accosim wants to read?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "calibration/base/names.hpp"
#include "calibration/measure/measure_items.hpp"
#include "calibration/measure/measure_run.hpp"
#include "models/base/errors.hpp"
#include "tests/device/device_measurement.hpp"
#include "tests/device/on_device.hpp"
#include "tests/device/small_floats.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

// --- The bench.

TEST(MeasureBench, FillsWithRandomValuesOfEachType) {
  Bench bench(tiny_bench());
  const std::vector<std::pair<Content, SmallFloat>> types = {{Content::kFloat, {8, 23, true}},
                                                             {Content::kBf16, kBf16Format},
                                                             {Content::kFp16, kFp16Format},
                                                             {Content::kFp8, kE4m3Format}};
  for (const auto& [content, format] : types) {
    const Operand operand{.bytes = 4096, .content = content};
    std::vector<void*> at;
    const DeviceWork work{{operand}, [&](const std::vector<void*>& places, Stream& stream) {
                            at = places;
                            nothing(stream);
                          }};
    bench.make_ready(work, true);
    const std::vector<std::uint8_t> bytes = on_host<std::uint8_t>(at[0], 4096, bench.stream());
    const int each = (1 + format.exponent_bits + format.mantissa_bits) / 8;
    std::set<double> values;
    double negative = 0;
    for (std::size_t i = 0; i < bytes.size(); i += each) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &bytes[i], each);
      const double value = decode(format, bits);
      EXPECT_LT(std::abs(value), 256);  // no infinity, no NaN, and of fp8 nothing with the highest exponent
      values.insert(value);
      negative += std::signbit(value) ? 1 : 0;
    }
    EXPECT_GT(values.size(), content == Content::kFp8 ? 70u : 300u);
    EXPECT_NEAR(negative / (4096.0 / each), 0.5, 0.1);
  }
}

TEST(MeasureWork, EveryCaseOfATinyModelRuns) {
  // What is read and written lies inside its arrays (the sanitizers look), in both types.
  const ModelShape model{{1, 8, 2, 4, 48}, "tiny"};
  Bench bench(tiny_bench());
  Products products;
  const auto runs = [&](const DeviceWork& work) {
    Runner runner = bench.make_ready(work, false);
    return bench.time(runner, {Seconds{0}, Seconds{0}, 3, 3}, Seconds{1}).has_value();
  };
  for (const ElementType type : {ElementType::kBf16, ElementType::kFloat32}) {
    for (const KernelCase& one : step_kernels(model, 2, type)) EXPECT_TRUE(runs(work_of(one))) << text_of(one);
    for (int kind = 0; kind <= static_cast<int>(StepKernel::kCopy); ++kind) {
      KernelCase one{.kind = static_cast<StepKernel>(kind), .type = type, .count = 33};
      if (is_flat(one.kind)) {
        EXPECT_TRUE(runs(work_of(one))) << text_of(one);
      }
    }
  }
  for (const ProductType type : {ProductType::kBf16, ProductType::kFp16, ProductType::kTf32, ProductType::kFp32}) {
    for (const ProductCase& one : step_products(model, 2, type))
      EXPECT_TRUE(runs(work_of(one, products))) << text_of(one);
  }
  const ModelShape gated{{1, 16, 2, 16, 32}, "gated", 48};
  for (ProductCase one : step_products(gated, 1, ProductType::kFp8))
    if (as_fp8(one)) {
      EXPECT_TRUE(runs(work_of(one, products))) << text_of(one);
    }
}

// --- The whole.

std::set<std::string> keys(const Json& object) {
  const std::vector<std::string> all = object.keys();
  return {all.begin(), all.end()};
}

TEST(DeviceMeasure, WritesTheDocumentThatAccosimReads) {
  const Json document = measured();
  EXPECT_EQ(document["schema"], "accosim.gpu_samples/1");
  EXPECT_EQ(keys(document),
            (std::set<std::string>{"schema", "device", "state_before", "state_after", "versions", "machine", "commit",
                                   "date", "took_s", "command", "how", "bytes", "left_out", "samples"}));
  EXPECT_EQ(keys(document["device"]),
            (std::set<std::string>{"name", "compute_capability", "sm_count", "memory_bytes", "l2_bytes",
                                   "memory_bandwidth_bytes_per_s", "sm_clock_hz", "memory_clock_hz", "power_limit_w"}));
  EXPECT_EQ(keys(document["versions"]), (std::set<std::string>{"driver", "runtime", "cublaslt", "nccl", "compiler"}));
  const std::set<std::string> timing = {"what", "median_s", "p10_s", "p90_s", "runs", "again_s"};
  const std::map<std::string, std::set<std::string>> own = {
      {"gemm",
       {"dtype", "layout", "m", "n", "k", "batch", "transpose_a", "transpose_b", "bias", "accumulate", "model", "cold",
        "algorithm", "waves"}},
      {"kernel", {"kernel", "dtype", "rows", "columns", "bytes", "cold"}},
      {"launch", {"kind"}},
      {"copy", {"direction", "memory", "bytes"}},
      {"interference", {"kernel", "shape", "beside", "blocks", "alone_s", "slowdown", "dtype"}},
      {"step",
       {"model", "layers", "width", "heads", "context", "vocabulary", "parameters", "sequences", "storage", "part",
        "memory_bytes", "activation_bytes"}}};
  std::map<std::string, int> count;
  for (const Json& sample : document["samples"].elements()) {
    const std::string what = sample["what"].text();
    ++count[what];
    ASSERT_EQ(own.count(what), 1u) << what;
    std::set<std::string> needed = own.at(what);
    needed.insert(timing.begin(), timing.end());
    if (what == "interference") needed.erase("again_s");  // the other may have ended first, see below
    const std::set<std::string> has = keys(sample);
    EXPECT_TRUE(std::includes(has.begin(), has.end(), needed.begin(), needed.end())) << sample;
    EXPECT_GE(sample["median_s"].number(), 0) << sample;
    EXPECT_LE(sample["p10_s"].number(), sample["median_s"].number()) << sample;
    EXPECT_GE(sample["p90_s"].number(), sample["median_s"].number()) << sample;
    EXPECT_GE(sample["runs"].number(), 1) << sample;
  }
  EXPECT_EQ(count["launch"], 6);
  EXPECT_EQ(count["copy"], 6);          // two directions pinned and pageable, both at once, on the device
  EXPECT_EQ(count["step"], 2 + 1 + 2);  // micro-batches, one optimizer, updates under ACCO and DDP
  EXPECT_GE(count["gemm"], 18);
  EXPECT_GE(count["kernel"], 15);
}

TEST(DeviceMeasure, SaysWhatItLeftOutOfInterference) {
  // Six kernels beside five things; what a kernel is to run beside may have ended before it.
  const Json document = measured("interference");
  int samples = 0, left_out = 0;
  for (const Json& sample : document["samples"].elements()) {
    EXPECT_EQ(sample["what"], "interference");
    ++samples;
    EXPECT_NEAR(sample["slowdown"].number(), sample["median_s"].number() / sample["alone_s"].number(), 1e-9);
  }
  for (const Json& one : document["left_out"].elements()) {
    const std::string what = one["what"].text();
    const bool of_a_kernel =
        what.find("second pass") == std::string::npos && what.find("collective") == std::string::npos;
    if (of_a_kernel) left_out += std::max(1, std::atoi(what.c_str()));
  }
  EXPECT_EQ(samples + left_out, 6 * 5) << document["left_out"];
  // The played device takes the streams' work in random orders, so that some of them do overlap.
  if (device_is_played()) {
    EXPECT_GE(samples, 6);
  }
}

TEST(DeviceMeasure, AKindAlone) {
  for (const char* kind : {"launch", "copy"}) {
    const Json document = measured(kind);
    for (const Json& sample : document["samples"].elements()) EXPECT_EQ(sample["what"], kind);
  }
  const Json document = measured("attention");
  for (const Json& sample : document["samples"].elements())
    EXPECT_TRUE(sample.contains("batch") ? sample["batch"].integer() > 1
                                         : sample["kernel"].text().rfind("softmax", 0) == 0)
        << sample;
  EXPECT_NO_THROW(check_only("memory"));
  EXPECT_TRUE(holds(thrown_by<BadInput>([] { check_only("gem"); }), "write one of gemm, memory"));
}

}  // namespace
}  // namespace accocal
