// Do the shells and man know what the verbs' declarations say?
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/app/help_text.hpp"
#include "sim/app/shell/shell.hpp"
#include "sim/app/verbs.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"

namespace accosim {
namespace {

std::string completion(const std::string& shell) {
  std::ostringstream out;
  write_completion(out, shell, all_verbs());
  return out.str();
}

std::string man_page() {
  std::ostringstream out;
  write_man_page(out, all_verbs());
  return out.str();
}

ProgramRun shell(const std::string& script) { return run_program("/bin/bash", {"--norc", "-c", script}, kRoot); }
bool installed(const std::string& program) { return shell("command -v " + program).exit_code == 0; }

/// What bash would offer for the last of these words.
std::vector<std::string> offered(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const std::string script = folder.write("accosim.bash", completion("bash")).string();
  std::string line = "source " + script + "; COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  line +=
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); complete -p accosim >&2; _accosim; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ProgramRun run = shell(line);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "complete -F _accosim accosim\n");
  std::vector<std::string> lines;
  std::istringstream in(run.out);
  for (std::string each; std::getline(in, each);)
    if (!each.empty()) lines.push_back(each);
  return lines;
}

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

using Words = std::vector<std::string>;

TEST(BashCompletion, OffersVerbsOptionsAndTheirValues) {
  EXPECT_EQ(offered({"accosim", "comp"}), (Words{"compare", "completion"}));
  EXPECT_EQ(offered({"accosim", "--v"}), Words{"--version"});
  EXPECT_EQ(offered({"accosim", "import", ""}), (Words{"nccl-tests", "launch"}));
  EXPECT_EQ(offered({"accosim", "import", "nccl-tests", "--f"}), (Words{"--force", "--fabric"}));
  EXPECT_EQ(offered({"accosim", "compare", "--net"}), Words{"--network"});
  EXPECT_EQ(offered({"accosim", "compare", "x.json", "--network", ""}), (Words{"simgrid", "reference"}));
  EXPECT_EQ(offered({"accosim", "compare", "x.json", "--network", "=", "ref"}), Words{"reference"});
  EXPECT_EQ(offered({"accosim", "list", "mo"}), (Words{"model", "models"}));
  EXPECT_EQ(offered({"accosim", "help", "resol"}), Words{"resolve"});
  EXPECT_EQ(offered({"accosim", "completion", ""}), (Words{"bash", "zsh", "fish"}));
}

TEST(BashCompletion, OffersShippedNamesAndFilesWhereTheyAreTaken) {
  EXPECT_TRUE(has(offered({"accosim", "compare", "finetune_2x4"}), "finetune_2x4_a100"));
  EXPECT_TRUE(has(offered({"accosim", "compare", "READ"}), "README.md")) << "a file of this folder";
  EXPECT_TRUE(has(offered({"accosim", "fit", "s.csv", "--profile", "A100"}), "A100-SXM4-80GB"));
  EXPECT_TRUE(has(offered({"accosim", "report", "-o", "READ"}), "README.md"));
  EXPECT_EQ(offered({"accosim", "list", "READ"}), Words{}) << "takes no file";
}

TEST(BashCompletion, OffersEveryOptionOfEveryVerb) {
  const std::vector<Verb> verbs = all_verbs();
  const std::string script = completion("bash");
  for (const auto& [path, verb] : by_path(verbs)) {
    const std::size_t at = script.find("    '" + path + "') words=");
    ASSERT_NE(at, std::string::npos) << path;
    const std::string line = script.substr(at, script.find('\n', at) - at);
    for (const Option& option : verb->options) {
      if (is_positional(option)) continue;
      EXPECT_TRUE(holds(line, name_of(option))) << path;
    }
  }
}

/// What fish would offer for the last word of a command line, without the descriptions.
Words offered_by_fish(const std::string& line) {
  const TemporaryFolder folder;
  const std::string script = folder.write("accosim.fish", completion("fish")).string();
  const ProgramRun run = shell("HOME=" + folder.path.string() + " XDG_CONFIG_HOME=" + folder.path.string() +
                               " fish --private -c \"source " + script + "; complete -C '" + line + "'\"");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  Words words;
  std::istringstream in(run.out);
  for (std::string each; std::getline(in, each);) words.push_back(each.substr(0, each.find('\t')));
  std::ranges::sort(words);
  return words;
}

TEST(FishCompletion, OffersVerbsOptionsAndTheirValues) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(offered_by_fish("accosim comp"), (Words{"compare", "completion"}));
  EXPECT_EQ(offered_by_fish("accosim --v"), Words{"--version"});
  EXPECT_EQ(offered_by_fish("accosim sweep x.json --sh"), Words{"--shard"});
  EXPECT_EQ(offered_by_fish("accosim compare x.json --network "), (Words{"reference", "simgrid"}));
  EXPECT_EQ(offered_by_fish("accosim import nccl-tests --fab"), Words{"--fabric"});
  EXPECT_TRUE(has(offered_by_fish("accosim compare finetune_2x4"), "finetune_2x4_a100"));
  EXPECT_TRUE(has(offered_by_fish("accosim compare READ"), "README.md")) << "a file of this folder";
  EXPECT_EQ(offered_by_fish("accosim list READ"), Words{}) << "takes no file";
  EXPECT_FALSE(has(offered_by_fish("accosim compare sweep --sh"), "--shard")) << "that sweep is no verb";
}

