// JSON as a light tree whose every value knows the file, line and column it came from, so that an error found long
// after parsing can still point at the text. Members keep their order, so that what is written back looks like what was
// read. Documents are built of the same tree: json_object({{"ranks", 4}, {"losses", losses}}).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/base/text_file.hpp"

namespace accosim {

enum class JsonKind : std::uint8_t { kNull, kBool, kNumber, kText, kArray, kObject };

/// "a number", "an object"...: for messages.
const char* noun_of(JsonKind kind);

/// Where a value came from: a place in a file, or a source without places.
struct JsonOrigin {
  std::shared_ptr<const std::string> source;  ///< a file as it is shown, "default" or "--set"
  int line = 0, column = 0;                   ///< from 1, in characters; 0: no place
};
/// "file.json:6:21", "default" or "--set".
std::string text_of(const JsonOrigin& origin);
JsonOrigin origin_named(std::string source);

struct JsonMember;
struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  bool refused = false;  ///< the text here was no JSON value, and that has been reported: kind is kNull, and readers
                         ///< report nothing more
  double number = 0;
  std::string text;  ///< the string; of a number, the digits as written
  std::vector<JsonValue> elements;
  std::vector<JsonMember> members;
  JsonOrigin origin;

  JsonValue() = default;
  // Implicit, so that documents can be written as nested lists. NOLINTBEGIN(google-explicit-constructor)
  JsonValue(double value);  ///< whole numbers keep their ".0"; NaN and infinity become null
  JsonValue(std::string value);
  JsonValue(const char* value);
  JsonValue(std::vector<JsonValue> values);
  template <std::integral T>
  JsonValue(T value);  ///< bool, too
  template <typename T>
  JsonValue(const std::optional<T>& value);
  template <typename T>
  JsonValue(const std::vector<T>& values);
  // NOLINTEND(google-explicit-constructor)

  /// The member's value, nullptr when there is none or this is no object.
  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key);
  /// Replaces the member's value, or adds the member at the end. Only for objects.
  JsonValue& set(std::string_view key, JsonValue value);
  void erase(std::string_view key);
  /// Values in the whole tree, this one included.
  int size() const;
};
struct JsonMember {
  std::string key;
  JsonOrigin origin;  ///< of the key
  JsonValue value;

  JsonMember(std::string k, JsonValue v) : key(std::move(k)), value(std::move(v)) {}
  JsonMember(std::string k, JsonOrigin o, JsonValue v) : key(std::move(k)), origin(std::move(o)), value(std::move(v)) {}
};

/// Of an object's members, in their order; none of anything else.
std::vector<std::string> keys_of(const JsonValue& value);

template <std::integral T>
JsonValue::JsonValue(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    kind = JsonKind::kBool;
    boolean = value;
  } else {
    kind = JsonKind::kNumber;
    number = static_cast<double>(value);
    text = std::to_string(value);
  }
}
template <typename T>
JsonValue::JsonValue(const std::optional<T>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
template <typename T>
JsonValue::JsonValue(const std::vector<T>& values) : JsonValue(std::vector<JsonValue>(values.begin(), values.end())) {}

JsonValue json_text(std::string text, const JsonOrigin& origin);
JsonValue json_number(double number, const JsonOrigin& origin);
JsonValue json_bool(bool boolean, const JsonOrigin& origin);
JsonValue json_object(const JsonOrigin& origin);
JsonValue json_object(std::initializer_list<JsonMember> members);

/// Limits that keep a hostile file from costing more than some hundred megabytes and a second.
inline constexpr int kMaxJsonDepth = 64;
inline constexpr int kMaxJsonValues = 200000;
/// The limit for documents of measurements, which list each sample and each span.
inline constexpr int kMaxMeasuredValues = 1'000'000;

struct JsonDocument {
  JsonValue root;
  std::vector<std::string>
      errors;          ///< "file:line:col /pointer: what is wrong; what would be right"; none when it parsed
  bool whole = false;  ///< the text was parsed to its end: errors, if any, are only refused words and duplicate keys,
                       ///< so a reader can look for more
};

/// Comments are accepted. A word that is no value (NaN, 1e400, True) is an error and the value that it stands for is
/// `refused`; a duplicate key is an error and the first value stands; reading goes on after both. `source` is how the
/// file is shown.
JsonDocument parse_json(std::string_view text, const std::string& source, int most_values = kMaxJsonValues);

/// read_text_file() and parse_json().
JsonDocument read_json_file(const std::string& path, const std::string& source);

/// Whether the tree holds a refused value: then what is read from it is not what the text says.
bool holds_refused(const JsonValue& value);

/// Two spaces a level, arrays and objects of few scalars on one line, numbers as written. Ends without a newline.
std::string write_json(const JsonValue& value);
/// Compact, as programs write it: everything on one line without blanks or, where `indent` is not negative, one value
/// per line with `indent` blanks per level. Bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const JsonValue& value, int indent = -1);
/// A text in quotes, as write_json() and dump_json() have it.
std::string quoted_json(std::string_view text);
/// A number as dump_json() writes it: the shortest digits that read back the same, never those of an integer (1.0,
/// 1e+20); "null" for NaN and infinity.
std::string digits_json(double value);

/// A key as part of a JSON pointer (RFC 6901): "/" and then the key with ~ and / escaped.
std::string pointer_part(std::string_view key);
std::string pointer_part(std::size_t index);
/// The keys of a pointer, unescaped; nothing when it is not empty and does not begin with "/".
std::optional<std::vector<std::string>> pointer_keys(std::string_view pointer);
/// An array's element by its index as a pointer has it ("0", "12"), an object's member; nullptr when there is none.
const JsonValue* child_of(const JsonValue& value, const std::string& key);
/// nullptr when the pointer leads nowhere.
const JsonValue* at_pointer(const JsonValue& root, std::string_view pointer);

/// Takes out of an object's "sources" what is cited at `pointer` (in the object) and below it: a citation goes with the
/// number that it is for.
void drop_citations(JsonValue& object, std::string_view pointer);

}  // namespace accosim
