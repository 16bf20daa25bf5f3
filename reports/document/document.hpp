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

/// A text, or a number as people read it.
struct Value {
  enum class Kind {
    kText,
    kCode,    ///< what a user may type
    kLink,    ///< an address
    kNumber,  ///< in a table aligned right
  };
  std::string text;
  Kind kind = Kind::kText;
  Style style = Style::kPlain;

  // Implicit, so that texts stand among numbers. NOLINTBEGIN(google-explicit-constructor)
  Value(const char* words) : text(words) {}
  Value(std::string words, Style marked = Style::kPlain) : text(std::move(words)), style(marked) {}
  // NOLINTEND(google-explicit-constructor)
  Value(Kind of, std::string words) : text(std::move(words)), kind(of) {}
  /// A dash where the number is not known.
  Value(Format format, std::optional<double> number);
};
using Values = std::vector<Value>;  ///< one after the other, with nothing between them

inline Value code(const std::string& text) { return {Value::Kind::kCode, text}; }
inline Value link(const std::string& url) { return {Value::Kind::kLink, url}; }
inline Value count(std::size_t number) { return {Value::Kind::kNumber, std::to_string(number)}; }
inline Value probability(double of_it) { return {Value::Kind::kNumber, in_percent(of_it)}; }
inline Value percent(std::optional<double> fraction) { return {Format::kPercent, fraction}; }
inline Value relative_error(std::optional<double> fraction) { return {Format::kError, fraction}; }
inline Value factor(std::optional<double> number) { return {Format::kFactor, number}; }
inline Value duration(Seconds time) { return {Format::kTime, time.value}; }
inline Value clock(Seconds time) { return {Format::kClock, time.value}; }
inline Value memory(Bytes bytes) { return {Format::kMemory, bytes.value}; }
Value decimal(std::optional<double> number);  ///< "0.42"

inline void append(Values& words, const Values& more) { words.insert(words.end(), more.begin(), more.end()); }

struct Document {
  struct Heading {
    int level = 2;  ///< 1 is the title
    std::string text;
  };
  struct Paragraph {
    Values words;
  };
  struct List {
    struct Item {
      std::string term;  ///< what is explained, or empty
      Values words;
    };
    std::vector<Item> items{};
    bool numbered = false;
  };
  struct Table {
    Values heads;
    std::vector<Values> rows{};  ///< of as many cells as there are heads

    void add(Values cells, Style style = Style::kPlain);  ///< those that are not marked get the row's style
  };
  std::vector<std::variant<Heading, Paragraph, List, Table>> nodes{};

  void title(const std::string& text) { nodes.emplace_back(Heading{1, text}); }
  void heading(const std::string& text) { nodes.emplace_back(Heading{2, text}); }
  void say(Values words) { nodes.emplace_back(Paragraph{std::move(words)}); }
  /// Nothing where there is no item or row.
  void list(List list);
  void table(Table table);
};

/// Numbers right, texts left; a table that is too wide goes on below. The heads of columns have two lines where one
/// would be wider than what is below it.
void print_terminal(std::ostream& out, const Document& document, const ConsoleOptions& options);
/// Escapes what would be markup.
void print_markdown(std::ostream& out, const Document& document);

}  // namespace accosim
