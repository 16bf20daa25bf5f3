// The verb `sweep`: a scenario at every point of a space, in a pool of processes, a row a point.
#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/quantity.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/stops.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/read/load.hpp"
#include "sim/app/launch.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/sweep/counted.hpp"
#include "sim/app/sweep/rows_output.hpp"
#include "sim/app/verbs.hpp"
#include "sim/processes/workers.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostSweepBytes = 100'000'000;

std::vector<Option> axis_options() {
  return {
      {.names = "--over",
       .help =
           "What to vary: /json/pointer=10,100,400 Gbit/s, =0..16:17 (so many, evenly), or =10..800:20:log; or a knob "
           "by its name (accosim list knobs), with all its alternatives; may be repeated, for every combination",
       .value = Texts()},
      flag_option("--zip", "Go through the axes side by side, not in every combination"),
      {.names = "--latin-hypercube",
       .help = "Take N points, spread evenly over all axes",
       .value = 0,
       .least = 1,
       .most = kMostValues,
       .excludes = {"--zip"}},
      {.names = "--seed",
       .help = "Seed of the Latin hypercube",
       .value = 0,
       .least = 0,
       .most = 1e9,
       .needs = "--latin-hypercube"},
      flag_option("--fair", "Compare each point also with its fastest part alone: one kind of GPU, or one node group"),
      tuned_option()};
}

std::vector<Option> work_options() {
  return {
      jobs_option(),
      {.names = "--timeout",
       .help = "Give up on a point after this long",
       .value = std::string("10 min"),
       .default_shown = true},
      {.names = "--memory", .help = "Give up on a point that needs more memory than this, such as 4 GiB"},
      {.names = "--shard",
       .help = "Play only part i of n: i/n with i from 0, or auto, as Slurm, mpirun, mpiexec or srun says. Each "
               "part has a file of its own (rows.0-of-8.jsonl); accosim merge joins them"},
      {.names = "-o,--output",
       .help = "File for the rows, one line of JSON a point, written as they come",
       .empty = "names no file"},
      {.names = "--resume", .help = "Go on with the rows that are in the file", .value = false, .needs = "--output"},
      {.names = "--retry",
       .help = "With --resume: play the points that failed again",
       .value = false,
       .needs = "--resume"}};
}

/// The points of the options, of a scenario or a file of a sweep.
Sweep sweep_of(const Arguments& arguments, Texts& inputs) {
  const std::string& path = arguments.text("scenario");
  refuse_launch_script(path, "sweep");
  std::string text;
  if (read_text_file(path, text, kMostSweepBytes).empty() && is_sweep(text)) {
    inputs.push_back(path);
    Sweep sweep = read_sweep(text, path);
    const Texts& set = arguments.texts("--set");
    sweep.set.insert(sweep.set.end(), set.begin(), set.end());
    if (!arguments.texts("--schedule").empty()) sweep.schedules = arguments.texts("--schedule");
    sweep.fair = sweep.fair || arguments.flag("--fair");
    sweep.tuned = sweep.tuned && !arguments.flag("--no-tuned");
    for (const char* const option : {"--over", "--zip", "--latin-hypercube"})
      if (arguments.given(option))
        throw BadInput(fmt::format("{} is part of the sweep's file {}; write it there", option, in_quotes(path, 300)));
    return sweep;
  }
  Sweep sweep{path, arguments.texts("--set"), arguments.texts("--schedule"),
              {},   arguments.flag("--fair"), !arguments.flag("--no-tuned")};
  std::vector<Space> axes;
  const KnobAxis knob_of = knob_axes(sweep);
  for (const std::string& over : arguments.texts("--over")) {
    Space next{.kind = Space::Kind::kAxis, .axis = parse_axis(over, knob_of)};
    // A part that is replaced forgets what was set in it, so it goes before all that is in it.
    const auto inside = std::ranges::find_if(
        axes, [&](const Space& each) { return each.axis.pointer.starts_with(next.axis.pointer + "/"); });
    axes.insert(inside, std::move(next));
  }
  if (axes.empty())
    throw BadInput(
        "nothing is varied; write --over /json/pointer=values, such as --over "
        "'/cluster/nodes/0/nics/bandwidth=10,100,400 Gbit/s'");
  if (arguments.given("--latin-hypercube"))
    sweep.space = latin_hypercube(std::move(axes), static_cast<std::size_t>(arguments.whole("--latin-hypercube")),
                                  static_cast<std::uint64_t>(arguments.whole("--seed")));
  else if (arguments.flag("--zip"))
    sweep.space = zip(std::move(axes));
  else
    sweep.space = {.kind = Space::Kind::kProduct, .parts = std::move(axes)};
  check_distinct(sweep.space);
  return sweep;
}

