// Does no mode of a verb ignore what was asked of it? Every mode of every verb against every option that the verb has.
#include "sim/app/verbs.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <sstream>

#include "build_info/programs.hpp"
#include "models/base/text.hpp"
#include "sim/app/command_line.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

/// Those that do something, also inside others, by the words that lead to them.
std::vector<std::pair<Texts, Verb>> ways_to_verbs() {
  const std::vector<Verb> verbs = all_verbs();
  std::vector<std::pair<Texts, Verb>> ways;
  for (const auto& [path, verb] : by_path(verbs)) {
    std::istringstream words(path);
    if (!verb->modes.empty())
      ways.emplace_back(Texts(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()), *verb);
  }
  return ways;
}

std::vector<Verb> working_verbs() {
  std::vector<Verb> working;
  for (const auto& [words, verb] : ways_to_verbs()) working.push_back(verb);
  return working;
}

const Option& option_named(const Verb& verb, const std::string& name) {
  for (const Option& option : verb.options)
    if (name_of(option) == name) return option;
  throw std::logic_error(verb.name + " has no " + name);
}

std::string line_of(const Verb& verb, const Mode& mode) { return verb.name + " " + mode.of; }

/// Something that the option takes.
std::string right_text(const Option& option) {
  if (std::holds_alternative<int>(option.value)) return std::to_string(static_cast<int>(option.least));
  if (std::holds_alternative<double>(option.value)) return shortest(option.least);
  return option.choices.empty() ? "x" : option.choices.front();
}

/// The option as a command line has it.
Texts words_of(const Option& option) {
  const std::string name = name_of(option);
  if (name[0] != '-') return {right_text(option)};
  if (std::holds_alternative<bool>(option.value)) return {name};
  Texts words(static_cast<std::size_t>(option.words), right_text(option));
  words.insert(words.begin(), name);
  return words;
}

/// The verb's arguments when these options are given and no others.
Arguments arguments_with(const Verb& verb, const Texts& names) {
  Arguments arguments = defaults_of(verb.options);
  for (const std::string& name : names) {
    Argument& one = arguments.all.at(name);
    one.given = true;
    if (std::holds_alternative<bool>(one.value)) one.value = true;
    if (std::holds_alternative<std::string>(one.value)) one.value = right_text(option_named(verb, name));
    if (std::holds_alternative<Texts>(one.value)) one.value = Texts{"x"};
  }
  return arguments;
}

TEST(Verbs, NameOnlyOptionsThatTheyHave) {
  for (const Verb& verb : working_verbs()) {
    const Texts names = names_of(verb.options);
    for (const Option& option : verb.options) {
      EXPECT_FALSE(option.help.empty()) << verb.name << " " << option.names;
      EXPECT_TRUE(option.needs.empty() || contains(names, option.needs)) << verb.name << " " << option.names;
      for (const std::string& other : option.excludes) EXPECT_TRUE(contains(names, other)) << verb.name << " " << other;
    }
    for (const Mode& mode : verb.modes) {
      for (const std::string& name : mode.reads) EXPECT_TRUE(contains(names, name)) << line_of(verb, mode) << name;
      for (const auto& [name, text] : mode.refusals) {
        EXPECT_TRUE(contains(names, name)) << line_of(verb, mode) << " " << name;
        EXPECT_FALSE(contains(mode.reads, name)) << line_of(verb, mode) << " reads " << name;
      }
    }
  }
}

TEST(Verbs, NoOptionTakesAnEmptyTextUnlessItSaysSo) {
  // What a shell makes of a variable that is not set: the option would be ignored without a word.
  int options = 0;
  for (const auto& [way, verb] : ways_to_verbs())
    for (const Option& option : verb.options) {
      if (std::holds_alternative<bool>(option.value) || option.empty.empty()) continue;
      ++options;
      Texts words = way;
      if (option.names[0] == '-') words.push_back(name_of(option));
      for (int i = 0; i < option.words; ++i) words.emplace_back();
      testing::internal::CaptureStderr();
      const ExitCode code = run_command_line(words, all_verbs());
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(code, ExitCode::kBadCommandLine) << verb.name << " " << option.names << ": " << said;
      // Words that begin no option may be taken for the argument before.
      const bool told = said.find(name_of(option)) != std::string::npos || said.find("is empty") != std::string::npos ||
                        said.find("\"\" is none of its values") != std::string::npos;
      EXPECT_TRUE(told) << verb.name << " " << option.names << ": " << said;
    }
  EXPECT_GT(options, 100);
}

TEST(Verbs, EveryOptionIsReadBySomeMode) {
  for (const Verb& verb : working_verbs())
    for (const std::string& name : names_of(verb.options)) {
      bool read = false;
      for (const Mode& mode : verb.modes) read |= contains(mode.reads, name);
      EXPECT_TRUE(read) << verb.name << " " << name;
    }
}

