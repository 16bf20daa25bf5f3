// What the user may have meant by a command line that was refused, and what to write in place of a number that was.
#pragma once

#include <string>
#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

/// What is missing, as the parser says it ("--kind is required"), and what to write; empty where it has no more to say.
std::string required_hint(const std::string& wrong, const Texts& words, const std::vector<Verb>& verbs);

/// What may have been meant, as a line; empty where nothing is known to be wrong.
std::string verb_hint(const std::string& word, const std::vector<Verb>& verbs);
std::string command_line_hint(const Texts& words, const std::vector<Verb>& verbs);
/// For a verb that was given no scenario.
std::string scenario_hint(const std::string& verb);
/// What is wrong with a text that has to be one of `choices`; empty when nothing is.
std::string wrong_choice(const std::string& text, const Texts& choices);
/// What is wrong with a number of the command line, and what to write; empty when nothing is.
std::string wrong_number(const std::string& text, double least, double most, bool whole);

}  // namespace accosim
