// Scenarios that are refused: every mistake is told with its place and what to write instead.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

TEST_F(ScenarioFiles, ASetThatLeadsNowhereNamesTheNearestKey) {
  EXPECT_EQ(errors({"/cluster/nodes/0/nic/bandwidth=1 GB/s"}),
            Lines{"--set /cluster/nodes/0/nic: no such key; did you mean \"nics\"?"});
  EXPECT_EQ(errors({"/cluster/nodes/1/count=1"}),
            Lines{"--set /cluster/nodes/1: no such element; write an index from 0 to 0"});
  EXPECT_EQ(errors({"/training/micro_batch_sise=1"}),
            Lines{"--set /training/micro_batch_sise: unknown key; did you mean \"micro_batch_size\"?"});
  EXPECT_EQ(errors({"/name/x=1"}),
            Lines{"--set /name/x: what is before it is a text and has no keys; check the pointer"});
  EXPECT_EQ(errors({"/schedules=[\"zero1\"]"}), Lines{"--set /schedules/0: is a text; write {\"name\": \"zero1\"}"});
  EXPECT_EQ(errors({"training=1"}).size(), 1U);
  EXPECT_EQ(errors({"/training"}).size(), 1U);
  EXPECT_EQ(errors({""}).size(), 1U);
  EXPECT_EQ(errors({"=1"}).size(), 1U);
  EXPECT_EQ(errors({"/cluster={\"nodes\":"}).size(), 1U);
  EXPECT_TRUE(any_has(errors({"/training/train_tokens=1e400"}), "--set /training/train_tokens: is the text \"1e400\""));
}

TEST_F(ScenarioFiles, AnUnknownBaselineListsTheLabelsInQuotes) {
  EXPECT_TRUE(any_has(
      errors({R"(/schedules=[{"name": "ddp", "label": "plain, slow"}, {"name": "acco"}])", "/baseline=something"}),
      R"("something" is the label of no schedule; one of: "plain, slow", "acco")"));
}

TEST_F(ScenarioFiles, NullTakesAwayWhatIsWrittenAndNothingElse) {
  const auto with = [](const std::string& keys) {
    return "/schedules=[{\"name\": \"zero1\", \"overlap\": \"backward\"" + keys + "}]";
  };
  const Scenario seven = load({with(", \"bucket_cap_mb\": 7")}).scenario, usual = load({with("")}).scenario;
  EXPECT_NE(seven.schedules, usual.schedules);
  EXPECT_EQ(load({with(", \"bucket_cap_mb\": 7"), "/schedules/0/bucket_cap_mb=null"}).scenario.schedules,
            usual.schedules);
  const std::string one_has = R"([{"name": "zero1", "overlap": "backward", "bucket_cap_mb": 7}, {"name": "acco"}])";
  EXPECT_EQ(load({"/schedules=" + one_has, "/schedules/*/bucket_cap_mb=null"}).scenario.schedules.front(),
            usual.schedules.front());
  EXPECT_EQ(errors({"/schedules=" + one_has, "/schedules/*/meeting=null"}).size(), 2U) << "none has it";
  // Of a list it takes the element, and those behind it move up.
  const std::string three = R"([{"name": "ddp"}, {"name": "zero1"}, {"name": "acco"}])";
  const Scenario left =
      load({"/schedules=" + three, "/schedules/2=null", "/schedules/0=null", "/baseline=zero1"}).scenario;
  ASSERT_EQ(left.schedules.size(), 1U);
  EXPECT_EQ(left.schedules.front().name, "zero1");
  EXPECT_TRUE(any_has(errors({"/schedules=" + three, "/schedules/*=null"}), "/schedules: is empty"));
  // What is cited for it goes too, and what is cited for those behind it is cited where they are now.
  for (const char* const group : {"0", "1"}) {
    const LoadedScenario part = load_scenario("mixed_a100_v100", {std::string("/cluster/nodes/") + group + "=null"});
    EXPECT_EQ(part.scenario.cluster.nodes.size(), 1U);
    EXPECT_EQ(part.resolved().find("/nodes/1/"), std::string::npos);
  }
  EXPECT_EQ(errors({"/training/micro_batch_sise=null"}),
            Lines{"--set /training/micro_batch_sise: is not there, so that null has nothing to take away; did you mean "
                  "\"micro_batch_size\"?"});
  EXPECT_TRUE(any_has(errors({"/training/train_tokens=null"}), "train_tokens: missing"));
}

