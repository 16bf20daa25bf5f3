// The list of accocal's own kernels, and what the simulator makes of it.
#include <gtest/gtest.h>

#include "models/price/accocal_layers.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/memory.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/step_lines.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

using accocal::line_of;
using accocal::step_lines;

Model gpt2(int layers, int width, int vocabulary = 50304, int context = 1024) {
  Model model = sample_model(layers, width);
  model.activation = Activation::kGeluNew;
  model.vocab_size = vocabulary;
  model.max_position_embeddings = context;
  return model;
}

TEST(AccocalStep, ListsEveryKernelOfAMicroBatchInItsOrder) {
  // One layer of width 8 with 2 heads of 4, 3 sequences of 5 tokens (15 tokens, 6 heads in all), 100 words, whose
  // columns are 128 apart. Column-major: Y = W X is NN, dX = W' dY is TN, dW = dY X' is NT; keys' queries is TN.
  const AccocalSizes sizes{3, 5, 8, 2, 100, 1};
  const std::vector<std::string> expected = {
      "embed_forward 8 x 15",
      // the layer
      "norm_forward 8 x 15", "product 24 x 15 x 8 (1) NN + bias", "split_heads 24 x 15",
      "product 5 x 5 x 4 (6) TN, scaled", "softmax_forward 5 x 30", "product 4 x 5 x 5 (6) NN", "merge_heads 8 x 15",
      "product 8 x 15 x 8 (1) NN + bias + D", "norm_forward 8 x 15", "product 32 x 15 x 8 (1) NN + bias",
      "gelu_forward 480 x 1", "product 8 x 15 x 32 (1) NN + bias + D",
      // the head
      "norm_forward 8 x 15", "product 100 x 15 x 8 (1) TN, C 128 apart", "cross_entropy 100 x 15",
      "product 8 x 100 x 15 (1) NT, B 128 apart + C", "product 8 x 15 x 100 (1) NN, B 128 apart", "set_zero 240",
      "norm_backward 8 x 15",
      // the layer
      "bias_backward 8 x 15", "product 8 x 32 x 15 (1) NT + C", "product 32 x 15 x 8 (1) TN", "gelu_backward 480 x 1",
      "bias_backward 32 x 15", "product 32 x 8 x 15 (1) NT + C", "product 8 x 15 x 32 (1) TN", "norm_backward 8 x 15",
      "bias_backward 8 x 15", "product 8 x 8 x 15 (1) NT + C", "product 8 x 15 x 8 (1) TN", "split_heads 8 x 15",
      "product 4 x 5 x 5 (6) NT", "product 5 x 5 x 4 (6) TN", "softmax_backward 5 x 30", "product 4 x 5 x 5 (6) NN",
      "product 4 x 5 x 5 (6) NT", "merge_heads 24 x 15", "bias_backward 24 x 15", "product 24 x 8 x 15 (1) NT + C",
      "product 8 x 15 x 24 (1) TN", "norm_backward 8 x 15",
      //
      "embed_backward 8 x 15"};
  EXPECT_EQ(step_lines(sizes, 2), expected);
}

TEST(AccocalStep, ManyLayersAreOneManyTimes) {
  AccocalSizes sizes{1, 7, 64, 1, 64, 1};
  const std::vector<std::string> one = step_lines(sizes, 4);
  sizes.layers = 3;
  // 12 kernels and products forward and 22 backward.
  EXPECT_EQ(step_lines(sizes, 4).size(), one.size() + 2 * (12 + 22));
}

