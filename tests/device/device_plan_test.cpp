// Does `accocal measure` on a device take the samples that a step is made of, in the order of their worth and in its
// time, and does it keep what it has when something fails? What a device must answer for is played on the host.
#include "calibration/measure/device_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "calibration/base/names.hpp"
#include "calibration/measure/measure_collectives.hpp"
#include "calibration/measure/measure_session.hpp"
#include "models/base/errors.hpp"
#include "tests/device/device_measurement.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/step_lines.hpp"

namespace accocal {
namespace {

// --- The plan.

DevicePlan full_plan() { return make_device_plan(full_sizes()); }

std::vector<double> sizes_of(const ProductCase& one) {
  const Product& p = one.product;
  return {1.0 * p.m, 1.0 * p.n, 1.0 * p.k, 1.0 * p.batch};
}
std::vector<double> sizes_of(const StepProduct& p) { return {p.m, p.n, p.k, p.batch}; }

TEST(DevicePlan, HasEveryProductOfTheStepsFirst) {
  // The list that the step itself is held to, for every model and micro-batch whose step is measured.
  const DevicePlan plan = full_plan();
  std::set<std::vector<double>> wanted;
  for (const ModelShape& m : gpt2_models()) {
    for (const int sequences : {1, 2, 4, 8, 16}) {
      for (const StepLaunch& each : accocal_micro_batch(step_sizes(m, sequences)))
        if (each.product) wanted.insert(sizes_of(*each.product));
    }
  }
  // Before anything else: as many cases as it takes to see all of them, and no other type or model among these.
  std::set<std::vector<double>> seen;
  std::size_t i = 0;
  for (; i < plan.products.size() && seen.size() < wanted.size(); ++i) {
    const ProductCase& one = plan.products[i];
    EXPECT_EQ(one.product.type, ProductType::kBf16) << text_of(one);
    EXPECT_FALSE(one.cold) << text_of(one);
    EXPECT_TRUE(wanted.count(sizes_of(one)) == 1) << text_of(one);
    seen.insert(sizes_of(one));
  }
  EXPECT_EQ(seen, wanted);
}

TEST(DevicePlan, StepProductsOfGpt2AreThese) {
  // GPT-2 124M, one sequence: d = 768, L = t = 1024, 12 heads of 64, V = 50304. Column-major: W is (out x in), so
  // forward needs no transpose, dX = W^T dY one of A, dW = dY X^T one of B; the head is token^T X.
  struct Expected {
    const char* layout;
    int m, n, k, batch;
    bool a, b, bias, accumulate;
  };
  const std::vector<Expected> expected = {{"forward", 2304, 1024, 768, 1, false, false, true, false},
                                          {"scores", 1024, 1024, 64, 12, true, false, false, false},
                                          {"mixed", 64, 1024, 1024, 12, false, false, false, false},
                                          {"forward", 768, 1024, 768, 1, false, false, true, true},
                                          {"forward", 3072, 1024, 768, 1, false, false, true, false},
                                          {"forward", 768, 1024, 3072, 1, false, false, true, true},
                                          {"forward", 50304, 1024, 768, 1, true, false, false, false},
                                          {"wgrad", 768, 50304, 1024, 1, false, true, false, true},
                                          {"dgrad", 768, 1024, 50304, 1, false, false, false, false},
                                          {"wgrad", 768, 3072, 1024, 1, false, true, false, true},
                                          {"dgrad", 3072, 1024, 768, 1, true, false, false, false},
                                          {"wgrad", 3072, 768, 1024, 1, false, true, false, true},
                                          {"dgrad", 768, 1024, 3072, 1, true, false, false, false},
                                          {"wgrad", 768, 768, 1024, 1, false, true, false, true},
                                          {"dgrad", 768, 1024, 768, 1, true, false, false, false},
                                          {"d_values", 64, 1024, 1024, 12, false, true, false, false},
                                          {"d_weights", 1024, 1024, 64, 12, true, false, false, false},
                                          {"d_queries", 64, 1024, 1024, 12, false, false, false, false},
                                          {"d_keys", 64, 1024, 1024, 12, false, true, false, false},
                                          {"wgrad", 2304, 768, 1024, 1, false, true, false, true},
                                          {"dgrad", 768, 1024, 2304, 1, true, false, false, false}};
  const std::vector<ProductCase> all = step_products(gpt2_models().front(), 1, ProductType::kBf16);
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Product& p = all[i].product;
    const Expected& e = expected[i];
    EXPECT_EQ(all[i].layout, e.layout) << i;
    EXPECT_EQ(sizes_of(all[i]), (std::vector<double>{1.0 * e.m, 1.0 * e.n, 1.0 * e.k, 1.0 * e.batch})) << i;
    EXPECT_EQ(p.transpose_a, e.a) << i;
    EXPECT_EQ(p.transpose_b, e.b) << i;
    EXPECT_EQ(all[i].bias, e.bias) << i;
    EXPECT_EQ(p.beta != 0, e.accumulate) << i;
  }
  // What the step adds onto the residual stream lies elsewhere, a weight's gradient in place.
  EXPECT_FALSE(all[3].in_place);
  EXPECT_TRUE(all[7].in_place);
  // scores and the gradient of the weights are one product to the device, and so are two more pairs.
  EXPECT_EQ(without_duplicates(all).size(), expected.size() - 3);
}

TEST(DevicePlan, HasEveryKernelOfTheSteps) {
  const DevicePlan plan = full_plan();
  std::set<std::string> planned;
  for (const KernelCase& one : plan.kernels)
    if (one.type == ElementType::kBf16 && !one.cold)
      planned.insert(fmt::format("{} {} x {}", name_of(one.kind), rows_of(one), columns_of(one)));
  for (const ModelShape& m : gpt2_models()) {
    for (const int sequences : {1, 2, 4, 8, 16}) {
      for (const StepLaunch& each : accocal_micro_batch(step_sizes(m, sequences))) {
        if (each.product || each.kernel == StepKernel::kMemset) continue;
        EXPECT_EQ(planned.count(line_of(each, 2)), 1u) << line_of(each, 2);
      }
    }
  }
}

TEST(DevicePlan, TakesNothingTwice) {
  const DevicePlan plan = full_plan();
  EXPECT_EQ(without_duplicates(plan.products).size(), plan.products.size());
  EXPECT_EQ(without_duplicates(plan.kernels).size(), plan.kernels.size());
  std::set<std::string> texts;
  for (const InterferenceCase& one : plan.interference)
    texts.insert(fmt::format("{} {} {} {}", one.is_product ? text_of(one.product) : text_of(one.kernel),
                             name_of(one.beside.what), one.beside.blocks, one.beside.amount));
  EXPECT_EQ(texts.size(), plan.interference.size());
  // 2 products, 3 kernels and AdamW, beside 7 + 4 + 2 + 1.
  EXPECT_EQ(plan.interference.size(), 6u * 14u);
}

TEST(DevicePlan, AsksOfFp8WhatItCanDo) {
  int fp8 = 0;
  for (const ProductCase& one : full_plan().products) {
    const Product& p = one.product;
    if (p.type != ProductType::kFp8) continue;
    ++fp8;
    EXPECT_TRUE(p.transpose_a && !p.transpose_b && p.batch == 1 && !one.bias && p.beta == 0) << text_of(one);
    EXPECT_EQ(p.m % 16 + p.n % 16 + p.k % 16, 0) << text_of(one);
  }
  EXPECT_GT(fp8, 100);
}

TEST(DevicePlan, LooksAroundATile) {
  // Of each of forward, dgrad and wgrad: m, n, k, each a tile less, a tile, 1 and 8 more, one at a time.
  std::set<std::string> tails;
  for (const ProductCase& one : full_plan().products)
    if (one.model.rfind("gpt2-350m ", 0) == 0) tails.insert(one.layout + one.model.substr(9));
  std::set<std::string> expected;
  for (const char* layout : {"forward", "dgrad", "wgrad"})
    for (const char* size : {" m", " n", " k"})
      for (const char* delta : {"-128", "+128", "+1", "+8"}) expected.insert(std::string(layout) + size + delta);
  EXPECT_EQ(tails, expected);
}

TEST(DevicePlan, AQuickOneHasLittleOfEveryKind) {
  const DevicePlan full = full_plan(), quick = make_device_plan(quick_sizes());
  EXPECT_EQ(quick.steps.size(), 1u);
  EXPECT_EQ(quick.updates.size(), 2u);
  EXPECT_EQ(quick.interference.size(), 6u * 5u);
  // The products of one step, once as in the step and once cold.
  EXPECT_EQ(quick.products.size(),
            2 * without_duplicates(step_products(gpt2_models()[0], 1, ProductType::kBf16)).size());
  EXPECT_LT(quick.kernels.size(), full.kernels.size() / 5);
  EXPECT_FALSE(quick.copies.empty());
}

TEST(DevicePlan, CountsTheBytesOfItsFormulas) {
  KernelCase one{.type = ElementType::kBf16};
  one.shape = {2, 8, 6, 3};  // 16 tokens of 6 features, 3 heads
  one.kind = StepKernel::kNormBackward;
  EXPECT_EQ(bytes_of(one), 4 * 6 * 16 * 2);
  one.kind = StepKernel::kSoftmaxForward;  // 8 keys x (16 queries of 3 heads)
  EXPECT_EQ(rows_of(one), 8);
  EXPECT_EQ(columns_of(one), 48);
  EXPECT_EQ(bytes_of(one), 1.5 * 8 * 48 * 2);
  one.kind = StepKernel::kBiasBackward;
  one.parts = 3;
  EXPECT_EQ(rows_of(one), 18);
  EXPECT_EQ(bytes_of(one), 18 * 16 * 2);
  one.kind = StepKernel::kAdamw;
  one.count = 10;
  EXPECT_EQ(bytes_of(one), 280);  // master, m and v read and written in fp32, gradient read, parameter written
  one.type = ElementType::kFloat32;
  EXPECT_EQ(bytes_of(one), 320);
}

// --- The session.

/// A clock that goes only as items run.
struct Laboratory {
  double time = 100;
  bool alive = true;
  std::vector<std::string> ran;
  std::vector<std::string> said;

