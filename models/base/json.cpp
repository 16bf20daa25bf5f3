// nlohmann's SAX parser knows the grammar but not the places. Its events come in the order of the text, so a small
// scanner that moves on by one token an event knows where each value stands; and the tree is built without nlohmann's,
// so that duplicate keys are seen. The parser stops at the first word that it does not know, so it is given zeros for
// these, and what they are is told where their values come by.
#include "models/base/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "models/base/text.hpp"

namespace accosim {
namespace {

struct Place {
  int line = 1, column = 1;

  void pass(char c) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {  // not the middle of a character
      ++column;
    }
  }
};

/// Walks over the text token by token; never looks at a byte twice.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Moves to the start of the next token; at the end of the text when there is none.
  void skip_to_token() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ':') {
        last_punctuation_ = c == ',' || c == ':' ? c : last_punctuation_;
        step();
      } else if (c == '/' && next == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') step();
      } else if (c == '/' && next == '*') {
        step(), step();
        while (at_ < text_.size() && !(text_[at_] == '*' && at_ + 1 < text_.size() && text_[at_ + 1] == '/')) step();
        if (at_ < text_.size()) step(), step();
      } else {
        return;
      }
    }
  }

  /// The place of the next token, which is then passed.
  Place token() {
    skip_to_token();
    const Place start = place_;
    last_punctuation_ = '\0';
    if (at_ >= text_.size()) return start;
    const char first = text_[at_];
    step();
    if (first == '{' || first == '}' || first == '[' || first == ']') return start;
    if (first == '"') {
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\') step();
        if (at_ < text_.size()) step();
      }
      if (at_ < text_.size()) step();
      return start;
    }
    while (at_ < text_.size() && !is_delimiter(text_[at_])) step();
    return start;
  }

  Place place() const { return place_; }
  std::size_t offset() const { return at_; }
  std::string_view rest() const { return text_.substr(at_); }
  char last_punctuation() const { return last_punctuation_; }

  static bool is_delimiter(char c) {
    return std::string_view(" \t\r\n,:[]{}\"/").find(c) != std::string_view::npos || c == '\0';
  }

 private:
  void step() { place_.pass(text_[at_++]); }

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
  char last_punctuation_ = '\0';
};

/// A number in JSON's grammar: -12.5e-3.
bool is_json_number(std::string_view word) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < word.size() && word[i] >= '0' && word[i] <= '9') ++i;
    return i > from;
  };
  if (i < word.size() && word[i] == '-') ++i;
  const std::size_t first = i;
  if (!digits() || (word[first] == '0' && i > first + 1)) return false;
  if (i < word.size() && word[i] == '.' && (++i, !digits())) return false;
  if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
    ++i;
    if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == word.size();
}

/// Only a number with an exponent or with hundreds of digits can be too large.
bool is_too_large(std::string_view word) {
  constexpr std::size_t kAlwaysFits = 300;
  if (word.size() < kAlwaysFits && word.find_first_of("eE") == std::string_view::npos) return false;
  return !std::isfinite(std::strtod(std::string(word).c_str(), nullptr));
}

/// Whether nlohmann takes the word for a value.
bool is_value(std::string_view word) {
  if (word == "true" || word == "false" || word == "null") return true;
  return is_json_number(word) && !is_too_large(word);
}

/// The text with zeros for the words that are no values, and where these begin, in order.
struct Mended {
  std::string text;  ///< empty where there is no such word
  std::vector<std::size_t> words;
};
Mended mended(std::string_view text) {
  Mended result;
  Scanner scanner(text);
  for (scanner.skip_to_token(); scanner.offset() < text.size(); scanner.skip_to_token()) {
    const std::size_t from = scanner.offset();
    scanner.token();
    const std::string_view word = text.substr(from, scanner.offset() - from);
    // What is quoted in another way is left to the parser: where it ends nobody knows.
    if (std::string_view("{}[]\"'/").find(word[0]) != std::string_view::npos || is_value(word)) continue;
    if (result.words.empty()) result.text = text;
    result.words.push_back(from);
    result.text.replace(from, word.size(), word.size(), ' ');
    result.text[from] = '0';
  }
  return result;
}

std::string at(const std::string& source, Place place, const std::string& pointer, const std::string& what) {
  return fmt::format("{}:{}:{}{}: {}", source, place.line, place.column,
                     pointer.empty() ? "" : " " + printable(pointer, 200), what);
}

