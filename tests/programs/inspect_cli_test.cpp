// inspect as a user starts it: what it says of recorded documents, of a network that is made slow, and how it ends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/unwrapped.hpp"
#include "tests/support/xml.hpp"

namespace accosim {
namespace {

const std::string kSound = "calibration/samples/ranks.json", kSlowLink = "calibration/samples/slow_link.json";
const std::string kGpu = "calibration/samples/h200.json";

Json inspected(const std::vector<std::string>& documents) {
  return Json::parse(accosim_done(with(with({"inspect"}, documents), {"--json"})).out);
}

/// "link rank 2 to 3;" of every verdict that is slow.
std::string slow_in(const Json& inspection) {
  std::string slow;
  for (const Json& machine : inspection["machines"].elements())
    for (const Json& one : machine["verdicts"].elements())
      if (one["slow"].value().boolean) slow += one["part"].text() + " " + one["where"].text() + ";";
  return slow;
}

/// A document of GPUs with all samples of one kind so many times as long.
std::string with_slow(const std::string& what, double times) {
  JsonDocument document = parse_json(text_of(kRoot / kGpu), kGpu, 10'000'000);
  for (JsonValue& sample : document.root.find("samples")->elements)
    if (sample.find("what")->text == what)
      for (const char* key : {"median_s", "p10_s", "p90_s", "again_s"})
        if (const JsonValue* time = sample.find(key)) sample.set(key, times * time->number);
  return dump_json(document.root);
}

TEST(Inspect, RecordedRanksAreSoundAndASlowLinkIsNamed) {
  EXPECT_EQ(slow_in(inspected({kSound})), "");
  EXPECT_EQ(slow_in(inspected({kSlowLink})), "link rank 2 to 3;");
  const std::string said = unwrapped(accosim_done({"inspect", kSlowLink}).out);
  EXPECT_EQ(said.find("The link from rank 2 to 3 takes 2.0 times as long as the other ranks'"), 0U) << said;
  EXPECT_TRUE(holds(said, "for it a step of zero1 takes 1."));
  EXPECT_TRUE(holds(said, "Look at the rate that was set for it, 12.5 MB/s (--rate)."));
}

TEST(Inspect, CheckFailsWhereSomethingIsSlow) {
  EXPECT_EQ(accosim({"inspect", kSound, "--check"}).exit_code, 0);
  EXPECT_EQ(accosim({"inspect", kSlowLink}).exit_code, 0);
  EXPECT_EQ(accosim({"inspect", kSound, kSlowLink, "--check"}).exit_code, 1);
}

TEST(Inspect, GpusAreHeldAgainstTheirProfileAndEachOther) {
  const Scratch scratch;
  EXPECT_EQ(slow_in(inspected({kGpu})), "");
  const std::string text = text_of(kRoot / kGpu), x = scratch.write("x.json", text), y = scratch.write("y.json", text);
  EXPECT_EQ(slow_in(inspected({kGpu, x, y})), "");
  // 1.3 times as long is within what a profile may be off by for another machine, and more than GPUs of one kind
  // differ.
  const std::string products = scratch.write("a.json", with_slow("gemm", 1.3));
  EXPECT_EQ(slow_in(inspected({products})), "");
  const std::string three = slow_in(inspected({x, products, y}));
  EXPECT_TRUE(holds(three, "kernels GPU a;")) << three;
  EXPECT_FALSE(holds(three, "GPU x") || holds(three, "GPU y")) << three;
  const std::string b = scratch.write("b.json", with_slow("gemm", 2));
  EXPECT_TRUE(holds(slow_in(inspected({b})), "kernels GPU b;"));
  EXPECT_NE(accosim({"inspect", b, b}).exit_code, 0);
  // Files of one name are told by their paths.
  const std::string other = scratch.write("node/b.json", text);
  EXPECT_TRUE(holds(slow_in(inspected({b, other})), "kernels GPU " + b + ";"));
  EXPECT_TRUE(holds(slow_in(inspected({scratch.write("c.json", with_slow("kernel", 1.5))})), "memory GPU c;"));
  EXPECT_EQ(slow_in(inspected({scratch.write("d.json", with_slow("launch", 3))})), "host GPU d;");
  EXPECT_EQ(slow_in(inspected({scratch.write("e.json", with_slow("copy", 2))})), "bus GPU e;bus GPU e;");
}

TEST(Inspect, CollectivesAreJudgedByWhatIsUsualOfTheirLinks) {
  const Scratch scratch;
  // An all-reduce of 1 GiB on 16 ranks moves 2 * 15 / 16 GiB over 8 NICs of 25 GB/s a node: 10 ms at least. One takes
  // 200 ms, as over one NIC.
  const auto table = [&](const std::string& name, double us) {
    return scratch.write(name, fmt::format("source,fabric,collective,ranks,nodes,bytes,time_us\n"
                                           "mine,dgx-a100-16x8,all_reduce,16,2,1073741824,{}\n",
                                           us));
  };
  const std::string slow = table("slow.csv", 200000);
  EXPECT_EQ(slow_in(inspected({slow, "--cluster", "dgx-a100-16x8"})), "collectives infiniband;");
  EXPECT_EQ(slow_in(inspected({table("sound.csv", 12000), "--cluster", "dgx-a100-16x8"})), "");
  expect_told(accosim({"inspect", slow}), 1, "name the cluster that they ran on with --cluster");
  expect_told(accosim({"inspect", kSound, "--cluster", "dgx-a100-16x8"}), 1, "leave it out");
  expect_told(accosim({"inspect", kSound, "--profile", "H200-SXM"}), 1, "leave it out");
}

TEST(Inspect, ThePictureHasEachPlaceAndSaysWhatIsSlow) {
  const Scratch scratch;
  const std::string picture = scratch.path("nodes.svg");
  for (const char* theme : {"light", "dark", "print"}) {
    accosim_done({"inspect", kSlowLink, kGpu, "-o", picture, "--theme", theme});
    const std::string svg = text_of(picture);
    EXPECT_EQ(wrong_in_xml(svg), "");
    for (const char* place : {"rank 0", "rank 1", "rank 2", "rank 3", "GPU h200"}) EXPECT_TRUE(holds(svg, place));
  }
  expect_told(accosim({"inspect", kSound, "-o", scratch.path("nodes.csv")}), 1, "--json has the numbers");
}

TEST(Inspect, ALinkAtHalfItsRateIsFoundInNamespaces) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "samples.json").string();
  for (int slow = 0; slow < 3; ++slow) {
    std::string found;
    const std::string expected = fmt::format("link rank {} to {};", slow, (slow + 1) % 3);
    // Once more where something else had the machine meanwhile.
    for (int attempt = 0; attempt < 2 && !found.starts_with(expected); ++attempt) {
      const ProgramRun run = run_program(
          kAccocalProgram,
          {"measure", "-n", "3", "--quick", "--seconds", "1", "--network", "netns:200 Mbit/s", "--rate",
           fmt::format("{}=100 Mbit/s", slow), "--bytes", "4 kB", "--bytes", "100 kB", "-o", file, "--force"},
          folder.path);
      if (run.exit_code == 4) GTEST_SKIP() << run.err;  // namespaces are refused
      ASSERT_EQ(run.exit_code, 0) << run.err;
      found = slow_in(inspected({file}));
    }
    EXPECT_TRUE(holds(found, expected));
    EXPECT_EQ(found.find("link"), found.rfind("link")) << found;  // and no other
  }
}

}  // namespace
}  // namespace accosim
