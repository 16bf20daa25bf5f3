// Is a file that a user names read to its end, line by line, and nothing that has none?
#include "models/base/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/base/text_file.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

std::vector<std::string> lines_of(InputFile& file) {
  std::vector<std::string> lines;
  for (std::string line; file.line(line);) lines.push_back(line);
  return lines;
}

TEST(InputFile, HasLinesOfAnyLengthAndSaysWhetherTheLastWasCut) {
  const TemporaryFolder folder;
  const std::string much(200'000, 'x');  // more than is read at once
  InputFile whole(folder.write("whole", "a\n\n" + much + "\n").string());
  EXPECT_EQ(lines_of(whole), (std::vector<std::string>{"a", "", much}));
  EXPECT_FALSE(whole.cut());
  InputFile cut(folder.write("cut", "a\nb").string());
  EXPECT_EQ(lines_of(cut), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(cut.cut());
  InputFile empty(folder.write("empty", "").string());
  EXPECT_EQ(lines_of(empty), std::vector<std::string>{});
  EXPECT_EQ(empty.wrong(), "");
}

TEST(InputFile, IsNothingThatMayNeverEndNorALineThatNeverDoes) {
  const TemporaryFolder folder;
  const std::string pipe = (folder.path / "pipe").string(), large = (folder.path / "large").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(large) << "";
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);  // of zeros, and takes no room
  for (const auto& [path, why] : {std::pair<std::string, const char*>{"/dev/zero", "is not a regular file"},
                                  {pipe, "a pipe that gave nothing"},
                                  {folder.path.string(), "is a directory"},
                                  {large, "has a line of more than 32 MiB"}}) {
    InputFile file(path);
    std::string line;
    EXPECT_FALSE(file.line(line)) << path;
    EXPECT_NE(file.wrong().find(why), std::string::npos) << path << ": " << file.wrong();
    EXPECT_LT(line.size(), std::size_t{1} << 26);
  }
}

TEST(InputFile, SaysOfLinksInACircleWhatTheyAre) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.path / "loop");
  std::string text;
  EXPECT_EQ(read_text_file((folder.path / "loop").string(), text),
            "cannot be opened: its symbolic links lead in a circle; name the file itself");
}

TEST(BeginningOf, IsOfRegularFilesAlone) {
  const TemporaryFolder folder;
  EXPECT_EQ(beginning_of(folder.write("file", "abc").string(), 2), "ab");
  const std::string pipe = (folder.path / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& none : {pipe, folder.path.string(), std::string("/dev/zero"), std::string("/none")})
    EXPECT_EQ(beginning_of(none, 2), "") << none;
}

}  // namespace
}  // namespace accosim
