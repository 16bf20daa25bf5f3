#include "sim/evidence/live.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "models/base/errors.hpp"
#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/base/whole_file.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/read/load.hpp"
#include "models/recorded/measured_run.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr double kParameters = 262144;
constexpr int kInnerUpdates = 5;
/// Communication alone over a micro-batch: from where every percent of it shows in the number of micro-batches that fit
/// beside it, to where computation decides.
const std::vector<double> kLooks = {41.3, 11.6, 4.4, 1.5}, kQuickLooks = {11.6, 1.5};
constexpr double kSlow = 2, kSlowLook = 2.5;
constexpr double kJitter = 0.3;
constexpr int kContext = 64, kSequences = 4;  ///< accocal's, unless it is told otherwise
constexpr double kMostWaiting = 0.02;         ///< share of a run that its ranks may spend waiting for a processor
constexpr double kMostDrift = 0.05;           ///< of the machine's speed since it was measured
constexpr int kLeastSleeps = 5;               ///< a micro-batch over what a sleeper wakes late
constexpr int kTries = 3;

std::string text_of(const std::string& path) {
  std::string text;
  const std::string wrong = read_text_file(path, text, kMaxMeasuredBytes);
  if (!wrong.empty()) throw BadEnvironment(in_quotes(path, 300) + " " + wrong);
  return text;
}

