// accosim's command line: reads arguments, opens files, prints, and picks the exit code. What it calls is elsewhere.
#include "sim/main.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "build_info/project.hpp"
#include "models/convergence_file.hpp"
#include "models/errors.hpp"
#include "models/gpu_cases.hpp"
#include "models/outputs.hpp"
#include "models/published.hpp"
#include "models/scenario.hpp"
#include "models/standard_streams.hpp"
#include "models/text.hpp"
#include "models/text_file.hpp"
#include "models/whole_file.hpp"
#include "reports/explain_text.hpp"
#include "reports/result_json.hpp"
#include "reports/trace_json.hpp"
#include "reports/validation_report.hpp"
#include "sim/critical_path.hpp"
#include "sim/player.hpp"
#include "sim/run.hpp"
#include "sim/time_to_loss.hpp"

namespace accosim {

NetworkKind network_of(const Arguments& arguments) {
  return arguments.network == "simgrid" ? NetworkKind::kSimgrid : NetworkKind::kReference;
}

ConsoleOptions console_options() {
  ConsoleOptions options;
  options.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  constexpr int kLeast = 20;
  winsize size{};
  const char* const columns = std::getenv("COLUMNS");  // for output that goes through a pipe
  const int asked = columns != nullptr ? std::atoi(columns) : 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast)
    options.width = size.ws_col;
  else if (asked >= kLeast)
    options.width = asked;
  return options;
}

std::string read_file(const std::string& path, std::size_t most_bytes) {
  std::string text;
  const std::string wrong = read_text_file(path, text, most_bytes);
  if (!wrong.empty()) throw ScenarioError({in_quotes(path, 300) + " " + wrong});
  return text;
}

namespace {

/// Indices of the schedules that --schedule names by label or by name; all without it.
std::vector<int> chosen_schedules(const Scenario& scenario, const std::vector<std::string>& wanted) {
  std::vector<bool> chosen(scenario.schedules.size(), wanted.empty());
  std::vector<std::string> errors;
  for (const std::string& want : wanted) {
    bool any = false;
    const auto choose = [&](auto&& matches) {
      for (std::size_t i = 0; i < chosen.size(); ++i)
        if (matches(scenario.schedules[i])) chosen[i] = any = true;
    };
    choose([&](const ScheduleSpec& spec) { return spec.label == want; });
    if (!any) choose([&](const ScheduleSpec& spec) { return spec.name == want; });
    if (any) continue;
    std::string labels;
    for (const ScheduleSpec& spec : scenario.schedules)
      labels += fmt::format("{}\"{}\"", labels.empty() ? "" : ", ", spec.label);
    errors.push_back(
        fmt::format("--schedule {}: the scenario has no such schedule; its schedules are {}", want, labels));
  }
  if (!errors.empty()) throw ScenarioError(errors);
  std::vector<int> indices;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) indices.push_back(static_cast<int>(i));
  return indices;
}

/// "0,1,8-15", each below `ranks`.
std::vector<int> parse_ranks(const std::string& text, int ranks) {
  std::vector<int> chosen;
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t digits = 0;
    while (at + digits < text.size() && digits < 9 && text[at + digits] >= '0' && text[at + digits] <= '9') ++digits;
    const int value = digits > 0 ? std::stoi(text.substr(at, digits)) : ranks;
    at += digits;
    return value;
  };
  while (at < text.size()) {
    const int first = number();
    int last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      last = number();
    }
    const bool more = at < text.size() && text[at] == ',' && at + 1 < text.size();
    if (last < first || last >= ranks || (at < text.size() && !more))
      throw ScenarioError(
          {fmt::format("--trace-ranks {}: the ranks are 0 to {}; write for example 0,1,4-7", text, ranks - 1)});
    for (int rank = first; rank <= last; ++rank) chosen.push_back(rank);
    if (more) ++at;
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

TraceOptions trace_options(const Scenario& scenario, const Arguments& arguments) {
  TraceOptions options;
  options.ranks = parse_ranks(arguments.trace_ranks, static_cast<int>(places_of(scenario.cluster).size()));
  return options;
}