TEST(AccocalStep, AGatedModelHasItsProductsAndNoBiases) {
  // Width 8, an inner size of 20: gate and up are one matrix of 40 x 8, and the head is 100 x 8.
  AccocalSizes sizes{3, 5, 8, 2, 100, 1};
  sizes.gated = 20;
  std::vector<std::string> products;
  for (const StepLaunch& each : accocal_micro_batch(sizes)) {
    EXPECT_NE(each.kernel, StepKernel::kBiasBackward);
    if (each.product && each.product->batch == 1) products.push_back(line_of(*each.product));
  }
  EXPECT_EQ(products,
            (std::vector<std::string>{
                "product 24 x 15 x 8 (1) NN", "product 8 x 15 x 8 (1) NN + D", "product 40 x 15 x 8 (1) NN",
                "product 8 x 15 x 20 (1) NN + D", "product 100 x 15 x 8 (1) NN", "product 100 x 8 x 15 (1) NT + C",
                "product 8 x 15 x 100 (1) TN", "product 8 x 20 x 15 (1) NT + C", "product 20 x 15 x 8 (1) TN",
                "product 40 x 8 x 15 (1) NT + C", "product 8 x 15 x 40 (1) TN", "product 8 x 8 x 15 (1) NT + C",
                "product 8 x 15 x 8 (1) TN", "product 24 x 8 x 15 (1) NT + C", "product 8 x 15 x 24 (1) TN"}));
}

TEST(AccocalStep, ALaunchIsPricedAsItIsStated) {
  // 3 x 5 x 8: 15 tokens of 8 features in 2 bytes, read and written.
  const StepPart block = accocal_block({3, 5, 8, 2, 100, 1});
  const Kernel norm = kernel_of(block.forward[0], Dtype::kBf16), up = kernel_of(block.forward[9], Dtype::kFp32);
  EXPECT_EQ(norm.step, StepKernel::kNormForward);
  EXPECT_EQ(norm.bytes.value, 2 * 2 * 8 * 15);
  EXPECT_EQ(norm.elements, 120);
  EXPECT_EQ(norm.rows, 8);
  EXPECT_EQ(up.gemm, (Gemm{1, 32, 15, 8, Bytes{4}, Bytes{4}, false, GemmLayout::kNN}));
  const Kernel weights = kernel_of(block.backward[1], Dtype::kBf16), gelu = kernel_of(block.backward[3], Dtype::kBf16);
  EXPECT_EQ(weights.gemm, (Gemm{1, 8, 32, 15, Bytes{2}, Bytes{2}, true, GemmLayout::kNT}));
  EXPECT_EQ(gelu.rows, 0);  // it has none
  EXPECT_EQ(gelu.bytes.value, 3 * 2 * 480);
}

TEST(AccocalStep, ItsProductsAreTwoFlopsAParameterAndTokenAndTheWholeSquare) {
  // Forward: 2 t (12 d^2 a layer + V d), and attention's two products of 2 B H L^2 h each; backward twice that.
  const double d = 256, l = 128, b = 3, v = 1000;
  const Model model = gpt2(5, 256, 1000, 128);
  Flops forward, backward;
  for (const Layer& layer : accocal_layers(model, {b, l, d, 4, v, 5}, Dtype::kBf16))
    for (const Operator& op : layer.operators) {
      forward += op.forward_flops;
      backward += op.backward_flops;
    }
  const double expected = 2 * b * l * (5 * 12 * d * d + v * d) + 5 * 4 * b * l * l * d;
  EXPECT_DOUBLE_EQ(forward.value, expected);
  EXPECT_DOUBLE_EQ(backward.value, 2 * expected);
}

TEST(AccocalStep, ParametersAddUpToTheModelsAndActivationsAreWhatIsKept) {
  const Model model = gpt2(3, 512, 50257, 256);
  const double b = 2, t = b * 256, d = 512, square = b * 8 * 256 * 256;
  const Layers layers = accocal_layers(model, {b, 256, d, 8, 50257, 3}, Dtype::kBf16);
  double parameters = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) parameters += op.parameters;
  EXPECT_DOUBLE_EQ(parameters, static_cast<double>(parameter_count(model)));
  const auto kept = [](const Layer& layer) {
    return sum_of<double>(layer.operators, [](const Operator& op) { return op.activations.value; });
  };
  // 16 streams of t d and the square in 2 bytes; mean and scale of two norms in 4.
  EXPECT_DOUBLE_EQ(kept(layers[1]), 2 * (16 * t * d + square) + 2 * 2 * 4 * t);
  // Two streams, mean and scale, the logits of 50304 rows, a float a token for the losses.
  EXPECT_DOUBLE_EQ(kept(layers.back()), 2 * 2 * t * d + 2 * 4 * t + 2 * 50304 * t + 4 * t);
}