WorkerOptions worker_options(const Arguments& arguments) {
  const auto quantity = [&](const char* option, Dimension dimension, double least, double most) {
    const ParsedQuantity parsed = parse_quantity(arguments.text(option), dimension);
    if (!parsed.error.empty()) throw BadInput(fmt::format("{} {}: {}", option, arguments.text(option), parsed.error));
    if (parsed.value >= least && parsed.value <= most) return parsed.value;
    throw BadInput(fmt::format("{} {}: is out of range; write {} to {}", option, arguments.text(option),
                               print_quantity(least, dimension), print_quantity(most, dimension)));
  };
  constexpr double kLeastTime = 1e-3, kMostTime = 1e9, kLeastMemory = 16e6, kMostMemory = 1e15;
  const double timeout = quantity("--timeout", Dimension::kTime, kLeastTime, kMostTime);
  const double memory =
      arguments.given("--memory") ? quantity("--memory", Dimension::kData, kLeastMemory, kMostMemory) : 0;
  return {arguments.whole("--jobs"), Seconds{timeout}, Bytes{memory}};
}

/// Indices of the shard's points that the file does not hold.
class Left {
 public:
  Left(const RowFile& file, const Shard& shard, std::size_t points)
      : file_(file), shard_(shard), points_(points), at_(shard.part) {}
  std::optional<std::size_t> next() {
    while (at_ < points_ && file_.has(at_)) at_ += shard_.of;
    if (at_ >= points_) return std::nullopt;
    at_ += shard_.of;
    return at_ - shard_.of;
  }
  std::size_t count() const {
    std::size_t count = 0;
    for (std::size_t i = shard_.part; i < points_; i += shard_.of) count += file_.has(i) ? 0 : 1;
    return count;
  }

 private:
  const RowFile& file_;
  Shard shard_;
  std::size_t points_, at_;
};

void play(const Sweep& sweep, const Heading& heading, RowFile& file, const Shard& shard, const WorkerOptions& workers,
          const Arguments& arguments) {
  const NetworkKind network = network_of(arguments);
  Left left(file, shard, heading.points);
  Counted progress(left.count());
  PartCache cache;  // every process has its own
  const StopsNoted stops;
  in_workers(
      workers, [&] { return left.next(); },
      [&](std::size_t index) { return line_of(heading, play_point(sweep, heading, index, network, cache)); },
      [&](std::size_t index, const Outcome& outcome) {
        Row row = outcome.failure.empty() ? read_row(heading, outcome.text, "row", 1)
                                          : Row{index, point_of(sweep.space, index), outcome.failure, {}, {}};
        progress.one_more(!row.done());
        file.append(std::move(row));
      },
      [&] { progress.show(); });
  look_for_stop();
}

std::vector<Option> sweep_options() {
  return joined(joined(joined(without_launch(play_options()), axis_options()), work_options()),
                joined(rows_options(), {force_option()}));
}

/// The user's own command line, to go on with the rows that it has written; `without` and `more` change it.
std::string command_to_go_on(const Arguments& arguments, Texts without, const std::string& more) {
  without.insert(without.end(), {"--resume", "--retry"});
  const std::string command = command_of("sweep", sweep_options(), without, arguments) +
                              (arguments.given("--output") ? " --resume" : "") + more;
  return printable(command, kAllOfIt) == command ? command : "the same command and --resume" + more;
}

