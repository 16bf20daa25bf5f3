// Are ranks numbered as documented, and do the names of choices differ from each other?
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "models/price/accocal_layers.hpp"
#include "models/read/hf_config.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

TEST(Spec, RanksAreNumberedByGroupNodeAndGpu) {
  Cluster cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].count = 2;
  cluster.nodes[0].gpus = 3;
  cluster.nodes[1].count = 1;
  cluster.nodes[1].gpus = 2;
  const std::vector<Place> places = places_of(cluster);
  const int expected[][3] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2}, {1, 2, 0}, {1, 2, 1}};
  ASSERT_EQ(places.size(), std::size(expected));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].group, expected[i][0]);
    EXPECT_EQ(places[i].node, expected[i][1]);
    EXPECT_EQ(places[i].gpu, expected[i][2]);
  }
}

TEST(Spec, DtypeNamesDiffer) {
  std::set<std::string> names;
  for (int i = 0; i < kDtypeCount; ++i) names.insert(name_of(static_cast<Dtype>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kDtypeCount));
  EXPECT_EQ(names.count(""), 0U);
}

// At the limits of the loader (1,048,576 wide, 10,000 layers, 8,388,608 inner, 1e8 tokens, twice for the head):
// 1e4 * (4 * 2^40 + 3 * 2^43) + 2e8 * 2^20 is about 3.1e17, well inside 63 bits.
TEST(Spec, TheLargestModelThatLoadsDoesNotOverflow) {
  Model model{.family = "llama", .num_hidden_layers = 10'000};
  model.hidden_size = model.num_attention_heads = model.num_key_value_heads = 1 << 20;
  model.head_dim = 1;
  model.intermediate_size = 1 << 23;
  model.vocab_size = 100'000'000;
  model.gated_mlp = model.rms_norm = true;
  const double wide = 1 << 20, expected = 1e4 * (4 * wide * wide + 3 * wide * 8 * wide + 2 * wide) + 2e8 * wide + wide;
  EXPECT_DOUBLE_EQ(static_cast<double>(parameter_count(model)), expected);
}

// The table of model families: each has its name once, two rows stand for something, and a name without a row is a
// mistake of ours.

TEST(ModelFamilies, EveryNameIsARowsOnce) {
  const std::vector<std::string> names = family_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  int measured = 0, accocal = 0;
  for (const std::string& name : names) {
    EXPECT_EQ(family_of(name).name, name);
    measured += family_of(name).measured ? 1 : 0;
    accocal += family_of(name).accocal ? 1 : 0;
  }
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(accocal, 1);
  EXPECT_STREQ(measured_family().name, "measured");
  EXPECT_STREQ(accocal_family().name, "gpt2");
  EXPECT_THROW(family_of("mamba2"), std::logic_error);
  EXPECT_THROW(family_of(Model{}), std::logic_error);
}

TEST(ModelFamilies, MistralIsLlamaButForItsWindow) {
  const ModelFamily &llama = family_of("llama"), &mistral = family_of("mistral");
  EXPECT_EQ(llama.windows, WindowRule::kFull);
  EXPECT_EQ(mistral.windows, WindowRule::kSliding);
  EXPECT_STREQ(mistral.key_value_heads, llama.key_value_heads);
  EXPECT_STREQ(mistral.activation, llama.activation);
  EXPECT_EQ(mistral.gated_mlp, llama.gated_mlp);
  EXPECT_EQ(mistral.softmax, llama.softmax);
}

TEST(ModelFamilies, AccocalsConfigIsAModelThatItTrains) {
  JsonValue config = accocal_config({3, 64, 4, 16, 100});
  EXPECT_EQ(dump_json(config), R"({"model_type":"gpt2","n_layer":3,"n_embd":64,"n_head":4,"n_positions":16,)"
                               R"("vocab_size":100})");
  Diagnostics diagnostics;
  const std::optional<Model> model = read_model(config, "", diagnostics);
  ASSERT_TRUE(model);
  EXPECT_EQ(not_for_accocal(*model), "");
  EXPECT_EQ(model->num_hidden_layers, 3);
  EXPECT_EQ(model->max_position_embeddings, 16);
}

}  // namespace
}  // namespace accosim