TEST(AccocalStep, AMicroBatchOnAMeasuredDeviceIsTheSumOfItsKernels) {
  Scenario scenario = sample_scenario(1, 1);
  scenario.model = gpt2(2, 512, 1000, 512);
  scenario.training.implementation = Implementation::kAccocal;
  scenario.cluster.nodes[0].attention = Attention::kNaive;
  Device& device = scenario.cluster.nodes[0].devices[0];
  device.launch_interval = Seconds{0};
  // Every memory-bound kernel takes 7 us whatever its size, every product what the roofline says; no overheads.
  for (int i = 0; i < kStepKernelCount; ++i)
    device.kernels.edit().push_back(
        {static_cast<StepKernel>(i), Dtype::kBf16, 0, {{1, Seconds{7e-6}}, {1e12, Seconds{7e-6}}}, 0, 2});
  const RankKind kind = price(scenario, scenario.schedules[0]).kinds.front();
  double expected = 0;
  for (const StepLaunch& one : accocal_micro_batch({4, 512, 512, 8, 1000, 2}))
    expected += one.product ? gemm_time(kernel_of(one, Dtype::kBf16).gemm, device, Dtype::kBf16).value : 7e-6;
  EXPECT_NEAR((kind.forward + kind.backward).value / expected, 1, 1e-12);
  // The model's need is that of any implementation: causal attention counts half.
  Workload eager{4, 512};
  EXPECT_DOUBLE_EQ(kind.model_flops.value, model_flops(scenario.model, eager).value);
}

TEST(AccocalStep, ItsOptimizerIsPricedByItsTableInItsDtype) {
  Costs costs{.implementation = Implementation::kAccocal};
  Device device = sample_device();
  device.adamw_time_per_parameter = Seconds{1e-12};
  device.kernels = std::vector<KernelTable>{
      {StepKernel::kAdamw, Dtype::kBf16, 0, {{1e6, Seconds{1e-5}}, {1e8, Seconds{1e-3}}}, 0, 2},
      {StepKernel::kAdamw, Dtype::kFp32, 0, {{1e6, Seconds{3e-5}}}, 0, 1}};
  EXPECT_NEAR(optimizer_time(costs, 1e7, device).value, 1e-4, 1e-12);
  EXPECT_NEAR(optimizer_time(costs, 1e3, device).value, 1e-5, 1e-12);  // its least, not 1 ns
  costs.parameter_dtype = costs.gradient_dtype = Dtype::kFp32;
  EXPECT_NEAR(optimizer_time(costs, 1e6, device).value, 3e-5, 1e-12);
  device.kernels.edit().pop_back();  // not measured in fp32
  EXPECT_NEAR(optimizer_time(costs, 1e6, device).value, 1e-6, 1e-12);
  costs.implementation = Implementation::kFused;  // another's
  costs.parameter_dtype = costs.gradient_dtype = Dtype::kBf16;
  EXPECT_NEAR(optimizer_time(costs, 1e7, device).value, 1e-5, 1e-12);
}

