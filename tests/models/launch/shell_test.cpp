// A script's words without running it, one quirk of such scripts a test. `words` gives the last command's words in
// brackets, what is not known marked by "?".
#include "models/launch/shell.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/launch/shell_arithmetic.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

std::string words_of(const ShellCommand& command) {
  std::string all;
  for (const ShellText& word : command.words)
    all += (all.empty() ? "" : " ") + ("[" + word.text + (word.unknown.empty() ? "]" : "?]"));
  return all;
}

std::string words(const std::string& script, const std::map<std::string, std::string>& given = {}) {
  const ShellScript read = read_shell(script, "train.sh", {given});
  return read.commands.empty() ? "" : words_of(read.commands.back());
}

struct Quirk {
  const char* name;
  const char* script;
  const char* words;
};

class ShellQuirks : public testing::TestWithParam<Quirk> {};

TEST_P(ShellQuirks, AreReadAsAShellDoes) { EXPECT_EQ(words(GetParam().script), GetParam().words); }

constexpr Quirk kQuirks[] = {
    {"variable", "N=4\nrun --n $N", "[run] [--n] [4]"},
    {"braces", "N=4\nrun ${N}x", "[run] [4x]"},
    {"exported", "export N=4\nrun $N", "[run] [4]"},
    {"default", "N=${N:-8}\nrun $N", "[run] [8]"},
    {"default_of_an_argument", "N=${1:-8}\nrun $N", "[run] [8]"},
    {"default_in_quotes", "N=${1:-\"a b\"}\nrun \"$N\"", "[run] [a b]"},
    {"default_inside_a_default", "run ${A:-${B:-3}}", "[run] [3]"},
    {"assigned_default", ": \"${N:=8}\"\nrun $N", "[run] [8]"},
    {"default_of_what_is_set", "N=2\nrun ${N:-8}", "[run] [2]"},
    {"default_of_what_is_empty", "N=\nrun ${N:-8} ${N-9}", "[run] [8]"},
    {"instead_of_what_is_set", "N=2\nrun ${N:+--n $N}", "[run] [--n] [2]"},
    {"variable_of_a_variable", "A=2\nB=$A\nrun $B", "[run] [2]"},
    {"arithmetic", "A=2\nrun $((A * 3 + 1)) $(( $A**3 )) $(((1 + 2) * 4 / 3))", "[run] [7] [8] [4]"},
    {"number_with_underscores", "N=220_000_000\nrun $N $((N / 2))", "[run] [220_000_000] [110000000]"},
    {"array", "A=(--x 1\n  --y 2)\nrun ${A[@]}", "[run] [--x] [1] [--y] [2]"},
    {"array_with_comments", "A=(\n  --x 1 # one\n\n  # --y 2\n  --z 3\n)\nrun ${A[@]}", "[run] [--x] [1] [--z] [3]"},
    {"array_in_quotes", "A=(\"a b\" c)\nrun \"${A[@]}\"", "[run] [a b] [c]"},
    {"array_as_one_word", "A=(a b)\nrun \"${A[*]}\"", "[run] [a b]"},
    {"array_that_grows", "A=(--x)\nA+=(--y 2)\nrun ${A[@]}", "[run] [--x] [--y] [2]"},
    {"array_that_is_empty", "A=()\nrun \"${A[@]}\" end", "[run] [end]"},
    {"declared_array", "declare -a A=(--x 1)\nrun ${A[@]}", "[run] [--x] [1]"},
    {"element_of_two_words", "A=(\"--format hybrid\")\nrun ${A[@]}", "[run] [--format] [hybrid]"},
    {"elements", "A=(a b c)\nrun ${A[1]} ${#A[@]} $A", "[run] [b] [3] [a]"},
    {"array_of_an_array", "A=(1 2)\nB=(0 \"${A[@]}\")\nrun ${B[@]}", "[run] [0] [1] [2]"},
    {"text_named_as_an_array", "A=(1 2)\nA=\"${A[@]} 3\"\nrun $A", "[run] [1] [2] [3]"},
    {"continued_line", "run --x 1 \\\n  --y 2", "[run] [--x] [1] [--y] [2]"},
    {"continued_text", "A=\" \\\n  --x 1 \\\n  --y 2 \\\n\"\nrun $A", "[run] [--x] [1] [--y] [2]"},
    {"text_that_grows", "A=\"--x 1\"\nA=\"$A --y 2\"\nA+=\" --z\"\nrun $A", "[run] [--x] [1] [--y] [2] [--z]"},
    {"carriage_returns", "N=4\r\nrun --n $N \\\r\n  --m 2\r\n", "[run] [--n] [4] [--m] [2]"},
    {"backslash_at_the_end_of_an_array", "A=(--x 1 \\\n)\nrun ${A[@]}", "[run] [--x] [1]"},
    {"tabs", "\trun\t--x\t1", "[run] [--x] [1]"},
    {"single_quotes", "run 'a $B \"c\"'", "[run] [a $B \"c\"]"},
    {"quotes_in_a_word", "run --x=\"a b\"'c'", "[run] [--x=a bc]"},
    {"escaped_dollar", "run \\$HOME \"\\$HOME\"", "[run] [$HOME] [$HOME]"},
    {"comment_behind_a_command", "run --x 1 # --y 2", "[run] [--x] [1]"},
    {"number_sign_in_a_word", "run a#b", "[run] [a#b]"},
    {"several_on_a_line", "A=1; B=2; run $A $B", "[run] [1] [2]"},
    {"condition_that_holds", "A=fp8\nif [ \"$A\" = fp8 ]; then X=1; else X=2; fi\nrun $X", "[run] [1]"},
    {"condition_that_does_not", "A=bf16\nif [[ $A == \"fp8\" ]]; then X=1; else X=2; fi\nrun $X", "[run] [2]"},
    {"third_branch", "A=3\nif [ $A -eq 1 ]; then X=a; elif [ $A -gt 2 ]; then X=b; else X=c; fi\nrun $X", "[run] [b]"},
    {"condition_inside_one", "if true; then if false; then X=1; else X=2; fi; fi\nrun $X", "[run] [2]"},
    {"condition_in_arithmetic", "A=3\nif (( A > 2 )); then X=1; fi\nrun $X", "[run] [1]"},
    {"both", "A=1\n[[ $A -gt 0 && $A -lt 2 ]] && X=yes\nrun $X", "[run] [yes]"},
    {"either", "[ -z \"\" ] || X=1\nX=${X:-none}\nrun $X", "[run] [none]"},
    {"not", "if [ ! 1 = 2 ]; then X=1; fi\nrun $X", "[run] [1]"},
    {"commented_out_block", "X=1\nif false; then\n  X=2\nfi\nrun $X", "[run] [1]"},
    {"choice", "S=7B\ncase $S in\n  1B) H=1 ;;\n  7B|8B) H=4096 ;;\n  *) H=0 ;;\nesac\nrun $H", "[run] [4096]"},
    {"function", "f() { X=3; }\nf\nrun $X", "[run] [3]"},
    {"quoted_command", "A=\"--x 1\"\nsrun -N 2 bash -c \"python train.py $A \\$SLURM_PROCID\"",
     "[srun] [-N] [2] [python] [train.py] [--x] [1] [$SLURM_PROCID?]"},
    {"command_in_a_variable", "CMD=\"python train.py --x 1\"\nsrun $CMD", "[srun] [python] [train.py] [--x] [1]"},
    {"redirected", "run --x 1 > log 2>&1 | tee log", "[run] [--x] [1]"},
    {"background", "run --x 1 &\nwait", "[wait]"},
    {"output_of_echo", "A=$(echo 3)\nrun $A", "[run] [3]"},
    {"output_of_another", "A=$(nvidia-smi -L | wc -l)\nrun $A", "[run] [$(nvidia-smi -L | wc -l)?]"},
    {"backticks", "run `pwd`/train.py", "[run] [`pwd`/train.py?]"},
    {"what_nobody_sets", "run --x $X", "[run] [--x] [$X?]"},
    {"without_an_ending", "P=model.json\nrun ${P%.json} ${P#mod}", "[run] [model] [el.json]"},
    {"length", "P=abcd\nrun ${#P}", "[run] [4]"},
    {"backticks_with_quotes_in_a_text", "A=\" --lr `bc <<< \"1; 2/10\"` --x 1 \"\nrun $A",
     "[run] [--lr] [`bc <<< \"1; 2/10\"`?] [--x] [1]"},
    {"and_before_or", "[[ 1 == 1 || 1 == 2 && 1 == 2 ]] && X=1\nrun $X", "[run] [1]"},
    {"brackets_in_a_condition", "X=0\n[[ 1 == 2 && ( 1 == 2 || 1 == 1 ) ]] && X=1\nrun $X", "[run] [0]"},
    {"subshell", "X=1\n(X=2)\nrun $X", "[run] [1]"},
    {"arguments_of_a_function", "f() { run $1; }\nf 4", "[run] [4]"},
    {"set_before_a_command", "N=3 run $N", "[run] [$N?]"},
};
INSTANTIATE_TEST_SUITE_P(All, ShellQuirks, testing::ValuesIn(kQuirks),
                         [](const auto& each) { return each.param.name; });

