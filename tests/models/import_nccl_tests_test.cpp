// nccl-tests' output in its forms: made up here in the formats that its versions print.
#include "models/fit/import_nccl_tests.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "models/fit/write_constants.hpp"
#include "models/spec/nccl_release.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

const char* const kRanks =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 1024\n"
    "#  Rank  0 Group  0 Pid  11 on    alpha device  0 [0x07] NVIDIA A100\n"
    "#  Rank  1 Group  0 Pid  11 on    alpha device  1 [0x0f] NVIDIA A100\n"
    "#  Rank  2 Group  0 Pid  12 on    beta device  0 [0000:07:00] NVIDIA A100\n"
    "#  Rank  3 Group  0 Pid  12 on    beta device  1 [0000:0f:00] NVIDIA A100\n";
const char* const kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

/// Of an all-reduce of 4-byte elements: out of place with these figures, in place in 90 us.
std::string row_of(const std::string& time, const std::string& algbw = "10.49", const std::string& busbw = "15.73",
                   int wrong = 0, int bytes = 1048576) {
  return fmt::format("{:>12}{:>14}     float     sum      -1{:>9}{:>8}{:>8}{:>7}    90.0   11.65   17.48      0\n",
                     bytes, bytes / 4, time, algbw, busbw, wrong);
}

/// 1 MiB in 100 us is 10.486 GB/s; 4 ranks: busbw 1.5 of it.
const std::string kRow = row_of("100.0");

NcclTestsImport imported(const std::string& text, const NcclTestsOptions& options = {},
                         const std::string& name = "all_reduce.log") {
  return import_nccl_tests(text, name, options);
}

TEST(ImportNcclTests, TakesTheOutOfPlaceTimesAndCountsRanksAndHosts) {
  const std::string text = std::string(kRanks) + kHeading +
                           "     1048576        262144     float     sum      -1    100.0   10.49   15.73      0    "
                           "50.0   20.97   31.46      0\n# Out of bounds values : 0 OK\n";
  const NcclTestsImport one = imported(text);
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(one.samples[0].ranks, 4);
  EXPECT_EQ(one.samples[0].nodes, 2);
  EXPECT_EQ(one.samples[0].bytes, Bytes{1048576});
  EXPECT_DOUBLE_EQ(one.samples[0].time.value, 100e-6);
  EXPECT_TRUE(one.notes.empty());
  NcclTestsOptions in_place{.in_place = true};
  EXPECT_DOUBLE_EQ(imported(text, in_place).samples.at(0).time.value, 50e-6);
}

TEST(ImportNcclTests, OldVersionsLeaveCellsBlankAndHaveNoCountOfWrong) {
  const std::string old =
      std::string(kRanks) +
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "     1048576         65536   float            100.0   10.49    7.86  0e+00     90.0   11.65    8.74  N/A\n";
  const NcclTestsImport one = imported(old, {}, "all_gather_perf.txt");
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].kind, CollectiveKind::kAllGather);
  EXPECT_DOUBLE_EQ(one.samples[0].time.value, 100e-6);
}

