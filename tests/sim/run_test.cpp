// Do results compare what they say they compare, and warn of what they should?
#include "sim/result/run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <tuple>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/shipped.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/warnings.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sample_file.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

TEST(Compare, SpeedupsHaveIntervalsAndTheBaselineHasNone) {
  // 80 % of a log-normal ratio: value x exp(-+ 1.28155 s), s^2 = that of ratios^2 + the squared differences of both
  // parts' spreads.
  const std::vector<RunResult> results = compare(sample_scenario(2, 4), {0, 1, 3}, kReference);
  EXPECT_FALSE(results[0].speedup_interval || results[0].speedup_same_batch_interval);
  for (const RunResult& result : {results[1], results[2]}) {
    const Spread &own = result.spread, &base = results[0].spread;
    const double spread = std::sqrt(std::pow(constants().ratio_spread, 2) + std::pow(own.compute - base.compute, 2) +
                                    std::pow(own.communication - base.communication, 2));
    EXPECT_NEAR(std::log(result.speedup_interval->high / *result.speedup), 1.28155 * spread, 1e-6);
    EXPECT_NEAR(std::log(result.speedup_interval->low / *result.speedup), -1.28155 * spread, 1e-6);
    EXPECT_NEAR(result.speedup_same_batch_interval->high / *result.speedup_same_batch,
                result.speedup_interval->high / *result.speedup, 1e-9);
  }
}

TEST(SameBatch, ABaselineBetweenTwoBatchesIsInterpolated) {
  // One of four GPUs 1.25 times slower and no communication to speak of: per round ACCO's fast GPUs do 2.5
  // micro-batches where the slow one does 2, so an update has 2 (3 * 2.5 + 2) = 19, and the baseline's share of a GPU
  // is 4.75 of them: three quarters of the way from its time at 4 to its time at 5.
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes[0].devices[3].slowdown = 1.25;
  const RunResult acco = compare(scenario, {3}, kReference)[0];
  ASSERT_NEAR(acco.micro_batches_per_update, 19, 0.05);
  const auto baseline = [&](int steps) {
    return play_steady(scenario, scenario.schedules[0], steps, kReference).measured.update_time.value;
  };
  const double steps = acco.micro_batches_per_update / 4;
  const double between = baseline(4) + (steps - 4) * (baseline(5) - baseline(4));
  EXPECT_NEAR(*acco.speedup_same_batch, between / acco.update_time.value, 1e-9);
}

TEST(SameBatch, AnAccoBaselineIsReplayedInTwoEqualRounds) {
  // DPU at 5 micro-batches an update against ACCO, which does even numbers only: halfway between ACCO at 4 and at 6.
  Scenario scenario = sample_scenario(1, 4);
  scenario.baseline = "acco";
  scenario.schedules[2].poll_every = 5;
  const RunResult dpu = compare(scenario, {2}, kReference)[0];
  ASSERT_EQ(dpu.micro_batches_per_update, 4 * 5);
  const auto acco = [&](int steps) {
    ScheduleSpec spec = scenario.schedules[3];
    spec.micro_batches_per_round = steps / 2;
    return play_steady(scenario, spec, steps, kReference).measured.update_time.value;
  };
  EXPECT_NEAR(*dpu.speedup_same_batch, (acco(4) + acco(6)) / 2 / dpu.update_time.value, 1e-9);
}

TEST(Run, AResultHasThePricesThatItWasPlayedAt) {
  // Of mixed ranks; the baseline's too, and of a schedule whose dtype is another's.
  Scenario scenario = sample_scenario(2, 2);
  scenario.cluster.nodes[0].devices[1].slowdown = 2;
  scenario.schedules[1].parameter_dtype = Dtype::kFp32;
  const std::vector<RunResult> results = compare(scenario, {0, 1, 3}, kReference);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ScheduleSpec& spec = scenario.schedules[std::array{0, 1, 3}[i]];
    const Costs anew = price(scenario, spec);
    ASSERT_EQ(results[i].costs->kinds.size(), anew.kinds.size());
    EXPECT_EQ(results[i].costs->parameter_dtype, spec.parameter_dtype);
    for (std::size_t k = 0; k < anew.kinds.size(); ++k)
      EXPECT_EQ(results[i].costs->kinds[k].forward.value, anew.kinds[k].forward.value);
    EXPECT_EQ(graph_for_trace(*results[i].costs, spec, 4, 2).ranks.size(), 4u);  // every rank by itself
  }
}

