// CLI11 parses the line: this file gives it the verbs' options, and takes from it what was given.
#include "sim/app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>

#include "build_info/commit.hpp"
#include "build_info/project.hpp"
#include "models/base/standard_streams.hpp"
#include "sim/app/help_text.hpp"
#include "sim/app/hints.hpp"
#include "sim/app/terminal.hpp"

namespace accosim {
namespace {

/// A verb as CLI11 has it, and what it writes into.
struct Parsed {
  const Verb& verb;
  CLI::App& app;
  Arguments arguments;
};
using AllParsed = std::deque<Parsed>;  // which moves none of them

/// `value` takes what is written.
CLI::Option* added(CLI::App& app, const Option& option, OptionValue& value) {
  if (bool* const flag = std::get_if<bool>(&value)) return app.add_flag(option.names, *flag, option.help);
  if (auto* const text = std::get_if<std::string>(&value)) return app.add_option(option.names, *text, option.help);
  if (auto* const texts = std::get_if<Texts>(&value)) {
    CLI::Option* const list = app.add_option(option.names, *texts, option.help);
    if (option.names[0] == '-') list->allow_extra_args(false);  // one behind each, so that words may follow
    if (option.words > 1) list->expected(option.words);
    return list;
  }
  const bool whole = std::holds_alternative<int>(value);
  CLI::Option* const number = whole ? app.add_option(option.names, std::get<int>(value), option.help)
                                    : app.add_option(option.names, std::get<double>(value), option.help);
  return number->check([whole, least = option.least, most = option.most](const std::string& text) {
    return wrong_number(text, least, most, whole);
  });
}

void add(CLI::App& app, const Option& option, OptionValue& value) {
  CLI::Option* const one = added(app, option, value);
  if (option.required) one->required();
  if (!option.choices.empty())
    one->check([choices = option.choices](const std::string& text) { return wrong_choice(text, choices); });
  if (!std::holds_alternative<bool>(value))
    one->check([why = option.empty](const std::string& text) { return text.empty() ? why : std::string(); });
  if (option.default_shown) one->capture_default_str();
}

void add(CLI::App& parent, const Verb& verb, AllParsed& all) {
  CLI::App& app = *parent.add_subcommand(verb.name, verb.help);
  all.push_back({verb, app, defaults_of(verb.options)});
  Arguments& arguments = all.back().arguments;
  for (const Option& option : verb.options) add(app, option, arguments.all.at(name_of(option)).value);
  for (const Option& option : verb.options) {
    CLI::Option* const one = app.get_option(name_of(option));
    if (!option.needs.empty()) one->needs(app.get_option(option.needs));
    for (const std::string& other : option.excludes) one->excludes(app.get_option(other));
  }
  if (!verb.verbs.empty()) app.require_subcommand(1);
  for (const Verb& inner : verb.verbs) add(app, inner, all);
}

/// The help of the verb that the line names, the innermost one; of the program where it names none.
void write_help_asked(const AllParsed& all, const std::vector<Verb>& verbs) {
  const int width = console_options().width;
  std::string path;
  const Verb* verb = nullptr;
  for (const Parsed& one : all) {  // a verb stands before those inside it
    if (!one.app.parsed()) continue;
    path += (path.empty() ? "" : " ") + one.verb.name;
    verb = &one.verb;
  }
  if (verb == nullptr)
    write_program_help(std::cout, verbs, width);
  else
    write_help(std::cout, path, *verb, width);
}

/// Prints help or a version that was asked for, or else what is wrong and what may have been meant.
ExitCode told(const CLI::ParseError& error, CLI::App& app, const AllParsed& all, const Texts& words,
              const std::vector<Verb>& verbs) {
  const bool asked = error.get_exit_code() == 0;
  if (!asked) {
    const std::string hint = command_line_hint(words, verbs);
    std::cerr << printable_lines(hint.empty() ? required_hint(error.what(), words, verbs) : hint);
  }
  if (error.what() == std::string("scenario is required"))
    std::cerr << scenario_hint(app.get_subcommands().front()->get_name());
  app.failure_message([](const CLI::App* of, const CLI::Error& wrong) {
    return printable_lines(CLI::FailureMessage::simple(of, wrong));
  });
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr)
    write_help_asked(all, verbs);
  else
    app.exit(error);
  if (asked) flush_standard_output();
  return asked ? ExitCode::kDone : ExitCode::kBadCommandLine;
}

/// Runs the verb that was parsed, the innermost one.
ExitCode run_parsed(AllParsed& all) {
  for (Parsed& one : all) {
    if (!one.app.parsed() || one.verb.modes.empty()) continue;
    for (auto& [name, argument] : one.arguments.all) argument.given = one.app.count(name) > 0;
    return run(one.verb, one.arguments);
  }
  return ExitCode::kDone;  // help, in a place where it is of no verb
}

}  // namespace

ExitCode run_command_line(Texts words, const std::vector<Verb>& verbs) {
  if (words.empty()) {
    std::cerr << "accosim: name a verb, such as: " << kExamples[0].word << "; accosim help lists them\n";
    return ExitCode::kBadCommandLine;
  }
  if (words[0] == "help") {  // of a verb: what its flag --help prints
    words.erase(words.begin());
    if (!words.empty() && words[0][0] != '-' && !contains(names_of(verbs), words[0])) {
      std::cerr << verb_hint(words[0], verbs);
      return ExitCode::kBadCommandLine;
    }
    words.emplace_back("--help");
  }
  CLI::App app{kProgramHelp, "accosim"};
  app.set_version_flag("--version", fmt::format("accosim {} (commit {})", kVersion, kCommit));
  app.require_subcommand(1);
  AllParsed all;
  for (const Verb& verb : verbs) add(app, verb, all);
  try {
    app.parse(Texts(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return told(error, app, all, words, verbs);
  }
  const ExitCode code = run_parsed(all);
  flush_standard_output();
  return code;
}

}  // namespace accosim
