// What accocal does on a device and what the simulator takes it for: a document that is read to its last key, and the
// memory that a rank holds.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "build_info/programs.hpp"
#include "calibration/base/names.hpp"
#include "calibration/measure/measure_cases.hpp"
#include "tests/device/device_measurement.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"
#include "tests/support/scratch.hpp"

namespace accocal {
namespace {

ProgramRun accosim(const std::vector<std::string>& arguments) {
  return run_program(kAccosimProgram, arguments, std::filesystem::temp_directory_path());
}

/// The tiny measurement, of one model with one sequence.
std::string document(const std::string& only, const ModelShape& model, bool updates = true) {
  PlanSizes sizes = tiny_sizes();
  sizes.first = {model};
  sizes.step_sequences = {1};
  if (!updates) sizes.update_sequences.clear();
  return measured_text(only, sizes);
}

Json json_of(const ProgramRun& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(run.out);
}

/// As if a device that accosim knows had been measured.
std::string renamed(const std::string& text) {
  JsonDocument document = parse_json(text, "samples");
  JsonValue& device = *document.root.find("device");
  device.set("name", "NVIDIA H100 80GB HBM3");
  device.set("memory_bytes", 85e9);
  device.set("memory_bandwidth_bytes_per_s", 3.35e12);
  return dump_json(document.root);
}

TEST(DeviceFit, ReadsTheWholeDocumentThatAccocalWrites) {
  if (!device_is_played()) GTEST_SKIP() << "a real device has no tiny plan";
  const Scratch scratch;
  const std::string samples = scratch.write("samples.json", renamed(document("", {{1, 8, 2, 4, 48}, "tiny"})));
  const std::string profile = scratch.path("fitted.json");
  const ProgramRun fit = accosim({"fit", samples, "-o", profile});
  ASSERT_EQ(fit.exit_code, 0) << fit.err;
  for (const char* said : {"gemm fp16 and bf16", "norm_backward bf16", "adamw_time_per_parameter", "launch_interval",
                           "copy to_device, pinned", "beside"})
    EXPECT_NE(fit.out.find(said), std::string::npos) << said << "\n" << fit.out;
  EXPECT_NE(fit.out.find(", measured\"; a cluster takes it as \"device\": \"" + profile), std::string::npos) << fit.out;
  const ProgramRun used = accosim({"compare", "slow_network_4x8_a100", "--schedule", "zero1", "--set",
                                   "/training/attention=naive", "--set", "/cluster/nodes/0/device=" + profile});
  EXPECT_NE(used.out.find(", measured"), std::string::npos) << used.out << used.err;
  // Every kernel of a step has its table.
  const Json kernels = Json::parse(accosim::text_of(profile))["kernels"];
  for (const char* kernel : {"embed_forward", "embed_backward", "norm_forward", "norm_backward", "bias_backward",
                             "gelu_forward", "gelu_backward", "split_heads", "merge_heads", "softmax_forward",
                             "softmax_backward", "cross_entropy", "adamw", "memset"})
    EXPECT_TRUE(kernels.contains(kernel) && kernels[kernel].contains("bf16")) << kernel;
}

TEST(DeviceFit, ARankHoldsTheMemoryThatIsPredicted) {
  if (!device_is_played()) GTEST_SKIP() << "a real device has no tiny plan";
  const Scratch scratch;
  // One whose tensors are long, and one whose updates take no time.
  scratch.write("samples/small.json", renamed(document("step", {{1, 64, 2, 32, 64}, "small"}, false)));
  scratch.write("samples/tiny.json", renamed(document("step", {{1, 8, 2, 4, 48}, "tiny"})));
  const Json rows = json_of(accosim({"validate", "--samples", scratch.path("samples"), "--group", "memory measured",
                                     "--network", "reference", "--json"}))["cases"];
  std::set<std::string> parts;
  for (const Json& row : rows.elements()) {
    const std::string id = row["id"].text();
    for (const char* part : {"micro_batch", "optimizer", "update acco", "update ddp"})
      if (id.find(part) != std::string::npos) parts.insert(part);
    // What is not listed is the sums of norms and biases, less than a tensor (of 4096 and of 64 bytes) in the first,
    // and in both the alignment of some 40 tensors to 256 bytes.
    const double predicted = row["predicted"].number(), small = id.find("small") == 0 ? 4096 : 10240;
    EXPECT_NEAR(row["measured"].number(), predicted, small) << id;
  }
  EXPECT_EQ(parts.size(), 4u) << rows;
}

}  // namespace
}  // namespace accocal