TEST(ImportNcclTests, SeveralTestsAndALogBetweenTheLines) {
  const std::string gather =
      "     1048576        65536     float    none      -1    100.0   10.49    7.86    N/A    90.0   11.65   17.48     "
      " 0\n";
  const NcclTestsImport both = imported(
      "# Collective test starting: all_reduce_perf\n" + std::string(kRanks) + kHeading +
      "alpha:11:11 [0] NCCL INFO Channel 00/08 : 0 1 2 3\n" + kRow +
      "mpirun: some 17 words of noise\n# Collective test starting: all_gather_perf\n" + kRanks + kHeading + gather);
  ASSERT_EQ(both.samples.size(), 2u);
  EXPECT_EQ(both.samples[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(both.samples[1].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(both.samples[1].ranks, 4);  // not 8
  for (const CollectiveSample& sample : both.samples) EXPECT_DOUBLE_EQ(sample.time.value, 100e-6);
  const NcclTestsImport cut =
      imported(std::string(kRanks) + kHeading + "     1048576        262144     float     sum\n" +
               "     1048576        262144     float     sum      -1    100.0\n");
  EXPECT_EQ(cut.samples.size(), 0u);
  EXPECT_TRUE(holds(cut.notes.at(0), "is cut short"));
}

TEST(ImportNcclTests, WhatIsLeftOutIsSaid) {
  const NcclTestsImport one =
      imported(std::string(kRanks) + kHeading + row_of("10.0", "0.00", "0.00", 0, 0) +
               row_of("100.0", "10.49", "15.73", 7) + row_of("100.0", "99.00") + row_of("nan") + kRow);
  EXPECT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.skipped, 4);
  ASSERT_EQ(one.notes.size(), 4u);
  EXPECT_TRUE(holds(one.notes[0], "all_reduce.log:8: left out: moves no bytes"));
  EXPECT_TRUE(holds(one.notes[1], "wrong results"));
  EXPECT_TRUE(holds(one.notes[2], "its size over its time is 10.49"));
  EXPECT_TRUE(holds(one.notes[3], "no time that is a number"));
}

TEST(ImportNcclTests, ComplaintsThatAreAlikeAreOneLine) {
  std::string text = std::string(kRanks) + kHeading;
  for (int i = 0; i < 62; ++i) text += row_of(std::to_string(100 + i) + ".0", "99.00");
  const NcclTestsImport one = imported(text + row_of("nan"));
  EXPECT_EQ(one.skipped, 63);
  ASSERT_EQ(one.notes.size(), 2u);
  EXPECT_EQ(one.notes[0],
            "all_reduce.log:8: left out: prints an algbw of 99 GB/s, and its size over its time is 10.49; 62 rows like "
            "this, the first here");
  EXPECT_EQ(one.notes[1], "all_reduce.log:70: left out: has no time that is a number");
}

/// Each line of the text with `before` in front and `behind` at its end.
std::string each_line(const std::string& text, const std::string& before, const std::string& behind = "") {
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    all += before + text.substr(begin, end - begin) + behind + "\n";
    begin = end + 1;
  }
  return all;
}

std::string refusal_of_log(const std::string& text) {
  return refusal_of([&] { imported(text); });
}

TEST(ImportNcclTests, WhatLaunchersPutBeforeEachLineIsPassedOver) {
  const std::string plain = std::string("# Collective test starting: all_reduce_perf\n") + kRanks + kHeading + kRow +
                            "# Out of bounds values : 0 OK\n";
  const std::string usual = write_collective_samples(imported(plain).samples);
  ASSERT_EQ(imported(plain).samples.size(), 1u);
  for (const char* const before : {"0: ", " 0: ", "[0] ", "[1,0]<stdout>:", "    [1,0]<stdout>:", "\t[1,0]<stdout>:\t",
                                   "[rank0]: ", "node1: ", "worker-0 ", "7 12 ", "worker-0  | ", "[pod/job-0/main] ",
                                   "2026-01-01T00:00:00.000000000Z ", "Jan 01 00:00:00 node1 job[4100]: ", "> ",
                                   "\x1b[36m0: \x1b[0m", "job#12: "}) {
    const NcclTestsImport one =
        imported(std::string("[1,3]<stderr>:a warning of another rank\n") + each_line(plain, before), {}, "log.txt");
    EXPECT_EQ(write_collective_samples(one.samples), usual) << before;
    EXPECT_TRUE(one.notes.empty()) << before;
  }
  EXPECT_EQ(write_collective_samples(imported(each_line(plain, "", "\x1b[0m\r")).samples), usual);
  // A collector that keeps one blank where there were several.
  EXPECT_EQ(imported(std::string(kRanks) + kHeading +
                     "[1,0]<stdout>:1048576 262144 float sum -1 100.0 10.49 15.73 0 90.0 11.65 17.48 0\n")
                .samples.size(),
            1u);
}

TEST(ImportNcclTests, RowsAreKnownWithoutTheirHeading) {
  // What is left where somebody has kept the rows alone: the columns are the usual ones.
  NcclTestsOptions options{.ranks = 4, .nodes = 2};
  ASSERT_EQ(imported(kRow, options).samples.size(), 1u);
  EXPECT_DOUBLE_EQ(imported(kRow, options).samples[0].time.value, 100e-6);
  // A heading with the time of day has two words more in each row.
  std::string stamped = kHeading;
  stamped.insert(stamped.find('\n'), "            timestamp");
  std::string row = kRow;
  row.insert(row.find('\n'), "  2026-01-01 00:00:00");
  EXPECT_DOUBLE_EQ(imported(kRanks + stamped + row).samples.at(0).time.value, 100e-6);
}

TEST(ImportNcclTests, LinesThatLookLikeRowsAreNotCalledNone) {
  const std::string wrong = refusal_of_log("a 1048576 float sum -1 100.0 10.49 15.73 0 90.0 11.65 17.48 0\n");
  EXPECT_TRUE(holds(wrong, "1 line looks like a row"));
  EXPECT_TRUE(holds(wrong, "all_reduce.log:1: \"a 1048576 float"));
  EXPECT_TRUE(holds(refusal_of_log("hello\n"), "holds no row of nccl-tests"));
}

TEST(ImportNcclTests, TheCommandInTheLogSaysWhichCollective) {
  // Versions before 2.17 do not name the test; scripts print what they start.
  const NcclTestsImport one =
      imported(std::string("+ srun -l ./build/all_gather_perf -b 8 -e 1G\n") + kRanks + kHeading +
                   "     1048576        65536     float    none      -1    100.0   10.49    7.86      0    90.0   "
                   "11.65   8.74 0\n",
               {}, "log.txt");
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].kind, CollectiveKind::kAllGather);
}

