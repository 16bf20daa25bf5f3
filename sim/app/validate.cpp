// The verb `validate`: predictions against what others measured; and with --live against this machine.
#include "sim/evidence/validate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "models/base/errors.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/system_words.hpp"
#include "models/fit/gpu_cases.hpp"
#include "models/fit/published.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"
#include "reports/evidence/live_report.hpp"
#include "reports/evidence/validation_report.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evidence/live.hpp"
#include "sim/evidence/memory_verdicts.hpp"
#include "sim/evidence/nccl_choices.hpp"
#include "sim/evidence/paper_rows.hpp"
#include "sim/evidence/ratios.hpp"

namespace accosim {
namespace {

/// Which cases.
std::vector<Option> case_options() {
  return {
      text_option("directory", "Folder of measurements; default: scenarios/validation", "FOLDER"),
      {.names = "--samples",
       .help = "Folder of what accocal measured on GPUs; default: calibration/samples",
       .empty = "names no folder",
       .takes = "FOLDER"},
      {.names = "--profile",
       .help = "Device profile to start the fit of --samples from, for a GPU that has no shipped profile",
       .needs = "--samples",
       .takes = "DEVICE"},
      text_option("--group", "Only groups whose name contains this", "NAME"),
      text_option("--case", "Only cases whose id contains this", "ID"),
      {.names = "--leave-out",
       .help = "Leave out each source or device in turn, fit to the rest, and tell how well what was left out is "
               "predicted; generation: predict each generation of GPUs by the fits of another; none: keep the shipped "
               "constants",
       .choices = {"source", "device", "generation", "none"}},
      jobs_option(),
      network_option("simgrid: flows contend for links; reference: no contention"),
  };
}

std::vector<Option> live_options() {
  return {
      flag_option("--live", "Measure this machine, predict runs of the real step, make them, and compare",
                  {"directory", "--samples", "--group", "--case", "--leave-out", "--json"}),
      {.names = "--quick", .help = "Fewer runs, in about a minute", .value = false, .needs = "--live"},
      {.names = "--live-network",
       .help = "Network of the runs: netns:RATE, or paced:RATE where namespaces are refused",
       .value = std::string("netns:200 Mbit/s"),
       .default_shown = true,
       .needs = "--live",
       .takes = "NETWORK"},
  };
}

/// Pages of their own, each of which stands beside none of those before it.
std::vector<Option> page_options() {
  std::vector<Option> pages = {
      flag_option("--paper-rows",
                  "The rows of the ACCO paper with each mechanism of the released code left out in turn, as Markdown: "
                  "reports/published/acco-rows.md"),
      flag_option("--memory-verdicts",
                  "Verdicts on memory near the capacity and what each way out would bring, as Markdown: "
                  "reports/published/memory-verdicts.md"),
      flag_option(
          "--nccl-choices",
          "Which way NCCL's own constants choose inside a node, by size and release, beside what was measured, as "
          "Markdown: reports/published/nccl-choices.md")};
  Texts others = {"directory", "--samples", "--group", "--case", "--leave-out", "--live", "--json"};
  for (Option& page : pages) {
    page.excludes = others;
    others.push_back(page.names);
  }
  return pages;
}

/// What comes of it.
std::vector<Option> outcome_options() {
  return {
      flag_option("--check",
                  "Fail where a group's error is above its committed bound; with --live where that of the undisturbed "
                  "runs of a kind is above 10 %"),
      json_option(),
      flag_option("--markdown", "One Markdown page instead of text: reports/published/validation.md or live.md",
                  {"--json"}),
  };
}

/// Of a folder that the user named, which then holds a step.
void add_named_samples(Published& published, const std::string& directory, const std::string& profile) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    throw ScenarioError({fmt::format("--samples {}: {}", directory,
                                     error && error != std::errc::no_such_file_or_directory
                                         ? system_words(error.value())
                                         : "there is no such folder; name the one that the GPU's samples lie in")});
  if (add_gpu_cases(published, directory, profile) > 0) return;
  throw ScenarioError(
      {fmt::format("--samples {}: no step that accocal measured on a GPU is in there; accocal measure "
                   "--device cuda:0 -o {}/samples.json writes some",
                   directory, directory)});
}

/// Whether `--group` may name what we measured, whose fits are made anew each time.
bool asks_for_own(const std::string& group) {
  return std::string(kMeasuredGroup).find(group) != std::string::npos ||
         std::string(kMeasuredMemoryGroup).find(group) != std::string::npos;
}

Published published_of(const std::string& directory, const Arguments& arguments) {
  Published published = load_published(directory);
  if (arguments.given("--samples"))
    add_named_samples(published, arguments.text("--samples"), arguments.text("--profile"));
  else if (!arguments.given("directory") && asks_for_own(arguments.text("--group")))
    add_gpu_cases(published, data_dir() + "/calibration/samples");
  return published;
}

void write_outcome(const Validation& validation, const Arguments& arguments) {
  if (arguments.flag("--json"))
    write_validation_json(std::cout, validation);
  else if (arguments.flag("--markdown"))
    print_markdown(std::cout, validation_page(validation));
  else
    print_terminal(std::cout, validation_reading(validation), console_options());
}

/// Bad input when a bound that was to be checked does not hold.
ExitCode validate_published(const Arguments& arguments) {
  if (arguments.flag("--check") && (arguments.given("--group") || arguments.given("--case")))
    throw ScenarioError({"--check is of all cases; leave out --group and --case"});
  const std::string directory =
      arguments.given("directory") ? arguments.text("directory") : data_dir() + "/scenarios/validation";
  const Published published = published_of(directory, arguments);
  // The shipped constants come from the shipped cases: what they would be without a source of another folder is asked
  // only where the user does.
  std::error_code none;
  const bool shipped = std::filesystem::equivalent(directory, data_dir() + "/scenarios/validation", none);
  const std::string& leave_out = arguments.text("--leave-out");
  const ValidateOptions options = {
      .group = arguments.text("--group"),
      .id = arguments.text("--case"),
      .jobs = arguments.whole("--jobs"),
      .network = network_of(arguments),
      .without_source = leave_out == "source" || leave_out == "device" || (leave_out.empty() && shipped)};
  Validation validation = while_shown("predicting what others measured", [&] { return validate(published, options); });
  if (validation.rows.empty())
    throw ScenarioError({"no case has such a group and id; groups are " + in_words(published_groups())});
  if (arguments.flag("--check")) {
    validation.bounds = load_bounds(directory + "/bounds.json");
    validation.broken = broken_bounds(validation, {std::begin(kStepGroups), std::end(kStepGroups)});
    if (shipped && options.without_source)
      if (std::string stale = stale_ratio_spread(validation.ratios); !stale.empty())
        validation.broken.push_back(std::move(stale));
  }
  if (arguments.given("--leave-out") && leave_out != "none") {
    const Progress progress("leaving out each " + leave_out + " in turn");
    leave_out_each(validation, published, options, *value_named<LeaveOut>(leave_out));
  }
  write_outcome(validation, arguments);
  if (arguments.flag("--markdown"))  // which has no place for them
    for (const std::string& line : validation.broken) tell("accosim: bound broken: ", line);
  return validation.broken.empty() ? ExitCode::kDone : ExitCode::kBadInput;
}

/// A folder of its own, gone afterwards, however this process ends: a child waits for that and removes it.
struct Folder {
  std::string path;
  int alive = -1;  ///< the child reads its end of file when nobody holds this any more
  pid_t child = -1;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "accosim-live-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw BadEnvironment(path + " cannot be made; set TMPDIR to a folder");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw BadEnvironment("no pipe could be made");
    alive = ends[1];
    child = fork();
    if (child != 0) {
      close(ends[0]);
      return;
    }
    close(ends[1]);
    setsid();  // a Ctrl-C is for the others
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    char byte = 0;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
    _exit(0);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    close(alive);
    while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
};

/// Measures this machine, predicts runs on it, makes these runs and compares, with the accocal that was built beside
/// this program. Bad input when --check was given and the mean error is too large.
ExitCode validate_on_this_machine(const Arguments& arguments) {
  LiveOptions options{.accocal = (std::filesystem::canonical("/proc/self/exe").parent_path() / "accocal").string()};
  if (!std::filesystem::exists(options.accocal))
    throw BadEnvironment(fmt::format("{} is not there; build the target accocal too", options.accocal));
  const std::string& network = arguments.text("--live-network");
  const std::size_t colon = network.find(':');
  options.network = network.substr(0, colon);
  options.rate = colon == std::string::npos ? "" : network.substr(colon + 1);
  options.quick = arguments.flag("--quick");
  options.progress = [](const std::string& text) { tell("accosim: ", text); };
  const Folder folder;
  options.folder = folder.path;
  const LiveResult result = validate_live(options);
  if (arguments.flag("--markdown"))
    print_markdown(std::cout, live_reading(result));
  else
    print_terminal(std::cout, live_reading(result), console_options());
  if (!arguments.flag("--check")) return ExitCode::kDone;
  constexpr double kMost = 0.10;
  const LiveCheck check = live_check(result);
  if (check.disturbed > 0)
    std::cerr << fmt::format(
        "accosim: judged {} of {} runs; the others found the machine busy with something else in each of three tries\n",
        check.judged, check.judged + check.disturbed);
  if (check.worst_mean <= kMost) return ExitCode::kDone;
  std::cerr << fmt::format("accosim: the mean error of some kind of run is {:.1f} %, above {:.0f} %\n",
                           100 * check.worst_mean, 100 * kMost);
  return ExitCode::kBadInput;
}

ExitCode write_rows(const Arguments& arguments) {
  std::vector<std::string> paths;
  for (const ShippedFile& file : shipped_files(FileKind::kScenario))
    if (file.path.rfind("scenarios/paper/", 0) == 0) paths.push_back(data_dir() + "/" + file.path);
  print_markdown(std::cout, paper_rows_page(while_shown("playing the paper's rows", [&] {
                   return paper_rows(paths, arguments.whole("--jobs"), network_of(arguments));
                 })));
  return ExitCode::kDone;
}

ExitCode write_verdicts(const Arguments&) {
  const std::string folder = data_dir() + "/scenarios/validation";
  const std::vector<VerdictCase> cases = load_verdict_cases(folder + "/memory-verdicts.json");
  print_markdown(std::cout, memory_verdicts_page(memory_verdicts(cases, load_published(folder), data_dir())));
  return ExitCode::kDone;
}

ExitCode write_choices(const Arguments&) {
  print_markdown(std::cout, nccl_choices_page(nccl_choices(load_published(data_dir() + "/scenarios/validation"))));
  return ExitCode::kDone;
}

/// What is measured or shown by itself.
Mode by_itself(const char* of, const char* flag, const Texts& others, ExitCode (*run)(const Arguments&)) {
  Mode mode = flag_mode(of, flag, others, run);
  mode.refused = ExitCode::kBadCommandLine;
  return mode;
}

}  // namespace

Verb validate_verb() {
  return {.name = "validate",
          .help = "Compare predictions with published measurements, or (--live) with runs of the real step",
          .options = joined(joined(joined(case_options(), live_options()), page_options()), outcome_options()),
          .modes = {by_itself("this machine", "--live", {"--quick", "--live-network", "--check", "--markdown"},
                              validate_on_this_machine),
                    by_itself("the ACCO paper's rows", "--paper-rows", {"--jobs", "--network"}, write_rows),
                    by_itself("memory near the capacity", "--memory-verdicts", {}, write_verdicts),
                    by_itself("NCCL's choices", "--nccl-choices", {}, write_choices),
                    {.of = "of what others measured",
                     .reads = names_of(joined(case_options(), outcome_options())),
                     .run = validate_published}}};
}

}  // namespace accosim
