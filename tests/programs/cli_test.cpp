// Does the program keep its promises to a user? Runs the built binary on the shipped scenarios and on bad ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

TEST(List, HasDevicesAndClustersByGeneration) {
  const std::string out = accosim({"list", "clusters"}).out;
  std::size_t at = 0;
  for (const char* line : {"clusters\n", "\n  volta\n", "\n    dgx1-v100-4x8 ", "\n  ampere\n", "\n    dgx-a100-4x8 ",
                           "\n  ada\n", "\n    l40s-1x8 ", "\n  hopper\n", "\n    dgx-h200-1x8 ", "\n  blackwell\n",
                           "\n    gb200-nvl72 ", "\n  blackwell_rtx\n", "\n    rtx-pro-6000-1x4 "}) {
    at = out.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << out;
    at += std::string(line).size() - 1;
  }
  std::map<std::string, Json> listed;
  for (const Json& entry : results_of({"list"})["entries"].elements())
    listed[entry["name"].text()] = entry["architecture"];
  EXPECT_EQ(listed["gb200-nvl72"], "blackwell");
  EXPECT_EQ(listed["V100-PCIE-32GB"], "volta");
  EXPECT_TRUE(listed["llama-3-8b"].is_null());
}

TEST(Exit, CodesSayWhoseFaultItWas) {
  EXPECT_EQ(accosim({"--help"}).exit_code, 0);
  EXPECT_EQ(accosim({"--version"}).exit_code, 0);
  EXPECT_EQ(accosim({}).exit_code, 2);
  EXPECT_EQ(accosim({"compare"}).exit_code, 2);
  EXPECT_EQ(accosim({"compare", "scenarios/mixed_a100_v100.json", "--network", "tcp"}).exit_code, 2);
  EXPECT_EQ(accosim({"compare", "scenarios/mixed_a100_v100.json", "--no-such-option"}).exit_code, 2);
  EXPECT_EQ(accosim({"compare", "scenarios/none.json"}).exit_code, 1);
  const ProgramRun schedule = accosim({"compare", "scenarios/mixed_a100_v100.json", "--schedule", "zero9"});
  expect_told(schedule, 1, "its schedules are \"ddp\"");
  expect_told(accosim({"run", "scenarios/mixed_a100_v100.json", "--trace", "/no/such/folder/trace.json"}), 4,
              "there is no folder /no/such/folder; make it first");
  EXPECT_EQ(accosim({"list"}, "/dev/full").exit_code, 4);
}

TEST(CommandLine, WhatListPrintsIsNamedFromAnyFolder) {
  const auto from_root = [](const std::vector<std::string>& arguments) {
    const ProgramRun run = run_program(kAccosimProgram, arguments, "/");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  const std::string by_path = accosim({"compare", "scenarios/paper/finetune_2x4_a100.json"}).out;
  for (const char* name : {"finetune_2x4_a100", "paper/finetune_2x4_a100", "scenarios/paper/finetune_2x4_a100"})
    EXPECT_EQ(from_root({"compare", name}), by_path) << name;
  for (const char* verb : {"run", "explain", "resolve"}) EXPECT_NE(from_root({verb, "finetune_2x4_a100"}), "") << verb;
  EXPECT_NE(from_root({"compare", "mixed_a100_v100", "--set", "/cluster=dgx-a100-4x8", "--set", "/model=llama-2-7b",
                       "--set", "/cluster/nodes/0/device=H100-SXM"}),
            "");
  const TemporaryFolder folder;
  std::string rows = "source,fabric,collective,ranks,nodes,bytes,time_us\n";
  for (int i = 0; i < 10; ++i) rows += "lab,dgx-a100-1x8,all_reduce,8,1,67108864,600\n";  // what a fit needs
  const std::string table = folder.write("a.csv", rows);
  EXPECT_NE(from_root({"fit", table, "--cluster", "dgx-a100-1x8"}), "");
  const std::string fitted = folder.write("fitted.json", "");  // an empty file is nobody's
  from_root({"fit", table, "--cluster", "dgx-a100-1x8", "-o", fitted});
  EXPECT_TRUE(holds(text_of(fitted), "accosim.cluster/1"));
}

TEST(Resolve, WhatItWritesIsReadAgainForEveryKindOfLink) {
  const TemporaryFolder folder;
  for (const std::string kind : {"infiniband", "roce", "infiniband_host", "omnipath", "slingshot", "efa", "efa_rdma",
                                 "tcpx", "tcp", "sockets"}) {
    const ProgramRun resolved =
        run_program(kAccosimProgram,
                    {"resolve", "finetune_2x4_a100", "--set",
                     R"(/cluster/nodes/0/nics={"count": 4, "bandwidth": "100 Gbit/s", "kind": ")" + kind + "\"}"},
                    "/");
    ASSERT_EQ(resolved.exit_code, 0) << kind << ": " << resolved.err;
    const std::string path = folder.write(kind + ".json", resolved.out).string();
    const ProgramRun again = run_program(kAccosimProgram, {"compare", path, "--no-tuned", "--schedule", "acco"}, "/");
    EXPECT_EQ(again.exit_code, 0) << kind << ": " << again.err;
  }
}