TEST(ImportNcclTests, AllThatIsMissingIsAskedForAtOnce) {
  // 15.73 of bus bandwidth over 10.49 are 1.4995 = 2 (n - 1) / n: four ranks, and an all-reduce, as no other has more
  // than 1.
  const NcclTestsImport one = imported(kHeading + kRow, {}, "log.txt");
  ASSERT_EQ(one.notes.size(), 2u);
  EXPECT_EQ(one.notes[0],
            "log.txt:3: left out: does not say of which collective, on how many ranks and on how many nodes; write "
            "--collective all_reduce --ranks N --nodes N");
  EXPECT_EQ(one.notes[1], "log.txt: busbw is 1.4995 times algbw, as in an all_reduce on 4 ranks");
  NcclTestsOptions options{.ranks = 4};
  EXPECT_TRUE(holds(imported(kHeading + kRow, options).notes.at(0), "how many nodes; write --nodes N"));
  // Each process for itself.
  const std::string alone =
      "# nThread 1 nGpus 1\n#  Rank  0 Group  0 Pid  11 on    alpha device  0 [0x07] NVIDIA A100\n";
  const NcclTestsImport single = imported(alone + kHeading + kRow);
  EXPECT_TRUE(holds(single.notes.at(0), "ran on one rank")) << single.notes[0];
  EXPECT_TRUE(holds(single.notes.at(0), "MPI=1")) << single.notes[0];
}

TEST(ImportNcclTests, LogsOfAmdAreRefusedAsSuch) {
  std::string ranks = kRanks;
  for (std::size_t at = 0; (at = ranks.find("NVIDIA A100")) != std::string::npos;)
    ranks.replace(at, 11, "AMD Instinct MI300X");
  for (const std::string& text :
       {ranks + kHeading + kRow, std::string("# rccl-tests version 2.12.10\n") + kHeading + kRow,
        "RCCL version : 2.21.5-HEAD:1234\n" + (kHeading + kRow)}) {
    const std::string wrong = refusal_of_log(text);
    EXPECT_TRUE(holds(wrong, "AMD's GPUs, which are not modelled"));
  }
}