/// Runs accocal; its progress is kept from the terminal, and told when it fails.
void run_accocal(const LiveOptions& options, const std::vector<std::string>& arguments) {
  const std::string log = options.folder + "/accocal.log";
  std::vector<std::string> words = {options.accocal};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("accocal cannot be started: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // accocal's ranks end with it
    if (getppid() != parent) _exit(127);
    const int null = open("/dev/null", O_RDWR);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, STDIN_FILENO);
    dup2(out < 0 ? null : out, STDOUT_FILENO);
    dup2(out < 0 ? null : out, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw std::runtime_error(fmt::format("{} cannot be run; build accocal beside accosim", options.accocal));
  std::string said;
  const std::string unread = read_text_file(log, said);
  if (!unread.empty()) said = in_quotes(log, 300) + " " + unread;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string what = fmt::format("accocal {} failed: {}", arguments.front(), said);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (code == 1 || code == 2) throw ScenarioError({what});
  if (code == 4) throw std::runtime_error(what);
  throw std::logic_error(what);
}

std::string network_of(const LiveOptions& options) {
  return options.network == "loopback" ? options.network : options.network + ":" + options.rate;
}

/// What the ranks of one size can do.
struct Machine {
  std::string file;  ///< its scenario
  MachineSamples samples{};
  MachineFit fit{};
  Seconds late{};  ///< a sleeping micro-batch takes so much longer than asked for
};

std::string setting(Seconds time) { return print_quantity(time.value, Dimension::kTime); }

Seconds median_micro_batch(const std::string& file) {
  std::vector<double> spans;
  for (const MeasuredSpan& span : read_measured_run(text_of(file), file).spans)
    if (span.label == "micro-batch") spans.push_back((span.end - span.begin).value);
  if (spans.empty()) throw std::runtime_error("accocal recorded no micro-batch");
  const auto middle = spans.begin() + static_cast<std::ptrdiff_t>(spans.size() / 2);
  std::nth_element(spans.begin(), middle, spans.end());
  return Seconds{*middle};
}

Machine measure_machine(const LiveOptions& options, int ranks) {
  Machine machine{.file = fmt::format("{}/machine-{}.json", options.folder, ranks)};
  const std::string samples = fmt::format("{}/samples-{}.json", options.folder, ranks);
  options.progress(fmt::format("measuring {} ranks over {}", ranks, network_of(options)));
  std::vector<std::string> arguments = {"measure", "-n",   std::to_string(ranks), "--network", network_of(options),
                                        "-o",      samples};
  if (options.quick) arguments.push_back("--quick");
  std::string lengths;
  for (const auto& [tokens, weight] : kLiveLengths) lengths += fmt::format("{}{}", lengths.empty() ? "" : ",", tokens);
  arguments.insert(arguments.end(), {"--lengths", lengths});
  run_accocal(options, arguments);
  machine.samples = read_machine_samples(text_of(samples), samples);
  machine.fit = fit_machine(machine.samples, kParameters / ranks);
  write_whole(machine.file, machine_scenario(machine.samples, machine.fit));
  // How late a sleeper wakes belongs to the machine too; from a run of its own, with nothing to send.
  const std::string run = options.folder + "/sleep.json";
  const Seconds asked{0.01};
  run_accocal(options, {"train", "-n", std::to_string(ranks), "--network", "loopback", "--algorithm",
                        plain_schedule().name, "--compute-time", setting(asked), "--parameters", "1024",
                        "--micro-batches", "10", "--updates", options.quick ? "5" : "20", "-o", run});
  machine.late = median_micro_batch(run) - asked;
  return machine;
}

/// With the machine's scenario, changed into this run.
RunResult predict(const Machine& machine, const MeasuredRun& run) {
  const Scenario scenario = load_scenario_with(machine.file, settings_of(run)).scenario;
  return run_schedule(scenario, scenario.schedules.front(), NetworkKind::kReference);
}

/// Communication of one synchronous update, from the samples alone: what the ratios are chosen by.
Seconds communication_alone(const Machine& machine) {
  MeasuredRun run{.algorithm = plain_sharded_schedule().name,
                  .ranks = machine.samples.ranks,
                  .parameters = kParameters,
                  .compute_time = Seconds{1}};
  return predict(machine, run).update_time - Seconds{1};
}

MeasuredRun planned(const LiveCell& cell, const Machine& machine) {
  MeasuredRun run{.algorithm = cell.algorithm,
                  .ranks = cell.ranks,
                  .micro_batches_per_round = cell.micro_batches / traits_of(cell.algorithm).rounds,
                  .inner_updates = kInnerUpdates,
                  .jitter = cell.jitter};
  if (cell.real) {
    run.parameters = machine.fit.parameters;  // and the time of a micro-batch is the machine's
    if (cell.lengths) run.lengths = kLiveLengths, run.context = kContext, run.sequences = kSequences;
    return run;
  }
  const Seconds late = machine.late;
  run.parameters = kParameters;
  run.compute_time = cell.compute_time + late;
  // A sleeping rank is slow by sleeping again, and wakes late twice.
  if (cell.slow > 1) run.slow[cell.ranks - 1] = (cell.slow * (cell.compute_time + late) + late) / *run.compute_time;
  return run;
}

int updates_for(const LiveOptions& options, const LiveCell& cell, Seconds update) {
  const int wanted =
      std::clamp(static_cast<int>((options.quick ? 1.5 : 3) / update.value), options.quick ? 10 : 25, 200);
  const int phase = updates_per_mark(traits_of(cell.algorithm), kInnerUpdates);
  return (wanted + phase - 1) / phase * phase;
}

/// A micro-batch of the GPT right now, with nothing to send: has the machine the speed that it was measured at?
Seconds micro_batch_now(const LiveOptions& options, int ranks) {
  const std::string file = options.folder + "/probe.json";
  run_accocal(options, {"train", "-n", std::to_string(ranks), "--network", "loopback", "--algorithm",
                        plain_schedule().name, "--micro-batches", "10", "--updates", "4", "-o", file});
  return median_micro_batch(file);
}

/// What was wrong with the machine while a run was made; nothing that the run itself was to show.
std::string why_disturbed(const MeasuredRun& run, Seconds measured, Seconds before, Seconds after) {
  if (run.processor_wait_share > kMostWaiting)
    return fmt::format("its ranks waited {:.1f} % of the time for a processor", 100 * run.processor_wait_share);
  for (const Seconds now : {before, after})
    if (now > Seconds{0} && std::abs(now / measured - 1) > kMostDrift)
      return fmt::format("right {} it the machine took {:.2f} times as long for the same micro-batch as when measured",
                         now == before ? "before" : "after", now / measured);
  return "";
}

/// Makes the run of the cell, again when the machine was busy with others; every try is a row.
void make_run(const LiveOptions& options, const Machine& machine, const LiveCell& cell, std::vector<LiveRow>& rows) {
  const RunResult predicted = predict(machine, planned(cell, machine));
  LiveRow row{
      .cell = cell, .predicted = predicted.update_time, .predicted_micro_batches = predicted.micro_batches_per_update};
  if (predicted.drawn) {
    row.predicted = predicted.drawn->median;
    row.predicted_p10 = predicted.drawn->p10;
    row.predicted_p90 = predicted.drawn->p90;
  }
  const int updates = updates_for(options, cell, predicted.update_time);
  const std::string file = options.folder + "/run.json";
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    std::vector<std::string> arguments = {"train", "-o", file};
    const auto add = [&](const std::string& option, const std::string& value) {
      arguments.insert(arguments.end(), {option, value});
    };
    add("-n", std::to_string(cell.ranks));
    add("--network", network_of(options));
    add("--algorithm", cell.algorithm);
    add("--micro-batches", std::to_string(cell.micro_batches));
    if (traits_of(cell.algorithm).local) add("--inner-updates", std::to_string(kInnerUpdates));
    add("--updates", std::to_string(updates));
    if (!cell.real) {
      add("--compute-time", setting(cell.compute_time));
      add("--parameters", fmt::format("{:.0f}", kParameters));
    }
    if (cell.slow > 1) add("--slow", fmt::format("{}={}", cell.ranks - 1, cell.slow));
    if (cell.jitter > 0) add("--jitter", fmt::format("{:g}", cell.jitter));
    if (cell.lengths) {
      std::string lengths;
      for (const auto& [tokens, weight] : kLiveLengths)
        lengths += fmt::format("{}{}:{:g}", lengths.empty() ? "" : ",", tokens, weight);
      add("--lengths", lengths);
    }
    const Seconds before = cell.real ? micro_batch_now(options, cell.ranks) : Seconds{0};
    run_accocal(options, arguments);
    const Seconds after = cell.real ? micro_batch_now(options, cell.ranks) : Seconds{0};
    const MeasuredRun run = read_measured_run(text_of(file), file);
    row.measured = update_time(run);
    if (predicted.drawn) {
      row.measured = update_percentile(run, 0.5);
      row.measured_p10 = update_percentile(run, 0.1);
      row.measured_p90 = update_percentile(run, 0.9);
    }
    row.micro_batches = micro_batches_per_update(run);
    row.updates = static_cast<int>(run.updates.size()) - run.left_out;
    row.disturbed = why_disturbed(run, machine.fit.micro_batch, before, after);
    row.counts = row.disturbed.empty() || attempt == kTries;
    rows.push_back(row);
    options.progress(fmt::format(
        "{} ranks, {}: measured {:.2f} ms, predicted {:.2f} ms ({:+.1f} %){}", cell.ranks, cell.algorithm,
        1e3 * row.measured.value, 1e3 * row.predicted.value, 100 * row.error(),
        row.disturbed.empty() ? "" : (row.counts ? ", counted all the same: " : ", again: ") + row.disturbed));
    if (row.counts) return;
  }
}

}  // namespace