TEST(Verbs, TheLastModeTakesWhateverIsLeft) {
  for (const Verb& verb : working_verbs())
    for (const Mode& mode : verb.modes) EXPECT_EQ(mode.is_meant == nullptr, &mode == &verb.modes.back()) << verb.name;
}

TEST(Verbs, AModeRefusesEachOptionThatItDoesNotRead) {
  for (const Verb& verb : working_verbs())
    for (const Mode& mode : verb.modes) {
      EXPECT_EQ(unread(verb, mode, defaults_of(verb.options)), Texts()) << line_of(verb, mode);
      for (const std::string& name : names_of(verb.options)) {
        const Texts lines = unread(verb, mode, arguments_with(verb, {name}));
        if (contains(mode.reads, name)) {
          EXPECT_EQ(lines, Texts()) << line_of(verb, mode);
          continue;
        }
        ASSERT_EQ(lines.size(), 1U) << line_of(verb, mode) << " ignores " << name;
        EXPECT_TRUE(holds(lines[0], name));
        if (mode.refusals.count(name) > 0) continue;
        EXPECT_TRUE(holds(lines[0], "; leave it out of " + line_of(verb, mode)));
      }
    }
}

TEST(Verbs, AllThatIsRefusedIsToldAtOnce) {
  const Verb verb = validate_verb();
  const Mode& live = verb.modes.front();
  EXPECT_EQ(
      unread(verb, live, arguments_with(verb, {"--live", "--network", "--jobs"})),
      (Texts{
          "--jobs belongs to validate of the ACCO paper's rows (--paper-rows), validate of what others measured; leave "
          "it out of validate of this machine (--live)",
          "--network belongs to validate of the ACCO paper's rows (--paper-rows), validate of what others measured; "
          "leave it out of validate of this machine (--live)"}));
}

TEST(Verbs, AModeMaySayMoreThanWhoseAnOptionIs) {
  const Verb compare = compare_verb();
  const Texts once = {"--machine compares with one run; leave out --set, --schedule, --json and --convergence"};
  EXPECT_EQ(unread(compare, compare.modes.front(), arguments_with(compare, {"--machine", "--set", "--json"})), once);
  EXPECT_EQ(unread(compare, compare.modes.front(), arguments_with(compare, {"--machine", "--trace", "--trace-ranks"})),
            Texts{"--trace-ranks belongs to compare of schedules; leave it out of compare of a run (--machine)"});
  const Verb fit = fit_verb();
  EXPECT_EQ(unread(fit, fit.modes.back(), arguments_with(fit, {"--profile", "--cluster"})),
            (Texts{"--cluster belongs to tables of collectives",
                   "--profile belongs to samples that accocal took of a GPU, or to timed steps"}));
}

TEST(Verbs, AModeIsHandedWhatItReadsAndNothingElse) {
  const auto reads_other = [](const Arguments& arguments) {
    return arguments.flag("--other") ? ExitCode::kDone : ExitCode::kBadInput;
  };
  const std::vector<Option> options = {{.names = "--one", .help = "One", .value = false},
                                       {.names = "--other", .help = "The other", .value = false}};
  const Verb forgetful = {
      .name = "try", .help = "", .options = options, .modes = {{.reads = {"--one"}, .run = reads_other}}};
  EXPECT_THROW(run(forgetful, defaults_of(options)), std::logic_error);
  const Verb right = {
      .name = "try", .help = "", .options = options, .modes = {{.reads = {"--other"}, .run = reads_other}}};
  EXPECT_EQ(run(right, defaults_of(options)), ExitCode::kBadInput);
  EXPECT_THROW(defaults_of(options).text("--one"), std::logic_error);  // a flag is no text
}

TEST(Verbs, AFlagTurnedOffAndAnEmptyTextAreNotGiven) {
  const Verb verb = compare_verb();
  Arguments arguments = arguments_with(verb, {"--json", "--machine", "--set", "--trace-updates"});
  for (const char* const name : {"--json", "--machine", "--set", "--trace-updates"})
    EXPECT_TRUE(arguments.given(name)) << name;
  arguments.all.at("--json").value = false;
  arguments.all.at("--machine").value = std::string();
  EXPECT_FALSE(arguments.given("--json"));
  EXPECT_FALSE(arguments.given("--machine"));
  EXPECT_FALSE(arguments.given("--schedule"));
}