TEST_F(ScenarioFiles, TenMistakesGiveTenLines) {
  const std::string path = files.write("bad.json", R"({"schema": "accosim.scenario/1", "name": "bad",
  "model": "models/tinny.json",
  "cluster": {"nodes": [{"count": -2, "gpus": 2, "device": "devices/gpu.json",
    "intra": {"kind": "nvlinc", "bandwidth": "100 GB"},
    "nics": {"bandwith": "100 Gbit/s"}}]},
  "training": {"sequence_length": 512.5, "micro_batch_size": "4", "gradient_accumulation_steps": -1, "train_tokens": 0},
  "schedules": [{"name": "acco"}, {"name": "zero1", "poll_every": 3}]})");
  Lines expected;
  const auto expect = [&](const std::string& place, const std::string& what) {
    expected.push_back(place + ": " + what);
  };
  const std::string count = "write a whole number from 1 to 1000000000";
  expect("bad.json:2:12 /model", "no file \"models/tinny.json\"; did you mean \"tiny.json\"?");
  expect("bad.json:6:35 /training/sequence_length", "is 512.5; " + count);
  expect("bad.json:6:62 /training/micro_batch_size", "is the text \"4\"; " + count + ", without quotes");
  expect("bad.json:6:98 /training/gradient_accumulation_steps", "is -1; " + count);
  expect("bad.json:6:118 /training/train_tokens", "is 0; write a number above 0, at most 1e+18");
  expect("bad.json:3:35 /cluster/nodes/0/count", "is -2; write a whole number from 0 to 1048576");
  expect(
      "bad.json:4:23 /cluster/nodes/0/intra/kind",
      R"("nvlinc" is not known; did you mean "nvlink"? write one of: "nvswitch", "nvlink", "cube_mesh", "pcie", "pcie_host")");
  expect("bad.json:4:46 /cluster/nodes/0/intra/bandwidth",
         R"("100 GB" is an amount of data; a bandwidth is written "100 GB/s" (bytes) or "100 Gbit/s" (bits))");
  expect("bad.json:5:14 /cluster/nodes/0/nics/bandwith", R"(unknown key; did you mean "bandwidth"?)");
  expect("bad.json:7:53 /schedules/1/poll_every",
         "unknown key; it belongs to dpu, wp and acco, and zero1 has no such choice; remove it");
  EXPECT_EQ(errors_of(path), expected);
}

TEST_F(ScenarioFiles, PricesAreNoDebtsAndOfAllGroupsOrNone) {
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/price_per_gpu_hour=-1"}),
                      "/cluster/nodes/0/price_per_gpu_hour: is -1; write a number from 0 to"));
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/price_per_gpu_hour=\"2 USD\""}), "price_per_gpu_hour: is the text"));
  const auto nodes = [&](const std::string& count) {
    return with_nodes(R"([{"gpus": 1, "device": "devices/gpu.json", "nics": {"bandwidth": "1 GB/s"},
      "price_per_gpu_hour": 2}, {"count": )" +
                      count + R"(, "gpus": 1, "device": "devices/gpu.json",
      "nics": {"bandwidth": "1 GB/s"}}])");
  };
  EXPECT_EQ(errors_of(nodes("1")),
            Lines{"with.json:3:33 /cluster/nodes/1/price_per_gpu_hour: missing; other node groups have a price: write "
                  "this one's too, 0 where it costs nothing"});
  EXPECT_EQ(errors_of(nodes("0")), Lines{}) << "a group of no nodes costs nothing";
}

TEST_F(ScenarioFiles, ACurrencyIsAShortNameOfThePrices) {
  const std::string priced = "/cluster/nodes/0/price_per_gpu_hour=2";
  EXPECT_TRUE(errors({priced, "/cluster/currency=€"}).empty());
  EXPECT_TRUE(any_has(errors({"/cluster/currency=EUR"}), "write their \"price_per_gpu_hour\", or leave it out"));
  EXPECT_TRUE(any_has(errors({priced, "/cluster/currency=US dollars"}), "currency: is 10 bytes long; write at most 8"));
  EXPECT_TRUE(any_has(errors({priced, "/cluster/currency=2 EUR"}), "without spaces and digits, such as \"USD\""));
  EXPECT_TRUE(any_has(errors({priced, "/cluster/nodes/0/currency=EUR"}), "write it beside \"nodes\""));
}

