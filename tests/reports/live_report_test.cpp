// Does the page of live runs count every run once, and say what it left out?
#include "reports/evidence/live_report.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace accosim {
namespace {

LiveResult two_runs() {
  LiveResult result;
  result.cpu = "A CPU";
  result.network = "netns:1 Mbit/s";
  LiveRow rejected;
  rejected.cell = {2, "acco", 4, 0.5, Seconds{0.001}, 1, false};
  rejected.measured = Seconds{2};
  rejected.predicted = Seconds{1};
  rejected.disturbed = "others were at work";
  rejected.counts = false;
  LiveRow again = rejected;
  again.disturbed = "";
  again.counts = true;
  again.measured = Seconds{1};
  again.predicted = Seconds{1.02};
  again.predicted_micro_batches = 20;  // more than the 8 asked for: communication-bound
  LiveRow slow = again;
  slow.cell.algorithm = "ddp";
  slow.cell.slow = 2;
  slow.predicted = Seconds{0.96};
  LiveRow real = again;
  real.cell.real = true;
  real.disturbed = "the machine was slow";  // the third try
  real.predicted = Seconds{1.06};
  result.rows = {rejected, again, slow, real};
  return result;
}

TEST(LiveReport, RejectedRunsAreListedAndDoNotCount) {
  // +2 and -4 % of set computation: 3 % in the mean; the real one's is +6 %.
  std::ostringstream page;
  write_live_markdown(page, two_runs());
  const std::string text = page.str();
  for (const char* part : {"| set computation, all | 2 | 3.0 % | -1.0 % | -4.0 % |", "| one slow rank | 1 | 4.0 % |",
                           "| acco, communication-bound | 1 | 2.0 % |", "| real computation | 1 | 6.0 % |",
                           "rejected: others were at work", "third try, counted: the machine was slow",
                           "4 runs made, 1 rejected, 1 of those that count disturbed",
                           "| 2 ranks, ddp, one 2x slower | 0.50 | 1000.00 ms | 960.00 ms | -4.0 % |"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  std::ostringstream console;
  write_live(console, two_runs(), {});
  EXPECT_NE(console.str().find("rejected: 2 ranks, acco: others were at work"), std::string::npos) << console.str();
}

TEST(LiveReport, ACheckJudgesOnlyWhatAQuietMachineRan) {
  // Of the three that count, the real one was disturbed. Of the others ddp's is 4 % wrong, more than any mean of both.
  LiveResult result = two_runs();
  LiveCheck check = live_check(result);
  EXPECT_EQ(check.judged, 2);
  EXPECT_EQ(check.disturbed, 1);
  EXPECT_NEAR(check.worst_mean, 0.04, 1e-12);
  result.rows[3].predicted = Seconds{5};
  EXPECT_NEAR(live_check(result).worst_mean, 0.04, 1e-12);
  result.rows[3].disturbed = "";
  EXPECT_NEAR(live_check(result).worst_mean, 4, 1e-12);
  for (LiveRow& row : result.rows) row.disturbed = "others were at work";
  check = live_check(result);
  EXPECT_EQ(check.judged, 0);
  EXPECT_EQ(check.disturbed, 3);
  EXPECT_EQ(check.worst_mean, 0);
}

}  // namespace
}  // namespace accosim
