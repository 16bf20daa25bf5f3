// Our own steps as cases: asked of the fit of their own kernels alone, scored as any other, and seen by no fit of what
// others published.
#include "models/fit/gpu_cases.hpp"

#include <gtest/gtest.h>

#include "models/spec/scenario_error.hpp"
#include "sim/evidence/fit_steps.hpp"
#include "sim/evidence/validate.hpp"
#include "tests/support/gpu_document.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

/// Parameters of GPT-2 with 50304 words and 1024 positions.
double parameters_of(const AccocalSizes& s) {
  const double d = s.width;
  return (50304 + 1024) * d + s.layers * (12 * d * d + 13 * d) + 2 * d;
}

GpuDocument document_with_steps(double factor = 1) {
  const InventedGpu gpu = invented_gpu();
  GpuDocument document(gpu, 11);
  for (double n = 65536; n <= 5e8; n *= 4) document.add_kernel(StepKernel::kCopy, n, 1, Dtype::kBf16, true);
  for (const double n : {1e6, 16e6, 124e6, 800e6}) document.add_kernel(StepKernel::kAdamw, n, 1, Dtype::kBf16, true);
  document.add_launch("host_launch", gpu.launch);
  for (const double sequences : {1.0, 2.0, 4.0}) {
    const AccocalSizes sizes = gpt_sizes(6, 768, sequences);
    document.add_step_kernels(sizes, "gpt2");
    const double parameters = parameters_of(sizes);
    document.add_step(sizes, "gpt2", "micro_batch", parameters, factor * document.micro_batch(sizes), 5e9);
  }
  const AccocalSizes sizes = gpt_sizes(6, 768, 1);
  document.add_step(sizes, "gpt2", "optimizer", parameters_of(sizes),
                    gpu.kernel(StepKernel::kAdamw, parameters_of(sizes), Dtype::kBf16, true),
                    16 * parameters_of(sizes));
  return document;
}

Published published_of(const GpuDocument& document) {
  Published published;
  add_gpu_cases(published, read_gpu_samples(document.text(), "h100.json"), "h100", "h100.json");
  return published;
}

ValidateOptions on_reference() { return ValidateOptions{.network = NetworkKind::kReference}; }

const ValidationRow& row_of(const Validation& validation, const std::string& id) {
  for (const ValidationRow& row : validation.rows)
    if (row.id == "h100/" + id) return row;
  throw std::logic_error("no row " + id);
}

TEST(GpuCases, AStepIsPredictedToBeTheSumOfItsKernels) {
  const Validation validation = validate(published_of(document_with_steps()), on_reference());
  ASSERT_EQ(validation.groups.size(), 2u);
  EXPECT_EQ(validation.groups[0].name, kMeasuredGroup);
  EXPECT_EQ(validation.groups[1].name, kMeasuredMemoryGroup);
  for (const ValidationGroup& group : validation.groups) EXPECT_EQ(group.score.cases, 4) << group.name;
  // Noise of 2 % on each kernel, some hundred of them in a step: less than 1 % is left, and the step's own 1 %.
  for (const char* sequences : {"1", "2", "4"}) {
    const std::string id = fmt::format("gpt2 {}x1024 micro_batch, 50304 words", sequences);
    EXPECT_NEAR(row_of(validation, id).error(), 0, 0.03) << id;
    EXPECT_TRUE(row_of(validation, id).with.holds(row_of(validation, id).measured)) << id;
  }
  EXPECT_NEAR(row_of(validation, "gpt2 1x1024 optimizer, 50304 words").error(), 0, 0.04);
  // bf16 parameters and gradients, fp32 master, m and v: 16 bytes, with what the fit knows of no library.
  EXPECT_NEAR(row_of(validation, "gpt2 1x1024 optimizer, 50304 words memory").error(), 0, 1e-12);
}

TEST(GpuCases, TheStepsHaveNoPartInTheFit) {
  // Steps that take twice the sum of their kernels are predicted as before: 50 % too short.
  const Validation validation = validate(published_of(document_with_steps(2)), on_reference());
  EXPECT_NEAR(row_of(validation, "gpt2 2x1024 micro_batch, 50304 words").error(), -0.5, 0.02);
}

TEST(GpuCases, AMicroBatchHoldsItsStatesAndActivations) {
  const Validation validation = validate(published_of(document_with_steps()), on_reference());
  // 16 bytes a parameter. 6 layers keep 16 t d + 12 t 1024 elements of 2 bytes and 16 bytes a token; the head two
  // streams, a norm's 8 bytes a token, 50304 t logits and a float a token; again and again 10 t d + 12 t 1024 elements;
  // the text and its index, 4 t + 2 numbers; 32 MiB for the products.
  const double t = 1024, d = 768;
  const double expected = 16 * parameters_of(gpt_sizes(6, 768, 1)) + 6 * (2 * (16 * t * d + 12 * t * 1024) + 16 * t) +
                          2 * 2 * t * d + 8 * t + 2 * 50304 * t + 4 * t + 2 * (10 * t * d + 12 * t * 1024) +
                          4 * (4 * t + 2) + 32 * 1024 * 1024;
  EXPECT_NEAR(row_of(validation, "gpt2 1x1024 micro_batch, 50304 words memory").with.value / expected, 1, 1e-9);
}