TEST_F(ScenarioFiles, WhichBlocksAreRecomputedIsSaidOnceAndOfWholeBlocks) {
  const auto of = [&](const std::string& value) { return "/training/activation_recompute=" + value; };
  EXPECT_TRUE(errors({of("full"), "/training/recompute_every=2"}).empty());
  EXPECT_TRUE(errors({of("full_early_stop"), "/training/recompute_fraction=0.25"}).empty());
  EXPECT_TRUE(any_has(errors({of("selective"), "/training/recompute_every=2"}),
                      "/training/recompute_every: is of whole blocks; write activation_recompute full or "
                      "full_early_stop, or leave it out"));
  EXPECT_TRUE(any_has(errors({"/training/recompute_fraction=0.5"}), "recompute_fraction: is of whole blocks"));
  EXPECT_TRUE(any_has(errors({of("full"), "/training/recompute_every=2", "/training/recompute_fraction=0.5"}),
                      "recompute_fraction: says the same as recompute_every; write one of them"));
  EXPECT_TRUE(
      any_has(errors({of("full"), "/training/recompute_every=1000"}), "recompute_every: is 1000, and the model"));
  EXPECT_TRUE(errors({of("full"), "/training/recompute_layers=1"}).empty());
  EXPECT_TRUE(
      any_has(errors({of("full"), "/training/recompute_layers=1000"}), "recompute_layers: is 1000, and the model has"));
  EXPECT_TRUE(any_has(errors({"/training/recompute_layers=1"}), "recompute_layers: is of whole blocks"));
  EXPECT_TRUE(any_has(errors({of("full"), "/training/recompute_every=2", "/training/recompute_layers=1"}),
                      "recompute_layers: says the same as recompute_every; write one of them"));
  EXPECT_TRUE(any_has(errors({of("full"), "/training/recompute_every=0"}), "recompute_every: is 0"));
  EXPECT_TRUE(any_has(errors({of("full"), "/training/recompute_fraction=0"}), "recompute_fraction: is 0"));
  EXPECT_TRUE(any_has(errors({of("full"), "/training/recompute_fraction=1.5"}), "recompute_fraction: is 1.5"));
}

TEST_F(ScenarioFiles, WhatADeviceCannotDoIsAnErrorThatSaysWhatToWrite) {
  files.write("devices/fp16.json", R"({"schema": "accosim.device/1", "name": "V", "inherits": "gpu.json"})");
  const std::string volta = R"({"name": "V", "peak": {"fp32": "15 TFLOP/s", "fp16": "125 TFLOP/s"},
    "gemm_efficiency": 0.7, "flash_attention_efficiency": 0, "memory_bandwidth": "900 GB/s", "memory_efficiency": 0.8,
    "memory": "16 GiB", "launch_interval": "4 us"})";
  const std::string nodes = "[{\"gpus\": 1, \"device\": " + volta;
  EXPECT_EQ(errors_of(with_nodes(nodes + ", \"attention\": \"naive\"}]")),
            Lines{"with.json:2:25 /cluster/nodes/0/precision: V cannot compute in bf16 (it has a peak for fp32, fp16); "
                  "write \"precision\": \"fp16\" for this node group"});
  EXPECT_TRUE(
      any_has(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\"}]")), "/attention: V has no fused attention"));
  EXPECT_TRUE(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\", \"attention\": \"naive\"}]")).empty());
  const std::vector<std::string> autocast = {"/training/precision=fp32", "/training/autocast=bf16"};
  EXPECT_TRUE(
      any_has(errors_of(with_nodes(nodes + ", \"attention\": \"naive\"}]"), autocast),
              "/cluster/nodes/0/precision: V cannot compute in autocast's bf16 (it has a peak for fp32, fp16)"));
  // A group's own 16 bits are what autocast takes there.
  EXPECT_TRUE(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\", \"attention\": \"naive\"}]"), autocast).empty());
}

TEST_F(ScenarioFiles, AutocastIsTheTrainingsAndNoSchedules) {
  EXPECT_TRUE(any_has(errors_of(with_schedules(R"([{"name": "ddp", "autocast": "bf16"}])")),
                      "/schedules/0/autocast: unknown key; it holds for the whole training; write \"autocast\" in "
                      "\"training\" and remove it here"));
  const std::vector<std::string> fp8 = {"/training/precision=fp8", "/training/autocast=bf16"};
  EXPECT_TRUE(any_has(errors_of(with_schedules(R"([{"name": "ddp"}])"), fp8), "fp8 says itself what is cast"));
}