TEST(ImportNcclTests, ARunThatContradictsItsRanksIsLeftOutWhole) {
  // 1 MiB in 100 us is 10.49 GB/s; 4 ranks make a busbw of 15.73 of it, 2 make 10.49. The small row cannot tell.
  const NcclTestsImport one = imported(std::string(kRanks) + kHeading + row_of("10.0", "0.10", "0.10", 0, 1024) +
                                       row_of("100.0", "10.49", "10.49"));
  EXPECT_TRUE(one.samples.empty());
  EXPECT_EQ(one.skipped, 2);
  EXPECT_TRUE(holds(one.notes[0], "4 ranks and all_reduce do not make"));
}

TEST(ImportNcclTests, SplitGroupsAreNotTakenForOneRun) {
  std::string ranks = kRanks;
  ranks.replace(ranks.rfind("Group  0"), 8, "Group  1");
  const NcclTestsImport one = imported(ranks + kHeading + kRow);
  EXPECT_TRUE(one.samples.empty());
  EXPECT_TRUE(holds(one.notes[0], "write --ranks N --nodes N"));
}

TEST(ImportNcclTests, RanksAndCollectiveCanBeSaid) {
  const NcclTestsImport without = imported(kHeading + kRow, {}, "log.txt");
  EXPECT_EQ(without.samples.size(), 0u);
  EXPECT_TRUE(holds(without.notes.at(0), "--collective"));
  NcclTestsOptions options{.collective = "all_reduce"};
  EXPECT_TRUE(holds(imported(kHeading + kRow, options, "log.txt").notes.at(0), "--ranks"));
  options.ranks = 4;
  options.nodes = 1;
  EXPECT_EQ(imported(kHeading + kRow, options, "log.txt").samples.size(), 1u);
  options.collective = "gather_all";
  EXPECT_THROW(imported(kHeading + kRow, options), ScenarioError);
}

TEST(ImportNcclTests, TheJsonFormWithoutItsEnvironment) {
  const std::string text = R"({"version": 3, "args": ["/opt/reduce_scatter_perf", "-b", "8"],
    "env": ["SECRET_TOKEN=abc"], "config": {"devices": [{"rank": 0, "hostname": "alpha"}, {"rank": 1, "hostname": "beta"}]},
    "results": [{"size": 1048576, "count": 1, "type": "float", "root": "    -1",
                 "out_of_place": {"time": 100.0, "alg_bw": 10.49, "bus_bw": 5.24, "nwrong": 0}, "in_place": null},
                {"size": 2097152, "out_of_place": {"time": "nan"}}]})";
  const NcclTestsImport one = imported(text, {}, "run.json");
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].kind, CollectiveKind::kReduceScatter);
  EXPECT_EQ(one.samples[0].ranks, 2);
  EXPECT_EQ(one.samples[0].nodes, 2);
  EXPECT_EQ(one.skipped, 1);
  for (const std::string& each : one.notes) EXPECT_FALSE(holds(each, "SECRET"));
  EXPECT_FALSE(holds(write_collective_samples(one.samples), "alpha"));
  EXPECT_THROW(imported("{\"results\": 3}"), ScenarioError);
}

TEST(ImportNcclTests, OddJsonIsTakenForWhatItIs) {
  // The folder of the program does not say what it measures; a host may be a number.
  const NcclTestsImport one = imported(R"({"args": ["/home/u/all_reduce_bench/alltoall_perf"],
    "config": {"devices": [{"hostname": 7}, {"hostname": 8}, 3]},
    "results": [{"size": 1048576, "out_of_place": {"time": 100.0}}, {"size": 1e300, "out_of_place": {"time": 1.0}}]})",
                                       {}, "all_reduce_logs/run.json");
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(one.samples[0].nodes, 2);
  EXPECT_EQ(one.skipped, 1);
}

