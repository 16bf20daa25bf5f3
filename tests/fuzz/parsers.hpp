// Everything that reads what somebody else wrote, as a table of functions of one text: what a fuzzer calls. Each reads
// the text, goes on with what it read as far as that is quick, and says a word only where a promise is broken: then the
// process aborts. Bad input is no finding.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/mutate.hpp"

namespace accosim {

struct Parser {
  const char* name;
  InputForm form;
  void (*read)(const std::string& text);
};

/// Of the program at hand: those of accosim's inputs, or of accocal's.
const std::vector<Parser>& parsers();

/// Reads the text; false where it was refused. Aborts with a line on stderr where something else comes out, or a
/// refusal that cannot be printed.
bool try_parser(const Parser& parser, const std::string& text);

/// Aborts with a line on stderr unless it holds.
void require(bool holds, const std::string& what);

/// Aborts where the text holds a control character other than a new line, or is no UTF-8.
void require_printable(const std::string& text, const std::string& what);

/// What accosim's parsers() puts together.
std::vector<Parser> scenario_parsers();
std::vector<Parser> sample_parsers();
std::vector<Parser> recorded_parsers();

/// A file of the process's own scratch folder with this text; its path. Folders beside it are those that the shipped
/// scenarios name.
std::string scratch_file(const std::string& name, const std::string& text);

/// One in `n` texts: what takes long is done for these alone, the same ones every time.
bool is_one_in(int n, const std::string& text);

}  // namespace accosim