TEST_F(ScenarioFiles, FlashAttentionIsRefusedWhereItDoesNotRun) {
  const auto said = [&](const std::string& device, const std::string& attention) {
    return errors_of(with_nodes(R"([{"gpus": 1, "device": )" + device + R"(, "precision": "fp16", "attention": ")" +
                                attention + "\"}]"));
  };
  EXPECT_EQ(
      said(R"("V100-SXM2-32GB")", "flash"),
      Lines{"with.json:2:99 /cluster/nodes/0/attention: FlashAttention 2 (flash) does not run on V100-SXM2-32GB, "
            "which is volta; write \"attention\": \"memory_efficient\" (PyTorch's, which runs there) or \"naive\" for "
            "this node group"});
  EXPECT_TRUE(any_has(said(R"("V100-SXM2-32GB")", "flash_1"), "FlashAttention 1 (flash_1) does not run"));
  const char* const turing = R"({"inherits": "V100-SXM2-32GB", "name": "T", "architecture": "turing"})";
  EXPECT_TRUE(any_has(said(turing, "flash"), "which is turing"));
  EXPECT_TRUE(said(turing, "flash_1").empty());
  for (const char* runs : {"memory_efficient", "naive"}) EXPECT_TRUE(said(R"("V100-SXM2-32GB")", runs).empty()) << runs;
}

TEST_F(ScenarioFiles, FitsOfAnotherPartAreInherited) {
  const auto fits = [&](const std::string& keys) {
    const Scenario s =
        load_scenario(
            with_nodes(R"([{"gpus": 1, "device": {"inherits": "A100-SXM4-80GB", "name": "mine")" + keys + "}}]"), {})
            .scenario;
    const Device& device = s.cluster.nodes[0].devices[0];
    std::string marked;
    if (device.gemm[static_cast<std::size_t>(Dtype::kBf16)]->quality.inherited) marked += "bf16 ";
    if (device.attention->quality.inherited) marked += "attention";
    return marked;
  };
  EXPECT_EQ(fits(R"(, "slowdown": 2, "memory": "40 GiB", "collective_sms": 8)"), "") << "the same part";
  EXPECT_EQ(fits(R"(, "sm_count": 100)"), "bf16 attention");
  EXPECT_EQ(fits(R"(, "peak": {"bf16": "200 TFLOP/s"})"), "bf16 attention");
  EXPECT_EQ(fits(R"(, "sm_count": 100, "gemm": {"bf16": {"peak_fraction": 0.5}})"), "attention") << "its own";
}

TEST_F(ScenarioFiles, LinksThatAreNeededAreAskedFor) {
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 2, "device": "devices/gpu.json"}])")),
                      "/cluster/nodes/0/intra: missing"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 1, "count": 2, "device": "devices/gpu.json"}])")),
                      "/cluster/nodes/0/nics: missing"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 2, "device": ["devices/gpu.json"],
    "intra": {"kind": "pcie", "bandwidth": "1 GB/s"}}])")),
                      "lists 1 devices for 2 GPUs"));
}

TEST_F(ScenarioFiles, SchedulesAreToldApartByLabels) {
  EXPECT_TRUE(
      any_has(errors_of(with_schedules(R"([{"name": "acco"}, {"name": "acco"}])")), "is the label of two schedules"));
  EXPECT_TRUE(errors_of(with_schedules(R"([{"name": "acco"}, {"name": "acco", "label": "b"}])")).empty());
  EXPECT_TRUE(any_has(errors_of(with_schedules("[]")), "write at least one"));
  EXPECT_TRUE(any_has(errors_of(with_schedules(R"([{"name": "zero11"}])")), "did you mean \"zero1\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("baseline": "dpp")")), "did you mean \"ddp\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("published": {"aco": 1.2})")), "did you mean \"acco\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("published": {"acco": 0})")), "/published/acco: is 0"));
  const auto published = [&](const std::string& of_acco) {
    return errors_of(with(R"("published": {"acco": )" + of_acco + "}"));
  };
  EXPECT_TRUE(published("1.2").empty());
  EXPECT_TRUE(published(R"({"speedup": 1.2, "time": "3 h 46 min"})").empty());
  EXPECT_TRUE(published(R"({"time": "29 min"})").empty());
  EXPECT_TRUE(any_has(published("{}"), "/published/acco: says nothing; write a \"speedup\", a \"time\" or both"));
  EXPECT_TRUE(any_has(published(R"("29 min")"), "write {\"time\": \"3 h 46 min\"}"));
  EXPECT_TRUE(any_has(published(R"({"time": "29"})"), "/published/acco/time: "));
  EXPECT_TRUE(any_has(published(R"({"time": "0 s"})"), "/published/acco/time: is not above 0"));
  EXPECT_TRUE(any_has(published(R"({"speedup": -1})"), "/published/acco/speedup: is -1"));
  EXPECT_TRUE(any_has(published(R"({"hours": 1, "time": "1 h"})"), "/published/acco/hours: unknown key"));
}

