// The verb `validate`: predictions against what others measured; and with --live against this machine.
#include "sim/evidence/validate.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <system_error>

#include "models/base/standard_streams.hpp"
#include "models/base/system_words.hpp"
#include "models/fit/gpu_cases.hpp"
#include "models/fit/published.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"
#include "reports/evidence/validation_report.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evidence/memory_verdicts.hpp"
#include "sim/evidence/nccl_choices.hpp"
#include "sim/evidence/paper_rows.hpp"
#include "sim/evidence/ratios.hpp"

namespace accosim {
namespace {

/// Which cases.
std::vector<Option> case_options() {
  return {
      {.names = "directory", .help = "Folder of measurements; default: scenarios/validation", .takes = "FOLDER"},
      {.names = "--samples",
       .help = "Folder of what accocal measured on GPUs; default: calibration/samples",
       .empty = "names no folder",
       .takes = "FOLDER"},
      {.names = "--profile",
       .help = "Device profile to start the fit of --samples from, for a GPU that has no shipped profile",
       .needs = "--samples",
       .takes = "DEVICE"},
      {.names = "--group", .help = "Only groups whose name contains this", .takes = "NAME"},
      {.names = "--case", .help = "Only cases whose id contains this", .takes = "ID"},
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
      {.names = "--live",
       .help = "Measure this machine, predict runs of the real step, make them, and compare",
       .value = false,
       .excludes = {"directory", "--samples", "--group", "--case", "--leave-out", "--json"}},
      {.names = "--quick", .help = "Fewer runs, in about a minute", .value = false, .needs = "--live"},
      {.names = "--live-network",
       .help = "Network of the runs: netns:RATE, or paced:RATE where namespaces are refused",
       .value = std::string("netns:200 Mbit/s"),
       .default_shown = true,
       .needs = "--live",
       .takes = "NETWORK"},
  };
}

/// What comes of it.
std::vector<Option> outcome_options() {
  return {
      {.names = "--check",
       .help = "Fail where a group's error is above its committed bound; with --live where that of the undisturbed "
               "runs of a kind is above 10 %",
       .value = false},
      {.names = "--json", .help = "One JSON document instead of text", .value = false},
      {.names = "--markdown",
       .help = "One Markdown page instead of text: reports/published/validation.md or live.md",
       .value = false,
       .excludes = {"--json"}},
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
    write_validation_markdown(std::cout, validation);
  else
    write_validation(std::cout, validation, console_options());
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
    validation.broken = broken_bounds(validation, {kTrainingGroup, kSplitGroup, kMixedGroup});
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

Mode of_this_machine() {
  return {.of = "of this machine (--live)",
          .reads = {"--live", "--quick", "--live-network", "--check", "--markdown"},
          .run = validate_on_this_machine,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--live"); },
          .refused = ExitCode::kBadCommandLine};
}

std::vector<Option> row_options() {
  return {{.names = "--paper-rows",
           .help = "The rows of the ACCO paper with each mechanism of the released code left out in turn, as Markdown: "
                   "reports/published/acco-rows.md",
           .value = false,
           .excludes = {"directory", "--samples", "--group", "--case", "--leave-out", "--live", "--json"}}};
}

ExitCode write_rows(const Arguments& arguments) {
  std::vector<std::string> paths;
  for (const ShippedFile& file : shipped_files(FileKind::kScenario))
    if (file.path.rfind("scenarios/paper/", 0) == 0) paths.push_back(data_dir() + "/" + file.path);
  write_paper_rows(std::cout, while_shown("playing the paper's rows", [&] {
                     return paper_rows(paths, arguments.whole("--jobs"), network_of(arguments));
                   }));
  return ExitCode::kDone;
}

Mode of_paper_rows() {
  return {.of = "of the ACCO paper's rows (--paper-rows)",
          .reads = {"--paper-rows", "--jobs", "--network"},
          .run = write_rows,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--paper-rows"); },
          .refused = ExitCode::kBadCommandLine};
}

std::vector<Option> verdict_options() {
  return {
      {.names = "--memory-verdicts",
       .help = "Verdicts on memory near the capacity and what each way out would bring, as Markdown: "
               "reports/published/memory-verdicts.md",
       .value = false,
       .excludes = {"directory", "--samples", "--group", "--case", "--leave-out", "--live", "--json", "--paper-rows"}}};
}

ExitCode write_verdicts(const Arguments&) {
  const std::string folder = data_dir() + "/scenarios/validation";
  const std::vector<VerdictCase> cases = load_verdict_cases(folder + "/memory-verdicts.json");
  write_memory_verdicts(std::cout, memory_verdicts(cases, load_published(folder), data_dir()));
  return ExitCode::kDone;
}

Mode of_memory_verdicts() {
  return {.of = "of memory near the capacity (--memory-verdicts)",
          .reads = {"--memory-verdicts"},
          .run = write_verdicts,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--memory-verdicts"); },
          .refused = ExitCode::kBadCommandLine};
}

std::vector<Option> choice_options() {
  return {{.names = "--nccl-choices",
           .help =
               "Which way NCCL's own constants choose inside a node, by size and release, beside what was measured, as "
               "Markdown: reports/published/nccl-choices.md",
           .value = false,
           .excludes = {"directory", "--samples", "--group", "--case", "--leave-out", "--live", "--json",
                        "--paper-rows", "--memory-verdicts"}}};
}

ExitCode write_choices(const Arguments&) {
  write_nccl_choices(std::cout, nccl_choices(load_published(data_dir() + "/scenarios/validation")));
  return ExitCode::kDone;
}

Mode of_nccl_choices() {
  return {.of = "of NCCL's choices (--nccl-choices)",
          .reads = {"--nccl-choices"},
          .run = write_choices,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--nccl-choices"); },
          .refused = ExitCode::kBadCommandLine};
}

Mode of_published_cases() {
  return {.of = "of what others measured",
          .reads = names_of(joined(case_options(), outcome_options())),
          .run = validate_published};
}

}  // namespace

Verb validate_verb() {
  return {
      .name = "validate",
      .help = "Compare predictions with published measurements, or (--live) with runs of the real step",
      .options = joined(joined(joined(joined(joined(case_options(), live_options()), row_options()), verdict_options()),
                               choice_options()),
                        outcome_options()),
      .modes = {of_this_machine(), of_paper_rows(), of_memory_verdicts(), of_nccl_choices(), of_published_cases()}};
}

}  // namespace accosim
