// What one does with a JSON tree that needs no parser: find and change members, read a file.
#include <fmt/format.h>

#include <algorithm>

#include "models/base/each.hpp"
#include "models/base/json.hpp"
#include "models/base/text.hpp"

namespace accosim {

const char* noun_of(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull: return "null";
    case JsonKind::kBool: return "true or false";
    case JsonKind::kNumber: return "a number";
    case JsonKind::kText: return "a text";
    case JsonKind::kArray: return "an array";
    case JsonKind::kObject: return "an object";
  }
  return "";
}

std::string text_of(const JsonOrigin& origin) {
  std::string out = origin.source ? *origin.source : "default";
  if (origin.line > 0) out += fmt::format(":{}:{}", origin.line, origin.column);
  return out;
}

bool holds_refused(const JsonValue& value) {
  return value.refused || std::ranges::any_of(value.elements, holds_refused) ||
         std::ranges::any_of(value.members, [](const JsonMember& member) { return holds_refused(member.value); });
}

JsonOrigin origin_named(std::string source) {
  return JsonOrigin{std::make_shared<const std::string>(std::move(source)), 0, 0};
}

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const JsonMember& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

JsonValue* JsonValue::find(std::string_view key) {
  return const_cast<JsonValue*>(static_cast<const JsonValue*>(this)->find(key));
}

JsonValue& JsonValue::set(std::string_view key, JsonValue value) {
  if (JsonValue* old = find(key)) {
    // Moved out first: the new value may be part of the old one.
    JsonValue fresh = std::move(value);
    *old = std::move(fresh);
    return *old;
  }
  JsonOrigin key_origin = value.origin;
  members.push_back(JsonMember{std::string(key), std::move(key_origin), std::move(value)});
  return members.back().value;
}

void JsonValue::erase(std::string_view key) {
  std::erase_if(members, [&](const JsonMember& member) { return member.key == key; });
}

int JsonValue::size() const {
  int total = 1;
  for (const JsonValue& element : elements) total += element.size();
  for (const JsonMember& member : members) total += member.value.size();
  return total;
}

JsonValue json_text(std::string text, const JsonOrigin& origin) {
  JsonValue value(std::move(text));
  value.origin = origin;
  return value;
}

JsonValue json_number(double number, const JsonOrigin& origin) {
  JsonValue value;
  value.kind = JsonKind::kNumber;
  value.number = number;
  value.text = shortest(number);
  value.origin = origin;
  return value;
}

JsonValue json_bool(bool boolean, const JsonOrigin& origin) {
  JsonValue value(boolean);
  value.origin = origin;
  return value;
}

JsonValue json_object(const JsonOrigin& origin) {
  JsonValue value;
  value.kind = JsonKind::kObject;
  value.origin = origin;
  return value;
}

JsonDocument read_json_file(const std::string& path, const std::string& source) {
  std::string text;
  const std::string error = read_text_file(path, text);
  if (error.empty()) return parse_json(text, source);
  JsonDocument document;
  document.errors.push_back(printable(source, 300) + ": " + error);
  return document;
}

std::optional<std::vector<std::string>> pointer_keys(std::string_view pointer) {
  std::vector<std::string> keys;
  if (pointer.empty()) return keys;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '/') {
      keys.emplace_back();
    } else if (pointer[at] == '~' && at + 1 < pointer.size() && (pointer[at + 1] == '0' || pointer[at + 1] == '1')) {
      keys.back() += pointer[++at] == '0' ? '~' : '/';
    } else {
      keys.back() += pointer[at];
    }
  }
  return keys;
}

std::vector<std::string> keys_of(const JsonValue& value) {
  return mapped<std::string>(value.members, &JsonMember::key);
}

const JsonValue* child_of(const JsonValue& value, const std::string& key) {
  if (value.kind == JsonKind::kObject) return value.find(key);
  if (value.kind != JsonKind::kArray) return nullptr;
  // An index is digits without a leading zero (RFC 6901); nine of them are enough for any array of ours.
  const std::optional<int> index = whole_number(key);
  if (!index || (key.size() > 1 && key[0] == '0')) return nullptr;
  const auto i = static_cast<std::size_t>(*index);
  return i < value.elements.size() ? &value.elements[i] : nullptr;
}

const JsonValue* at_pointer(const JsonValue& root, std::string_view pointer) {
  const std::optional<std::vector<std::string>> keys = pointer_keys(pointer);
  if (!keys) return nullptr;
  const JsonValue* value = &root;
  for (std::size_t i = 0; i < keys->size() && value != nullptr; ++i) value = child_of(*value, (*keys)[i]);
  return value;
}

void drop_citations(JsonValue& object, std::string_view pointer) {
  JsonValue* sources = object.find("sources");
  if (sources == nullptr) return;
  const std::string below = std::string(pointer) + "/";
  const auto covered = [&](const JsonMember& m) { return m.key == pointer || m.key.rfind(below, 0) == 0; };
  std::erase_if(sources->members, covered);
}

std::string pointer_part(std::string_view key) {
  std::string out = "/";
  for (char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string pointer_part(std::size_t index) { return fmt::format("/{}", index); }

}  // namespace accosim