TEST(Memory, TheGpuWithLeastRoomDecides) {
  const auto with = [](const std::string& memory) {
    return load_sample({"/cluster/nodes/0/gpus=2", "/cluster/nodes/0/device=[" + sample_device_json() + ", " +
                                                       sample_device_json("small", memory) + "]"});
  };
  const RunResult roomy = advised(with("20 GB"), 0, kReference);
  EXPECT_EQ(roomy.memory_capacity.value, 20e9);
  EXPECT_TRUE(roomy.fits());
  EXPECT_FALSE(warns(roomy, "does_not_fit"));
  const RunResult tight = advised(with("1.1 GB"), 0, kReference);
  EXPECT_FALSE(tight.fits());
  EXPECT_TRUE(warns(tight, "does_not_fit"));
  // Both kinds are told, the roomy one too; a slowed GPU that holds as much is no kind of its own.
  ASSERT_EQ(tight.memory_by_kind.size(), 2U);
  EXPECT_EQ(tight.memory_by_kind[0].fit.verdict, FitVerdict::kFits);
  EXPECT_EQ(tight.memory_by_kind[1].fit.verdict, FitVerdict::kDoesNotFit);
  EXPECT_EQ(tight.memory_by_kind[1].device, "small");
  EXPECT_FALSE(tight.ways_to_fit.alone.empty());
  EXPECT_TRUE(roomy.ways_to_fit.alone.empty());
  Scenario scenario = sample_scenario(1, 2);
  scenario.cluster.nodes[0].devices[1].slowdown = 2;
  const RunResult slowed = advised(scenario, scenario.schedules[0], kReference);
  ASSERT_EQ(slowed.memory_by_kind.size(), 1U);
  EXPECT_EQ(slowed.memory_by_kind[0].ranks, 2);
}

TEST(Memory, WhatIsTightIsWarnedOfAndCountsAsFitting) {
  const Bytes held = advised(load_sample({}), 0, kReference).memory_resident;
  const LoadedScenario loaded =
      load_sample({"/cluster/nodes/0/device/memory=" + std::to_string(std::lround(1.001 * held.value)) + " B"});
  const RunResult tight = advised(loaded, 0, kReference);
  EXPECT_TRUE(tight.fits()) << "more likely than not";
  EXPECT_GT(tight.fit.probability, 0.5);
  EXPECT_TRUE(warns(tight, "tight"));
  EXPECT_FALSE(warns(tight, "does_not_fit"));
}

TEST(Utilization, RecomputationIsWorkOfTheHardwareNotOfTheModel) {
  const RunResult kept = advised(load_sample({}), 0, kReference);
  const RunResult again = advised(load_sample({"/training/activation_recompute=full"}), 0, kReference);
  // The same model FLOPs in more time; of the hardware, the blocks' forward once more: between 1 and 4/3 of what was.
  EXPECT_NEAR(again.mfu * again.update_time.value, kept.mfu * kept.update_time.value, 1e-12);
  const double more = again.hfu * again.update_time.value / (kept.hfu * kept.update_time.value);
  EXPECT_GT(more, 1.05);
  EXPECT_LT(more, 4.0 / 3);
}