TEST(AccocalStep, ARankHoldsItsBuffersAllTheTimeAndNoSlack) {
  const Model model = gpt2(2, 256, 1000, 128);
  const Layers layers = accocal_layers(model, {2, 128, 256, 4, 1000, 2}, Dtype::kBf16);
  Device device = sample_device();
  device.reserved_memory = Bytes{0};
  ScheduleSpec spec = sample_schedule("acco");
  const double p = static_cast<double>(parameter_count(model)), shard = std::ceil(p / 4);
  const MemoryParts parts = resident_memory({spec, layers, device, 4, 2, true, true});
  // bf16 parameters, gradients and the communication buffer, padded; 12 bytes of states of the shard and their clones.
  EXPECT_DOUBLE_EQ((parts.total() - parts.part(MemoryUse::kActivations) - parts.part(MemoryUse::kLogitsAndLoss)).value,
                   3 * 2 * 4 * shard + 2 * 12 * shard);
  EXPECT_EQ(parts.part(MemoryUse::kAllocatorSlack).value, 0);
  spec = sample_schedule("zero1");
  EXPECT_DOUBLE_EQ(resident_memory({spec, layers, device, 4, 2, true, true}).part(MemoryUse::kOptimizerStates).value,
                   12 * shard);
  EXPECT_DOUBLE_EQ(resident_memory({spec, layers, device, 4, 2, true, true}).part(MemoryUse::kStateClones).value, 0);
  spec = sample_schedule("ddp");
  EXPECT_DOUBLE_EQ(resident_memory({spec, layers, device, 4, 2, true, true}).part(MemoryUse::kOptimizerStates).value,
                   12 * p);
}

std::string scenario_with(const std::string& model, const std::string& training, const std::string& schedules) {
  return R"({"schema": "accosim.scenario/1", "model": )" + model +
         R"(, "cluster": {"schema": "accosim.cluster/1", "nodes": [{"gpus": 1, "device": "H100-SXM"}]}, "training": )"
         R"({"sequence_length": 64, "micro_batch_size": 2, "train_tokens": 1e6, "gradient_accumulation_steps": 2, )"
         R"("implementation": "accocal")" +
         training + R"(}, "schedules": )" + schedules + "}";
}
constexpr const char* kGpt2 =
    R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 128, "n_head": 2, "n_positions": 64, "vocab_size": 100})";

std::string error_of(const std::string& text) {
  const Scratch scratch;
  return thrown_by<ScenarioError>([&] { load_scenario(scratch.write("s.json", text), {}); });
}

TEST(AccocalStep, TheLoaderTakesWhatAccocalTrains) {
  const Scratch scratch;
  const Scenario scenario =
      load_scenario(scratch.write("s.json", scenario_with(kGpt2, "", R"([{"name": "zero1"}, {"name": "acco"}])")), {})
          .scenario;
  EXPECT_EQ(scenario.training.implementation, Implementation::kAccocal);
  EXPECT_EQ(scenario.training.attention, Attention::kNaive);  // by default here
}

