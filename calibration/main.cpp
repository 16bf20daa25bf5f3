// accocal's command line: reads arguments, starts the ranks, writes files, and picks the exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "build_info/project.hpp"
#include "calibration/base/names.hpp"
#include "calibration/converge/convergence.hpp"
#include "calibration/converge/run_memory.hpp"
#include "calibration/device/device_verbs.hpp"
#include "calibration/help.hpp"
#include "calibration/measure/measure.hpp"
#include "calibration/ranks/provenance.hpp"
#include "calibration/ranks/report.hpp"
#include "calibration/ranks/spawn.hpp"
#include "calibration/train/data.hpp"
#include "calibration/train/train_options.hpp"
#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/quantity.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/whole_file.hpp"
#include "models/draw/svg.hpp"

namespace accocal {
namespace {

/// What every verb that starts ranks takes, as it is written.
struct LaunchArguments {
  int ranks = 4;
  std::string network = "loopback";
  std::vector<std::string> rates{};
  double timeout = 60;
};

/// As CLI::Range, which lets a NaN through.
CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return {};
    return fmt::format("{}: write a number from {} to {}", text, low, high);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", low, high)};
}

/// CLI11 reads a number that is negative or too large as another one.
CLI::Validator whole_number() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && at == end) return {};
    return text + ": write a whole number from 0 to 18446744073709551615";
  };
  return {check, "UINT64"};
}

/// An option that names a file names one.
CLI::Validator file_name() {
  return {[](const std::string& path) { return path.empty() ? std::string("names no file") : std::string(); }, "FILE"};
}

/// An option that shows its default.
template <typename Value>
CLI::Option* add(CLI::App* verb, const char* name, Value& value, const char* what) {
  return verb->add_option(name, value, what)->capture_default_str();
}

/// An option that may be repeated.
void add_list(CLI::App* verb, const char* name, std::vector<std::string>& values, const char* what) {
  verb->add_option(name, values, what)->allow_extra_args(false);
}

void add_output(CLI::App* verb, std::string& output) {
  verb->add_option("-o,--output", output, "JSON file; default: standard output")->check(file_name());
}

void add_launch_options(CLI::App* verb, LaunchArguments& arguments) {
  add(verb, "-n,--ranks", arguments.ranks, "Number of ranks, each a process")->check(CLI::Range(1, 64));
  add(verb, "--network", arguments.network,
      "loopback; paced:RATE, paced by TCP; netns:RATE, shaped in network namespaces; RATE such as \"200 Mbit/s\"");
  add_list(verb, "--rate", arguments.rates, "Another rate for one rank, RANK=RATE; may be repeated");
  add(verb, "--timeout", arguments.timeout, "Seconds without progress in one operation until the run fails")
      ->check(number_between(0.1, 1e6));
}

LaunchOptions launch_options(const LaunchArguments& arguments) {
  LaunchOptions options;
  options.ranks = arguments.ranks;
  options.network = parse_network(arguments.network, arguments.rates, arguments.ranks);
  options.timeout = Seconds{arguments.timeout};
  return options;
}

/// A line for each rank that failed, the first failure first.
ExitCode tell_errors(const RankResults& results) {
  for (const std::string& error : results.errors) tell("accocal: ", error);
  return results.code;
}

/// To a file, or to the standard output where none is named.
void deliver(const std::string& path, const std::string& text, const std::string& what) {
  if (!path.empty()) {
    write_whole(path, text);
    return tell_written(path, what, "accocal");
  }
  std::cout << text;
  flush_standard_output();
}

void add_force(CLI::App* verb, bool& force) {
  verb->add_flag("--force", force, "Replace a file that this verb did not write");
}

struct MeasureArguments {
  LaunchArguments launch;
  std::vector<std::string> bytes;
  double seconds = 20;
  TrainArguments train;
  std::string device, output;
  bool force = false;
  // What is taken as it is written, for CPUs and for a device.
  MeasureOptions options;
  DeviceMeasureOptions on_device;
};

/// "16 MB", or a plain number of bytes; whole fp32 elements.
std::int64_t parse_bytes(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const ParsedQuantity size = parse_quantity(plain ? text + " B" : text, Dimension::kData);
  if (!size.error.empty()) throw BadInput(fmt::format("--bytes {}: {}", text, size.error));
  if (size.value < 4 || size.value > 4e9 || static_cast<std::int64_t>(size.value) % 4 != 0)
    throw BadInput(fmt::format("--bytes {}: write a multiple of 4 bytes from 4 B to 4 GB", text));
  return static_cast<std::int64_t>(size.value);
}

