// A verb of the command line as data: its options, its modes, and which mode reads which options. Parsing, help, hints
// and the refusal of options that would be ignored all come from here.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "models/base/errors.hpp"

namespace accosim {

using Texts = std::vector<std::string>;

/// What an option takes: nothing (a flag), a text, texts (it may be repeated), a whole number, a number.
using OptionValue = std::variant<bool, std::string, Texts, int, double>;

struct Option {
  std::string names;  ///< "--set", "-j,--jobs"; without dashes it stands for itself, by its place in the line
  std::string help;
  OptionValue value = std::string();      ///< where it is not given; its type is what the option takes
  std::vector<std::string> choices = {};  ///< the only texts that it takes; empty: any
  double least = 0, most = 0;             ///< of a number, both allowed
  std::string empty = {};                 ///< why an empty text is refused: "names no file"; empty: it is not
  bool required = false;
  bool default_shown = false;  ///< in the help
  std::string needs = {};      ///< the option without which it means nothing
  Texts excludes = {};         ///< options that cannot stand beside it
};

bool contains(const Texts& list, const std::string& word);

/// The long name, by which the program speaks of it: "--jobs", "scenario".
std::string name_of(const Option& option);
Texts names_of(const std::vector<Option>& options);
/// One list behind the other.
std::vector<Option> joined(std::vector<Option> first, const std::vector<Option>& second);

struct Argument {
  OptionValue value;
  bool given = false;  ///< in the command line
};

/// What the command line says, by the options' names. To ask for an option that is not there is a bug of ours, as is
/// asking for another type than its own.
struct Arguments {
  std::map<std::string, Argument> all;

  /// It was given, and is neither a flag turned off nor an empty text.
  bool given(const std::string& name) const;
  bool flag(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const Texts& texts(const std::string& name) const;
  int whole(const std::string& name) const;
  double number(const std::string& name) const;
};
/// Nothing is given.
Arguments defaults_of(const std::vector<Option>& options);

/// One of the things that a verb does.
struct Mode {
  std::string of = {};  ///< what it is of, where the verb has others: "of a run (--machine)"
  Texts reads;          ///< names of options; any other that is given is refused
  ExitCode (*run)(const Arguments&) = nullptr;
  bool (*is_meant)(const Arguments&) = nullptr;  ///< null: always, when none before it is
  /// Of an option that it does not read, what the user is told where there is more to say than whose it is.
  std::map<std::string, std::string> refusals = {};
  ExitCode refused = ExitCode::kBadInput;
};

struct Verb {
  std::string name;
  std::string help;
  std::vector<Option> options = {};
  std::vector<Mode> modes = {};  ///< the first that is meant is run
  std::vector<Verb> verbs = {};  ///< what it consists of, where it does nothing by itself
};

/// "--set" and so on, those of its own verbs too.
Texts flags_of(const Verb& verb);

/// Nothing was given that the mode does not read; else a line for each, with what to write instead.
Texts unread(const Verb& verb, const Mode& mode, const Arguments& arguments);

/// Runs the mode that is meant, with the arguments that it reads and no others; or tells which of them it does not.
ExitCode run(const Verb& verb, const Arguments& arguments);

}  // namespace accosim