TEST_F(ScenarioFiles, OtherNamesOfASchedulesLeadToOurs) {
  const auto said = [&](const std::string& name) {
    const Lines lines = errors_of(with_schedules("[{\"name\": \"" + name + "\"}]"));
    return lines.size() == 1 ? lines[0] : "";
  };
  for (const char* name : {"fsdp", "FSDP", "fsdp2", "fully_shard"})
    EXPECT_NE(said(name).find("is \"zero3\"; write one of"), std::string::npos) << said(name);
  EXPECT_NE(said("hsdp").find("\"zero3\" with \"shard_group\": \"node\""), std::string::npos) << said("hsdp");
  for (const char* name : {"InternEvo", "ZeRO-1.5"})
    EXPECT_NE(said(name).find("\"zero1\" with "), std::string::npos) << said(name);
  EXPECT_NE(said("InternEvo").find("\"shard_group\": \"node\"; write one of"), std::string::npos) << said("InternEvo");
  EXPECT_NE(said("oss").find("\"parameter_sync\": \"broadcast\""), std::string::npos) << said("oss");
  for (const char* name : {"zero", "deepspeed"})
    EXPECT_NE(said(name).find("\"zero1\", \"zero2\" or \"zero3\", by its stage"), std::string::npos) << said(name);
  for (const char* name : {"zero-3", "zero_3", "ZeRO 3"})
    EXPECT_NE(said(name).find("did you mean \"zero3\"?"), std::string::npos) << said(name);
  EXPECT_NE(said("ZeRO++").find("is not modelled yet"), std::string::npos);
  for (const char* name : {"local-sgd", "localsgd", "LocalSGD"})
    EXPECT_NE(said(name).find("did you mean \"local_sgd\"?"), std::string::npos) << said(name);
  EXPECT_NE(said("post_local_sgd").find("\"local_sgd\" with \"synchronous_updates\""), std::string::npos);
  EXPECT_NE(said("DistributedDataParallel").find("is \"ddp\""), std::string::npos);
  EXPECT_NE(said("zzz").find("\"zzz\" is not known; write one of"), std::string::npos);
}

TEST_F(ScenarioFiles, AccoHalvesAnEvenNumberOfSteps) {
  EXPECT_TRUE(
      any_has(errors({"/training/gradient_accumulation_steps=3", R"(/schedules=[{"name": "acco"}])", "/baseline=acco"}),
              "3 is odd"));
  // Beside others it is left out with that note.
  const LoadedScenario others = load({"/training/gradient_accumulation_steps=3"});
  ASSERT_EQ(others.left_out.size(), 1U);
  EXPECT_NE(others.left_out[0].why.find("3 is odd"), std::string::npos);
  EXPECT_EQ(load({"/training/gradient_accumulation_steps=3", "/schedules/3/micro_batches_per_round=2"})
                .scenario.schedules[3]
                .micro_batches_per_round,
            2);
}

TEST_F(ScenarioFiles, LearnedPositionsLimitTheSequence) {
  EXPECT_EQ(
      errors({"/training/sequence_length=129"}),
      Lines{"--set /training/sequence_length: is 129, and the model has learned 128 positions; write at most that"});
}

