// An advice on the terminal: the answer in its first line, then what it rests on.
#pragma once

#include <iosfwd>
#include <string>

#include "reports/table.hpp"
#include "sim/advise/answer.hpp"

namespace accosim {

/// "zero1 with micro_batch_size 8, ...: 1.23 s per update, 12 % less than ddp as written."
std::string advice_in_words(const Answer& answer);

/// The answer; how much was searched; the best of each schedule; the front of time, memory and bytes; why the winner
/// wins and what comes second; at which rate of the network that changes; what cannot be told apart; and the command
/// that repeats it.
void write_advice(std::ostream& out, const Answer& answer, const ConsoleOptions& options);

}  // namespace accosim
