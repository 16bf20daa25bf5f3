// The table of model families: each has its name once, two rows stand for something, and a name without a row is a
// mistake of ours.
#include "models/spec/model_families.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "models/price/accocal_layers.hpp"
#include "models/read/hf_config.hpp"
#include "models/spec/model.hpp"

namespace accosim {
namespace {

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
  EXPECT_THROW(family_of("gpt_neox"), std::logic_error);
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