TEST(CommandLine, KindsOfWhatIsShippedAreNamedAsOneOrMany) {
  for (const std::string kind : {"device", "model", "cluster", "scenario"}) {
    const ProgramRun one = accosim_done({"list", kind}), many = accosim({"list", kind + "s"});
    EXPECT_EQ(one.out.find(kind + "s\n"), 0U) << one.out;
    EXPECT_EQ(one.out, many.out);
  }
}

TEST(List, IsShortByDefaultALineForEachOfAKindAndAllOfOne) {
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const std::string all = accosim({"list"}).out, scenarios = accosim({"list", "scenarios"}).out;
  const auto count = static_cast<long>(results_of({"list", "scenarios"})["entries"].size());
  EXPECT_LT(lines(all), 100) << all;
  EXPECT_EQ(lines(scenarios), 1 + count) << scenarios;
  const Json one = results_of({"list", "scenarios", "finetune_2x4_a100"})["entries"];
  ASSERT_EQ(one.size(), 1U);
  EXPECT_TRUE(holds(unwrapped(accosim({"list", "scenarios", "finetune_2x4_a100"}).out), one[0]["description"].text()));
  expect_told(accosim({"list", "scenarios", "finetune_2x4_a10"}), 1, "did you mean \"finetune_2x4_a100\"?");
  const TemporaryFolder folder;
  expect_told(accosim({"compare", folder.write("mine.yaml", "model: llama-3-8b\n").string()}), 1, "a scenario is JSON");
  EXPECT_TRUE(holds(accosim({"--version"}).out, "(commit "));
}

TEST(CommandLine, WhatIsShippedIsAlsoADocument) {
  const Json all = results_of({"list"});
  EXPECT_EQ(all["schema"], "accosim.list/1");
  const std::string listed = accosim({"list"}).out;
  int models = 0, knobs = 0;
  for (const Json& entry : all["entries"].elements()) {
    models += entry["kind"] == "model" ? 1 : 0;
    knobs += entry["kind"] == "knob" ? 1 : 0;
    if (entry["kind"] == "knob")
      EXPECT_TRUE(entry["path"].is_null());
    else
      EXPECT_TRUE(std::filesystem::exists(kRoot / entry["path"].text())) << entry["name"].text();
    EXPECT_TRUE(holds(listed, entry["name"].text()));
  }
  EXPECT_GT(models, 0);
  EXPECT_GT(knobs, 0);
  EXPECT_EQ(results_of({"list", "models"})["entries"].size(), static_cast<std::size_t>(models));
}

