// A shell script as it would begin a training run, read without being run: variables, arrays, defaults, arithmetic,
// conditions and here-documents are evaluated; nothing is executed, and of files only those are read that it sources.
// What only a run would know (a command's output, a variable that the script does not set) stays unknown, and says why.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/shell_text.hpp"

namespace accosim {

struct ShellCommand {
  std::vector<ShellText> words;          ///< the program first; what `bash -c` is given is commands of their own
  std::vector<ShellText> environment{};  ///< NAME=VALUE before it, which is its alone
};

struct ShellFile {
  std::string text{};
  int line = 0;  ///< of the script, where it begins
};

struct ShellScript {
  std::vector<ShellCommand> commands{};          ///< in the order in which they would run
  std::map<std::string, ShellText> variables{};  ///< at its end; of an array the first element
  std::map<std::string, ShellFile>
      files{};  ///< what it writes with here-documents and echo, by path; what sbatch reads is /dev/stdin
  std::vector<std::string> notes{};  ///< "train.sh:12: ...": what was passed over
};

/// What a script is read with.
struct ShellGround {
  std::map<std::string, std::string> given{};  ///< variables from outside; "1" to "9": what it is started with
  std::map<std::string, std::string> fixed{};  ///< of these those that it cannot set otherwise
  /// The text of a file that it sources; nothing where that is not here.
  std::function<std::optional<std::string>(const std::string& path)> opened{};
};

/// `source` is how the file is shown. Throws ScenarioError where it takes too long to evaluate or is too long: more
/// than a megabyte, 20,000 commands or 2 MB of text that variables make.
ShellScript read_shell(std::string_view text, const std::string& source, const ShellGround& ground = {});

}  // namespace accosim