/// Builds the tree from nlohmann's events. Returning false from one stops the parser at once.
class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  /// `wrong`: where words begin that are no values, and zeros in what the parser sees.
  Builder(std::string_view text, const std::vector<std::size_t>& wrong, const std::string& source, int most_values,
          JsonDocument& document)
      : scanner_(text),
        wrong_(wrong),
        source_(std::make_shared<const std::string>(source)),
        most_values_(most_values),
        document_(document) {}

  bool null() { return scalar(JsonValue{}); }
  bool boolean(bool value) { return scalar(json_bool(value, {})); }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value), std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value), std::to_string(value)); }
  bool number_float(number_float_t value, const string_t& written) { return number(value, written); }
  bool string(string_t& value) { return scalar(json_text(std::move(value), {})); }
  bool binary(binary_t& /*value*/) { return false; }  // not in text

  bool start_object(std::size_t /*elements*/) { return open(JsonKind::kObject); }
  bool start_array(std::size_t /*elements*/) { return open(JsonKind::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& key) {
    const Place place = scanner_.token();
    Level& level = levels_.back();
    level.twice = !level.keys.insert(key).second;
    if (level.twice && !go_on_after(at(*source_, place, pointer() + pointer_part(key),
                                       fmt::format("the key {} is there twice; keep one", in_quotes(key))))) {
      return false;
    }
    level.key = key;
    level.has_key = true;
    level.key_origin = origin(place);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::json::exception& /*error*/) {
    scanner_.skip_to_token();
    document_.errors.push_back(at(*source_, scanner_.place(), pointer_of_place(), explain()));
    return false;
  }

 private:
  static constexpr std::size_t kMostMistakes = 100;

  struct Level {
    JsonValue value;
    std::unordered_set<std::string> keys;
    std::string key;  ///< of the member under way
    bool has_key = false;
    bool twice = false;  ///< the key was there before
    JsonOrigin key_origin;
  };

  bool go_on_after(std::string error) {
    document_.errors.push_back(std::move(error));
    return document_.errors.size() < kMostMistakes;
  }

  JsonOrigin origin(Place place) const { return JsonOrigin{source_, place.line, place.column}; }

  /// Of the innermost open array or object.
  std::string pointer() const {
    std::string out;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) out += part_of(levels_[i]);
    return out;
  }
  std::string pointer_of_place() const {
    const bool in_member = !levels_.empty() && (levels_.back().value.kind == JsonKind::kArray || expects_value());
    return in_member ? pointer() + part_of(levels_.back()) : pointer();
  }
  bool expects_value() const { return levels_.back().has_key; }
  static std::string part_of(const Level& level) {
    return level.value.kind == JsonKind::kArray ? pointer_part(level.value.elements.size()) : pointer_part(level.key);
  }

  bool number(double value, const std::string& written) {
    JsonValue out;
    out.kind = JsonKind::kNumber;
    out.number = value;
    out.text = written;
    return scalar(std::move(out));
  }
  bool scalar(JsonValue value) {
    scanner_.skip_to_token();
    if (next_wrong_ < wrong_.size() && wrong_[next_wrong_] == scanner_.offset()) {
      ++next_wrong_;
      value = JsonValue{};
      value.refused = true;
      if (!go_on_after(at(*source_, scanner_.place(), pointer_of_place(), explain()))) return false;
    }
    const Place place = scanner_.token();
    value.origin = origin(place);
    return count(place) && (add(std::move(value)), true);
  }
  bool open(JsonKind kind) {
    const Place place = scanner_.token();
    if (!count(place)) return false;
    if (levels_.size() >= kMaxJsonDepth) {
      const std::string what =
          fmt::format("nested deeper than {} levels; no file of ours needs more than ten", kMaxJsonDepth);
      document_.errors.push_back(at(*source_, place, "", what));
      return false;
    }
    levels_.emplace_back();
    levels_.back().value.kind = kind;
    levels_.back().value.origin = origin(place);
    return true;
  }
  bool close() {
    scanner_.token();
    JsonValue value = std::move(levels_.back().value);
    levels_.pop_back();
    add(std::move(value));
    return true;
  }
  bool count(Place place) {
    if (++values_ <= most_values_) return true;
    const std::string what = most_values_ == kMaxJsonValues
                                 ? fmt::format("more than {} values; a scenario has some hundred", most_values_)
                                 : fmt::format("more than {} values; measure fewer at a time", most_values_);
    document_.errors.push_back(at(*source_, place, "", what));
    return false;
  }
  void add(JsonValue value) {
    if (levels_.empty()) {
      document_.root = std::move(value);
      return;
    }
    Level& level = levels_.back();
    if (level.value.kind == JsonKind::kArray) {
      level.value.elements.push_back(std::move(value));
      return;
    }
    if (!level.twice) level.value.members.push_back(JsonMember{level.key, level.key_origin, std::move(value)});
    level.has_key = false;
  }

  /// What stands where the parser stopped, in the words of the person who wrote it.
  std::string explain() const {
    const std::string_view rest = scanner_.rest();
    if (rest.empty()) {
      if (levels_.empty()) return "no value in the file; write an object: {...}";
      return fmt::format("the file ends inside {}; close it with {}", noun_of(levels_.back().value.kind),
                         levels_.back().value.kind == JsonKind::kArray ? "]" : "}");
    }
    std::size_t length = rest[0] == '"' ? 0 : 1;
    while (length > 0 && length < rest.size() && !Scanner::is_delimiter(rest[length])) ++length;
    const std::string word(rest.substr(0, length));
    if (is_json_number(word) && is_too_large(word))
      return printable(word, 30) + " does not fit a number; write one below 1.8e308";
    for (const char* not_json : {"NaN", "nan", "-NaN", "-nan", "Infinity", "-Infinity", "inf", "-inf", "Inf", "-Inf"}) {
      if (word == not_json) return word + " is not JSON and no setting of ours; write a finite number";
    }
    for (const char* python : {"True", "False", "None"}) {
      if (word == python) return word + " is Python; JSON has true, false and null, in lower case";
    }
    const char c = rest[0];
    if (c == '"') {
      const std::size_t end = rest.substr(1).find_first_of("\"\n");
      if (end == std::string_view::npos || rest[end + 1] == '\n') return "a text without its closing quote; add the \"";
      const bool bad_text = rest.substr(1, end).find_first_of("\\\t\r") != std::string_view::npos;
      if (bad_text)
        return "a text with a wrong escape or a bare control character; write \\\\ for \\ and \\t for a tab";
      return "a text where a comma or a closing bracket should be; add the comma before it";
    }
    if (c == '\'') return "single quotes; JSON takes double quotes only";
    const bool in_object = !levels_.empty() && levels_.back().value.kind == JsonKind::kObject;
    if (in_object && expects_value() && scanner_.last_punctuation() != ':') {
      return "no colon between the key and its value; add one";
    }
    if (c == '}' || c == ']') {
      if (scanner_.last_punctuation() == ',') return fmt::format("a comma before {}; remove it", c);
      if (scanner_.last_punctuation() == ':') return fmt::format("no value before {}; write one after the colon", c);
      if (levels_.empty()) return fmt::format("{} without its opening bracket; remove it", c);
      if (c == (in_object ? '}' : ']'))
        return fmt::format("what stands before {} is not JSON; a number has no leading zero", c);
      return fmt::format("{} where {} should be; close what was opened last first", c, in_object ? "}" : "]");
    }
    if (levels_.empty() && document_.root.origin.line > 0) return "text after the end of the value; remove it";
    if (in_object && !expects_value()) return in_quotes(word, 30) + " is not a key; put keys in double quotes";
    if (c == '+' || c == '.') return in_quotes(word, 30) + " is not a number of JSON; begin it with a digit or a minus";
    return fmt::format("{} is not what JSON allows here; check quotes, commas and brackets", in_quotes(word, 30));
  }

  Scanner scanner_;
  const std::vector<std::size_t>& wrong_;
  std::size_t next_wrong_ = 0;
  std::shared_ptr<const std::string> source_;
  int most_values_;
  JsonDocument& document_;
  std::vector<Level> levels_;
  int values_ = 0;
};