TEST(Shell, TellsTheLineOfEachWordWhereItIsWritten) {
  const ShellScript read = read_shell("A=\" \\\n --x 1 \\\n --y 2\"\nN=7\nrun $A --n $N \\\n  --z", "train.sh");
  ASSERT_EQ(read.commands.size(), 1U);
  std::string lines;
  for (const ShellText& word : read.commands[0].words) lines += word.text + "@" + std::to_string(word.line) + " ";
  EXPECT_EQ(lines, "run@5 --x@2 1@2 --y@3 2@3 --n@5 7@4 --z@6 ");
}

TEST(Shell, KeepsWhatTheScriptWritesToAFile) {
  const ShellScript read = read_shell(
      "S=2\ncat <<EOT > $DIR/ds.json\n{\"stage\": $S}\nEOT\necho a > b\ncat <<'E' >> b\n$S\nE\n", "train.sh");
  ASSERT_TRUE(read.files.contains("$DIR/ds.json"));
  EXPECT_EQ(read.files.at("$DIR/ds.json").text, "{\"stage\": 2}\n");
  EXPECT_EQ(read.files.at("$DIR/ds.json").line, 3);
  EXPECT_EQ(read.files.at("b").text, "a\n$S\n");
}

TEST(Shell, TakesNoBranchOfWhatItCannotKnow) {
  const ShellScript read = read_shell(
      "X=0\nif [ -d /data ]; then X=1; else X=2; fi\nfor i in 1 2; do X=3; done\n. env.sh\nrun $X", "train.sh");
  EXPECT_EQ(words_of(read.commands.back()), "[run] [0]");
  ASSERT_EQ(read.notes.size(), 3U);
  EXPECT_EQ(read.notes[0], "train.sh:2: this condition cannot be known (-d /data); neither branch is taken");
  EXPECT_EQ(read.notes[1], "train.sh:3: a loop is not followed");
  EXPECT_EQ(read.notes[2], "train.sh:4: . is not followed: env.sh");
}

