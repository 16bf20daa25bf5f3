#include "sim/app/help_text.hpp"

#include <fmt/format.h>

#include <ostream>

#include "models/base/text.hpp"
#include "reports/table.hpp"

namespace accosim {
namespace {

constexpr int kMeaning = 24;  // column where what an option means begins

/// A term and what it means, beside it or, where the term is long, below it.
void write_entry(std::ostream& out, const std::string& term, const std::string& meaning, int width) {
  const std::string head = "  " + term;
  const bool beside = display_width(head) <= kMeaning - 2;
  if (!beside) out << cut_to_width(head, width) << '\n';
  write_wrapped(out, fmt::format("{:<{}}", beside ? head : "", kMeaning), meaning, width);
}

void write_options(std::ostream& out, const char* title, const std::vector<Option>& options, bool positional,
                   int width) {
  bool any = false;
  for (const Option& option : options) {
    if (is_positional(option) != positional) continue;
    if (!any) out << '\n' << title << ":\n";
    any = true;
    write_entry(out, option_in_words(option), meaning_of(option), width);
  }
}

void write_verbs(std::ostream& out, const std::vector<Verb>& verbs, int width) {
  out << "\nVerbs:\n";
  for (const Verb& verb : verbs) write_entry(out, verb.name, verb.help, width);
}

std::string range_of(const Option& option) {
  if (option.most <= option.least) return {};
  const bool whole = std::holds_alternative<int>(option.value);
  const auto shown = [whole](double limit) { return whole ? fmt::format("{:.0f}", limit) : shortest(limit); };
  return fmt::format("{} to {}", shown(option.least), shown(option.most));
}

std::string default_of(const Option& option) {
  if (!option.default_shown) return {};
  if (const auto* const text = std::get_if<std::string>(&option.value)) return *text;
  if (const auto* const whole = std::get_if<int>(&option.value)) return std::to_string(*whole);
  if (const auto* const number = std::get_if<double>(&option.value)) return shortest(*number);
  return {};
}

}  // namespace

bool is_positional(const Option& option) { return option.names[0] != '-'; }

std::string value_in_words(const Option& option) {
  if (std::holds_alternative<bool>(option.value)) return {};
  std::string one = option.takes;
  if (one.empty() && is_positional(option))
    for (const char c : option.names) one += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (one.empty()) {
    for (const std::string& choice : option.choices) one += (one.empty() ? "" : "|") + choice;
  }
  if (one.empty())
    one = std::holds_alternative<int>(option.value) ? "N" : std::holds_alternative<double>(option.value) ? "X" : "TEXT";
  std::string all = one;
  for (int i = 1; i < option.words; ++i) all += " " + one;
  return all;
}

std::string option_in_words(const Option& option) {
  if (is_positional(option)) {
    const std::string name = value_in_words(option) + (std::holds_alternative<Texts>(option.value) ? "..." : "");
    return option.required ? name : "[" + name + "]";
  }
  std::string names = option.names;
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  const std::string value = value_in_words(option);
  return value.empty() ? names : names + " " + value;
}

std::string meaning_of(const Option& option) {
  std::string notes;
  const auto note = [&](const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; };
  if (is_positional(option) && !option.choices.empty()) note(fmt::format("{}", fmt::join(option.choices, ", ")));
  if (const std::string range = range_of(option); !range.empty()) note(range);
  if (const std::string usual = default_of(option); !usual.empty()) note("default: " + usual);
  if (option.required && !is_positional(option)) note("required");
  if (!option.needs.empty()) note("needs " + option.needs);
  if (!option.excludes.empty()) note("not with " + fmt::format("{}", fmt::join(option.excludes, ", ")));
  return notes.empty() ? option.help : fmt::format("{} ({})", option.help, notes);
}

std::string usage_of(const std::string& path, const Verb& verb) {
  if (path.empty()) return "accosim VERB [OPTIONS]";
  std::string usage = "accosim " + path;
  if (!verb.verbs.empty()) return usage + " VERB [OPTIONS]";
  bool flags = false;
  for (const Option& option : verb.options) {
    if (is_positional(option)) usage += " " + option_in_words(option);
    if (!is_positional(option) && option.required) usage += " " + name_of(option) + " " + value_in_words(option);
    flags |= !is_positional(option) && !option.required;
  }
  return usage + (flags ? " [OPTIONS]" : "");
}

void write_help(std::ostream& out, const std::string& path, const Verb& verb, int width) {
  write_wrapped(out, "Usage: ", usage_of(path, verb), width);
  out << '\n';
  write_wrapped(out, "", verb.help, width);
  write_options(out, "Arguments", verb.options, true, width);
  if (!verb.verbs.empty()) write_verbs(out, verb.verbs, width);
  std::vector<Option> options = verb.options;
  options.push_back(flag_option("-h,--help", "Print this help"));
  write_options(out, "Options", options, false, width);
}

void write_program_help(std::ostream& out, const std::vector<Verb>& verbs, int width) {
  write_wrapped(out, "Usage: ", usage_of({}, {}), width);
  out << '\n';
  write_wrapped(out, "", kProgramHelp, width);
  write_verbs(out, verbs, width);
  write_options(out, "Options",
                {flag_option("-h,--help", "Print this help; behind a verb, that of the verb"),
                 flag_option("--version", "Print the version")},
                false, width);
  std::string codes;
  for (const auto& [code, meaning] : kExitCodes)
    codes += fmt::format("{}{} {}", codes.empty() ? "" : ", ", code, meaning);
  out << '\n';
  write_wrapped(out, "Exit codes: ", codes + ".", width);
  write_wrapped(out, "Start with: ", kExamples[0].word, width);
}

}  // namespace accosim
