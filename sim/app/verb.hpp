// A verb of the command line as data: its options, its modes, and which mode reads which options. Parsing, help, hints
// and the refusal of options that would be ignored all come from here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/errors.hpp"

namespace accosim {

using Texts = std::vector<std::string>;

/// What an option takes: nothing (a flag), a text, texts (it may be repeated), a whole number, a number.
using OptionValue = std::variant<bool, std::string, Texts, int, double>;

struct Option {
  std::string names;  ///< "--set", "-j,--jobs"; a name without dashes is a positional argument
  std::string help;
  OptionValue value = std::string();                               ///< the default; its type is what the option takes
  std::vector<std::string> choices = {};                           ///< the only texts that it takes; empty: any
  double least = 0, most = 0;                                      ///< range of a number, both ends included
  std::string empty = "is empty; write a value, or leave it out";  ///< what is said of an empty text
  bool required = false;
  bool default_shown = false;  ///< in the help
  std::string needs = {};      ///< an option without which this one has no meaning
  Texts excludes = {};         ///< options that cannot stand beside it
  int words = 1;               ///< of texts: so many behind each occurrence
  /// What stands for its value in the help: "FILE". Completion offers files for FILE and FOLDER, and shipped names too
  /// for SCENARIO, CLUSTER and DEVICE. Empty: by the choices or the type.
  std::string takes = {};
};

/// One that takes nothing; `excludes` as above.
Option flag_option(const std::string& names, const std::string& help, const Texts& excludes = {});
/// A text, or texts of an option that may be repeated, which the help calls `takes`.
Option text_option(const std::string& names, const std::string& help, const std::string& takes);
Option texts_option(const std::string& names, const std::string& help, const std::string& takes, bool required = false);
/// A number from `least` to `most`. The help shows its default, where that lies between these: another is none.
Option number_option(const std::string& names, const std::string& help, const OptionValue& value, double least,
                     double most, const std::string& needs = {});
/// A file that is written or read.
Option file_option(const std::string& names, const std::string& help, bool required = false);
/// --json.
Option json_option();

bool contains(const Texts& list, const std::string& word);

/// The long name, by which the program speaks of it: "--jobs", "scenario".
std::string name_of(const Option& option);
Texts names_of(const std::vector<Option>& options);
/// Both lists, one after the other.
std::vector<Option> joined(std::vector<Option> first, const std::vector<Option>& second);

struct Argument {
  OptionValue value;
  bool given = false;  ///< in the command line
};

/// The values of the command line, by option name. Asking for an unknown option, or for another type than the option's,
/// is a bug and throws std::logic_error.
struct Arguments {
  std::map<std::string, Argument> all;

  /// Whether it was given, and is neither a flag turned off nor an empty text.
  bool given(const std::string& name) const;
  bool flag(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const Texts& texts(const std::string& name) const;
  int whole(const std::string& name) const;
  double number(const std::string& name) const;
};
/// "accosim sweep mine.json --zip --over ...": what was given of the options but for `without`, as a shell takes it.
std::string command_of(const std::string& verb, const std::vector<Option>& options, const Texts& without,
                       const Arguments& arguments);
/// All options at their defaults, none of them given.
Arguments defaults_of(const std::vector<Option>& options);

/// One of the things that a verb does.
struct Mode {
  std::string of = {};  ///< what tells it from the verb's other modes, in messages: "of a run (--machine)"
  Texts reads;          ///< names of options; any other that is given is refused
  ExitCode (*run)(const Arguments&) = nullptr;
  std::function<bool(const Arguments&)> is_meant = nullptr;  ///< null: always, if no earlier mode is meant
  /// For options that it does not read: what to tell the user instead of which mode the option belongs to.
  std::map<std::string, std::string> refusals = {};
  ExitCode refused = ExitCode::kBadInput;
};

/// The mode "of a run (--machine)" that its flag chooses, which reads that and `others`; `why` it refuses some options.
Mode flag_mode(const std::string& of, const std::string& flag, const Texts& others, ExitCode (*run)(const Arguments&),
               const Texts& refused = {}, const std::string& why = {});

struct Verb {
  std::string name;
  std::string help;
  std::vector<Option> options = {};
  std::vector<Mode> modes = {};  ///< the first whose is_meant() holds is run
  std::vector<Verb> verbs = {};  ///< subcommands, where the verb does nothing by itself
};

Texts names_of(const std::vector<Verb>& verbs);

/// The verbs by their paths, each before those inside it: "import", "import nccl-tests".
std::vector<std::pair<std::string, const Verb*>> by_path(const std::vector<Verb>& verbs);

/// "--set" and so on, those of its own verbs too.
Texts flags_of(const Verb& verb);

/// A line for each given option that the mode does not read, with what to write instead; empty when there is none.
Texts unread(const Verb& verb, const Mode& mode, const Arguments& arguments);

/// Runs the mode that the arguments mean, with the arguments that it reads and no others; or prints which of the given
/// ones it does not read.
ExitCode run(const Verb& verb, const Arguments& arguments);

}  // namespace accosim