TEST(Shell, WhatItSaysCanBePrinted) {
  for (const std::string& note : read_shell("if [ a -\xff\x1b b ]; then X=1; fi\n. \xff\n", "train.sh").notes)
    for (const char c : note) EXPECT_TRUE(c >= ' ' && c <= '~') << note;
}

TEST(Shell, TakesWhatItIsGiven) { EXPECT_EQ(words("run $1 $N", {{"1", "a"}, {"N", "3"}}), "[run] [a] [3]"); }

TEST(Shell, IsBoundedInTimeAndMemory) {
  for (const char* const hostile : {
           ":(){ :|:& };:",     // calls itself for ever
           "f() { f; f; }\nf",  //
           "A=aaaaaaaaaaaaaaaa\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\n"
           "A=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A\nA=$A$A$A$A$A$A$A$A",  // 4 GB
           "A=(a a a a a a a a)\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})\nA=(${A[@]} "
           "${A[@]} "
           "${A[@]} ${A[@]})\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})\nA=(${A[@]} "
           "${A[@]} ${A[@]} "
           "${A[@]})\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})\nA=(${A[@]} ${A[@]} ${A[@]} ${A[@]})",
           "A='bash -c \"$A\"'\nbash -c \"$A\"",
       })
    try {
      read_shell(hostile, "train.sh");
    } catch (const ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find("train.sh"), std::string::npos);
    }
  EXPECT_THROW(read_shell(std::string(2'000'000, 'a'), "train.sh"), ScenarioError);
  for (const char* const opens :
       {"(", "{ ", "if ", "$(", "$(echo ", "${A:-", "$((", "\"$(", "A=(", "case a in a) ", "[[ ", "`"}) {
    std::string deep = "run ";
    for (int i = 0; i < 50'000; ++i) deep += opens;
    for (const std::string& hostile : {deep, deep.substr(4)}) try {
        read_shell(hostile, "train.sh");
      } catch (const ScenarioError& error) {
        EXPECT_NE(std::string(error.what()).find("nested"), std::string::npos) << error.what();
      }
  }
  for (const char* const broken : {"if",    "case x in", "\"",  "$(", "${", "`", "A=(", "$((", "[[", "((", "cat <<E",
                                   "f() {", "for",       "a |", "&&", ";;", ")", "}",   "fi",  "\\", "!"})
    read_shell(broken, "train.sh");
}