TEST(Warnings, SayWhatTheirThresholdsMean) {
  const Scenario fast = sample_scenario(1, 8), slow = sample_scenario(4, 2, 0.5);
  const auto of = [](const Scenario& scenario, int index) {
    return advised(scenario, scenario.schedules[index], kReference);
  };
  EXPECT_FALSE(warns(of(fast, 3), "batch_grows"));
  EXPECT_TRUE(warns(of(slow, 3), "batch_grows"));
  EXPECT_FALSE(warns(of(fast, 0), "communication_exposed"));
  EXPECT_TRUE(warns(of(slow, 0), "communication_exposed"));
  EXPECT_TRUE(warns(of(fast, 2), "stale_gradients"));
  EXPECT_FALSE(warns(of(fast, 3), "stale_gradients"));

  Scenario uneven = fast;  // two rounds of 2 stand against 2 asked for
  uneven.training.gradient_accumulation_steps = 2;
  EXPECT_TRUE(warns(of(uneven, 3), "rounds_set_the_batch"));
  EXPECT_FALSE(warns(of(uneven, 3), "batch_grows"));
  EXPECT_FALSE(warns(of(fast, 3), "rounds_set_the_batch"));

  Scenario unequal = fast;
  unequal.cluster.nodes[0].devices[0].slowdown = 3;
  EXPECT_TRUE(warns(of(unequal, 0), "ranks_wait"));
  EXPECT_FALSE(warns(of(unequal, 3), "ranks_wait"));
  EXPECT_FALSE(warns(of(fast, 0), "ranks_wait"));

  Scenario small = fast;
  small.cluster.nodes[0].devices.assign(8, sample_device());
  for (Device& device : small.cluster.nodes[0].devices) device.launch_interval = Seconds{1e-3};
  EXPECT_TRUE(warns(of(small, 0), "launch_bound"));
  for (Device& device : small.cluster.nodes[0].devices) device.launch_interval = Seconds{1e-9};
  EXPECT_FALSE(warns(of(small, 0), "launch_bound"));

  Scenario drifting = fast;
  drifting.cluster.nodes[0].devices[0].slowdown = std::sqrt(2.0);
  // The ranks' numbers of micro-batches never repeat, and the times do.
  EXPECT_EQ(of(drifting, 3).steady.repeats_after, 0);
  EXPECT_LT(std::abs(of(drifting, 3).steady.halves_differ), 1e-9);
  EXPECT_FALSE(warns(of(drifting, 3), "not_periodic"));
  const Scenario wandering = load_scenario("hetero_4xa100_one_slow", {}).scenario;
  const RunResult dpu = advised(wandering, *schedule_labelled(wandering, "dpu"), kReference);
  EXPECT_GT(std::abs(dpu.steady.halves_differ), 1e-9);
  EXPECT_TRUE(warns(dpu, "not_periodic"));
  EXPECT_FALSE(warns(of(fast, 3), "not_periodic"));
}

TEST(Warnings, SayWhatIsWrittenAndChangesNothing) {
  const auto of = [](const std::vector<std::string>& sets) { return advised(load_sample(sets), 0, kReference); };
  EXPECT_TRUE(warns(of({"/training/autocast=bf16"}), "autocast_casts_nothing"));
  EXPECT_FALSE(warns(of({"/training/autocast=bf16", "/training/precision=fp32"}), "autocast_casts_nothing"));
  EXPECT_FALSE(warns(of({"/training/autocast=bf16", "/schedules/1/parameter_dtype=fp32"}), "autocast_casts_nothing"))
      << "another schedule has something to cast";
  const std::string model =
      R"(/model={"model_type": "gpt2", "n_layer": 1, "n_embd": 64, "n_head": 4, "n_positions": 512,
    "vocab_size": 100, "attn_pdrop": 0.1)";
  EXPECT_TRUE(warns(of({model + "}"}), "keys_not_read"));
  EXPECT_FALSE(warns(of({model + "}", "/training/dropout=0.1"}), "keys_not_read"));
  EXPECT_TRUE(warns(of({model + R"(, "new_thing": 3})", "/training/dropout=0.1"}), "keys_not_read"));
  EXPECT_FALSE(warns(of({}), "keys_not_read"));
}

TEST(Warnings, SayNoMoreOfADifferenceThanMatters) {
  EXPECT_EQ(difference_in_words(-4e-14), "less than 0.01 %");
  EXPECT_EQ(difference_in_words(-0.0023), "0.23 %");
}