ExitCode run_measure(const MeasureArguments& arguments) {
  MeasureOptions options = arguments.options;
  options.launch = launch_options(arguments.launch);
  for (const std::string& text : arguments.bytes) options.bytes.push_back(parse_bytes(text));
  options.budget = Seconds{arguments.seconds};
  options.training = training_options(arguments.train, options.launch.ranks);
  for (const int length : options.lengths)
    if (length > options.training.gpt.shape.context)
      throw BadInput(
          fmt::format("--lengths {}: --context is {}; write at most that", length, options.training.gpt.shape.context));
  const std::vector<std::int64_t>& bytes = options.bytes;
  const std::int64_t largest = bytes.empty() ? 0 : *std::ranges::max_element(bytes);
  check_measure_memory(options.training, options.launch.ranks, Bytes{static_cast<double>(largest)});
  check_outputs({{"--output", arguments.output, document_kind("accosim.samples/1")}}, {}, arguments.force);
  const MeasureResult result = measure(options);
  if (result.ranks.code != ExitCode::kDone) return tell_errors(result.ranks);
  deliver(arguments.output, result.document, "samples of this machine");
  return ExitCode::kDone;
}

/// What decides about ranks on CPUs changes nothing on a device, and the other way round.
void refuse_for_place(const CLI::App& verb, bool on_device) {
  const std::vector<std::string> of_cpus = {"--ranks", "--network", "--rate",    "--timeout",   "--bytes",  "--layers",
                                            "--width", "--heads",   "--context", "--sequences", "--lengths"};
  const std::vector<std::string> of_devices = {"--only", "--collective-ranks", "--kernels"};
  for (const std::string& option : on_device ? of_cpus : of_devices) {
    if (verb.count(option) == 0) continue;
    throw BadInput(on_device ? fmt::format("{}: measuring a device has no such choice; leave it out", option)
                             : fmt::format("{}: is for measuring a device; write --device cuda:0 too", option));
  }
}

ExitCode run_measure_on_device(const CLI::App& verb, const MeasureArguments& arguments) {
  const DevicePlace place = parse_device(arguments.device);
  if (place.each) throw BadInput("--device cuda: one device is measured at a time; write cuda:0");
  refuse_for_place(verb, true);
  DeviceMeasureOptions options = arguments.on_device;
  options.device = place.index;
  if (verb.count("--seconds") > 0) options.budget = Seconds{arguments.seconds};
  options.quick = arguments.options.quick;
  check_options(options);
  check_outputs({{"--output", arguments.output, document_kind("accosim.gpu_samples/1")}}, {}, arguments.force);
  check_devices(place, 1);
  if (!arguments.output.empty())
    options.save = [&](const std::string& document) { write_whole(arguments.output, document); };
  deliver(arguments.output, measure_on_device(options), "samples of the GPU");
  return ExitCode::kDone;
}

struct TrainFiles {
  LaunchArguments launch;
  TrainArguments train;
  std::string output, trace, loss;
  bool force = false;
};

void add_gpt_options(CLI::App* verb, GptWorkloadOptions& gpt, const char* sequences = "Sequences of a micro-batch") {
  add(verb, "--layers", gpt.shape.layers, "Layers of the GPT");
  add(verb, "--width", gpt.shape.width, "Hidden size of the GPT");
  add(verb, "--heads", gpt.shape.heads, "Attention heads of the GPT");
  add(verb, "--context", gpt.shape.context, "Tokens of a sequence");
  add(verb, "--sequences", gpt.sequences, sequences);
}