/// `results` are those of `chosen`: what a trace shows is played anew, rank by rank, at their prices.
void write_trace(const Scenario& scenario, const std::vector<int>& chosen, const std::vector<RunResult>& results,
                 const Arguments& arguments) {
  const std::vector<Place> places = places_of(scenario.cluster);
  const int ranks = static_cast<int>(places.size());
  std::vector<std::string> names;
  for (const Place& place : places)
    names.push_back(
        fmt::format("{}, node {}", scenario.cluster.nodes[place.group].devices[place.gpu].name, place.node));
  WholeFile file(arguments.trace);
  TraceWriter writer(file.stream(), trace_options(scenario, arguments));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const ScheduleSpec& spec = scenario.schedules[chosen[i]];
    const EventGraph graph = graph_for_trace(*results[i].costs, spec, scenario.training.gradient_accumulation_steps,
                                             arguments.trace_updates);
    writer.begin_schedule(graph, spec.label, names, 1 + static_cast<int>(i) * ranks);
    try {
      play(graph, network_of(arguments), writer.sink());
    } catch (const std::range_error& error) {
      throw ScenarioError({fmt::format("--trace: {}; {} takes longer", error.what(), spec.label)});
    }
  }
  writer.finish();
  file.commit();
  if (writer.truncated())
    std::cerr << "accosim: the trace holds its first events only; choose fewer with --trace-ranks or --trace-updates\n";
}

void compare_or_run(const Arguments& arguments, bool comparing) {
  if (comparing && !arguments.machine.empty()) return compare_with_run(arguments);
  LoadedScenario loaded = load_scenario(arguments.scenario, arguments.sets);
  Scenario& scenario = loaded.scenario;
  loaded.files.push_back(arguments.convergence);
  check_outputs({{"--trace", arguments.trace, trace_kind()}}, loaded.files, arguments.force);
  trace_options(scenario, arguments);  // what is wrong with them is told before the work
  if (!arguments.sets.empty() && !scenario.published.empty()) {
    std::cerr << "accosim: published speedups are left out: with --set this is another run than the published one\n";
    scenario.published.clear();
  }
  const std::vector<int> chosen = chosen_schedules(scenario, arguments.schedules);
  std::vector<RunResult> results;
  if (comparing)
    results = compare(scenario, chosen, network_of(arguments));
  else
    for (const int index : chosen)
      results.push_back(run_schedule(scenario, scenario.schedules[index], network_of(arguments)));
  if (!arguments.convergence.empty()) {
    const MeasuredConvergence convergence = read_convergence(read_file(arguments.convergence), arguments.convergence);
    const auto baseline = std::find_if(results.begin(), results.end(),
                                       [&](const RunResult& each) { return each.label == scenario.baseline; });
    if (baseline == results.end())
      throw ScenarioError({fmt::format(
          "--convergence compares with the baseline, \"{}\"; choose it too with --schedule", scenario.baseline)});
    add_time_to_loss(results, RunResult(*baseline), scenario, convergence, arguments.critical_batch);
  }
  if (arguments.json) {
    write_results_json(std::cout, scenario, arguments.network, results);
  } else if (comparing) {
    write_comparison(std::cout, scenario, results, console_options());
  } else {
    for (const RunResult& result : results) write_run(std::cout, scenario, result, console_options());
  }
  std::cout.flush();
  if (!arguments.trace.empty()) write_trace(scenario, chosen, results, arguments);
}

void explain_schedules(const Arguments& arguments) {
  const Scenario scenario = load_scenario(arguments.scenario, arguments.sets).scenario;
  for (const int index : chosen_schedules(scenario, arguments.schedules)) {
    const ScheduleSpec& spec = scenario.schedules[index];
    const SteadyPlay play =
        play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, network_of(arguments));
    write_explanation(std::cout, explain(spec, play), console_options());
  }
}

void list(const Arguments& arguments) {
  std::string kind;
  for (const LibraryEntry& entry : list_library()) {
    if (!arguments.kind.empty() && arguments.kind != entry.kind && arguments.kind != entry.kind + "s") continue;
    if (entry.kind != kind) std::cout << (kind.empty() ? "" : "\n") << entry.kind << "s\n";
    kind = entry.kind;
    std::cout << fmt::format("  {:<28} {:<46} {}\n", printable(entry.name, kAllOfIt), printable(entry.path, kAllOfIt),
                             printable(entry.description, kAllOfIt));
  }
}

/// Of a folder that the user named, which then holds a step.
void add_named_samples(Published& published, const std::string& directory, const std::string& profile) {
  if (!std::filesystem::is_directory(directory))
    throw ScenarioError(
        {fmt::format("--samples {}: there is no such folder; name the one that the GPU's samples lie in", directory)});
  if (add_gpu_cases(published, directory, profile) > 0) return;
  throw ScenarioError(
      {fmt::format("--samples {}: no step that accocal measured on a GPU is in there; accocal measure "
                   "--device cuda:0 -o {}/samples.json writes some",
                   directory, directory)});
}

