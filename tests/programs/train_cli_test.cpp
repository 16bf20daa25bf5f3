// `accocal train` and `accocal converge` as a user calls them: ranks as processes, documents in files, mistakes told.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "build_info/programs.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

ProgramRun accocal(const std::vector<std::string>& arguments) {
  return run_program(kAccocalProgram, arguments, "/", "");
}

// A GPT that a loaded machine trains in no time.
std::vector<std::string> tiny(const std::string& algorithm, const std::string& ranks) {
  return {"train",     "-a", algorithm,     "-n", ranks,      "--width", "16",        "--heads", "2",
          "--context", "16", "--sequences", "2",  "--layers", "1",       "--updates", "6"};
}

Json trained(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramRun run = accocal(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(run.out);
}

TEST(AccocalTrain, WritesTheRunItsTimelineAndItsLosses) {
  const TemporaryFolder folder;
  const std::string run_path = folder.path / "run.json", trace = folder.path / "trace.json",
                    loss = folder.path / "loss.csv";
  std::vector<std::string> arguments = tiny("acco", "2");
  arguments.insert(arguments.end(), {"-o", run_path, "--trace", trace, "--loss", loss});
  const ProgramRun run = accocal(arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const Json document = Json::parse(text_of(run_path));
  EXPECT_EQ(document["schema"], "accosim.run/1");
  EXPECT_EQ(document["ranks"], 2);
  EXPECT_EQ(document["updates"].size(), 6u);
  EXPECT_GT(document["tokens_per_s"].number(), 0);
  EXPECT_LT(document["held_out_loss"].number(), document["updates"][0]["loss"].number());
  // Spans of both lanes of both ranks, each within the run.
  std::map<std::string, int> lanes;
  for (const Json& span : document["spans"].elements()) {
    ++lanes[span["lane"].text() + std::to_string(span["rank"].integer())];
    EXPECT_LE(span["begin_s"].number(), span["end_s"].number());
  }
  EXPECT_EQ(lanes.size(), 4u);
  // And the names of two processes and four threads, and where six updates of two ranks end.
  EXPECT_EQ(Json::parse(text_of(trace))["traceEvents"].size(), document["spans"].size() + 6 + 12);
  const std::string csv = text_of(loss);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
}

TEST(AccocalTrain, FixedCountsGiveTheSameLossesEveryTime) {
  // And on two ranks, whose sums have no order, whatever the transport: DDP and ZeRO-1 to the last bit.
  std::vector<std::vector<double>> losses;
  for (const char* algorithm : {"ddp", "zero1", "zero1"}) {
    const Json document = trained(tiny(algorithm, "2"), {"--accumulate", "fixed:2"});
    losses.emplace_back();
    for (const Json& update : document["updates"].elements()) losses.back().push_back(update["loss"].number());
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[1], losses[2]);
}

TEST(AccocalTrain, EveryAlgorithmAndStorageOverTheRing) {
  const std::map<std::string, std::vector<std::string>> own = {
      {"ddp", {}},
      {"zero1", {}},
      {"dpu", {}},
      {"wp", {}},
      {"acco", {"--estimate", "local"}},
      {"diloco", {"--inner-updates", "2"}},
      {"pipesgd", {"--delay", "2"}},
      {"slowmo", {"--inner-updates", "2", "--outer-every", "4"}},
      {"overlap_local_sgd", {"--mixing", "0.5"}},
      {"co2", {"--inner-updates", "2", "--outer-clip", "2"}},
      {"streaming_diloco", {"--inner-updates", "2", "--fragments", "1", "--payload", "e3m0"}},
      {"eager_diloco", {"--inner-updates", "2"}}};
  for (const auto& [algorithm, more] : own) {
    std::vector<std::string> options = {"--storage", "bf16"};
    options.insert(options.end(), more.begin(), more.end());
    const Json document = trained(tiny(algorithm, "3"), options);
    EXPECT_EQ(document["algorithm"], algorithm);
    EXPECT_EQ(document["updates"].size(), 6u);
    EXPECT_LT(document["held_out_loss"].number(), document["updates"][0]["loss"].number()) << algorithm;
  }
}

TEST(AccocalTrain, SleepsInsteadOfComputing) {
  const Json document = trained({"train", "-n", "2", "-a", "zero1", "--compute-time", "3 ms", "--parameters", "1000",
                                 "--updates", "5", "--slow", "1=2", "--micro-batches", "2"},
                                {});
  double seconds = 0;
  for (const Json& update : document["updates"].elements()) {
    seconds += update["seconds"].number();
    EXPECT_TRUE(update["loss"].is_null());
  }
  EXPECT_GE(seconds, 0.06);  // five times the slow rank's two micro-batches of 6 ms
}

TEST(AccocalTrain, MistakesAreToldOnceAndInOneLine) {
  const auto expect = [](const std::vector<std::string>& arguments, int code, const std::string& text) {
    const ProgramRun run = accocal(arguments);
    EXPECT_EQ(run.exit_code, code) << text;
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  };
  expect({"train", "-a", "adam"}, 1, "write one of ddp, zero1");
  expect({"train", "--micro-batches", "3"}, 1, "write 4");
  expect({"train", "--data", "/nonexistent"}, 1, "/nonexistent: no such file");
  expect({"train", "-n", "2", "--slow", "2=2"}, 1, "ranks 0 to 1");
  expect({"train", "-a", "ddp", "--warmup", "3"}, 1, "--warmup: ddp has no such choice");
  expect({"train", "--updates", "5", "--samples", "9"}, 1, "leave the other out");
  expect({"train", "-a", "diloco", "--mixing", "0.5"}, 1, "--mixing: diloco has no such choice");
  expect({"train", "-a", "slowmo", "--outer-every", "7"}, 1, "write a multiple of that, such as --outer-every 6");
  expect({"train", "--network", "netns:1e30Gbit/s"}, 1, "at most 8 Tbit/s");
  expect({"train", "-o", "/nonexistent/run.json"}, 4, "/nonexistent/run.json");
  expect({"train", "--device", "cuda:0", "-a", "ddp", "--warmup", "3"}, 1, "--warmup: ddp has no such choice");
  expect({"converge", "--seeds", "1"}, 1, "--seeds 5");
  expect({"converge", "--markdown", "/tmp/page.svg"}, 1, "name it /tmp/page.md");
}

TEST(AccocalTrain, WithoutADeviceSaysSo) {
  // With CUDA built in or not; a machine with a device trains.
  const ProgramRun run = accocal({"train", "--device", "cuda:0", "--layers", "1", "--updates", "2"});
  if (run.exit_code == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err.rfind("accocal: no CUDA device: ", 0), 0u) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(AccocalConverge, WritesADocumentAPageAndItsCurves) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  const std::string json = folder.path / "c.json", page = folder.path / "c.md", curves = folder.path / "c.svg";
  const ProgramRun run =
      accocal({"converge", "--seeds", "2",  "--updates",  "40", "--layers",    "1", "--width",
               "8",        "--heads", "2",  "--context",  "8",  "--sequences", "1", "--learning-rate",
               "0.01",     "-o",      json, "--markdown", page});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Json::parse(text_of(json))["schema"], "accosim.convergence/1");
  EXPECT_NE(text_of(page).find("](c.svg)"), std::string::npos);
  EXPECT_EQ(text_of(curves).rfind("<svg", 0), 0u);
}

}  // namespace
}  // namespace accosim