TEST_F(ScenarioFiles, PaddingsRowsAreNoPositions) {
  // OPT's table has two rows more than positions: transformers fails beyond 2,048.
  files.write("models/opt.json", R"({"model_type": "opt", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "ffn_dim": 256, "vocab_size": 100, "max_position_embeddings": 2048})");
  const std::string opt = "/model=" + files.path("models/opt.json");
  EXPECT_TRUE(errors({opt, "/training/sequence_length=2048"}).empty());
  EXPECT_EQ(
      errors({opt, "/training/sequence_length=2049"}),
      Lines{"--set /training/sequence_length: is 2049, and the model has learned 2048 positions; write at most that"});
}

TEST_F(ScenarioFiles, ASetKeyOfAModelThatNobodyReadsIsRefused) {
  EXPECT_EQ(errors({"/model/n_layers=3"}), Lines{"--set /model/n_layers: unknown key; here it is \"n_layer\""});
  EXPECT_EQ(errors({"/model/n_embed=3"}), Lines{"--set /model/n_embed: unknown key; did you mean \"n_embd\"?"});
  EXPECT_EQ(errors({"/model/hidden_size=64"}), Lines{"--set /model/hidden_size: unknown key; here it is \"n_embd\""});
  EXPECT_TRUE(any_has(errors({"/model/new_thing=true"}), "--set /model/new_thing: unknown key; one of: "));
  EXPECT_TRUE(any_has(errors({"/model/lora_r=16"}), "LoRA belongs to the training"));
  EXPECT_TRUE(any_has(errors({"/training/lora_r=16"}), "here it is \"lora\": {"));
  // What is known to change nothing may be set, and what stands in a config is named, not refused.
  EXPECT_TRUE(errors({"/model/rope_theta=1e6"}).empty());
  files.write("models/own.json", std::string(kModel).insert(1, "\"new_thing\": true, "));
  EXPECT_EQ(load({"/model=" + files.path("models/own.json")}).scenario.model.unread.size(), 1U);
}

TEST_F(ScenarioFiles, AnAdaptersConfigIsNoModel) {
  files.write("models/adapter_config.json", R"({"peft_type": "LORA", "r": 16})");
  EXPECT_TRUE(any_has(errors({"/model=" + files.path("models/adapter_config.json")}),
                      "is an adapter's config; name the config.json of its base model"));
}

TEST_F(ScenarioFiles, OnlyDevicesAreProposedAsDevices) {
  const auto nodes = [](const std::string& device) {
    return R"([{"count": 1, "gpus": 1, "device": ")" + device + R"("}])";
  };
  files.write("gpus.json", R"({"schema": "accosim.scenario/1"})");
  EXPECT_FALSE(any_has(errors_of(with_nodes(nodes("gpu"))), "gpus"));
  EXPECT_FALSE(any_has(errors_of(with_nodes(nodes("with"))), "mean \"with\""));
  EXPECT_FALSE(any_has(errors_of(with_nodes(nodes("WITH"))), "\"with\""));
  EXPECT_FALSE(any_has(errors_of(with_nodes(nodes("gpuss.json"))), "did you mean"));
  files.write("gpu2.json", kGpu);
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("gpu1.json"))), "did you mean \"gpu2.json\"?"));
  for (const auto& [device, maker] :
       std::vector<std::pair<std::string, std::string>>{{"MI300X", "AMD's GPUs"},
                                                        {"AMD-Instinct-MI250X", "AMD's GPUs"},
                                                        {"mi325x", "AMD's GPUs"},
                                                        {"RX 7900 XTX", "AMD's GPUs"},
                                                        {"TPU-v4", "Google's TPUs"},
                                                        {"v5p", "Google's TPUs"},
                                                        {"Gaudi2", "Intel's"},
                                                        {"trn1", "AWS's"},
                                                        {"M2", "Apple's GPUs"}})
    EXPECT_TRUE(any_has(errors_of(with_nodes(nodes(device))), maker)) << device;
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("MI300X"))), "are not modelled: only NVIDIA's GPUs are"));
  EXPECT_FALSE(any_has(errors_of(with_nodes(nodes("M40"))), "not modelled"));
}

TEST_F(ScenarioFiles, SocketsArePartsOfANodeOverPcie) {
  const auto nodes = [](const std::string& kind, const std::string& keys) {
    return fmt::format(R"([{{"count": 1, "gpus": 8, "device": "devices/gpu.json", "intra": {{"kind": "{}",
      "bandwidth": "31.5 GB/s", {}}}}}])",
                       kind, keys);
  };
  const std::string both = R"("socket_gpus": 4, "between_sockets": "16 GB/s")";
  EXPECT_TRUE(errors_of(with_nodes(nodes("pcie", both))).empty());
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("nvswitch", both))), "nvswitch has no CPU in between"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("pcie", R"("socket_gpus": 3, "between_sockets": "16 GB/s")"))),
                      "does not divide the node's 8 GPUs among several sockets; write 4"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("pcie", R"("socket_gpus": 8, "between_sockets": "16 GB/s")"))),
                      "does not divide the node's 8 GPUs"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("pcie", R"("socket_gpus": 4)"))), "between_sockets"));
}