void add_measure_options(CLI::App* verb, MeasureArguments& arguments) {
  add_launch_options(verb, arguments.launch);
  add_list(verb, "--bytes", arguments.bytes, "Size of the collectives, such as \"16 MB\"; may be repeated");
  add(verb, "--seconds", arguments.seconds, "About how long to measure; decides which sizes and how many runs")
      ->check(number_between(1, 3600));
  verb->add_flag("--quick", arguments.options.quick, "Fewest runs of each, done in a few seconds");
  add_gpt_options(verb, arguments.train.options.gpt);
  verb->add_option("--lengths", arguments.options.lengths,
                   "Tokens of shorter sequences at which the micro-batch is timed too, such as 16,32,48")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  verb->add_option("--device", arguments.device,
                   "cuda:0: the parts of the step on that GPU instead, in about 420 s unless --seconds says so");
  verb->add_option("--only", arguments.on_device.only,
                   "With --device: gemm, memory, attention, launch, copy, interference, collective or step");
  verb->add_option("--kernels", arguments.on_device.kernels,
                   "With --device: a table that accosim resolve SCENARIO --kernels prints, whose products are measured "
                   "first");
  verb->add_option("--collective-ranks", arguments.on_device.collective_ranks,
                   "With --device: collectives of so many processes on the one GPU, over sockets, as an experiment")
      ->check(CLI::Range(2, 8));
  add_output(verb, arguments.output);
  add_force(verb, arguments.force);
}

/// Of ranks that make updates alone, and of gradients that are late.
void add_meeting_options(CLI::App* verb, TrainArguments& a) {
  TrainingOptions& o = a.options;
  verb->add_option("--inner-updates", a.inner_updates,
                   "Updates that a rank makes alone between two meetings; default: 10, SlowMo 3, Overlap-Local-SGD 2, "
                   "CO2 12");
  add(verb, "--outer-every", o.outer_every, "SlowMo: updates between two outer steps, a multiple of --inner-updates");
  verb->add_option("--outer-learning-rate", a.outer_learning_rate,
                   "Learning rate of the outer optimizer; default: 0.7, Streaming DiLoCo 0.4; of SlowMo and CO2, times "
                   "the inner one, 1");
  verb->add_option("--outer-momentum", a.outer_momentum,
                   "Momentum of the outer optimizer, Nesterov's in DiLoCo; default: 0.9, SlowMo and Eager DiLoCo "
                   "0.5, CO2 0.2, Overlap-Local-SGD 0.7");
  add(verb, "--outer-clip", o.outer_clip,
      "CO2: bound of the outer momentum, in what the inner updates of a round move at most");
  add(verb, "--delay", o.delay,
      "Updates until what was sent is applied: gradients in PipeSGD, a fragment in Streaming DiLoCo");
  verb->add_option("--mixing", a.mixing,
                   "Overlap-Local-SGD: share of the average that ranks are pulled by; default: 0.6. Streaming DiLoCo: "
                   "share of its own that a rank keeps; default: 0.5");
  add(verb, "--fragments", o.fragments, "Streaming DiLoCo: parts of the model, each sent by itself");
  add(verb, "--payload", a.payload, "Streaming DiLoCo: what is sent of a change: fp32, or e3m0 of 4 bits");
}

