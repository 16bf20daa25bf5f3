// An advice on the terminal, and for other programs.
#pragma once

#include <iosfwd>

#include "reports/table.hpp"
#include "sim/advise/answer.hpp"

namespace accosim {

/// The answer in its first line; how much was searched; the best of each schedule; the front of time, memory and bytes;
/// why the winner wins and what comes second; at which rate of the network that changes; what cannot be told apart; and
/// the command that repeats it.
void write_advice(std::ostream& out, const Answer& answer, const ConsoleOptions& options);

/// Schema accosim.advice/2, all figures in SI units. Its keys only ever grow.
void write_advice_json(std::ostream& out, const Answer& answer);

}  // namespace accosim
