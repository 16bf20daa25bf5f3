// Do LoRA and QLoRA train what they train, hold what they hold, and compute no gradient that nobody needs?
#include <gtest/gtest.h>

#include "models/price/layers.hpp"
#include "models/price/memory.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

using enum LoraTarget;

Workload with(Lora lora, Implementation code = Implementation::kEager) {
  return Workload{.sequence_length = 1024, .implementation = code, .lora = std::move(lora)};
}

double frozen_bytes(const Layers& layers) {
  double sum = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) sum += op.frozen_bytes.value;
  return sum;
}

// Llama 3 8B: h 4096, k 1024, f 14336, 32 layers. Rank 16 beside queries and values: 32 x 16 (h + h + h + k); beside
// all: 32 x 16 (2 (h + h) + 2 (h + k) + 3 (h + f)). PEFT prints these numbers of trainable parameters.
TEST(Lora, TrainsItsAdaptersAlone) {
  const Model model = load_model("llama-3-8b");
  const Layers some = layers_of(model, with({16, {kQuery, kValue}}));
  EXPECT_EQ(parameters(some), 6'815'744);
  EXPECT_EQ(parameters(layers_of(model, with({16, values_of<LoraTarget>()}))), 41'943'040);
  EXPECT_EQ(frozen_bytes(some), 2.0 * 8'030'261'248);
  EXPECT_EQ(parameters(layers_of(model, with({}))), 8'030'261'248);
}

// QLoRA: the 32 (2 h^2 + 2 h k + 3 h f) elements of the blocks' matrices take 0.5 + 1/64 + 4/(64 x 256) bytes, both
// tables and the norms two.
TEST(Lora, ABaseInFourBitsTakesAQuarterAndABit) {
  const Model model = load_model("llama-3-8b");
  const double h = 4096, k = 1024, f = 14336, matrices = 32 * (2 * h * h + 2 * h * k + 3 * h * f);
  const double expected = matrices * (0.5 + 1.0 / 64 + 4.0 / 16384) + 2 * (8'030'261'248 - matrices);
  EXPECT_NEAR(frozen_bytes(layers_of(model, with({16, {kQuery}, LoraBase::kNf4}))) / expected, 1, 1e-12);
}

// Forward 2 FLOPs a weight and token, backward 2 more for the input's gradient and none for the weight's; of adapters
// two and four. Attention forward 4, backward 10 a pair, head and element.
TEST(Lora, ItsBackwardPassHasNoGradientsOfFrozenWeights) {
  const Model model = load_model("llama-3-8b");
  const double h = 4096, k = 1024, f = 14336, t = 1024, r = 16;
  const double block = 2 * h * h + 2 * h * k + 3 * h * f, adapter = r * (2 * h + h + k), pairs = t * t / 2 * h;
  const Layer layer = layers_of(model, with({16, {kQuery, kValue}}))[1];
  EXPECT_EQ(forward_flops(layer), 2 * t * (block + adapter) + 4 * pairs);
  EXPECT_EQ(backward_flops(layer), 2 * t * block + 4 * t * adapter + 10 * pairs);
  const Layer head = *layers_of(model, with({16, {kQuery, kValue}})).back();
  EXPECT_EQ(backward_flops(head), 2 * t * h * 128256);
  // What the model needs: so many for each frozen weight that multiplies, six for each of the adapters'.
  const double needed = 4 * t * (32 * block + h * 128256) + 6 * t * 32 * adapter + 3 * 4 * 32 * pairs;
  EXPECT_NEAR(model_flops(model, with({16, {kQuery, kValue}})).value / needed, 1, 1e-12);
}

// A product that is not adapted needs no input in the backward pass. Of a block of Llama 3 8B with adapters beside
// queries: the norms' inputs in fp32 and their outputs (6 h each), the adapters' input and x A (2 h + 2 r), queries,
// keys and values, repeated, with a log-sum-exp a head (6 h + 4 x 32), gate, up and act(gate) (6 f): a token.
TEST(Lora, KeepsTheInputsOfItsAdaptersAlone) {
  const double h = 4096, f = 14336, t = 1024;
  const Layer layer = layers_of(load_model("llama-3-8b"), with({16, {kQuery}}))[1];
  EXPECT_EQ(activations(layer), t * (2 * 6 * h + 2 * h + 2 * 16 + 6 * h + 4 * 32 + 6 * f));
}

TEST(Lora, FourBitsAreWidenedBeforeEachProductBothWays) {
  const Operator op =
      find(layers_of(load_model("llama-3-8b"), with({16, {kQuery}, LoraBase::kNf4}))[1], "output projection");
  const double widened = 4096.0 * 4096 * (0.5 + 1.0 / 64 + 4.0 / 16384 + 2);
  const double product = 2 * (2 * 1024.0 * 4096 + 4096.0 * 4096);
  EXPECT_DOUBLE_EQ(op.forward_bytes.value, widened + product);
  EXPECT_DOUBLE_EQ(op.backward_bytes.value, widened + product);
}

TEST(Lora, OneMatrixHasOneAdapter) {
  // Merged code has queries, keys and values in one matrix, and gate and up: 16 (h + h + 2 k) and 16 (h + 2 f).
  const Layer layer = layers_of(load_model("llama-3-8b"), with({16, {kKey, kUp}}, Implementation::kFused))[1];
  EXPECT_EQ(find(layer, "qkv adapters").parameters, 16 * (4096 + 4096 + 2 * 1024));
  EXPECT_EQ(find(layer, "mlp up adapters").parameters, 16 * (4096 + 2 * 14336));
  EXPECT_FALSE(has(layer, "mlp down adapters"));
  EXPECT_FALSE(has(layers_of(load_model("llama-3-8b"), with({}))[1], "qkv adapters"));
}

TEST(Lora, RanksThatSplitAProductHaveAPartOfOneMatrix) {
  const ModelShare half{.tensor = 2};
  const Layer layer = layers_of(load_model("llama-3-8b"), with({16, {kQuery, kDown}}), half)[1];
  EXPECT_EQ(find(layer, "qkv adapters").parameters, 16 * (4096 + 2048));
  EXPECT_EQ(find(layer, "qkv adapters").alike, 16 * 4096);
  EXPECT_EQ(find(layer, "mlp down adapters").parameters, 16 * (7168 + 4096));
}

LoadedScenario on_h100(const std::string& schedule, const std::string& lora) {
  std::vector<std::string> sets = {"/model=llama-3-8b",
                                   "/cluster=dgx-h100-1x8",
                                   "/training/sequence_length=1024",
                                   "/training/micro_batch_size=1",
                                   "/training/gradient_accumulation_steps=2",
                                   "/schedules=[{\"name\": \"" + schedule + "\"}]",
                                   "/baseline=" + schedule};
  if (!lora.empty()) sets.push_back("/training/lora=" + lora);
  return load_scenario("overlap_2x4_a100", sets);
}

MemoryParts memory(const std::string& schedule, const std::string& lora) {
  const Scenario scenario = on_h100(schedule, lora).scenario;
  const Costs costs = price(scenario, scenario.schedules.front());
  const RankKind& kind = costs.kinds.front();
  return resident_memory(
      {.schedule = scenario.schedules.front(), .layers = kind.layers, .device = kind.device, .shards = kind.shards});
}

const char* const kSome = R"({"rank": 16, "targets": ["q_proj", "v_proj"]})";

// 6,815,744 parameters: 2 bytes, 12 of master, m and v; the base 2 bytes each, on every rank.
TEST(Lora, ReplicatedStatesAreThoseOfTheAdapters) {
  const MemoryParts ddp = memory("ddp", kSome);
  EXPECT_EQ(ddp.part(MemoryUse::kParameters).value, 2 * 6'815'744);
  EXPECT_EQ(ddp.part(MemoryUse::kOptimizerStates).value, 12 * 6'815'744);
  EXPECT_EQ(ddp.part(MemoryUse::kFrozenParameters).value, 2 * 8'030'261'248);
  const MemoryParts zero1 = memory("zero1", kSome);
  EXPECT_EQ(zero1.part(MemoryUse::kOptimizerStates).value, 12 * 6'815'744 / 8);
  EXPECT_EQ(memory("ddp", "").part(MemoryUse::kFrozenParameters).value, 0);
}

// FSDP shards the base too: an eighth. Of the blocks two are gathered, each with 218,112,000 frozen and 212,992 trained
// parameters; the worst moment may have the head or the table besides.
TEST(Lora, ShardsOfTheBaseAreGatheredWithTheirUnits) {
  const MemoryParts zero3 = memory("zero3", kSome);
  EXPECT_EQ(zero3.part(MemoryUse::kFrozenParameters).value, 2 * 8'030'261'248.0 / 8);
  EXPECT_EQ(zero3.part(MemoryUse::kOptimizerStates).value, 8 * 6'815'744 / 8);
  EXPECT_GE(zero3.part(MemoryUse::kGatheredParameters).value, 2 * 2 * (218'112'000.0 + 212'992));
}

TEST(Lora, EveryScheduleCanTrainIt) {
  for (const ScheduleTraits& row : schedules()) {
    const Scenario scenario = on_h100(row.name, kSome).scenario;
    const Costs costs = price(scenario, scenario.schedules.front());
    EXPECT_EQ(costs.kinds.front().parameters, 6'815'744) << row.name;
    EXPECT_EQ(costs.kinds.front().frozen.value, 2 * 8'030'261'248) << row.name;
  }
}

TEST_F(ScenarioFiles, LoraThatCannotBeIsRefused) {
  const auto said = [&](const std::string& lora) { return errors({"/training/lora=" + lora}); };
  EXPECT_TRUE(said(R"({"rank": 4, "targets": ["q_proj", "down_proj"]})").empty());
  EXPECT_TRUE(said(R"({"rank": 4, "targets": ["all-linear"], "base_dtype": "nf4"})").empty());
  EXPECT_TRUE(any_has(said(R"({"targets": ["q_proj"]})"), "/training/lora/rank: missing"));
  EXPECT_TRUE(any_has(said(R"({"rank": 0, "targets": ["q_proj"]})"), "/training/lora/rank: is 0"));
  EXPECT_TRUE(any_has(said(R"({"rank": 4})"), "/training/lora/targets: missing"));
  EXPECT_TRUE(
      any_has(said(R"({"rank": 4, "targets": ["q"]})"), "targets: has \"q\"; write [\"all-linear\"] or some of"));
  EXPECT_TRUE(any_has(said(R"({"rank": 4, "targets": [3]})"), "targets: has \"3\""));
  EXPECT_TRUE(any_has(said(R"({"rank": 4, "targets": ["q_proj"], "alpha": 8})"), "/training/lora/alpha: unknown key"));
  EXPECT_TRUE(any_has(said(R"({"rank": 4, "targets": ["gate_proj"]})"), "the model's MLP has no gate"));
  EXPECT_TRUE(any_has(said(R"({"rank": 4, "targets": ["q_proj"], "base_dtype": "int8"})"), "\"parameters\", \"nf4\""));
  EXPECT_TRUE(
      any_has(errors({"/training/lora_r=16"}), R"(here it is "lora": {"rank": 16, "targets": ["all-linear"]})"));
}

}  // namespace
}  // namespace accosim