TEST(Warnings, AskAboutWhatNoHardwareHas) {
  const auto asked = [](const std::vector<std::string>& sets) {
    const Scenario scenario = load_scenario("pretrain_4x8_a100", sets).scenario;
    std::string all;
    for (const Warning& warning : looks_wrong(scenario.cluster)) all += warning.message + "\n";
    return all;
  };
  EXPECT_EQ(asked({}), "");
  EXPECT_EQ(asked({"/cluster/nodes/0/intra/bandwidth=600 GB/s"}),
            "/cluster/nodes/0/intra/bandwidth is 600 GB/s, and NVLink of the generation ampere has 300 GB/s in one "
            "direction\n");
  const auto nics = [](const std::string& keys) { return "/cluster/nodes/0/nics={" + keys + "}"; };
  EXPECT_EQ(asked({nics(R"("kind": "infiniband", "bandwidth": "800 Gbit/s")")}), "");
  EXPECT_EQ(asked({nics(R"("kind": "infiniband", "bandwidth": "200 GB/s")")}),
            "/cluster/nodes/0/nics/bandwidth is 200 GB/s, 1600 Gbit/s for each adapter, and the fastest of the kind "
            "infiniband has 800\n");
  // Four of 200 Gbit/s are written with their number.
  EXPECT_EQ(
      asked({nics(R"("kind": "tcpx", "bandwidth": "800 Gbit/s")")}),
      "/cluster/nodes/0/nics/bandwidth is 100 GB/s, 800 Gbit/s for each adapter, and the fastest of the kind tcpx "
      "has 200\n");
  EXPECT_EQ(asked({nics(R"("kind": "tcpx", "count": 4, "bandwidth": "200 Gbit/s")")}), "");
  for (const std::string& kind : nic_kinds())
    EXPECT_NE(asked({nics("\"kind\": \"" + kind + R"(", "bandwidth": "200 GB/s")")}), "") << kind;
  // A100's 624 TFLOP/s are with sparsity.
  EXPECT_EQ(
      asked({"/cluster/nodes/0/device/peak/bf16=624 TFLOP/s"}),
      "the peak of A100-SXM4-80GB in bf16 is 624 TFLOP/s, and the fastest GPU of the generation ampere has 312\n");
  // Ada has no NVLink at all.
  EXPECT_EQ(asked({"/cluster/nodes/0/device/architecture=ada"}),
            "/cluster/nodes/0/intra/kind is nvswitch, and no GPU of the generation ada has NVLink\n");
  // A GPU that throttles takes a little longer; a million times is a slip, and so is a thousandth.
  EXPECT_EQ(asked({"/cluster/nodes/0/device/slowdown=1.5"}), "");
  EXPECT_EQ(asked({"/cluster/nodes/0/device/slowdown=1e6"}),
            "/cluster/nodes/0/device/slowdown makes a GPU 1e+06 times slower\n");
  EXPECT_EQ(asked({"/cluster/nodes/0/device/slowdown=0.001"}),
            "/cluster/nodes/0/device/slowdown makes a GPU 1e+03 times faster\n");
  // Nothing shipped is asked about anything.
  for (const ShippedFile& file : shipped_files(FileKind::kScenario))
    EXPECT_TRUE(looks_wrong(load_scenario(file.name, {}).scenario.cluster).empty()) << file.name;
  for (const ShippedFile& file : shipped_files(FileKind::kCluster))
    EXPECT_TRUE(looks_wrong(load_cluster(file.name)).empty()) << file.name;
}

TEST(Warnings, AskHowManyGpusAreJoined) {
  // Eight V100 are a hybrid cube mesh, and sixteen or eight later ones behind a switch. Four may be joined in pairs.
  const auto joined = [&](const char* device, int gpus, const char* kind) {
    return looks_wrong(load_scenario("pretrain_4x8_a100", {"/training/autocast=none", "/training/precision=fp32",
                                                           fmt::format("/cluster/nodes/0/device={}", device),
                                                           fmt::format("/cluster/nodes/0/gpus={}", gpus),
                                                           fmt::format("/cluster/nodes/0/intra={{\"kind\": \"{}\", "
                                                                       "\"bandwidth\": \"15 GB/s\"}}",
                                                                       kind)})
                           .scenario.cluster);
  };
  const std::vector<Warning> mesh = joined("V100-SXM2-32GB", 8, "nvlink");
  ASSERT_EQ(mesh.size(), 1U);
  EXPECT_EQ(mesh[0].message,
            "/cluster/nodes/0/intra/kind is nvlink, the same number of links between every two of 8 V100-SXM2-32GB, "
            "and no board has that with more than 4");
  EXPECT_EQ(mesh[0].advice,
            "write \"cube_mesh\", which joins the V100 of a DGX-1, or the \"links\" that nvidia-smi topo -m shows");
  EXPECT_EQ(joined("V100-SXM2-32GB", 16, "nvlink").at(0).advice, "write \"nvswitch\"");
  EXPECT_EQ(joined("H100-SXM", 8, "nvlink").at(0).advice, "write \"nvswitch\"");
  EXPECT_EQ(joined("RTX-3090", 4, "nvlink").at(0).advice,
            "bridges join pairs of boards, and a ring of all goes over PCIe: write \"pcie\"");
  EXPECT_EQ(joined("A100-SXM4-80GB", 8, "cube_mesh").at(0).advice,
            "write \"nvswitch\", or the \"links\" between these GPUs");
  for (const auto& [device, gpus, kind] :
       {std::tuple("V100-SXM2-32GB", 4, "nvlink"), std::tuple("A100-SXM4-80GB", 4, "nvlink"),
        std::tuple("RTX-3090", 2, "nvlink"), std::tuple("V100-SXM2-32GB", 8, "cube_mesh"),
        std::tuple("V100-SXM2-32GB", 8, "nvswitch")})
    EXPECT_TRUE(joined(device, gpus, kind).empty()) << device << " " << gpus << " " << kind;
}

/// What stands behind --set in the advice.
std::string setting_in(const std::string& advice) {
  const std::size_t at = advice.find("--set ");
  if (at == std::string::npos) return "";
  return advice.substr(at + 6, advice.find(')', at) - at - 6);
}

TEST(Waiting, OfTheMixedClusterTheSlowGpusWaitAndTheirAdviceHelps) {
  // The V100s take micro-batches of 2 beside 8 on the A100s, and are done first. Under zero1 they have room for 3; ddp
  // has none on them, so the A100s take fewer.
  const LoadedScenario loaded = load_scenario("mixed_a100_v100", {});
  for (const auto& [index, group] :
       {std::pair(std::size_t{1}, "/cluster/nodes/1/"), std::pair(std::size_t{0}, "/cluster/nodes/0/")}) {
    const RunResult before = advised(loaded, index, kReference);
    const Warning* const warning = warning_of(before, "ranks_wait");
    ASSERT_NE(warning, nullptr) << before.label;
    EXPECT_EQ(warning->message.find("V100-SXM2-32GB of \"v100\" wait for A100-SXM4-80GB of \"a100\": "), 0U)
        << warning->message;
    const std::string set = setting_in(warning->advice);
    EXPECT_EQ(set.find(group), 0U) << warning->advice;
    const RunResult after = advised(load_scenario("mixed_a100_v100", {set}), index, kReference);
    const double gain = after.tokens_per_second / before.tokens_per_second - 1;
    EXPECT_GT(gain, 0.01) << warning->advice;
    EXPECT_TRUE(holds(warning->advice, std::to_string(std::lround(100 * gain)) + " % more tokens per second"));
    EXPECT_TRUE(after.fits() || !before.fits()) << warning->advice;
  }
}

TEST(Waiting, FastStagesThatWaitGetMoreBlocks) {
  // Half of the stages are three times as slow, and the others idle for most of an update; all do the same
  // micro-batches, so that only other blocks help.
  std::vector<std::string> sets{"/cluster/nodes/*/gpus=4", "/cluster/nodes/1/device/slowdown=3", "/model/n_layer=12",
                                R"(/training/parallel={"pipeline_parallel_size": 2})"};
  const auto with = [&] { return advised(load_sample(sets, 2), 0, kReference); };  // zero1
  const RunResult before = with();
  const Warning* const warning = warning_of(before, "ranks_wait");
  ASSERT_NE(warning, nullptr);
  const std::string set = setting_in(warning->advice);
  EXPECT_EQ(set, "/training/parallel/stage_layers=speed") << warning->advice;
  EXPECT_FALSE(holds(warning->advice, "accumulate"));
  sets.push_back(set);
  const RunResult after = with();
  const double gain = after.tokens_per_second / before.tokens_per_second - 1;
  EXPECT_GT(gain, 0.2);
  EXPECT_TRUE(holds(warning->advice, std::to_string(std::lround(100 * gain)) + " % more tokens per second"));
}

TEST(Waiting, FastGpusThatWaitDoMoreWhereTheyHaveRoomElseTheSlowOnesDoLess) {
  // Equal micro-batches of 4 on GPUs of which half are three times slower: a quick network, a host that never waits.
  const auto advised_with = [](const std::vector<std::string>& more) {
    const std::vector<std::string> sets{"/cluster/nodes/*/gpus=4",
                                        "/cluster/nodes/*/nics/bandwidth=10 Tbit/s",
                                        "/cluster/nodes/*/device/launch_interval=0 s",
                                        "/cluster/nodes/0/name=fast",
                                        "/cluster/nodes/1/name=slow",
                                        "/cluster/nodes/1/device/slowdown=3"};
    return advised(load_sample(joined(sets, more), 2), 0, kReference);  // zero1
  };
  const RunResult before = advised_with({});
  const Warning* const roomy = warning_of(before, "ranks_wait");
  ASSERT_NE(roomy, nullptr);
  EXPECT_EQ(roomy->message.find("sample GPU of \"fast\" wait for sample GPU (3 times slower) of \"slow\": "), 0U)
      << roomy->message;
  // In the time of 4 on a slow one 12 on a fast: 16 samples instead of 8 in hardly more. Or 13: kernels take some time
  // whatever their size, on the slow ones three times as much.
  const auto rate = [&](int samples) {
    return advised_with({"/cluster/nodes/0/micro_batch_size=" + std::to_string(samples)}).tokens_per_second;
  };
  const char* const best = rate(13) > rate(12) ? "13" : "12";
  EXPECT_EQ(setting_in(roomy->advice), std::string("/cluster/nodes/0/micro_batch_size=") + best) << roomy->advice;
  EXPECT_GT(rate(12), 1.8 * before.tokens_per_second);

  // The same without room for another sample: a slow one does 1 sample (of 3 times 1) while a fast one does 4.
  const ScheduleSpec zero1 = load_sample({}).scenario.schedules[0];
  const Bytes held = memory_of(before.costs->kinds[0], zero1, 4).total();
  const std::string room = "/cluster/nodes/0/device/memory=" + std::to_string(std::lround(1.001 * held.value)) + " B";
  const RunResult crowded = advised_with({room});
  EXPECT_EQ(crowded.fit.verdict, FitVerdict::kTight);
  const Warning* const tight = warning_of(crowded, "ranks_wait");
  ASSERT_NE(tight, nullptr);
  EXPECT_EQ(setting_in(tight->advice), "/cluster/nodes/1/micro_batch_size=1") << tight->advice;
  EXPECT_GT(advised_with({room, "/cluster/nodes/1/micro_batch_size=1"}).tokens_per_second,
            1.5 * crowded.tokens_per_second);
}

TEST(Waiting, OfOneNodeGroupOnlyAnotherScheduleHelps) {
  Scenario scenario = sample_scenario(1, 8);
  scenario.cluster.nodes[0].devices[0].slowdown = 3;
  const RunResult result = advised(scenario, scenario.schedules[0], kReference);
  ASSERT_NE(warning_of(result, "ranks_wait"), nullptr);
  EXPECT_EQ(warning_of(result, "ranks_wait")->advice,
            "choose a schedule whose ranks accumulate while they wait (acco)");
}

TEST(Waiting, RanksThatAllWaitForTheNetworkDoNotWaitForEachOther) {
  // Ten times slower a network than the computation: everybody is idle, the one a little less.
  Scenario scenario = sample_scenario(4, 2, 0.5);
  scenario.cluster.nodes[0].devices[0].slowdown = 1.1;
  const RunResult result = advised(scenario, scenario.schedules[0], kReference);
  EXPECT_TRUE(warns(result, "communication_exposed"));
  EXPECT_FALSE(warns(result, "ranks_wait"));
}

TEST(Costs, KindsDifferByWorkloadToo) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  EXPECT_EQ(price(scenario, scenario.schedules[0]).kinds.size(), 1u);
  scenario.cluster.nodes[1].micro_batch_size = 2;
  const Costs costs = price(scenario, scenario.schedules[0]);
  EXPECT_EQ(costs.kinds.size(), 2u);
  EXPECT_EQ(costs.kind_of, (std::vector<int>{0, 0, 1, 1}));
}

TEST(Costs, MatmulsRunInTheDtypeThatFrameworksWouldUse) {
  NodeGroup group = sample_nodes(1, 1);
  ScheduleSpec spec = sample_schedule("ddp");
  Training training;
  EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kBf16);
  group.precision = Dtype::kFp16;  // a group's own 16-bit dtype
  EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kFp16);
  training.autocast = Autocast::kBf16;  // takes it too
  EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kFp16);
  training.autocast = Autocast::kNone;
  spec.parameter_dtype = Dtype::kFp32;
  EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kFp32);
  group.precision = Dtype::kTf32;
  EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kTf32);
  // Autocast's own dtype, whatever the parameters are stored in; also where all groups have the training's 16 bits.
  training.autocast = Autocast::kFp16;
  for (const Dtype precision : {Dtype::kFp32, Dtype::kTf32, Dtype::kBf16}) {
    group.precision = training.precision = precision;
    EXPECT_EQ(compute_dtype(group, spec, training), Dtype::kFp16);
    EXPECT_EQ(compute_dtype(group, sample_schedule("zero1"), training), Dtype::kFp16);
  }
}

