// accosim: its streams, its verbs, and the exit code that says whose fault it was. What the verbs do is elsewhere.
#include <fmt/format.h>

#include <iostream>
#include <stdexcept>

#include "models/base/errors.hpp"
#include "models/base/stages.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/stops.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/console.hpp"
#include "sim/app/command_line.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

/// What went wrong is told, and becomes the exit code.
ExitCode run_and_tell(int argc, char** argv) {
  try {
    const ExitCode code = run_command_line(Texts(argv + 1, argv + argc), all_verbs());
    write_stages(std::cerr, stages_used(), console_options());
    return code;
  } catch (const Stopped& stop) {
    tell("accosim: ", std::string("stopped; ") + stop.what());
    end_by(stop.signal);
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
