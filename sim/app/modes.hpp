// The modes of verbs that have a file of their own.
#pragma once

#include "sim/app/verb.hpp"

namespace accosim {

/// Predicts the run of accocal that the arguments name, and draws both.
ExitCode compare_with_run(const Arguments& arguments);

/// Measures this machine, predicts runs on it, makes them and compares. Bad input when the mean error was to be
/// checked and is too large.
ExitCode validate_on_this_machine(const Arguments& arguments);

/// The constants that the cases of validation give.
ExitCode fit_to_cases(const Arguments& arguments);
/// What accocal measured of a GPU becomes a device profile.
ExitCode fit_to_gpu(const Arguments& arguments);
/// What accocal measured becomes a scenario of the machine.
ExitCode fit_to_machine(const Arguments& arguments);
/// Predicts the collectives of the tables on their clusters, fits the links, and writes the cluster anew where asked.
ExitCode fit_to_collectives(const Arguments& arguments);
/// Fits the kernels of the tables; each profile named is written anew with the constants.
ExitCode fit_to_kernels(const Arguments& arguments);

}  // namespace accosim