TEST(GpuCases, OnOneGpuAnUpdateOfEveryAlgorithmIsItsMicroBatchesAndItsOptimizerOnce) {
  GpuDocument document = document_with_steps();
  const AccocalSizes sizes = gpt_sizes(6, 768, 1);
  for (const char* algorithm : {"acco", "ddp", "zero1"})
    document.add_text(fmt::format(
        R"({{"what": "step", "model": "gpt2", "layers": 6, "width": 768, "heads": 12, "context": 1024, "vocabulary": 50304,
        "parameters": {:.0f}, "sequences": 1, "storage": "bf16", "part": "update", "algorithm": "{}",
        "micro_batches": 4, "median_s": 1, "p10_s": 1, "p90_s": 1, "runs": 1}})",
        parameters_of(sizes), algorithm));
  const Validation validation = validate(published_of(document), on_reference());
  const double micro_batch = row_of(validation, "gpt2 1x1024 micro_batch, 50304 words").with.value;
  const double optimizer = row_of(validation, "gpt2 1x1024 optimizer, 50304 words").with.value;
  // AdamW moves 28 bytes a parameter here. acco's swaps (8 and 10 bytes) come after its micro-batches; two optimizer
  // steps and two clones (24 bytes each) run beside them and take some of their bandwidth, but less than all of the
  // time that they would take one after the other. The others' optimizer runs after their micro-batches, with a swap or
  // two of the buffers at most, and the launch of collectives that move nothing.
  const double acco = row_of(validation, "gpt2 1x1024 update acco of 4, 50304 words").with.value;
  EXPECT_GT(acco, 4 * micro_batch + 0.9 * (8.0 + 10) / 28 * optimizer);
  EXPECT_LT(acco, 4 * micro_batch + (8.0 + 10 + 2 * 28 + 2 * 24) / 28 * optimizer);
  for (const char* algorithm : {"ddp", "zero1"}) {
    const std::string id = fmt::format("gpt2 1x1024 update {} of 4, 50304 words", algorithm);
    EXPECT_NEAR(row_of(validation, id).with.value, 4 * micro_batch + optimizer, 0.02 * micro_batch) << algorithm;
  }
}

TEST(GpuCases, AnUnknownGpuCannotBeAsked) {
  GpuDocument document = document_with_steps();
  Published published;
  add_gpu_cases(published, read_gpu_samples(document.text("NVIDIA A40"), "b.json"), "b", "b.json");
  ASSERT_EQ(published.cases.size(), 4u);
  for (const PublishedCase& one : published.cases) {
    EXPECT_EQ(one.not_expressible,
              "no shipped profile is of NVIDIA A40; name the nearest part or a file with --profile");
    EXPECT_EQ(one.device, "NVIDIA A40");
    EXPECT_NE(one.published, "");
  }
  EXPECT_EQ(validate(published, {}).groups.front().score.not_expressible, 4);
  // From the profile of a part that is near it, as the fit itself.
  Published named;
  add_gpu_cases(named, read_gpu_samples(document.text("NVIDIA A40"), "b.json"), "h100", "b.json", "H100-SXM");
  const Validation validation = validate(named, on_reference());
  EXPECT_EQ(named.cases.front().device, "NVIDIA A40");
  EXPECT_NEAR(row_of(validation, "gpt2 2x1024 micro_batch, 50304 words").error(), 0, 0.03);
}

TEST(GpuCases, SizesThatDoNotGiveTheParametersAreRefused) {
  GpuDocument document(invented_gpu(), 1);
  document.add_kernel(StepKernel::kCopy, 4e8, 1, Dtype::kBf16, true);
  document.add_step(gpt_sizes(6, 768, 1), "gpt2", "micro_batch", 1e6, 1e-3, 0);
  EXPECT_THROW(published_of(document), ScenarioError);
}

TEST(GpuCases, OnlyGpuDocumentsOfAFolderAreTaken) {
  const Scratch scratch;
  Published published;
  EXPECT_EQ(add_gpu_cases(published, scratch.path("no such folder")), 0);
  scratch.write("samples/cpu.json", R"({"schema": "accosim.samples/1"})");
  scratch.write("samples/notes.txt", "nothing");
  EXPECT_EQ(add_gpu_cases(published, scratch.path("samples")), 0);
  EXPECT_TRUE(published.cases.empty());
  scratch.write("samples/gpu.json", document_with_steps().text());
  EXPECT_EQ(add_gpu_cases(published, scratch.path("samples")), 8);
  EXPECT_EQ(published.cases.size(), 8u);
  EXPECT_EQ(published.sources.front().key, "gpu");
  scratch.write("samples/bad.json", R"({"schema": "accosim.gpu_samples/1"})");
  EXPECT_THROW(add_gpu_cases(published, scratch.path("samples")), ScenarioError);
}

TEST(GpuCases, NoFitOfWhatOthersPublishedSeesThem) {
  const Published published = published_of(document_with_steps());
  EXPECT_TRUE(step_samples(published, 1, NetworkKind::kReference).empty());
  Validation validation = validate(published, on_reference());
  leave_out_each(validation, published, on_reference(), LeaveOut::kDevice);
  EXPECT_TRUE(validation.left_out.empty());
}

}  // namespace
}  // namespace accosim