/// For each mode of the verbs that have several, words that mean it; files are written into `folder`.
std::map<std::string, Texts> lines_of_modes(const TemporaryFolder& folder) {
  const auto fit = [&](const std::string& name, const std::string& text) {
    return Texts{"fit", folder.write(name, text).string()};
  };
  const auto plot = [](const char* kind) {
    return Texts{"plot", "--kind", kind, "finetune_2x4_a100", "-o", "/dev/null"};
  };
  return {
      {"compare of a run (--machine)", {"compare", "run.json", "--machine", "machine.json"}},
      {"compare of schedules", {"compare", "finetune_2x4_a100"}},
      {"explain of a graph (--graph)", {"explain", "finetune_2x4_a100", "--graph"}},
      {"explain of messages (--messages)", {"explain", "finetune_2x4_a100", "--messages"}},
      {"explain of growth (--growth)", {"explain", "finetune_2x4_a100", "--growth"}},
      {"explain of a ladder (--ladder)", {"explain", "finetune_2x4_a100", "--ladder", "ddp", "acco"}},
      {"explain of schedules", {"explain", "finetune_2x4_a100"}},
      {"plot of a timeline (--kind timeline)", plot("timeline")},
      {"plot of a breakdown (--kind breakdown)", plot("breakdown")},
      {"plot of a pipeline (--kind pipeline)", plot("pipeline")},
      {"plot of a ladder (--kind ladder)", plot("ladder")},
      {"plot of convergence (--kind convergence)", plot("convergence")},
      {"plot of memory (--kind memory)", plot("memory")},
      {"plot of a sweep (--kind curve)", plot("curve")},
      {"plot of a sweep (--kind map)", plot("map")},
      {"resolve of a framework (--for)", {"resolve", "finetune_2x4_a100", "--for", "fsdp2"}},
      {"resolve of kernels (--kernels)", {"resolve", "finetune_2x4_a100", "--kernels"}},
      {"resolve of a scenario", {"resolve", "finetune_2x4_a100"}},
      {"report of a run (--measured)", {"report", "machine.json", "--measured", "run.json", "-o", "r.html"}},
      {"report of a sweep's rows",
       {"report", folder.write("rows.jsonl", R"({"schema":"accosim.sweep_rows/1"})").string(), "-o", "r.html"}},
      {"report of schedules", {"report", "finetune_2x4_a100", "-o", "r.html"}},
      {"validate of this machine (--live)", {"validate", "--live"}},
      {"validate of the ACCO paper's rows (--paper-rows)", {"validate", "--paper-rows"}},
      {"validate of memory near the capacity (--memory-verdicts)", {"validate", "--memory-verdicts"}},
      {"validate of NCCL's choices (--nccl-choices)", {"validate", "--nccl-choices"}},
      {"validate of what others measured", {"validate"}},
      {"fit of a folder of cases", {"fit", folder.path.string()}},
      {"fit of samples of a GPU", fit("gpu.json", R"({"schema": "accosim.gpu_samples/1"})")},
      {"fit of samples of a machine", fit("machine.json", R"({"schema": "accosim.samples/1"})")},
      {"fit of tables of collectives", fit("collectives.csv", "source,fabric,collective,ranks,nodes,bytes,time_us\n")},
      {"fit of a table of steps", fit("steps.csv", "scenario,schedule,set,time_s\n")},
      {"fit of tables of kernels", fit("kernels.csv", "source,device,kind,dtype\n")},
  };
}

TEST(Verbs, TheProgramRefusesWhatAModeWouldIgnore) {
  const TemporaryFolder folder;
  const std::map<std::string, Texts> lines = lines_of_modes(folder);
  int refused = 0;
  for (const Verb& verb : working_verbs()) {
    if (verb.modes.size() < 2) continue;
    for (const Mode& mode : verb.modes)
      for (const Option& option : verb.options) {
        const std::string name = name_of(option);
        // These mean another mode, and so does what needs them.
        const bool chooses =
            contains({"--machine", "--measured", "--live", "--paper-rows", "--memory-verdicts", "--nccl-choices"},
                     name) ||
            option.needs == "--live" || (verb.name == "resolve" && contains({"--for", "--kernels"}, name)) ||
            (verb.name == "explain" && contains({"--graph", "--ladder", "--growth", "--messages"}, name));
        if (contains(mode.reads, name) || chooses) continue;
        Texts words = lines.at(line_of(verb, mode));
        if (!option.needs.empty())
          for (const std::string& word : words_of(option_named(verb, option.needs))) words.push_back(word);
        for (const std::string& word : words_of(option)) words.push_back(word);
        const ProgramRun run = run_program(kAccosimProgram, words, folder.path);
        EXPECT_EQ(run.exit_code, static_cast<int>(mode.refused)) << line_of(verb, mode) << " " << name << run.err;
        EXPECT_EQ(run.out, "") << line_of(verb, mode) << " " << name;
        const std::string& said = run.err.find(name) == std::string::npos ? option.needs : name;
        EXPECT_TRUE(!said.empty() && run.err.find(said) != std::string::npos) << line_of(verb, mode) << name << run.err;
        ++refused;
      }
  }
  EXPECT_GE(refused, 23);
}

}  // namespace
}  // namespace accosim