void add_train_options(CLI::App* verb, TrainFiles& files) {
  TrainArguments& a = files.train;
  TrainingOptions& o = a.options;
  add(verb, "-a,--algorithm", a.algorithm, algorithm_names().c_str());
  add(verb, "--updates", o.updates, "Number of updates");
  add(verb, "--samples", o.samples,
      "Train on so many samples instead, all ranks together; the learning rate's schedule then counts samples");
  add(verb, "--micro-batches", a.micro_batches,
      "Micro-batches of a rank per update; ACCO computes half of them in each of its two rounds");
  add(verb, "--accumulate", a.accumulate,
      "at-least: more micro-batches until communication has ended; fixed: no more. at-least:M or fixed:M: M a round");
  add(verb, "--poll-every", o.poll_every, "Micro-batches between two looks at whether communication has ended");
  add(verb, "--warmup", o.warmup_updates, "Synchronous updates before the first overlapped one");
  add(verb, "--estimate-state", a.estimate_state,
      "ACCO: what becomes of AdamW's moments after the estimate: rollback, keep or released");
  add(verb, "--initial-gradient", a.initial_gradient, "ACCO: the first gradient in the first update: kept or dropped");
  add(verb, "--estimate", a.estimate,
      "ACCO: gathered, the estimate is of all ranks' gradients; local, of the rank's own, and nothing is sent for it");
  add_meeting_options(verb, a);
  add_list(verb, "--slow", a.slow, "RANK=FACTOR: that rank's micro-batches take FACTOR times as long; may be repeated");
  add(verb, "--compute-time", a.compute_time,
      "Sleep so long for each micro-batch, such as \"10 ms\", and train nothing");
  add(verb, "--jitter", o.jitter,
      "With --compute-time: coefficient of variation of that time, drawn for each micro-batch")
      ->needs(verb->get_option("--compute-time"));
  add(verb, "--parameters", o.parameters, "With --compute-time: number of parameters that are communicated")
      ->needs(verb->get_option("--compute-time"));
  verb->add_option("--data", o.data, "A text to learn; default: the one that comes along")->check(file_name());
  add(verb, "--device", o.device,
      "cuda:0, all ranks on that device; cuda, rank r on device r; one rank unless -n says more. Default: on CPUs");
  add(verb, "--vocabulary", o.random_vocabulary,
      "With --device: random tokens of so many kinds instead of a text, for timing")
      ->needs(verb->get_option("--device"))
      ->excludes(verb->get_option("--data"));
  add_gpt_options(verb, o.gpt);
  add(verb, "--lengths", a.lengths,
      "Tokens of a sequence and how often, such as 16:1,64:3; a micro-batch is as long as its longest. Default: all "
      "have the whole --context");
  add(verb, "--storage", a.storage, "Type of parameters and gradients: fp32 or bf16");
  add(verb, "--optimizer", a.optimizer, "Optimizer: adamw or sgd");
  add(verb, "--learning-rate", o.optimizer.learning_rate, "Peak learning rate");
  add(verb, "--learning-rate-warmup", o.optimizer.warmup, "Share of the run in which the learning rate rises");
  add(verb, "--schedule", a.schedule, "Learning rate after its warmup: cosine or constant");
  add(verb, "--weight-decay", o.optimizer.adamw.weight_decay, "Weight decay of AdamW");
  add(verb, "--beta1", o.optimizer.adamw.beta1, "AdamW: decay of the first moment");
  add(verb, "--beta2", o.optimizer.adamw.beta2, "AdamW: decay of the second moment");
  add(verb, "--seed", o.gpt.seed, "Seed of parameters and data")->check(whole_number());
  add_output(verb, files.output);
  verb->add_option("--trace", files.trace, "Trace of the timeline, for Perfetto")->check(file_name());
  verb->add_option("--loss", files.loss, "CSV file with a line for each update")->check(file_name());
  add_force(verb, files.force);
}

/// An option that the algorithm does not have would change nothing.
void refuse_idle_options(const CLI::App& verb, const TrainArguments& arguments) {
  const AlgorithmTraits* const chosen = find_algorithm(arguments.algorithm);
  for (const AlgorithmTraits& owner : algorithms())
    for (const std::string_view option : owner.options)
      if (verb.count(std::string(option)) > 0 && (chosen == nullptr || !chosen->takes(option)))
        throw BadInput(fmt::format("{}: {} has no such choice; leave it out", option, arguments.algorithm));
  if (verb.count("--updates") > 0 && verb.count("--samples") > 0)
    throw BadInput("--updates and --samples: a run ends by one of them; leave the other out");
}

/// The ranks' devices talk by NCCL, which TCP's pacing does not reach.
void refuse_for_device(const LaunchOptions& launch) {
  if (launch.network.kind == NetworkKind::kPaced)
    throw BadInput("--network paced: slows no device's network; write netns:RATE, or leave it out");
}

/// What rank 0 makes of a run.
struct TrainTexts {
  std::string run, trace, loss;
  static constexpr auto kReported = std::tuple(&TrainTexts::run, &TrainTexts::trace, &TrainTexts::loss);
};

ExitCode run_train(const TrainFiles& files) {
  const bool on_device = !files.train.options.device.empty();
  const DevicePlace place = on_device ? parse_device(files.train.options.device) : DevicePlace{};
  const LaunchOptions launch = launch_options(files.launch);
  const TrainingOptions options = training_options(files.train, launch.ranks);
  check_memory(options, launch.ranks);
  check_outputs({{"--output", files.output, document_kind("accosim.run/1")},
                 {"--trace", files.trace, trace_kind()},
                 {"--loss", files.loss, table_kind(loss_csv({}))}},
                {options.data}, files.force);
  if (on_device) {
    refuse_for_device(launch);
    check_devices(place, launch.ranks);
  }
  if (!options.timed && options.random_vocabulary == 0) read_corpus(options.data);  // fail once, not on each rank
  const RankResults results = run_ranks(launch, [&](Transport& transport) -> std::string {
    const TrainingResult result = on_device ? train_on_device(options, place, transport) : train(options, transport);
    if (transport.rank() != 0) return "";
    const JsonValue provenance = run_provenance(launch, on_device, !result.device.experiment.empty());
    return report_of(
        TrainTexts{run_json(options, result, provenance), trace_events_json(options, result), loss_csv(result)});
  });
  if (results.code != ExitCode::kDone) return tell_errors(results);
  const auto [run, trace, loss] = read_report<TrainTexts>(results.ranks.front().report);
  if (!files.trace.empty()) deliver(files.trace, trace, "trace of the run");
  if (!files.loss.empty()) deliver(files.loss, loss, "losses");
  deliver(files.output, run, "run of " + so_many(static_cast<std::size_t>(launch.ranks), "rank"));
  return ExitCode::kDone;
}