/// False when a bound that was to be checked does not hold.
bool validate_published(const Arguments& arguments) {
  if (arguments.live) return validate_on_this_machine(arguments);
  const std::string directory =
      arguments.directory.empty() ? data_dir() + "/scenarios/validation" : arguments.directory;
  Published published = load_published(directory);
  if (!arguments.gpu_samples.empty())
    add_named_samples(published, arguments.gpu_samples, arguments.profile);
  else if (arguments.directory.empty())
    add_gpu_cases(published, data_dir() + "/calibration/samples");
  ValidateOptions options = arguments.validate;
  options.network = network_of(arguments);
  Validation validation = validate(published, options);
  if (validation.rows.empty()) throw ScenarioError({"no case has such a group and id"});
  if (arguments.check) {
    if (!options.group.empty() || !options.id.empty())
      throw ScenarioError({"--check is of all cases; leave out --group and --case"});
    validation.bounds = load_bounds(directory + "/bounds.json");
    validation.broken = broken_bounds(validation, {kTrainingGroup});
  }
  if (!arguments.leave_out.empty()) leave_out_each(validation, published, options, arguments.leave_out == "device");
  if (arguments.json)
    write_validation_json(std::cout, validation);
  else if (arguments.markdown)
    write_validation_markdown(std::cout, validation);
  else
    write_validation(std::cout, validation, console_options());
  return validation.broken.empty();
}

/// The verbs as CLI11 knows them.
std::vector<VerbOptions> verbs_of(const CLI::App& app) {
  std::vector<VerbOptions> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    VerbOptions one{verb->get_name(), {}};
    const auto add = [&](const CLI::App& of) {
      for (const CLI::Option* option : of.get_options())
        for (const std::string& name : option->get_lnames()) one.flags.push_back("--" + name);
    };
    add(*verb);
    for (const CLI::App* inner : verb->get_subcommands([](const CLI::App*) { return true; })) add(*inner);
    verbs.push_back(one);
  }
  return verbs;
}

/// Numbers with these bounds, both allowed.
CLI::Validator number(double least, double most, bool whole = false) {
  return {[=](const std::string& text) { return wrong_number(text, least, most, whole); }, "", ""};
}
CLI::Validator whole_number(int least, int most) { return number(least, most, true); }