TEST(ImportNcclTests, TheReleaseOfNcclIsThatOfTheLibrary) {
  const NcclTestsImport one = imported(
      std::string("# nccl-tests version 2.17.6 nccl-headers=22501 nccl-library=22703\n") + kRanks + kHeading + kRow);
  ASSERT_EQ(one.samples.size(), 1u);
  EXPECT_EQ(one.samples[0].nccl, (NcclRelease{27, 3}));
  EXPECT_EQ(one.nccl, (std::set<NcclRelease>{{27, 3}}));
  EXPECT_EQ(write_collective_samples(one.samples),
            "source,fabric,collective,ranks,nodes,bytes,time_us,nccl\n"
            "nccl-tests,cluster,all_reduce,4,2,1048576,100,2.27.3\n");
  EXPECT_EQ(imported(std::string(kRanks) + kHeading + kRow).samples.at(0).nccl, std::nullopt);
}

TEST(ImportNcclTests, TheReleaseOfNcclIsAlsoInItsOwnLog) {
  const std::string version = "alpha:11:11 [0] NCCL INFO NCCL version 2.18.5+cuda12.2\n";
  const std::string test = std::string(kRanks) + kHeading + kRow;
  EXPECT_EQ(imported(version + test).samples.at(0).nccl, (NcclRelease{18, 5}));
  EXPECT_EQ(imported(test + version).samples.at(0).nccl, (NcclRelease{18, 5}));  // of another stream
  EXPECT_EQ(imported("NCCL version 3.1\n" + test).samples.at(0).nccl, std::nullopt);
  // Two runs of two releases in one file: each row has its own.
  const NcclTestsImport both = imported(version + test + "NCCL version 2.27.3\n" + test);
  ASSERT_EQ(both.samples.size(), 2u);
  EXPECT_EQ(both.samples[0].nccl, (NcclRelease{18, 5}));
  EXPECT_EQ(both.samples[1].nccl, (NcclRelease{27, 3}));
}

TEST(NcclRelease, IsWrittenInTwoWays) {
  EXPECT_EQ(nccl_release("2.18"), NcclRelease{18});
  EXPECT_EQ(nccl_release("2.18.5"), (NcclRelease{18, 5}));
  EXPECT_EQ(to_text(NcclRelease{18, 5}), "2.18.5");
  EXPECT_EQ(to_text(NcclRelease{18}), "2.18");
  EXPECT_LT((NcclRelease{18, 5}), NcclRelease{18}) << "whose last patch is meant";
  for (const char* const wrong : {"", "2", "2.", "3.1", "2.x", "2.18-1", "2.99", "18", "2.18.", "2.-1"})
    EXPECT_EQ(nccl_release(wrong), std::nullopt) << wrong;
  EXPECT_EQ(nccl_of_code(22707), (NcclRelease{27, 7}));
  EXPECT_EQ(nccl_of_code(2803), (NcclRelease{8, 3}));
  for (const int wrong : {0, -22707, 227, 3100, 30100, 22707000}) EXPECT_EQ(nccl_of_code(wrong), std::nullopt) << wrong;
}

TEST(ImportNcclTests, NonsenseIsRefused) {
  EXPECT_THROW(imported(""), ScenarioError);
  EXPECT_THROW(imported("hello\n12 13\n"), ScenarioError);
  EXPECT_THROW(imported(std::string(5000000, 'x')), ScenarioError);
  NcclTestsOptions options{.fabric = "a,b"};
  EXPECT_THROW(imported(kRanks, options), ScenarioError);
}

/// Samples of a cluster "here", of two nodes with 8 GPUs.
std::vector<MeasuredCollective> read_here(const std::string& text) {
  return read_collective_samples(
      text, "s.csv", {std::make_shared<const Cluster>(Cluster{.name = "here", .nodes = {sample_nodes(2, 8)}})});
}

const std::string kColumns = "source,fabric,collective,ranks,nodes,bytes,time_us";

/// What is said of these rows under kColumns.
std::vector<std::string> errors_of_rows(const std::string& rows) {
  return refusals_of([&] { read_here(kColumns + "\n" + rows); });
}