  Session session(double budget) {
    return Session(
        Seconds{budget}, [this] { return Seconds{time}; }, [this](const std::string& line) { said.push_back(line); },
        [this] { return alive; });
  }
  /// Takes `cost` and is refused where it would not end in time, as a bench refuses.
  MeasureItem item(const std::string& name, double cost, const std::function<void(bool)>& also = {}) {
    MeasureItem made{.text = name, .group = "things", .keys = {{"what", "kernel"}, {"kernel", name}}};
    made.measure = [this, name, cost, also](Seconds most, bool again) -> std::optional<ItemTimes> {
      if (also) also(again);
      if (cost > most.value) return std::nullopt;
      time += cost;
      ran.push_back(again ? name + "'" : name);
      const double seconds = again ? 2 : 1;
      return ItemTimes{{seconds, seconds, seconds, 3}, {{"waves", 1.5}}};
    };
    return made;
  }
};

TEST(MeasureSession, KeepsHalfOfTheTimeForTheSecondPass) {
  // 10 s an item and 65 s: after three (30 s, and 30 s for their second pass) a fourth would need 20 of the 5 left.
  Laboratory lab;
  Session session = lab.session(65);
  std::vector<MeasureItem> items;
  for (const char* name : {"a", "b", "c", "d", "e"}) items.push_back(lab.item(name, 10));
  session.run("kernel", items, 1.0);
  EXPECT_EQ(lab.ran, (std::vector<std::string>{"a", "b", "c", "c'", "b'", "a'"}));
  ASSERT_EQ(session.samples().size(), 3u);
  EXPECT_EQ(session.samples()[0].spread.median, 1);
  EXPECT_EQ(session.samples()[0].again, 2);
  EXPECT_EQ(session.samples()[0].keys.back().key, "waves");
  ASSERT_EQ(session.left_out().size(), 1u);  // d and e as one line
  EXPECT_EQ(session.left_out()[0].count, 2);
  EXPECT_EQ(session.left_out()[0].why, "no time was left");
}

TEST(MeasureSession, ASmallerItemStillFits) {
  Laboratory lab;
  Session session = lab.session(100);
  session.run("kernel", {lab.item("large", 60), lab.item("small", 20)}, 1.0);
  EXPECT_EQ(lab.ran, (std::vector<std::string>{"small", "small'"}));
}

TEST(MeasureSession, WhatAKindDoesNotNeedIsTheNextOnes) {
  // The first kind may take until a half and takes 2 of 50 s; the second then has 98.
  Laboratory lab;
  Session session = lab.session(100);
  session.run("one", {lab.item("a", 1)}, 0.5);
  session.run("two", {lab.item("b", 45)}, 1.0);
  EXPECT_EQ(lab.ran, (std::vector<std::string>{"a", "a'", "b", "b'"}));
}

TEST(MeasureSession, AnErrorIsListedAndTheRestGoesOn) {
  Laboratory lab;
  Session session = lab.session(1000);
  session.run("kernel",
              {lab.item("a", 1), lab.item("b", 1, [](bool) { throw DeviceError("no 8 bytes"); }),
               lab.item("c", 1, [](bool) { throw NotMeasured("not on this device"); }),
               lab.item("d", 1,
                        [](bool again) {
                          if (again) throw std::runtime_error("something");
                        })},
              1.0);
  EXPECT_EQ(lab.ran, (std::vector<std::string>{"a", "d", "a'"}));
  ASSERT_EQ(session.samples().size(), 2u);
  EXPECT_FALSE(session.samples()[1].again.has_value());  // d keeps its first pass
  ASSERT_EQ(session.left_out().size(), 3u);
  EXPECT_EQ(session.left_out()[0].what, "b");
  EXPECT_EQ(session.left_out()[0].why, "no 8 bytes");
  EXPECT_EQ(session.left_out()[1].what, "things");
  EXPECT_EQ(session.left_out()[2].what, "d, second pass");
}

TEST(MeasureSession, WithoutItsDeviceItKeepsWhatItHas) {
  Laboratory lab;
  Session session = lab.session(1000);
  const auto dies = [&](bool) {
    lab.alive = false;
    throw DeviceError("an illegal address");
  };
  session.run("kernel", {lab.item("a", 1), lab.item("b", 1, dies), lab.item("c", 1)}, 1.0);
  session.run("copy", {lab.item("d", 1)}, 1.0);
  EXPECT_TRUE(session.lost());
  EXPECT_EQ(lab.ran, std::vector<std::string>{"a"});
  EXPECT_EQ(session.samples().size(), 1u);
  for (const Omission& one : session.left_out())
    EXPECT_NE(one.why.find("an illegal address"), std::string::npos) << one.what;
}

TEST(MeasureSession, SaysHowFarItIsNowAndThen) {
  // An item of 2 s and a line every 3 s at most: before the 1st, 3rd, 5th... of the 8 runs.
  Laboratory lab;
  Session session = lab.session(100);
  session.run("kernel", {lab.item("a", 2), lab.item("b", 2), lab.item("c", 2), lab.item("d", 2)}, 1.0);
  ASSERT_EQ(lab.said.size(), 4u);
  EXPECT_EQ(lab.said[0], "kernel: 0 of 8, 100 s left at most; a");
  EXPECT_EQ(lab.said[1], "kernel: 2 of 8, 96 s left at most; c");
}

// --- The bench.

TEST(MeasureBench, TurnsOperandsOverButWhatTheStepHasJustWritten) {
  Bench bench(tiny_bench());
  std::vector<std::vector<void*>> seen;
  const DeviceWork work{{array(1000, false), array(512, true)}, [&](const std::vector<void*>& at, Stream& stream) {
                          seen.push_back(at);
                          nothing(stream);
                        }};
  const auto different = [&](std::size_t which) {
    std::set<void*> places;
    for (const std::vector<void*>& at : seen) places.insert(at[which]);
    return places.size();
  };
  bench.make_ready(work, false);
  EXPECT_EQ(different(0), 4u);  // 1024 bytes each, four of them are 4096
  EXPECT_EQ(different(1), 1u);
  seen.clear();
  bench.make_ready(work, true);
  EXPECT_EQ(different(0), 3u);  // 1536 bytes a set: three are beyond 4096
  EXPECT_EQ(different(1), 3u);
}

TEST(MeasureBench, TimesALaunchByItsBatch) {
  // The played device takes 1 us for each kernel and each event. A batch between two events is n kernels and one event:
  // (n + 1) / n us a launch. Three first launches and an event: 4 / 3 us each, so n = 3 reaches 3.9 us.
  set_item_time(Seconds{1e-6});
  BenchOptions options = tiny_bench();
  options.is_short = Seconds{0};
  options.batch = Seconds{3.9e-6};
  Bench bench(options);
  const DeviceWork work{{array(64, false)}, [](const std::vector<void*>&, Stream& stream) { nothing(stream); }};
  Runner runner = bench.make_ready(work, true);
  EXPECT_EQ(runner.per_batch(), 3);
  const std::optional<Spread> spread = bench.time(runner, {Seconds{0}, Seconds{1}, 3, 5}, Seconds{1});
  ASSERT_TRUE(spread.has_value());
  EXPECT_EQ(spread->runs, 5);
  EXPECT_NEAR(spread->median, 4e-6 / 3, 1e-12);
  // A batch is 4 us: four of them, one as a warm-up, are more than 15 us.
  EXPECT_FALSE(bench.time(runner, {Seconds{0}, Seconds{1}, 3, 5}, Seconds{15e-6}).has_value());
  EXPECT_TRUE(bench.time(runner, {Seconds{0}, Seconds{1}, 3, 5}, Seconds{17e-6}).has_value());
}

TEST(MeasureBench, ReplaysShortKernelsAsAGraph) {
  int launched = 0;
  Bench bench(tiny_bench());
  const DeviceWork work{{array(1024, false)}, [&](const std::vector<void*>&, Stream& stream) {
                          ++launched;
                          nothing(stream);
                        }};
  Runner runner = bench.make_ready(work, true);
  const int before = launched;
  const std::optional<Spread> spread = bench.time(runner, {Seconds{0}, Seconds{1}, 3, 3}, Seconds{1});
  EXPECT_EQ(launched, before);  // the graphs run without the host's calls
  ASSERT_TRUE(spread.has_value());
  // 6 us in launches of 4/3 us: n = 5 kernels and the event, (5 + 1) / 5 us each.
  EXPECT_EQ(runner.per_batch(), 5);
  EXPECT_NEAR(spread->median, 1.2e-6, 1e-12);
}

// --- Steps.

TEST(DeviceMeasure, AStepCountsItsMemoryAndOneThatDoesNotFitIsLeftOut) {
  PlanSizes sizes = tiny_sizes();
  sizes.step_sequences = {1, 1 << 20};
  sizes.update_sequences = {};
  set_device_memory(128 << 20);  // 4 Mi tokens have 512 MiB of logits
  const Json document = measured("step", sizes);
  set_device_memory(std::int64_t{1} << 30);
  // bf16 parameters and gradients, fp32 master copy and two moments: 16 bytes a parameter; a total and a loss.
  for (const Json& sample : document["samples"].elements()) {
    const std::int64_t state = 16 * sample["parameters"].integer() + 8 + 4;
    EXPECT_EQ(sample["memory_bytes"], state + sample["activation_bytes"].integer()) << sample;
  }
  ASSERT_EQ(document["samples"].size(), 2u) << document["left_out"];
  EXPECT_EQ(document["samples"][0]["sequences"], 1);
  ASSERT_EQ(document["left_out"].size(), 1u);
  EXPECT_EQ(document["left_out"][0]["what"], "micro-batch of tiny with 1048576 sequences");
  EXPECT_NE(document["left_out"][0]["why"].text().find("are free"), std::string::npos);
}

// --- Collectives.

TEST(MeasureCollectives, RanksReportTheirTimesAndTheSlowestCounts) {
  const std::vector<CollectiveTimes> a = {{"all_reduce", 1024, {1, 5e-6}, {3, 4}}, {"all_gather", 64, {2, 2}, {2, 1}}};
  const std::vector<CollectiveTimes> b = {{"all_reduce", 1024, {2, 4e-6}, {1, 1}}, {"all_gather", 64, {1, 1}, {1, 3}}};
  const std::vector<CollectiveTimes> c = slowest({read_report<std::vector<CollectiveTimes>>(report_of(a)), b});
  ASSERT_EQ(c.size(), 2u);
  EXPECT_EQ(c[0].collective, "all_reduce");
  EXPECT_EQ(c[0].bytes, 1024);
  EXPECT_EQ(c[0].first, (std::vector<double>{2, 5e-6}));
  EXPECT_EQ(c[0].second, (std::vector<double>{3, 4}));
  EXPECT_EQ(c[1].second, (std::vector<double>{2, 3}));
}

TEST(MeasureCollectives, BeginWithWhatNcclWouldChoose) {
  const std::vector<NetworkSetting> settings = network_settings();
  EXPECT_TRUE(settings.front().algorithm.empty() && settings.front().channels == 0);
  EXPECT_EQ(settings.size(), 1u + 6 + 1 + 7);
}

// Of y (4096 x 512) = x (4096 x 256) W' the weight is stored along its inputs: TN of 512 x 4096 over 256 as BLAS has
// it.
TEST(DevicePlan, ProductsOfATableAreThoseOfLinearLayers) {
  const std::string head = "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,pass,times\n";
  const std::vector<ProductCase> all = products_of_table(
      head +
          "s,d,gemm,bf16,1,4096,512,256,bf16,0,forward,3\ns,d,gemm,bf16,1,4096,256,512,bf16,0,input_gradient,3\n"
          "s,d,gemm,bf16,1,512,256,4096,bf16,1,weight_gradient,3\ns,d,gemm,bf16,1,512,256,4096,fp32,1,weight_gradient,"
          "3\ns,d,attention_forward,bf16,1,,,,,,forward,3\n"
          "s,d,gemm,bf16,1,4096,512,256,bf16,0,forward,3\n",
      "kernels.csv");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].product, (Product{.m = 512, .n = 4096, .k = 256, .transpose_a = true}));
  EXPECT_EQ(all[1].product, (Product{.m = 256, .n = 4096, .k = 512}));
  EXPECT_EQ(all[2].product, (Product{.m = 256, .n = 512, .k = 4096, .transpose_b = true, .beta = 1}));
  EXPECT_TRUE(all[2].in_place);
  for (const auto& [row, wrong] : std::vector<std::pair<std::string, std::string>>{
           {"s,d,gemm,bf17,1,8,8,8,bf16,0,forward,1\n", "kernels.csv:2:10: dtype: is bf17"},
           {"s,d,gemm,bf16,1,8,8,8,bf16,0,sideways,1\n", "pass: is sideways; write forward"},
           {"s,d,gemm,bf16,1,0,8,8,bf16,0,forward,1\n", "m: "},
           {"s,d,attention_forward,bf16,1,,,,,,forward,1\n", "kernels.csv: has no matrix product that"}})
    try {
      products_of_table(head + row, "kernels.csv");
      ADD_FAILURE() << row;
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find(wrong), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace accocal