struct ConvergeArguments {
  ConvergenceOptions options;
  bool larger = false;
  int larger_seeds = 3;
  std::int64_t larger_updates = 400;
  std::string network;
  std::string output, markdown;
  bool force = false;
};

void add_converge_options(CLI::App* verb, ConvergeArguments& arguments) {
  ConvergenceOptions& options = arguments.options;
  add(verb, "--seeds", options.seeds, "Number of seeds of parameters and data; every algorithm runs on each");
  add(verb, "--updates", options.updates, "Updates of each run");
  add(verb, "-n,--ranks", options.ranks, "Number of ranks, each a thread");
  verb->add_option("--jobs", options.jobs, "Runs at a time; default: one per core");
  verb->add_option("--learning-rate", options.optimizer.learning_rate,
                   "Peak learning rate of all algorithms; default: the best for DDP of a few that are tried");
  add_gpt_options(verb, options.gpt, "Sequences of a micro-batch; an update has two micro-batches per rank");
  verb->add_option("--data", options.data, "A text to learn; default: the one that comes along")->check(file_name());
  verb->add_option("--network", arguments.network,
                   "Also times every algorithm with ranks as processes over it: netns:RATE, paced:RATE, loopback");
  CLI::Option* const larger = verb->add_flag(
      "--larger", arguments.larger, "Also compares on a GPT of 1 M parameters, 5 layers of width 128, context 32");
  add(verb, "--larger-seeds", arguments.larger_seeds, "Seeds of that comparison")->needs(larger);
  add(verb, "--larger-updates", arguments.larger_updates, "Updates of each of its runs")->needs(larger);
  add_output(verb, arguments.output);
  verb->add_option("--markdown", arguments.markdown, "Page to write, .md; its curves are written beside it as .svg")
      ->check(file_name());
  add_force(verb, arguments.force);
}

/// Beside the page: "convergence.svg", "convergence-larger.svg".
std::filesystem::path drawing_of(const std::string& markdown, const std::string& more = "") {
  if (markdown.empty()) return {};
  std::filesystem::path svg = markdown;
  svg.replace_extension();
  svg += more + ".svg";
  return svg == markdown ? "" : svg;  // no page has that name, which is told
}

ExitCode run_converge(const ConvergeArguments& arguments, const std::string& command) {
  const ConvergenceOptions larger_options =
      larger_size(arguments.options, arguments.larger_seeds, arguments.larger_updates);
  check_options(arguments.options);
  check_memory(arguments.options);
  if (arguments.larger) check_options(larger_options);
  if (arguments.larger) check_memory(larger_options);
  const std::filesystem::path svg = drawing_of(arguments.markdown);
  const std::filesystem::path larger_svg = arguments.larger ? drawing_of(arguments.markdown, "-larger") : "";
  const auto drawing = OutputKind{"they are a drawing", ".svg", "<svg", accosim::kDrawnByUs};
  check_outputs(
      {{"--output", arguments.output, document_kind("accosim.convergence/1")},
       {"--markdown", arguments.markdown, {"it is a page", ".md", "# Convergence, measured", "Written by `accocal"}},
       {"--markdown's curves", svg.string(), drawing},
       {"--markdown's curves of the larger model", larger_svg.string(), drawing}},
      {arguments.options.data}, arguments.force);
  const auto say = [](const std::string& line) { tell("accocal: ", line); };
  LaunchArguments launch{.ranks = arguments.options.ranks,
                         .network = arguments.network.empty() ? "loopback" : arguments.network};
  const LaunchOptions launched = launch_options(launch);  // a wrong network is told before the work
  ConvergenceReport report = converge(arguments.options, say);
  if (!arguments.network.empty()) {
    const RankResults results = add_wall_clock(report, launched, arguments.network, say);
    if (results.code != ExitCode::kDone) return tell_errors(results);
  }
  std::optional<ConvergenceReport> larger;
  if (arguments.larger) larger = converge(larger_options, say);
  if (!arguments.markdown.empty()) {
    std::string page = convergence_markdown(report, svg.filename().string(), command);
    deliver(svg.string(), convergence_svg(report), "curves of convergence");
    if (larger) page += larger_markdown(*larger, larger_svg.filename().string());
    if (larger) deliver(larger_svg.string(), convergence_svg(*larger), "curves of the larger model");
    deliver(arguments.markdown, page, "page of convergence");
  }
  deliver(arguments.output, convergence_json(report, larger ? &*larger : nullptr), "convergence, measured");
  std::cerr << fmt::format("accocal: done in {:.0f} s\n", (report.took + (larger ? larger->took : Seconds{})).value);
  return ExitCode::kDone;
}