ExitCode run_command_line(int argc, char** argv) {
  CLI::App app{"Predicts the wall-clock time of distributed LLM training on a cluster that you describe.", "accosim"};
  app.set_version_flag("--version", std::string("accosim ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 bad input, 2 bad command line, 3 a bug of accosim, 4 the environment.\n"
      "Start with: accosim compare finetune_2x4_a100");
  Arguments arguments;
  const auto takes_force = [&](CLI::App* verb) {
    verb->add_flag("--force", arguments.force, "Replace a file of another kind");
  };
  const auto takes_scenario = [&](CLI::App* verb) {
    verb->add_option("scenario", arguments.scenario, "Scenario file, or the name of one that accosim list shows")
        ->required();
    verb->add_option("--set", arguments.sets, "Replace a value: /json/pointer=value; may be repeated")
        ->allow_extra_args(false);
    return verb;
  };
  const auto plays = [&](CLI::App* verb) {
    takes_scenario(verb);
    verb->add_option("--schedule", arguments.schedules, "Only this schedule, by label or name; may be repeated")
        ->allow_extra_args(false);
    verb->add_option("--network", arguments.network, "simgrid: flows contend for links; reference: no contention")
        ->check(CLI::IsMember({"simgrid", "reference"}))
        ->capture_default_str();
    return verb;
  };
  const auto reports = [&](CLI::App* verb) {
    plays(verb);
    verb->add_flag("--json", arguments.json, "One JSON document instead of text");
    CLI::Option* trace = verb->add_option("--trace", arguments.trace, "Write a Chrome trace for Perfetto to this file")
                             ->check([](const std::string& path) { return path.empty() ? "names no file" : ""; });
    verb->add_option("--trace-updates", arguments.trace_updates, "Updates in the trace")
        ->needs(trace)
        ->check(whole_number(1, 1000))
        ->capture_default_str();
    verb->add_option("--trace-ranks", arguments.trace_ranks, "Ranks in the trace, such as 0,1,8-15; all by default")
        ->needs(trace)
        ->check([](const std::string& ranks) { return ranks.empty() ? "names no rank" : ""; });
    takes_force(verb);
    return verb;
  };
  CLI::App* compare_verb = reports(app.add_subcommand("compare", "Schedules side by side, against the baseline"));
  compare_verb->add_option(
      "--machine", arguments.machine,
      "The scenario is a run of accocal train: predict it on this machine (accosim fit SAMPLES -o)");
  CLI::Option* convergence =
      compare_verb->add_option("--convergence", arguments.convergence,
                               "What accocal converge measured: the time to a loss beside the time per token");
  compare_verb
      ->add_option("--critical-batch", arguments.critical_batch,
                   "Samples: what a grown batch is worth in your training; default: the convergence file's")
      ->needs(convergence)
      ->check(number(1e-9, 1e18));
  CLI::App* run_verb = reports(app.add_subcommand("run", "Everything about each schedule by itself"));
  CLI::App* explain_verb = plays(app.add_subcommand("explain", "Where the time of one update goes"));
  CLI::App* resolve_verb =
      takes_scenario(app.add_subcommand("resolve", "The scenario with everything filled in, and where it came from"));
  CLI::App* list_verb = app.add_subcommand("list", "Devices, models, clusters and scenarios that come with accosim");
  list_verb->add_option("kind", arguments.kind, "device, model, cluster or scenario")
      ->check(CLI::IsMember({"device", "devices", "model", "models", "cluster", "clusters", "scenario", "scenarios"}));
  CLI::App* fit_verb = app.add_subcommand("fit", "Constants of kernels or links from tables of measured ones");
  fit_verb
      ->add_option(
          "samples", arguments.samples,
          "CSV tables of kernels or of collectives, samples of accocal, or a folder of cases; calibration/README.md")
      ->required();
  fit_verb
      ->add_option("-o,--output", arguments.profiles,
                   "Device profile (may be repeated) or, of collectives, cluster to write the constants into; of "
                   "samples of accocal the profile or the scenario to write")
      ->allow_extra_args(false);
  fit_verb
      ->add_option("--cluster", arguments.clusters,
                   "Cluster that a table's fabric names, a name or a file; may be repeated")
      ->allow_extra_args(false);
  fit_verb->add_option("--profile", arguments.profile,
                       "Of samples that accocal took of a GPU: the device profile to start from, a name or a file");
  takes_force(fit_verb);
  CLI::App* import_verb = app.add_subcommand("import", "Others' results as tables of samples");
  import_verb->require_subcommand(1);
  CLI::App* nccl_tests = import_verb->add_subcommand("nccl-tests", "What nccl-tests prints, or writes with -J");
  nccl_tests->add_option("files", arguments.samples, "Its output")->required();
  nccl_tests->add_option("-o,--output", arguments.output, "CSV file; default: standard output")
      ->check([](const std::string& path) { return path.empty() ? "names no file" : ""; });
  takes_force(nccl_tests);
  nccl_tests->add_option("--fabric", arguments.import.fabric, "Name of the cluster it ran on")->capture_default_str();
  nccl_tests->add_option("--source", arguments.import.source, "Who measured")->capture_default_str();
  nccl_tests->add_flag("--in-place", arguments.import.in_place, "Takes the in-place times");
  nccl_tests->add_option("--collective", arguments.import.collective,
                         "Of output that does not say, such as all_reduce");
  nccl_tests->add_option("--ranks", arguments.import.ranks, "Of output that lists none")
      ->check(whole_number(2, 1000000));
  nccl_tests->add_option("--nodes", arguments.import.nodes, "Of output that lists none")
      ->check(whole_number(1, 1000000));
  CLI::App* validate_verb = app.add_subcommand(
      "validate", "Predictions against what others measured, and accocal: errors by group, device and source");
  CLI::Option* directory_option = validate_verb->add_option("directory", arguments.directory,
                                                            "Folder of measurements; scenarios/validation by default");
  CLI::Option* samples_option = validate_verb->add_option(
      "--samples", arguments.gpu_samples, "Folder of what accocal measured on GPUs; calibration/samples by default");
  samples_option->check([](const std::string& path) { return path.empty() ? "names no folder" : ""; });
  validate_verb
      ->add_option("--profile", arguments.profile,
                   "Of a GPU that no shipped profile is of: the device profile to start the fit of --samples from")
      ->needs(samples_option);
  CLI::Option* group_option =
      validate_verb->add_option("--group", arguments.validate.group, "Only groups whose name contains this");
  CLI::Option* case_option =
      validate_verb->add_option("--case", arguments.validate.id, "Only cases whose id contains this");
  CLI::Option* leave_out_option = validate_verb->add_option("--leave-out", arguments.leave_out,
                                                            "Predict again with each source or device out of the fits");
  leave_out_option->check(CLI::IsMember({"source", "device"}));
  validate_verb->add_option("-j,--jobs", arguments.validate.jobs, "Processes")->check(whole_number(1, 256));
  validate_verb->add_option("--network", arguments.network, "simgrid or reference")
      ->check(CLI::IsMember({"simgrid", "reference"}))
      ->capture_default_str();
  CLI::Option* live = validate_verb->add_flag(
      "--live", arguments.live, "Instead: measure this machine, predict runs of the real step, make them and compare");
  validate_verb->add_flag("--quick", arguments.quick, "A short form, about a minute")->needs(live);
  validate_verb
      ->add_option("--live-network", arguments.live_network, "netns:RATE, paced:RATE (where namespaces are refused)")
      ->needs(live)
      ->capture_default_str();
  validate_verb->add_flag("--check", arguments.check,
                          "Fail where a group's error is above its committed bound, or that of --live above 10 %");
  CLI::Option* json_flag = validate_verb->add_flag("--json", arguments.json, "One JSON document instead of text");
  validate_verb->add_flag("--markdown", arguments.markdown, "The page reports/published/validation.md, or live.md")
      ->excludes(json_flag);
  for (CLI::Option* other : {directory_option, samples_option, group_option, case_option, leave_out_option, json_flag})
    live->excludes(other);  // it makes runs of its own
  app.add_subcommand("help", "What a verb takes: accosim help VERB");
  const std::vector<VerbOptions> verbs = verbs_of(app);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    const auto known = [&](const VerbOptions& verb) { return !words.empty() && verb.name == words[0]; };
    if (!words.empty() && words[0][0] != '-' && std::none_of(verbs.begin(), verbs.end(), known)) {
      std::cerr << verb_hint(words[0], verbs);
      return ExitCode::kBadCommandLine;
    }
    words.emplace_back("--help");
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help, --version
    if (!asked) std::cerr << printable_lines(command_line_hint(words, verbs));
    if (error.what() == std::string("scenario is required"))
      std::cerr << scenario_hint(app.get_subcommands().front()->get_name());
    app.failure_message([](const CLI::App* of, const CLI::Error& wrong) {
      return printable_lines(CLI::FailureMessage::simple(of, wrong));
    });
    app.exit(error);
    if (asked) flush_standard_output();
    return asked ? ExitCode::kDone : ExitCode::kBadCommandLine;
  }
  if (compare_verb->parsed()) compare_or_run(arguments, true);
  if (run_verb->parsed()) compare_or_run(arguments, false);
  if (explain_verb->parsed()) explain_schedules(arguments);
  if (resolve_verb->parsed()) std::cout << load_scenario(arguments.scenario, arguments.sets).resolved;
  if (list_verb->parsed()) list(arguments);
  if (fit_verb->parsed()) fit(arguments);
  if (nccl_tests->parsed()) import_results(arguments);
  bool holds = true;
  if (validate_verb->parsed()) holds = validate_published(arguments);
  flush_standard_output();
  return holds ? ExitCode::kDone : ExitCode::kBadInput;
}

/// What went wrong is told, and becomes the exit code.
ExitCode run_and_tell(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const ScenarioError& error) {
    for (const std::string& line : error.errors) tell("", line);
    return ExitCode::kBadInput;
  } catch (const BadInput& error) {
    tell("", error.what());
    return ExitCode::kBadInput;
  } catch (const std::range_error& error) {
    tell("accosim: ", fmt::format("the scenario is out of range: {}; look at its bandwidths, latencies, efficiencies "
                                  "and slowdowns",
                                  error.what()));
    return ExitCode::kBadInput;
  } catch (const std::logic_error& error) {
    tell("accosim: a bug of accosim, please report it with the scenario: ", error.what());
    return ExitCode::kOurBug;
  } catch (const std::exception& error) {
    tell("accosim: ", error.what());
    return ExitCode::kEnvironment;
  }
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) {
  accosim::begin_standard_streams();
  return static_cast<int>(accosim::run_and_tell(argc, argv));
}