TEST(AccocalStep, TheLoaderRefusesWhatAccocalDoesNot) {
  struct Case {
    const char* model;
    const char* training;
    const char* schedules;
    const char* says;
  };
  const char* const zero1 = R"([{"name": "zero1"}])";
  const std::string llama =
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 2, )"
      R"("intermediate_size": 256, "vocab_size": 100, "max_position_embeddings": 64})";
  const std::string gpt2 = std::string(kGpt2).substr(0, std::string(kGpt2).size() - 1);
  const std::string relu = gpt2 + R"(, "activation_function": "relu"})";
  const std::string untied = gpt2 + R"(, "tie_word_embeddings": false})";
  const std::string narrow = gpt2 + R"(, "n_inner": 256})";
  const Case cases[] = {
      {llama.c_str(), "", zero1, "has rotary positions"},
      {relu.c_str(), "", zero1, "another activation than gelu_new"},
      {untied.c_str(), "", zero1, "a head of its own"},
      {narrow.c_str(), "", zero1, "an MLP or norms"},
      {kGpt2, R"(, "attention": "flash")", zero1, "/training/attention: accocal's step has products and a softmax"},
      {kGpt2, R"(, "precision": "fp16")", zero1, "/training/precision: accocal's step runs in bf16 or fp32"},
      {kGpt2, R"(, "precision": "tf32")", zero1, "/training/precision: accocal's step runs in bf16 or fp32"},
      {kGpt2, R"(, "dropout": 0.1)", zero1, "/training/dropout: accocal's step has no dropout"},
      {kGpt2, R"(, "activation_recompute": "full")", zero1, "keeps all activations"},
      {kGpt2, R"(, "gradient_clipping": true)", zero1, "does not clip"},
      {kGpt2, R"(, "optimizer_implementation": "foreach")", zero1, "AdamW in one kernel"},
      {kGpt2, "", R"([{"name": "zero3"}])", "zero3 is not what accocal's implementation runs"},
      {kGpt2, "", R"([{"name": "zero1", "parameter_dtype": "fp16"}])", "accocal stores bf16 or fp32"},
      {kGpt2, "", R"([{"name": "zero1", "gradient_dtype": "fp32"}])", "is not that of the parameters"},
      {kGpt2, R"(, "autocast": "bf16")", zero1, "/training/autocast: accocal's step casts nothing"},
      {kGpt2, R"(, "framework": "deepspeed")", zero1, "/training/framework: accocal's step is run by accocal"},
      {kGpt2, "", R"([{"name": "zero1", "buckets": "units"}])", "/schedules/0/buckets: accocal reduces"},
      {kGpt2, "", R"([{"name": "zero1", "reduction": "all_reduce"}])", "/schedules/0/reduction: accocal reduce-"},
      {kGpt2, "", R"([{"name": "zero1", "parameter_sync": "broadcast"}])", "/schedules/0/parameter_sync: accocal ga"},
      {kGpt2, "", R"([{"name": "zero1", "shard_group": "node"}])", "/schedules/0/shard_group: accocal shards over all"},
      {kGpt2, "", R"([{"name": "zero1", "gather_bucket_mb": 9}])", "/schedules/0/gather_bucket_mb: accocal gathers"},
      {kGpt2, "", R"([{"name": "ddp", "overlap": "backward"}])", "/schedules/0/overlap: is \"backward\", and accocal"},
      {kGpt2, "", R"([{"name": "zero1", "overlap": "backward"}])", "/schedules/0/overlap: is \"backward\""},
      {kGpt2, "", R"([{"name": "ddp", "bucket_cap_mb": 25}])", "/schedules/0/bucket_cap_mb: accocal reduces"},
      {kGpt2, "", R"([{"name": "ddp", "first_bucket_mb": 1}])", "/schedules/0/first_bucket_mb: accocal reduces"},
  };
  for (const Case& one : cases) {
    const std::string error = error_of(scenario_with(one.model, one.training, one.schedules));
    EXPECT_NE(error.find(one.says), std::string::npos) << one.says << "\nbut: " << error;
  }
}

TEST(AccocalStep, TheLoaderRefusesOfANodeGroupWhatItRefusesOfAll) {
  const std::string good = scenario_with(kGpt2, "", R"([{"name": "zero1"}])");
  const auto with = [&](const std::string& key) {
    std::string text = good;
    return text.replace(text.find(R"("gpus": 1)"), 9, R"("gpus": 1, )" + key);
  };
  EXPECT_EQ(error_of(with(R"("attention": "naive")")), "");
  EXPECT_NE(error_of(with(R"("attention": "flash")")).find("/cluster/nodes/0/attention: accocal's step has products"),
            std::string::npos);
  EXPECT_NE(error_of(with(R"("precision": "tf32")")).find("/cluster/nodes/0/precision: accocal's step runs in bf16"),
            std::string::npos);
}

TEST(AccocalStep, DdpReducesInOnePieceAndItsResolvedScenarioLoads) {
  const Scratch scratch;
  const LoadedScenario loaded =
      load_scenario(scratch.write("s.json", scenario_with(kGpt2, "", R"([{"name": "ddp"}])")), {});
  EXPECT_EQ(loaded.scenario.schedules[0].overlap, Overlap::kNone);
  EXPECT_EQ(load_scenario(scratch.write("resolved.json", loaded.resolved()), {}).resolved(), loaded.resolved());
}

}  // namespace
}  // namespace accosim
