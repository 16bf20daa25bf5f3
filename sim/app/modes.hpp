// The modes of verbs that have a file of their own.
#pragma once

#include "sim/app/verb.hpp"

namespace accosim {

/// Predicts the run of accocal that the arguments name, and draws both.
ExitCode compare_with_run(const Arguments& arguments);

/// Measures this machine, predicts runs on it, makes these runs and compares. Exit code for bad input when --check was
/// given and the mean error is too large.
ExitCode validate_on_this_machine(const Arguments& arguments);

/// Fits the constants of links and of training steps to the cases of validation.
ExitCode fit_to_cases(const Arguments& arguments);
/// Makes a device profile from what accocal measured on a GPU.
ExitCode fit_to_gpu(const Arguments& arguments);
/// Makes a scenario of a machine from what accocal measured there.
ExitCode fit_to_machine(const Arguments& arguments);
/// Predicts the collectives of the tables on their clusters, fits the links, and writes the cluster anew where asked.
ExitCode fit_to_collectives(const Arguments& arguments);
/// Fits the kernels of the tables; each profile named is written anew with the constants.
ExitCode fit_to_kernels(const Arguments& arguments);

}  // namespace accosim
