#include "calibration/help.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace accocal {
namespace {

constexpr std::size_t kMeaning = 24;  // column where what an option means begins

std::size_t width_of_help() {
  const char* const columns = std::getenv("COLUMNS");
  int width = columns == nullptr ? 0 : std::atoi(columns);
  winsize size{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width <= 0 ? 80 : static_cast<std::size_t>(std::clamp(width, 40, 100));
}

/// `text` behind `head`, its further lines below its first word.
std::string wrapped(const std::string& head, const std::string& text) {
  const std::size_t width = width_of_help();
  std::string lines, line = head;
  bool empty = true;
  std::istringstream words(text);
  for (std::string word; words >> word; empty = false) {
    if (!empty && line.size() + 1 + word.size() > width) {
      lines += line + '\n';
      line = std::string(head.size(), ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
  }
  return lines + line + '\n';
}

/// A term and what it means, beside it or, where the term is long, below it.
std::string entry(const std::string& term, const std::string& meaning) {
  const std::string head = "  " + term;
  if (head.size() + 2 <= kMeaning) return wrapped(fmt::format("{:<{}}", head, kMeaning), meaning);
  return head + '\n' + wrapped(std::string(kMeaning, ' '), meaning);
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// CLI11 calls a type "INT:INT in [1 - 64]", where a validator stands behind the colon.
std::string value_of(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return "";  // a flag
  const std::string type = option.get_type_name();
  const std::string plain = type.substr(0, type.find(':'));
  if (type.ends_with("FILE")) return " FILE";
  if (plain.starts_with("INT") || plain.starts_with("UINT")) return " N";
  return plain.starts_with("FLOAT") ? " X" : " TEXT";
}

std::string range_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find("in ["), end = type.rfind(']');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string range = type.substr(begin + 4, end - begin - 4);
  if (const std::size_t dash = range.find(" - "); dash != std::string::npos) range.replace(dash, 3, " to ");
  return range;
}

std::string option_entry(const CLI::Option& option) {
  std::string names = option.get_name(false, true);
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  std::vector<std::string> notes;
  if (const std::string range = range_of(option); !range.empty()) notes.push_back(range);
  if (!option.get_default_str().empty()) notes.push_back("default: " + option.get_default_str());
  if (!option.get_needs().empty()) notes.push_back("needs " + names_of(option.get_needs()));
  if (!option.get_excludes().empty()) notes.push_back("not with " + names_of(option.get_excludes()));
  std::string meaning = option.get_description();
  if (!notes.empty()) meaning += fmt::format(" ({})", fmt::join(notes, "; "));
  return entry(names + value_of(option), meaning);
}

class HelpPage : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    const bool whole = app->get_parent() == nullptr;
    std::string page = wrapped("Usage: ", whole ? "accocal VERB [OPTIONS]" : usage_of(*app));
    page += '\n' + wrapped("", app->get_description());
    if (whole) {
      page += "\nVerbs:\n";
      for (const CLI::App* verb : app->get_subcommands({})) page += entry(verb->get_name(), verb->get_description());
    }
    std::string options;
    for (const CLI::Option* option : app->get_options())
      if (!option->get_positional()) options += option_entry(*option);
    if (!options.empty()) page += "\nOptions:\n" + options;
    std::istringstream footer(whole ? app->get_footer() : "");
    if (whole) page += '\n';
    for (std::string line; std::getline(footer, line);) {
      const std::size_t colon = line.find(": ");
      page += wrapped(line.substr(0, colon + 2), line.substr(colon + 2));
    }
    return page;
  }

 private:
  static std::string usage_of(const CLI::App& verb) {
    return fmt::format("accocal {} {}", verb.get_name(), verb.get_name() == "help" ? "[VERB]" : "[OPTIONS]");
  }
};

}  // namespace

void add_help(CLI::App& app) {
  const auto page = std::make_shared<HelpPage>();
  app.formatter(page);
  app.get_help_ptr()->description("Print this help; behind a verb, that of the verb");
  if (CLI::Option* const version = app.get_option_no_throw("--version")) version->description("Print the version");
  for (CLI::App* verb : app.get_subcommands({})) {
    verb->formatter(page);
    verb->get_help_ptr()->description("Print this help");
  }
  CLI::App* const help = app.add_subcommand("help", "Print the help of a verb");
  help->formatter(page);
  help->get_help_ptr()->description("Print this help");
  const auto wanted = std::make_shared<std::string>();
  help->add_option("verb", *wanted);
  help->final_callback([&app, page, wanted] {
    const std::vector<CLI::App*> verbs = app.get_subcommands({});
    std::vector<std::string> names;
    for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
    const auto found = std::ranges::find(names, *wanted);
    if (!wanted->empty() && found == names.end())
      throw CLI::ValidationError("help " + *wanted, fmt::format("no such verb; there are {}", fmt::join(names, ", ")));
    const CLI::App* const of = wanted->empty() ? &app : verbs[static_cast<std::size_t>(found - names.begin())];
    std::cout << page->make_help(of, "", CLI::AppFormatMode::Normal);
    throw CLI::Success();
  });
}

}  // namespace accocal