TEST(CommandLine, GpuHoursAndCostAreThoseOfTheWholeRun) {
  const std::string name = "finetune_2x4_a100";
  const Json free = results_of({"compare", name, "--schedule", "acco"});
  const Json priced =
      results_of({"compare", name, "--schedule", "acco", "--set", "/cluster/nodes/0/price_per_gpu_hour=2.5"});
  const Json before = result(free, "acco"), after = result(priced, "acco");
  // 2 nodes of 4 GPUs.
  EXPECT_NEAR(before["gpu_hours"].number(), 8 * before["total_time_s"].number() / 3600, 1e-9);
  EXPECT_TRUE(before["cost"].is_null());
  EXPECT_EQ(after["total_time_s"].number(), before["total_time_s"].number()) << "a price moves no prediction";
  EXPECT_NEAR(after["cost"].number(), 2.5 * after["gpu_hours"].number(), 1e-9);
  // The peak of an A100 in bf16 is 312 TFLOP/s.
  EXPECT_NEAR(before["model_flops_per_s_per_gpu"].number(), before["mfu"].number() * 312e12, 1e-3 * 312e12);
  EXPECT_EQ(priced["sets"].size(), 1U);
  EXPECT_EQ(priced["sets"][0], "/cluster/nodes/0/price_per_gpu_hour=2.5");
  EXPECT_EQ(free["sets"].size(), 0U);
  EXPECT_EQ(free["version"], kVersion);
}

TEST(CommandLine, AmountsAreInTheCurrencyOfTheirPrices) {
  const auto euros = [](const char* verb) {
    return std::vector<std::string>{
        verb,    "finetune_2x4_a100",    "--schedule", "acco", "--set", "/cluster/nodes/0/price_per_gpu_hour=2.5",
        "--set", "/cluster/currency=EUR"};
  };
  EXPECT_EQ(result(results_of(euros("compare")), "acco")["currency"], "EUR");
  const std::string run = accosim(euros("run")).out, table = accosim(euros("compare")).out;
  EXPECT_TRUE(std::regex_search(run, std::regex("\ncost +[0-9.]+k? EUR "))) << run;
  EXPECT_TRUE(std::regex_search(table, std::regex(" cost [^\n]*\n[^\n]* EUR "))) << table;
}

TEST(CommandLine, AScenarioMayComeFromStandardInput) {
  const auto shell = [](const std::string& script) { return run_program("/bin/bash", {"-c", script}, kRoot); };
  const std::string program = kAccosimProgram, file = "scenarios/paper/finetune_2x4_a100.json";
  const auto same = [&](const std::string& verb, const std::string& rest) {
    const ProgramRun named = shell(program + " " + verb + " " + file + " " + rest);
    const ProgramRun piped = shell(program + " resolve " + file + " | " + program + " " + verb + " - " + rest);
    EXPECT_EQ(piped.exit_code, 0) << verb << piped.err;
    EXPECT_EQ(piped.out, named.out) << verb;
  };
  same("compare", "--json --schedule acco");
  same("explain", "--schedule zero1");
  // Files are named as from the current directory: so are the names of what comes with accosim.
  const ProgramRun text = shell(
      "printf '%s' '{\"schema\": \"accosim.scenario/1\", \"model\": \"gpt-neo-2.7b\", \"cluster\": "
      "\"jean-zay-a100-2x4\", \"training\": {\"sequence_length\": 512, \"train_tokens\": 1e6, "
      "\"micro_batch_size\": 4}, \"schedules\": [{\"name\": \"zero1\"}]}' | " +
      program + " compare - --json");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(Json::parse(text.out)["scenario"], "standard input");
  const ProgramRun balanced = shell(program + " compare - --set /training/balance=speed --json <" +
                                    "scenarios/mixed_a100_v100.json >/dev/null");
  EXPECT_EQ(balanced.exit_code, 1) << "its cluster is a file beside it, not here";
  const ProgramRun wrong = shell("echo '{\"schema\": 1' | " + program + " compare -");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.err.find("standard input:"), 0U) << wrong.err;
  EXPECT_EQ(shell(program + " compare - </dev/null").exit_code, 1);
  EXPECT_EQ(shell(program + " compare - <&-").exit_code, 1);
  EXPECT_EQ(shell(program + " compare - </dev/zero").exit_code, 1);
}