TEST_F(ScenarioFiles, LinksThatJoinNoRingAreRefused) {
  const auto nodes = [](const std::string& links, int gpus) {
    return fmt::format(R"([{{"count": 1, "gpus": {}, "device": "devices/gpu.json", "intra": {{"kind": "cube_mesh",
      "bandwidth": "56 GB/s", "links": {}}}}}])",
                       gpus, links);
  };
  // Two pairs of bridges: no ring can leave a pair. A square is one; so is a single pair.
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("[[0,4,0,0],[4,0,0,0],[0,0,0,4],[0,0,4,0]]", 4))),
                      "join no ring of the 4 GPUs, so that NCCL goes over PCIe; write \"kind\": \"pcie\""));
  // Of the ring of two pairs two steps share PCIe, as of two boards alone; of four pairs four of eight.
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("[[0,4,0,0],[4,0,0,0],[0,0,0,4],[0,0,4,0]]", 4))), "\"crowding\": 0"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes("[[0,4,0,0,0,0,0,0],[4,0,0,0,0,0,0,0],[0,0,0,4,0,0,0,0],"
                                                 "[0,0,4,0,0,0,0,0],[0,0,0,0,0,4,0,0],[0,0,0,0,4,0,0,0],"
                                                 "[0,0,0,0,0,0,0,4],[0,0,0,0,0,0,4,0]]",
                                                 8))),
                      "\"crowding\": 0.50 times the kind's"));
  EXPECT_TRUE(errors_of(with_nodes(nodes("[[0,1,0,1],[1,0,1,0],[0,1,0,1],[1,0,1,0]]", 4))).empty());
  EXPECT_TRUE(errors_of(with_nodes(nodes("[[0,4],[4,0]]", 2))).empty());
}

TEST_F(ScenarioFiles, CitationsPointAtWhatIsThere) {
  EXPECT_EQ(
      errors({"/cluster/sources={\"/nodes/0/gpus\": \"x\", \"/nodes/1/gpus\": \"x\"}"}),
      Lines{"--set /cluster/sources/~1nodes~11~1gpus: cites what is not there; write the JSON pointer of a value, "
            "such as \"/memory\""});
}

TEST_F(ScenarioFiles, FilesThatIncludeEachOtherAreToldAsAChain) {
  files.write("devices/a.json", R"({"schema": "accosim.device/1", "inherits": "b.json"})");
  files.write("devices/b.json", R"({"schema": "accosim.device/1", "inherits": "../devices/./a.json"})");
  EXPECT_EQ(errors_of(with_nodes(R"([{"gpus": 1, "device": "devices/a.json"}])")),
            Lines{"devices/b.json:1:44 /cluster/nodes/0/device/inherits/inherits: files that include each other: "
                  "devices/a.json -> devices/b.json -> devices/a.json; break the circle"});
  EXPECT_TRUE(
      any_has(errors_of(files.write("self.json", R"({"schema": "accosim.scenario/1", "cluster": "self.json"})")),
              "files that include each other: self.json -> self.json"));
}

TEST_F(ScenarioFiles, ReferencesThatAreNoFilesAreRefused) {
  EXPECT_TRUE(any_has(errors({"/model=/dev/zero"}), "is not a regular file"));
  EXPECT_TRUE(any_has(errors({"/model=" + files.path("models")}), "is a directory"));
  EXPECT_TRUE(any_has(errors({"/model=" + std::string(100000, 'a')}), "is no path"));
  EXPECT_TRUE(any_has(errors({"/model="}), "is empty"));
  EXPECT_TRUE(any_has(errors({"/model=\"\\u0000\""}), "is no path"));
  EXPECT_TRUE(any_has(errors({"/cluster=" + files.path("models/tiny.json")}), "does not say what it is"));
  EXPECT_TRUE(any_has(errors({"/model=" + files.path("clusters/two.json")}), "name a Hugging Face config.json"));
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/device=A100-SXM4-80G"}), "did you mean \"A100-SXM4-80GB\"?"));
}