/// Two ranks over sockets of 10 MB/s with a token bucket of 100 kB, steps of 1 ms; a micro-batch of 100 ms, 1e6
/// parameters in fp32, 10 ns each in the optimizer.
Scenario over_a_token_bucket(const std::string& schedules) {
  const Scratch scratch;
  return load_scenario(scratch.write("s.json", R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "measured", "parameters": 1000000, "micro_batch_time": "100 ms"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [{"count": 2, "gpus": 1,
      "device": {"schema": "accosim.device/1", "peak": {"fp32": "1 TFLOP/s"}, "gemm_efficiency": 0.5,
        "flash_attention_efficiency": 0.5, "memory_bandwidth": "10 GB/s", "memory_efficiency": 1, "memory": "8 GiB",
        "launch_interval": "0 s", "adamw_time_per_parameter": "10 ns"},
      "nics": {"kind": "sockets", "bandwidth": "10 MB/s", "efficiency": 1, "latency": "1 ms", "burst": "100 kB"}}]},
    "training": {"sequence_length": 1, "micro_batch_size": 1, "train_tokens": 1e6, "precision": "fp32",
      "interference": false}, "schedules": )" + schedules +
                                                   "}"),
                       {})
      .scenario;
}

TEST(Run, ATokenBucketLetsThroughWhatItGatheredWhileTheLinkWasIdle) {
  const Scenario scenario = over_a_token_bucket(
      R"([{"name": "zero1"}, {"name": "ddp", "overlap": "none"}, {"name": "diloco", "inner_updates": 4}])");
  for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid}) {
    const auto time = [&](std::size_t i) {
      return advised(scenario, scenario.schedules[i], network).update_time.value;
    };
    // Reduce-scatter: 1 ms, then 2 MB less a full bucket, 190 ms; 5 ms of optimizer and the next millisecond gather 60
    // kB, so the all-gather takes 194 ms.
    EXPECT_NEAR(time(0), 0.100 + 0.001 + 0.190 + 0.005 + 0.001 + 0.194, 1e-9);
    // All-reduce: two steps, 4 MB less a bucket; the optimizer on everything.
    EXPECT_NEAR(time(1), 0.100 + 0.002 + 0.390 + 0.010, 1e-9);
    // Four updates alone, one all-reduce of 4 MB, outer step: 12 + 24 MB through a memory of 10 GB/s.
    EXPECT_NEAR(time(2), 0.110 + (0.002 + 0.390 + 0.0036) / 4, 1e-9);
  }
}

TEST(Warnings, ATrainingThatEndsBeforeItsFirstUpdateSaysSo) {
  Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec ddp = sample_schedule("ddp");
  const double update = samples_asked(scenario) * scenario.training.sequence_length;  // tokens
  for (const double updates : {1.0, 0.99}) {
    scenario.training.train_tokens = updates * update;
    EXPECT_EQ(warns(advised(scenario, ddp, kReference), "training_too_short"), updates < 1);
  }
}

}  // namespace
}  // namespace accosim
