// accocal's command line: reads arguments, starts the ranks, writes files, and picks the exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/errors.hpp"
#include "calibration/gloo_transport.hpp"
#include "calibration/measure.hpp"
#include "calibration/spawn.hpp"
#include "calibration/whole_file.hpp"
#include "models/quantity.hpp"

namespace accosim {
namespace {

/// What every verb that starts ranks takes, as it is written.
struct LaunchArguments {
  int ranks = 4;
  std::string network = "loopback";
  std::vector<std::string> rates;
  std::string transport = "ring";
  double timeout = 60;
};

void add_launch_options(CLI::App* verb, LaunchArguments& arguments) {
  verb->add_option("-n,--ranks", arguments.ranks, "Processes")->check(CLI::Range(1, 64))->capture_default_str();
  verb->add_option("--network", arguments.network,
                   "loopback; paced:RATE, paced by TCP; netns:RATE, shaped in namespaces; RATE such as \"200 Mbit/s\"")
      ->capture_default_str();
  verb->add_option("--rate", arguments.rates, "Another rate for one rank, RANK=RATE; may be repeated")
      ->allow_extra_args(false);
  verb->add_option("--transport", arguments.transport, "ring, or gloo where it was there at build time")
      ->check(CLI::IsMember({"ring", "gloo"}))
      ->capture_default_str();
  verb->add_option("--timeout", arguments.timeout, "Seconds without any progress in one operation")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
}

LaunchOptions launch_options(const LaunchArguments& arguments) {
  LaunchOptions options;
  options.ranks = arguments.ranks;
  options.network = parse_network(arguments.network, arguments.rates, arguments.ranks);
  options.transport = arguments.transport == "gloo" ? TransportKind::kGloo : TransportKind::kRing;
  options.timeout = Seconds{arguments.timeout};
  if (options.transport == TransportKind::kGloo && !has_gloo())
    throw BadInput(
        "--transport gloo: this accocal was built without it; install libgloo-dev and build again, or use ring");
  return options;
}

/// A line for each rank that failed, the first failure first.
ExitCode tell_errors(const RankResults& results) {
  for (const std::string& error : results.errors) std::cerr << "accocal: " << error << '\n';
  return results.code;
}

/// To a file, or to the standard output where none is named.
void deliver(const std::string& path, const std::string& text) {
  if (!path.empty()) return write_whole(path, text);
  std::cout << text;
  std::cout.flush();
  if (!std::cout) throw BadEnvironment("the results could not be written to the standard output");
}

struct MeasureArguments {
  LaunchArguments launch;
  std::vector<std::string> bytes;
  double seconds = 20;
  bool quick = false;
  std::string output;
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
  MeasureOptions options;
  options.launch = launch_options(arguments.launch);
  for (const std::string& text : arguments.bytes) options.bytes.push_back(parse_bytes(text));
  options.budget = Seconds{arguments.seconds};
  options.quick = arguments.quick;
  if (!arguments.output.empty()) check_writable(arguments.output);
  const MeasureResult result = measure(options);
  if (result.ranks.code != ExitCode::kDone) return tell_errors(result.ranks);
  deliver(arguments.output, result.document);
  return ExitCode::kDone;
}

ExitCode run_command_line(int argc, char** argv) {
  CLI::App app{"Runs the real distributed training step on CPUs and measures what its parts take.", "accocal"};
  app.set_version_flag("--version", "accocal " ACCOSIM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 bad input, 2 bad command line, 3 a bug of accocal, 4 the environment.\n"
      "Start with: accocal measure --network \"netns:200 Mbit/s\" -o samples.json");
  MeasureArguments measure_arguments;
  CLI::App* measure_verb = app.add_subcommand("measure", "Times of the step's parts, as samples for accosim");
  add_launch_options(measure_verb, measure_arguments.launch);
  measure_verb
      ->add_option("--bytes", measure_arguments.bytes, "Size of the collectives, such as \"16 MB\"; may be repeated")
      ->allow_extra_args(false);
  measure_verb
      ->add_option("--seconds", measure_arguments.seconds, "About how long; decides which sizes and how many runs")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  measure_verb->add_flag("--quick", measure_arguments.quick, "The fewest runs of each, in a few seconds");
  measure_verb->add_option("-o,--output", measure_arguments.output, "JSON file; default: standard output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::kDone : ExitCode::kBadCommandLine;  // --help and --version are no errors
  }
  if (measure_verb->parsed()) return run_measure(measure_arguments);
  return ExitCode::kDone;
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) {
  using accosim::ExitCode;
  const auto fails = [](ExitCode code, const std::string& what) {
    std::cerr << "accocal: " << what << '\n';
    return static_cast<int>(code);
  };
  try {
    return static_cast<int>(accosim::run_command_line(argc, argv));
  } catch (const accosim::BadInput& error) {
    return fails(ExitCode::kBadInput, error.what());
  } catch (const std::logic_error& error) {
    return fails(ExitCode::kOurBug, fmt::format("a bug of accocal, please report it: {}", error.what()));
  } catch (const std::exception& error) {
    return fails(ExitCode::kEnvironment, error.what());
  }
}