TEST_F(ScenarioFiles, ABadFileIsToldAtItsOwnPlace) {
  files.write("clusters/two.json", "{\n \"nodes\": [}");
  EXPECT_EQ(errors(), Lines{"clusters/two.json:2:12 /nodes/0: } where ] should be; close what was opened last first"});
}

// NaN, a number that is too large and a key that is there twice hide nothing of what else is wrong, in any file.
TEST_F(ScenarioFiles, AWrongWordHidesNoOtherMistake) {
  std::string cluster, line;
  for (std::ifstream in(files.path("clusters/two.json")); std::getline(in, line);) cluster += line + "\n";
  const std::size_t gpus = cluster.find("\"gpus\": ");
  ASSERT_NE(gpus, std::string::npos);
  cluster.insert(gpus, "\"count\": NaN, \"count\": 1e400, \"colour\": 1, ");
  files.write("clusters/two.json", cluster);
  const Lines all = errors({"/training/micro_batch_size=-1"});
  for (const char* says : {"/count: NaN is not JSON", "the key \"count\" is there twice", "1e400 does not fit",
                           "colour: unknown key", "/training/micro_batch_size: is -1"})
    EXPECT_TRUE(any_has(all, says)) << says;
}

TEST_F(ScenarioFiles, WhatIsNoScenarioIsOneMistake) {
  for (const char* text :
       {"", "[", "[]", "3", "null", "\"x\"", "{\"schema\": \"accosim.cluster/1\"}", "\xff\xfe{", "\x7f"}) {
    EXPECT_EQ(errors_of(files.write("no.json", text)).size(), 1U) << text;
  }
  EXPECT_EQ(errors_of(files.path("models/tiny.json")).size(), 1U);
  EXPECT_EQ(errors_of(files.path("none.json")), Lines{"none.json: no such file; check the path"});
  EXPECT_EQ(errors_of(files.path("")).size(), 1U);
  EXPECT_FALSE(errors_of("/dev/zero").empty());
  EXPECT_FALSE(errors_of("").empty());
}

TEST_F(ScenarioFiles, AThousandErrorsAreToldAsAHundred) {
  std::string members = "\"k0\": 0";
  for (int i = 1; i < 50000; ++i) members += ", \"k" + std::to_string(i) + "\": 0";
  const Lines lines = errors_of(with(members));
  ASSERT_EQ(lines.size(), 101U);
  EXPECT_NE(lines.back().find("more errors"), std::string::npos);
}

TEST_F(ScenarioFiles, FilesNamedThousandsOfTimesAreRefused) {
  std::string devices = "\"devices/gpu.json\"";
  for (int i = 1; i < 1024; ++i) devices += ",\"devices/gpu.json\"";
  std::string nodes = "[";
  for (int i = 0; i < 40; ++i)
    nodes += std::string(i > 0 ? "," : "") + "{\"gpus\": 1024, \"device\": [" + devices + "]}";
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes + "]")), "the files together hold more than"));
}

TEST_F(ScenarioFiles, TooManyGpusAreRefused) {
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/count=600000"}), "has 1200000 GPUs; write at most 1048576"));
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/gpus=1e9"}), "whole number from 1 to 1024"));
}

// Random damage to a good file: bytes replaced, cut out and doubled. It loads or it tells, in lines that can be
// printed.
TEST_F(ScenarioFiles, RandomDamageLoadsOrTells) {
  const std::string good = kScenario;
  std::uint64_t state = 2024;
  const auto next = [&](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  constexpr char kBytes[] = "{}[]\",:0-9e\\\0\xff";
  const std::string bytes(kBytes, sizeof kBytes - 1);
  int told = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    for (std::size_t n = 1 + next(3); n > 0; --n) {
      const std::size_t at = next(text.size());
      switch (next(3)) {
        case 0: text[at] = bytes[next(bytes.size())]; break;
        case 1: text.erase(at, 1 + next(20)); break;
        default: text.insert(at, text.substr(at, 1 + next(20)));
      }
      if (text.empty()) text = " ";
    }
    told += errors_of(files.write("damaged.json", text)).empty() ? 0 : 1;
  }
  EXPECT_GT(told, 1000);
}

}  // namespace
}  // namespace accosim
