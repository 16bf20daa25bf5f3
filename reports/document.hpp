// An answer before it is printed: headings, sentences, lists and tables of texts and numbers. How a number is rounded,
// its sign and the dash of one that is not known are decided here, once; printers know nothing of answers.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/units.hpp"
#include "reports/metric_text.hpp"
#include "reports/table.hpp"

namespace accosim {

/// A dash where the number is not known.
Value figure(Format format, std::optional<double> number);
inline Value code(const std::string& text) { return {Value::Kind::kCode, text}; }
inline Value link(const std::string& url) { return {Value::Kind::kLink, url}; }
inline Value term(const std::string& text) { return {Value::Kind::kTerm, text}; }
inline Value count(std::size_t number) { return {Value::Kind::kNumber, std::to_string(number)}; }
inline Value probability(double of_it) { return {Value::Kind::kNumber, in_percent(of_it)}; }
inline Value percent(std::optional<double> fraction) { return figure(Format::kPercent, fraction); }
inline Value relative_error(std::optional<double> fraction) { return figure(Format::kError, fraction); }
inline Value factor(std::optional<double> number) { return figure(Format::kFactor, number); }
inline Value duration(Seconds time) { return figure(Format::kTime, time.value); }
inline Value clock(Seconds time) { return figure(Format::kClock, time.value); }
inline Value memory(Bytes bytes) { return figure(Format::kMemory, bytes.value); }
Value decimal(std::optional<double> number);  ///< "0.42"

inline void append(Values& words, const Values& more) { words.insert(words.end(), more.begin(), more.end()); }

/// What stands above a part of a document. (On a page of Markdown always an empty line, but for a sentence below
/// another one.)
enum class Above { kEmptyLine, kNothing };

struct Document {
  struct Heading {
    int level = 2;  ///< 1 is the title; 3 is of a few lines, and cut where it is wider than the terminal
    std::string text;
  };
  struct Paragraph {
    Values words;         ///< one after the other, with nothing between them
    std::string first{};  ///< stands before its first line, never wrapped, and as many blanks before the others
  };
  struct List {
    struct Item {
      std::string term;  ///< what is explained, or empty
      Values words;
    };
    std::vector<Item> items{};
    bool numbered = false;
  };
  /// Figures one below the other, each with what it means.
  struct Figures {
    struct Row {
      std::string name, value, meaning;
    };
    std::vector<Row> rows{};
  };
  using Table = accosim::Table;

  struct Part {
    std::variant<Heading, Paragraph, List, Figures, Table> what;
    Above above = Above::kEmptyLine;
  };
  std::vector<Part> parts{};

  void title(const std::string& text) { add(Heading{1, text}); }
  void heading(const std::string& text) { add(Heading{2, text}); }
  void say(Values words, const std::string& first = "") { add(Paragraph{std::move(words), first}); }
  /// The same directly below what is said before.
  void go_on(Values words, const std::string& first = "") { add(Paragraph{std::move(words), first}, Above::kNothing); }
  /// A line that is never wrapped, directly below what is said before: of names of files, which somebody may copy.
  void line(const std::string& text) { go_on({}, text); }
  /// Below each other.
  void say_each(const std::vector<std::string>& sentences);
  /// Nothing where there is no item or row. A list belongs to the sentence above it.
  void list(List list);
  void table(Table table, Above above = Above::kEmptyLine);

  void add(decltype(Part::what) part, Above above = Above::kEmptyLine) { parts.push_back({std::move(part), above}); }
};

/// Tables are as write_table() has them.
void print_terminal(std::ostream& out, const Document& document, const ConsoleOptions& options);
/// Escapes what would be markup.
void print_markdown(std::ostream& out, const Document& document);

}  // namespace accosim
