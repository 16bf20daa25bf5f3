// What a page of many points takes: a process of its own, since a child's most memory is at least what its parent had.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/support/accosim_program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

// A row is held in about 1 kB: 40 MB, beside some MB of text. As JSON values the page's ten numbers and winners a point
// would take some 200 B each, and 170 MB in all.
TEST(Report, OfManyPointsTakesLittleMemoryForEach) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const TemporaryFolder folder;
  const std::string one = (folder.path / "one.jsonl").string();
  ASSERT_EQ(accosim({"sweep", "finetune_1x8_a100", "--schedule", "acco", "--no-tuned", "--over",
                     "/training/micro_batch_size=1", "-o", one})
                .exit_code,
            0);
  std::istringstream lines(text_of(one));
  std::string heading, row;
  std::getline(lines, heading);
  std::getline(lines, row);
  const std::string points = R"("points":1,"grid":true)", index = R"("index":0)";
  const int many = 40'000;
  std::string text = heading.replace(heading.find(points), points.size(), R"("points":40000,"grid":false)") + "\n";
  for (int i = 0; i < many; ++i)
    text += R"({"index":)" + std::to_string(i) + row.substr(row.find(index) + index.size()) + "\n";
  const std::string rows = folder.write("rows.jsonl", text).string();
  const ProgramRun run = accosim_done({"report", rows, "-o", (folder.path / "page.html").string()});
  EXPECT_LT(run.peak_kib, 90'000);
}

}  // namespace
}  // namespace accosim
