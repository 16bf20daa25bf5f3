// The man page.
#include <fmt/format.h>

#include <string>

#include "build_info/project.hpp"
#include "sim/app/help_text.hpp"
#include "sim/app/shell/shell.hpp"

namespace accosim {
namespace {

/// As troff takes it: a backslash is one, a dash is a minus that can be copied, and no line begins a request.
std::string in_roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\')
      roff += "\\e";
    else if (c == '-')
      roff += "\\-";
    else if (c == '\'')
      roff += "\\(aq";
    else
      roff += c;
  }
  return !roff.empty() && roff[0] == '.' ? "\\&" + roff : roff;
}

/// The argument of a macro.
std::string quoted(const std::string& text) {
  std::string inner;
  for (const char c : in_roff(text)) inner += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return '"' + inner + '"';
}

void write_section(std::ostream& out, const std::string& title) { out << ".SH " << title << '\n'; }

void write_entry(std::ostream& out, const std::string& term, const std::string& meaning) {
  out << ".TP\n.B " << quoted(term) << '\n' << in_roff(meaning) << '\n';
}

void write_verb(std::ostream& out, const std::string& path, const Verb& verb) {
  out << ".SS " << quoted(path) << '\n' << in_roff(verb.help) << ".\n.PP\n.B " << quoted(usage_of(path, verb)) << '\n';
  for (const Option& option : verb.options) write_entry(out, option_in_words(option), meaning_of(option) + ".");
}

}  // namespace

void write_man_page(std::ostream& out, const std::vector<Verb>& verbs) {
  out << ".\\\" Written by `accosim man` from the declarations of its verbs.\n"
      << fmt::format(".TH ACCOSIM 1 \"\" \"accosim {}\" \"User Commands\"\n", kVersion);
  write_section(out, "NAME");
  out << "accosim \\- predict how long distributed training of language models takes\n";
  write_section(out, "SYNOPSIS");
  out << ".B " << quoted(usage_of({}, {})) << '\n';
  write_section(out, "DESCRIPTION");
  out << in_roff(kProgramHelp) << "\nIt compares schedules, says where the time goes, and how much memory they take.\n";
  write_section(out, "VERBS");
  for (const auto& [path, verb] : by_path(verbs))
    if (verb->verbs.empty()) write_verb(out, path, *verb);
  write_section(out, "EXAMPLES");
  for (const auto& [command, meaning] : kExamples) write_entry(out, command, meaning);
  write_section(out, "ENVIRONMENT");
  for (const auto& [name, meaning] : kVariables) write_entry(out, name, meaning);
  write_section(out, "EXIT STATUS");
  for (const auto& [code, meaning] : kExitCodes) write_entry(out, code, meaning);
}

}  // namespace accosim