TEST(CollectiveSamples, WhatIsWrittenIsReadAgain) {
  const std::string text =
      write_collective_samples({{"us", "here", CollectiveKind::kAllToAll, 16, 2, Bytes{4096}, Seconds{12.5e-6}}});
  EXPECT_TRUE(holds_collectives("# a comment\n" + text));
  EXPECT_FALSE(holds_collectives("source,device,kind\n"));
  const std::vector<MeasuredCollective> read = read_here(text);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].query.kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(read[0].query.ranks, 16);
  EXPECT_DOUBLE_EQ(read[0].time.value, 12.5e-6);
  // A single cluster is meant by whatever all rows call it.
  EXPECT_TRUE(errors_of_rows("a,there,all_reduce,8,1,8,1\na,there,all_reduce,8,1,16,1\n").empty());
  EXPECT_TRUE(holds(errors_of_rows("a,there,all_reduce,8,1,8,1\na,elsewhere,all_reduce,8,1,8,1\n").at(0),
                    "s.csv:3:3: fabric: no cluster has the name \"elsewhere\""));
  EXPECT_TRUE(holds(errors_of_rows("a,here,all_reduce,9,1,8,1\n").at(0), "do not fit"));
  EXPECT_TRUE(holds(errors_of_rows("a,here,sum,8,1,8,1\n").at(0),
                    "collective: \"sum\" is no collective; write all_reduce, reduce_scatter, "
                    "all_gather, broadcast, all_to_all, send_recv or send"));
}

TEST(CollectiveSamples, RowsThatDoNotFitTheClusterAreOneLine) {
  std::string rows = "a,here,all_reduce,16,2,8,1\n";
  for (int i = 1; i <= 30; ++i) rows += fmt::format("a,here,all_reduce,{},4,{},1\n", 32, 1024 * i);
  const std::vector<std::string> one = errors_of_rows(rows);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(
      one[0],
      "s.csv:3:19: ranks: 32 ranks on 4 nodes do not fit the cluster \"here\", which has 2 of 8 GPUs (30 rows like "
      "this, the first here); name the cluster that they ran on, or leave such rows out");
  // Of another cluster.
  const std::vector<std::string> other =
      errors_of_rows("a,here,all_reduce,16,2,8,1\na,there,all_reduce,16,2,8,1\na,there,all_reduce,16,2,16,1\n");
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0],
            "s.csv:3:3: fabric: no cluster has the name \"there\" (2 rows like this, the first here); given: \"here\"");
}

TEST(CollectiveSamples, NameTheReleaseOfNccl) {
  const std::string columns = kColumns + ",nccl\n";
  const std::vector<MeasuredCollective> read =
      read_here(columns + "a,here,all_reduce,16,2,8,1,2.27\na,here,all_reduce,16,2,8,1,\n");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].nccl, NcclRelease{27});
  EXPECT_EQ(read[1].nccl, std::nullopt);
  EXPECT_THROW(read_here(columns + "a,here,all_reduce,16,2,8,1,27\n"), ScenarioError);
}

TEST(WriteLinks, ReplacesConstantsAndKeepsTheRest) {
  const LinkFit fit{.intra = {.kind = "nvswitch", .efficiency = 0.71234567, .latency = Seconds{3e-6}},
                    .large = {.samples = 12}};
  const std::string cluster =
      R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 1, "gpus": 8, "device": "A100-SXM4-80GB",
          "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s", "efficiency": 0.5}}]})";
  const std::string text = cluster_with_links(cluster, "c.json", {fit}, "us");
  EXPECT_TRUE(holds(text, "\"efficiency\": 0.7123"));
  EXPECT_TRUE(holds(text, "\"bandwidth\": \"300 GB/s\""));
  EXPECT_TRUE(holds(text, "\"/nodes/0/intra/efficiency\": \"accosim fit, 12 collectives"));
  EXPECT_THROW(cluster_with_links("[]", "c.json", {fit}, "us"), ScenarioError);
  EXPECT_FALSE(holds(text, "nccl"));
  EXPECT_TRUE(holds(cluster_with_links(cluster, "c.json", {fit}, "us", NcclRelease{27}), "\"nccl\": \"2.27\""));
}

}  // namespace
}  // namespace accosim