TEST(CommandLine, HelpOfAVerbIsThatOfItsFlag) {
  for (const char* verb : {"compare", "validate", "list"}) {
    const ProgramRun help = accosim_done({"help", verb});
    EXPECT_EQ(help.out, accosim({verb, "--help"}).out);
  }
  EXPECT_EQ(accosim({"help"}).out, accosim({"--help"}).out);
  const ProgramRun typo = accosim({"help", "comapre"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_EQ(typo.err, "accosim: no verb \"comapre\"; did you mean \"compare\"?\n");
}

/// What a bad scenario must give: exit code 1, a message that holds `expected`, nothing on stdout, little memory.
void expect_refused(const std::string& scenario, const std::vector<std::string>& expected,
                    const std::vector<std::string>& sets = {}) {
  std::vector<std::string> arguments{"compare", scenario};
  for (const std::string& set : sets) {
    arguments.push_back("--set");
    arguments.push_back(set);
  }
  const ProgramRun run = accosim(arguments);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(run.out, "");
  for (const std::string& text : expected) EXPECT_TRUE(holds(run.err, text));
  EXPECT_LT(run.peak_kib, 512 * 1024);
}

TEST(BadInput, IsRefusedWithWhereAndWhat) {
  const std::string good = "scenarios/paper/finetune_2x4_a100.json";
  expect_refused(good, {"100 GB", "/cluster/nodes/0/nics/bandwidth", "GB/s"},
                 {"/cluster/nodes/0/nics/bandwidth=100 GB"});
  expect_refused(good, {"/training/micro_batch_size"}, {"/training/micro_batch_size=-4"});
  expect_refused(good, {"/training/train_tokens"}, {"/training/train_tokens=NaN"});
  expect_refused(good, {"/training/train_tokens"}, {"/training/train_tokens=1e400"});
  expect_refused(good, {"micro_batch_size"}, {"/training/micro_batch_sise=4"});
  expect_refused(good, {"/cluster/nodes/7"}, {"/cluster/nodes/7/count=2"});
  // Several at once.
  expect_refused(good, {"bf61", "trian_tokens", "/cluster/nodes/0/count"},
                 {"/training/precision=bf61", "/training/trian_tokens=1", "/cluster/nodes/0/count=-2"});
  for (const char* set : {"/cluster/nodes/0/nics/efficiency=1e-30", "/cluster/nodes/0/device/slowdown=1e-308",
                          "/cluster/nodes/0/device/memory_efficiency=1e-308", "/cluster/nodes/0/nics/bandwidth=1 B/s"})
    expect_refused(good, {"write"}, {set});
  // What a device cannot do.
  expect_refused(good, {"bf16"}, {"/cluster/nodes/0/device=V100-SXM2-32GB"});
}

TEST(BadInput, FilesThatAreNoScenario) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::vector<std::string>& expected) {
    expect_refused(folder.write("bad.json", text).string(), expected);
  };
  refused("", {"bad.json"});
  refused(std::string("\xff\xfe\x00\x01 text", 9), {"bad.json"});
  refused("{\"schema\": \"accosim.scenario/1\", \"name\": NaN}", {"bad.json:1:"});
  refused("{\"schema\": \"accosim.scenario/1\", \"name\": 1e400}", {"bad.json:1:"});
  refused("[1, 2", {"bad.json:1:"});
  refused(std::string(100'000'000, '['), {"bad.json"});
  refused(std::string(1'000'000, '['), {"bad.json"});
  // A run is compared on the machine that it was made on: the user forgot to name that.
  refused("{\"schema\": \"accosim.run/1\", \"ranks\": 2}", {"bad.json:1:", "/schema", "--machine"});
  expect_refused((folder.path / "missing.json").string(), {"missing.json"});
  expect_refused(folder.path.string(), {"directory"});
}

}  // namespace
}  // namespace accosim