// 100 kB a hundred times, where it is no word of a command.
TEST(Shell, CountsEveryCopyOfWhatItMakes) {
  const std::string start = "A=" + std::string(100'000, 'a') + "\nf() { :; }\n";
  for (const char* const copies : {"f\n", "(:)\n", "[[ $A ]]\n", "case $A in b) ;; esac\n", "B=\"$A\"\n", "B=($A)\n",
                                   "B=${C:-$A}\n", "cat <<E > f\n$A\nE\n"}) {
    std::string hostile = start;
    for (int i = 0; i < 100; ++i) hostile += copies;
    EXPECT_THROW(read_shell(hostile, "train.sh"), ScenarioError) << copies;
    EXPECT_NO_THROW(read_shell(start + copies, "train.sh")) << copies;
  }
}

TEST(Shell, NothingInItIsRun) {
  const std::string marker = testing::TempDir() + "accosim-shell-ran";
  std::remove(marker.c_str());
  read_shell("touch " + marker + "\nA=$(touch " + marker + ")\n`touch " + marker + "`\nbash -c 'touch " + marker +
                 "'\necho x > " + marker,
             "train.sh");
  EXPECT_EQ(std::fopen(marker.c_str(), "r"), nullptr);
}

TEST(ShellArithmetic, IsOfWholeNumbers) {
  const auto none = [](const std::string&) { return std::optional<std::int64_t>(); };
  EXPECT_EQ(calculate("2 + 3 * 4", none), 14);
  EXPECT_EQ(calculate("-(2 - 5) % 2", none), 1);
  EXPECT_EQ(calculate("7 / 2 == 3 && 1 < 2", none), 1);
  EXPECT_EQ(calculate("2 ** 70", none), std::nullopt);
  EXPECT_EQ(calculate("9223372036854775807 + 1", none), std::nullopt);
  EXPECT_EQ(calculate("1 / 0", none), std::nullopt);
  EXPECT_EQ(calculate("X + 1", none), std::nullopt);
  EXPECT_EQ(calculate(std::string(10'000, '-') + "1", none), std::nullopt);
  EXPECT_EQ(calculate(std::string(10'000, '('), none), std::nullopt);
}

}  // namespace
}  // namespace accosim