/// Types into a zsh in a terminal of its own: each argument behind the folder is a line, of which Tab completes the
/// last word. Prints what each line became. The shell writes it to a file, so nothing reads what is drawn.
constexpr const char* kZshTypist = R"(zmodload zsh/zpty zsh/zselect || exit 9
folder=$1
shift
waited() { # until the shell has written this file
  local i drawn
  for ((i = 0; i < 6000; i++)); do
    while zpty -r -t shell drawn; do :; done
    [[ -e $1 ]] && return
    zselect -t 1
  done
  print -u2 "zsh did not answer"
  exit 8
}
cat >$folder/begin.zsh <<'END'
fpath=($folder $fpath)
autoload -Uz compinit
compinit -u -D
show() { print -rn -- "$BUFFER" >$folder/line.new; mv $folder/line.new $folder/line; BUFFER=''; }
zle -N show
bindkey '^T' show
ready() { : >$folder/ready; }
zle -N zle-line-init ready
END
zpty shell zsh -f -i
zpty -w shell "folder=$folder; source $folder/begin.zsh"
waited $folder/ready
for line; do
  zpty -w -n shell "$line"$'\t\x14'
  waited $folder/line
  print -r -- "$(<$folder/line)|"
  rm $folder/line
done
zpty -d shell
)";

/// The lines that come of these with a Tab behind them.
Words completed_by_zsh(const Words& lines) {
  const TemporaryFolder folder;
  folder.write("_accosim", completion("zsh"));
  std::string command = "TERM=vt100 zsh -f " + folder.write("typist.zsh", kZshTypist).string();
  command += " " + folder.path.string();
  for (const std::string& line : lines) command += " '" + line + "'";
  const ProgramRun run = shell(command);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  Words completed;
  std::istringstream in(run.out);
  for (std::string each; std::getline(in, each);) completed.push_back(each);
  return completed;
}

TEST(ZshCompletion, CompletesVerbsOptionsAndTheirValues) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Words typed = {"accosim compa",
                       "accosim --v",
                       "accosim sweep x.json --sha",
                       "accosim compare x.json --network ref",
                       "accosim compare x.json --network=ref",
                       "accosim import nccl-tests --fab",
                       "accosim compare finetune_2x4",
                       "accosim compare CONTR",
                       "accosim list CONTR"};
  EXPECT_EQ(completed_by_zsh(typed),
            (Words{"accosim compare |", "accosim --version |", "accosim sweep x.json --shard=|",
                   "accosim compare x.json --network reference |", "accosim compare x.json --network=reference |",
                   "accosim import nccl-tests --fabric=|", "accosim compare finetune_2x4_a100 |",
                   "accosim compare CONTRIBUTING.md |", "accosim list CONTR|"}));
}

TEST(Completions, AreScriptsOfTheirShells) {
  const TemporaryFolder folder;
  std::string missing;
  for (const auto& [name, check] :
       {std::pair("bash", "bash -n "), std::pair("zsh", "zsh -n "), std::pair("fish", "fish --no-execute ")}) {
    const std::string script = completion(name);
    for (const Verb& verb : all_verbs()) {
      EXPECT_TRUE(holds(script, verb.name)) << name;
      for (const Option& option : verb.options) {
        if (is_positional(option)) continue;
        const std::string flag = name_of(option).substr(2);  // fish writes the dashes as -l
        EXPECT_TRUE(holds(script, flag)) << name;
      }
    }
    if (!installed(name)) {
      missing += std::string(missing.empty() ? "" : ", ") + name;
      continue;
    }
    const ProgramRun run = shell(check + folder.write(name, script).string());
    EXPECT_EQ(run.exit_code, 0) << name << run.err;
    EXPECT_EQ(run.err, "") << name;
  }
  if (!missing.empty()) GTEST_SKIP() << "not installed, so their scripts were not parsed: " << missing;
}

TEST(Completions, AreWhatTheProgramPrints) {
  for (const char* const name : {"bash", "zsh", "fish"})
    EXPECT_EQ(accosim({"completion", name}).out, completion(name)) << name;
  expect_told(accosim({"completion", "bahs"}), 2, "did you mean \"bash\"?");
}

TEST(ManPage, HasTheUsualSectionsAndAllVerbsWithTheirOptions) {
  const std::string page = man_page();
  EXPECT_EQ(page, accosim({"man"}).out);
  std::size_t at = 0;
  for (const char* const section : {".TH ACCOSIM 1 ", ".SH NAME\naccosim \\- ", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n",
                                    ".SH VERBS\n", ".SH EXAMPLES\n", ".SH ENVIRONMENT\n", ".SH EXIT STATUS\n"}) {
    at = page.find(section, at);
    ASSERT_NE(at, std::string::npos) << section;
  }
  const std::vector<Verb> verbs = all_verbs();
  for (const auto& [path, verb] : by_path(verbs)) {
    if (!verb->verbs.empty()) continue;
    std::string escaped;
    for (const char c : path) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_TRUE(holds(page, ".SS \"" + escaped + "\"\n")) << path;
  }
  // Only requests of the man macros begin a line with a dot, and none with an apostrophe.
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || (line[0] != '.' && line[0] != '\'')) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_TRUE(has({".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".\\\""}, request)) << line;
  }
}

TEST(ManPage, TroffHasNothingToSayAgainstIt) {
  if (!installed("groff")) GTEST_SKIP() << "groff is not installed";
  const TemporaryFolder folder;
  const std::string page = folder.write("accosim.1", man_page()).string();
  const ProgramRun run = shell("groff -man -Tutf8 -P-cbou -ww -rLL=80n " + page);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(holds(run.out, "EXIT STATUS"));
}

}  // namespace
}  // namespace accosim
