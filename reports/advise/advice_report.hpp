// An advice on the terminal, and for other programs.
#pragma once

#include <iosfwd>
#include <string>

#include "reports/table.hpp"
#include "sim/advise/advice.hpp"

namespace accosim {

/// The answer in its first line; how much was searched; the best of each schedule; the front of time, memory and bytes;
/// why the winner wins and what comes second; at which rate of the network that changes; what cannot be told apart; and
/// the command that repeats it.
/// `typed`: the winner as it is typed for Answer::asked.form; empty where nobody asks.
void write_advice(std::ostream& out, const Answer& answer, const ConsoleOptions& options,
                  const std::string& typed = "");

/// Of a search that was stopped: how much of it was done, the best so far with what it comes to, and in a line of its
/// own the command that repeats it.
std::string best_so_far_in_words(const Answer& answer);

/// Schema accosim.advice/2, all figures in SI units. Its keys only ever grow.
void write_advice_json(std::ostream& out, const Answer& answer, const std::string& typed = "");

}  // namespace accosim