/// What makes the bytes no JSON text at all, or empty.
std::string unreadable(std::string_view text, const std::string& source) {
  if (text.empty()) return source + ":1:1: the file is empty; write an object: {...}";
  if (text.starts_with("\xEF\xBB\xBF")) {
    return source + ":1:1: starts with a byte order mark; save it as UTF-8 without one";
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return source + ":1:1: is UTF-16; save it as UTF-8";
  if (text.starts_with("\x1F\x8B")) return source + ":1:1: is gzip-compressed; unpack it first";
  const std::size_t invalid = first_invalid_utf8(text);
  const std::size_t nul = text.find('\0');
  const std::size_t bad = std::min(invalid, nul);
  if (bad >= text.size()) return {};
  Place place;
  for (const char c : text.substr(0, bad)) place.pass(c);
  const unsigned byte = static_cast<unsigned char>(text[bad]);
  return at(source, place, "", fmt::format("the byte 0x{:02x} is not UTF-8 text; save the file as UTF-8", byte));
}

}  // namespace

JsonDocument parse_json(std::string_view text, const std::string& source, int most_values) {
  JsonDocument document;
  const std::string shown = printable(source, 300);
  std::string error = unreadable(text, shown);
  if (!error.empty()) {
    document.errors.push_back(std::move(error));
    return document;
  }
  const Mended seen = mended(text);
  const std::string_view parsed = seen.words.empty() ? text : std::string_view(seen.text);
  Builder builder(text, seen.words, shown, most_values, document);
  document.whole =
      nlohmann::json::sax_parse(parsed.begin(), parsed.end(), &builder, nlohmann::json::input_format_t::json,
                                /*strict=*/true, /*ignore_comments=*/true);
  document.whole = document.whole && !document.root.refused;
  if (!document.whole && document.errors.empty()) document.errors.push_back(shown + ":1:1: is not JSON");
  return document;
}

std::string digits_json(double value) { return nlohmann::json(value).dump(); }

}  // namespace accosim