LiveResult validate_live(const LiveOptions& options) {
  LiveResult result{.network = network_of(options), .parameters = kParameters};
  const std::vector<int> sizes = options.quick ? std::vector<int>{2} : std::vector<int>{2, 4};
  const std::vector<std::string> algorithms = accocal_algorithms();
  const std::vector<double>& looks = options.quick ? kQuickLooks : kLooks;
  for (const int ranks : sizes) {
    const Machine machine = measure_machine(options, ranks);
    result.cpu = machine.samples.cpu;
    result.cores = machine.samples.cores;
    result.date = machine.samples.date;
    result.commit = machine.samples.commit;
    const Seconds alone = communication_alone(machine);
    std::vector<LiveCell> cells;
    constexpr int kMicroBatches = 4;
    const auto add = [&](double look, double slow, double jitter = 0) {
      for (const std::string& algorithm : algorithms)
        cells.push_back({ranks, algorithm, kMicroBatches, kMicroBatches / look, 1 / look * alone - machine.late, slow,
                         false, jitter});
    };
    for (const double look : looks) add(look, 1);
    add(kSlowLook, kSlow);
    for (const double look : {looks.front(), looks.back()}) add(look, 1, kJitter);
    // Two ranks, so that on four cores every thread has one to itself.
    const double micro_batch = machine.fit.micro_batch.value;
    if (ranks == 2 && !options.quick && micro_batch > 0)
      for (const int micro_batches : {2, 6, 12})
        for (const std::string& algorithm : algorithms)
          for (const bool lengths : {false, true})
            if (!lengths || micro_batches == 6)
              cells.push_back({ranks, algorithm, micro_batches,
                               micro_batches * micro_batch / (machine.fit.parameters / kParameters * alone.value),
                               Seconds{0}, 1, true, 0, lengths});
    for (const LiveCell& cell : cells) {
      if (cell.real || cell.compute_time > kLeastSleeps * machine.late)
        make_run(options, machine, cell, result.rows);
      else
        result.notes.push_back(
            fmt::format("not made: {} ranks, {}, ratio {:.2f}: a micro-batch would be shorter than {} "
                        "times what a sleeper wakes late",
                        cell.ranks, cell.algorithm, cell.ratio, kLeastSleeps));
    }
  }
  return result;
}

}  // namespace accosim
