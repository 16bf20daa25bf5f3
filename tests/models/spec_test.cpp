// Are ranks numbered as documented, and do the names of choices differ from each other?
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"

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
  Model model;
  model.family = "llama";
  model.num_hidden_layers = 10'000;
  model.hidden_size = model.num_attention_heads = model.num_key_value_heads = 1 << 20;
  model.head_dim = 1;
  model.intermediate_size = 1 << 23;
  model.vocab_size = 100'000'000;
  model.gated_mlp = model.rms_norm = true;
  const double wide = 1 << 20, expected = 1e4 * (4 * wide * wide + 3 * wide * 8 * wide + 2 * wide) + 2e8 * wide + wide;
  EXPECT_DOUBLE_EQ(static_cast<double>(parameter_count(model)), expected);
}

}  // namespace
}  // namespace accosim