/// What a sweep that was stopped leaves behind.
std::string kept_in_words(std::size_t left, std::size_t points, const std::string& output, const Arguments& arguments) {
  const std::string share = fmt::format("{} of {} configurations", points - left, points);
  return output.empty()
             ? share + " were simulated, and none is kept: -o ROWS.jsonl keeps them, and --resume goes on with them"
             : fmt::format("{} are in {}; go on with: {}", share, output, command_to_go_on(arguments, {}, ""));
}

/// How those that took too long may have more time.
void tell_of_late(const SweepRows& rows, Seconds timeout, const Arguments& arguments) {
  constexpr double kMore = 10;
  const auto late =
      std::ranges::count_if(rows.rows, [](const Row& row) { return row.failure.rfind(kTookLonger, 0) == 0; });
  if (late == 0) return;
  const std::string longer = in_shell(print_quantity(kMore * timeout.value, Dimension::kTime));
  tell("accosim: ",
       fmt::format("{} of {} configurations took longer than their --timeout; simulate those again with: {}", late,
                   rows.rows.size(),
                   command_to_go_on(arguments, {"--timeout"},
                                    (arguments.given("--output") ? " --retry --timeout " : " --timeout ") + longer)));
}

ExitCode sweep(const Arguments& arguments) {
  Texts inputs;
  const Sweep asked = sweep_of(arguments, inputs);
  const Shard shard = arguments.given("--shard") ? parse_shard(arguments.text("--shard")) : Shard{};
  Heading heading = heading_of(asked, network_of(arguments));
  const std::vector<Option> played = without_launch(play_options());
  heading.command = command_of("sweep", joined(played, axis_options()), {}, arguments);
  Arguments of_a_point = arguments;
  of_a_point.all["scenario"].value = asked.scenario;
  of_a_point.all["--set"] = {asked.set, true};
  of_a_point.all["--schedule"] = {asked.schedules, true};
  heading.point_command = command_of("report", joined(played, {tuned_option()}), {}, of_a_point);
  for (std::string* const command : {&heading.command, &heading.point_command})
    if (printable(*command, command->size()) != *command) command->clear();
  const LoadedScenario first = first_point(asked);
  check_score(heading, score_of(arguments), price_per_hour(first.scenario.cluster).has_value());
  const std::string output = path_of(arguments.text("--output"), shard);
  if (shard.of > 1 && output.empty())
    throw BadInput("--shard: a part of a sweep needs --output, to be merged with the others");
  const WorkerOptions workers = worker_options(arguments);
  inputs.insert(inputs.end(), first.files.begin(), first.files.end());
  check_outputs({{"--output", output, document_kind(kRowsSchema), arguments.flag("--resume")}, csv_output(arguments)},
                inputs, arguments.flag("--force"));
  if (shard.of > 1) std::cerr << fmt::format("accosim: part {} of {}: {}\n", shard.part, shard.of, output);
  const RowFile::Existing existing = arguments.flag("--resume")  ? RowFile::Existing::kResume
                                     : arguments.flag("--force") ? RowFile::Existing::kReplace
                                                                 : RowFile::Existing::kRefuse;
  RowFile file(output, heading, existing, arguments.flag("--retry"));
  try {
    play(asked, heading, file, shard, workers, arguments);
  } catch (const Stopped& stop) {
    const std::size_t points = (heading.points + shard.of - 1 - shard.part) / shard.of;
    throw Stopped(stop.signal, kept_in_words(Left(file, shard, heading.points).count(), points, output, arguments));
  }
  file.sort();
  tell_written(output, "rows of " + so_many(file.rows().rows.size(), "configuration"));
  tell_of_late(file.rows(), workers.timeout, arguments);
  return report_rows(file.rows(), arguments);
}

}  // namespace

Verb sweep_verb() {
  const std::vector<Option> all = sweep_options();
  return {.name = "sweep",
          .help = "Play a scenario, or a sweep's file, at many points, and say what is fastest where",
          .options = all,
          .modes = {{.reads = names_of(all), .run = sweep}}};
}

}  // namespace accosim
