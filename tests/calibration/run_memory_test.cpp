// Is the memory that a run is said to take what it takes?
#include "calibration/converge/run_memory.hpp"

#include <gtest/gtest.h>

#include "build_info/programs.hpp"
#include "calibration/base/names.hpp"
#include "models/base/errors.hpp"
#include "tests/support/program.hpp"
#include "tests/support/sanitized.hpp"

namespace accocal {
namespace {

TrainingOptions one_rank(Algorithm algorithm) {
  TrainingOptions options;
  options.algorithm = algorithm;
  options.gpt.shape = {.layers = 2, .width = 8, .heads = 2, .context = 16, .vocabulary = 0};
  options.gpt.sequences = 3;
  return options;
}

TEST(RunMemory, IsCountedByHand) {
  // 8 (256 + 16) + 2 (12 * 64 + 13 * 8) + 2 * 8 = 3936 parameters. DDP: parameters, gradient, what is sent, and AdamW's
  // three, 4 bytes each; ACCO keeps those three twice.
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kDdp), 1).parameters.value, 3936 * 24);
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kAcco), 1).parameters.value, 3936 * 36);
  // A shard of a fourth: 12 + 2 * 12 / 4 bytes, which the making of the initial values, 8 + 4 + 4, falls short of.
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kAcco), 4).parameters.value, 3936 * 18);
  // Where the estimate is local, no copy of the states but one of the parameters; PipeSGD's two sums in flight.
  TrainingOptions own = one_rank(Algorithm::kAcco);
  own.local_estimate = true;
  EXPECT_EQ(rank_memory(own, 1).parameters.value, 3936 * 28);
  own = one_rank(Algorithm::kPipeSgd);
  own.delay = 2;
  EXPECT_EQ(rank_memory(own, 1).parameters.value, 3936 * 32);
  // CO2: where this round and that in flight began, and the momentum. Streaming DiLoCo: theta, momentum, a fragment.
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kCo2), 1).parameters.value, 3936 * 36);
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kStreamingDiloco), 1).parameters.value, 3936 * 34);
  // 48 tokens: a layer 20 * 8 * 48 and attention's 2 heads * 48 * 16; once 13 * 8 * 48, logits 256 * 48, attention.
  EXPECT_EQ(rank_memory(one_rank(Algorithm::kDdp), 1).activations.value, 4 * (2 * (7680 + 1536) + 4992 + 12288 + 1536));
}

TEST(RunMemory, IsWhatARunTakes) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  TrainingOptions options = one_rank(Algorithm::kAcco);
  options.gpt.shape = {.layers = 2, .width = 512, .heads = 4, .context = 64, .vocabulary = 0};
  options.gpt.sequences = 4;
  const RankMemory rank = rank_memory(options, 1);
  const double expected = (rank.parameters + rank.activations + rank.evaluation).value;
  const ProgramRun run = run_program(kAccocalProgram,
                                     {"train", "-n", "1", "-a", "acco", "--layers", "2", "--width", "512", "--heads",
                                      "4", "--context", "64", "--sequences", "4", "--updates", "1", "-o", "/dev/null"},
                                     "/");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const double ratio = 1024.0 * static_cast<double>(run.peak_kib) / expected;
  EXPECT_GT(ratio, 0.85);
  // A sanitizer has shadows of all of it, and CUDA's libraries alone take 200 MB.
  const bool bare = run_program(kAccocalProgram, {"--version"}, "/").peak_kib < 64 * 1024;
  if (!kSanitized && bare) {
    EXPECT_LT(ratio, 1.15);
  }
}

TEST(RunMemory, NothingIsAllocatedToRefuseIt) {
  TrainingOptions options = one_rank(Algorithm::kDdp);
  options.gpt.shape.width = 2'000'000'000;
  EXPECT_THROW(check_memory(options, 64), BadInput);
  EXPECT_THROW(check_measure_memory(one_rank(Algorithm::kDdp), 64, Bytes{1e18}), BadInput);
  check_memory(one_rank(Algorithm::kDdp), 1);
  EXPECT_GT(available_memory().value, 1e6);
}

}  // namespace
}  // namespace accocal