ExitCode run_command_line(int argc, char** argv) {
  CLI::App app{"Runs the real distributed training step on CPUs or GPUs, and measures how long its parts take.",
               "accocal"};
  app.set_version_flag("--version", std::string("accocal ") + kVersion);
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 done, 1 bad input, 2 bad command line, 3 a bug of accocal, 4 the environment.\n"
      "Start with: accocal train --algorithm acco --updates 20 -o run.json");
  MeasureArguments measure_arguments;
  CLI::App* measure_verb =
      app.add_subcommand("measure", "Measure the parts of a training step, as samples for accosim fit");
  add_measure_options(measure_verb, measure_arguments);
  TrainFiles train_files;
  CLI::App* train_verb =
      app.add_subcommand("train", "Train a GPT (or sleep) on ranks that are processes, and time every part");
  add_launch_options(train_verb, train_files.launch);
  add_train_options(train_verb, train_files);
  ConvergeArguments converge_arguments;
  CLI::App* converge_verb =
      app.add_subcommand("converge", "Compare the losses of all algorithms from the same start, seed by seed");
  add_converge_options(converge_verb, converge_arguments);
  add_help(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError::Subcommand(1);
  } catch (const CLI::ParseError& error) {
    app.failure_message([](const CLI::App* of, const CLI::Error& wrong) {
      if (wrong.get_name() == "RequiredError" && of->get_subcommands().empty())
        return std::string("accocal: name a verb: measure, train or converge; accocal help says what they do\n");
      return printable_lines(CLI::FailureMessage::simple(of, wrong));
    });
    const bool asked = app.exit(error) == 0;  // --help and --version are no errors
    if (asked) flush_standard_output();
    return asked ? ExitCode::kDone : ExitCode::kBadCommandLine;
  }
  for (const CLI::App* verb : {measure_verb, train_verb}) {
    if (verb->count("--device") > 0 && measure_arguments.device.empty() && train_files.train.options.device.empty())
      throw BadInput("--device: empty; write cuda:0 or cuda, or leave it out to run on CPUs");
  }
  if (measure_verb->parsed()) {
    if (!measure_arguments.device.empty()) return run_measure_on_device(*measure_verb, measure_arguments);
    refuse_for_place(*measure_verb, false);
    return run_measure(measure_arguments);
  }
  if (train_verb->parsed()) {
    refuse_idle_options(*train_verb, train_files.train);
    if (!train_files.train.options.device.empty() && train_verb->count("--ranks") == 0) train_files.launch.ranks = 1;
    return run_train(train_files);
  }
  if (converge_verb->parsed()) {
    std::string command = "accocal";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    return run_converge(converge_arguments, command);
  }
  return ExitCode::kDone;
}

}  // namespace
}  // namespace accocal

int main(int argc, char** argv) {
  using accocal::ExitCode;
  accocal::begin_standard_streams();
  const auto fails = [](ExitCode code, const std::string& what) {
    accocal::tell("accocal: ", what);
    return static_cast<int>(code);
  };
  try {
    return static_cast<int>(accocal::run_command_line(argc, argv));
  } catch (const accocal::BadInput& error) {
    return fails(ExitCode::kBadInput, error.what());
  } catch (const std::logic_error& error) {
    return fails(ExitCode::kOurBug, fmt::format("a bug of accocal, please report it: {}", error.what()));
  } catch (const std::exception& error) {
    return fails(ExitCode::kEnvironment, error.what());
  }
}
