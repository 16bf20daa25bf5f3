// Documents made of values and written as programs write them: what goes out is the same to the byte whoever writes it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/json.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

void put_escape(std::string& out, char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
      out += "\\u00";  // up to U+00FF
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

/// Control characters are escaped beyond what JSON asks for, since a document may be shown on a terminal: U+007F, and
/// U+0080 to U+009F, which begin with the byte C2.
void put_text(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool c1 = c == '\xC2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (c1) {
      put_escape(out, text[++at]);
    } else if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == '\x7F') {
      put_escape(out, c);
    } else {
      out += c;
    }
  }
  out += '"';
}

/// How a tree is laid out.
struct Layout {
  int indent = -1;        ///< blanks a level, each value on a line of its own; negative: everything on one line
  bool spaced = false;    ///< on one line, with a blank behind each comma and colon
  std::size_t width = 0;  ///< columns in which what is flat stays on one line; 0: nothing does

  void line(std::string& out, int level) const {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  }
  const char* comma() const { return spaced ? ", " : ","; }
  const char* colon() const { return indent < 0 && !spaced ? ":" : ": "; }
};

bool is_scalar(const JsonValue& value) { return value.kind != JsonKind::kArray && value.kind != JsonKind::kObject; }

/// Small enough for one line: scalars, or arrays of scalars inside arrays.
bool is_flat(const JsonValue& value) {
  if (value.kind == JsonKind::kArray) {
    return value.elements.size() <= 64 && std::ranges::all_of(value.elements, [](const auto& v) {
             return is_scalar(v) || (v.kind == JsonKind::kArray && is_flat(v));
           });
  }
  return value.members.size() <= 6 &&
         std::ranges::all_of(value.members, [](const JsonMember& m) { return is_scalar(m.value); });
}

void put(std::string& out, const JsonValue& value, const Layout& layout, int level) {
  const bool array = value.kind == JsonKind::kArray;
  const std::size_t count = array ? value.elements.size() : value.members.size();
  switch (value.kind) {
    case JsonKind::kNull: out += "null"; return;
    case JsonKind::kBool: out += value.boolean ? "true" : "false"; return;
    case JsonKind::kNumber: out += value.text; return;
    case JsonKind::kText: out += quoted_json(value.text); return;
    case JsonKind::kArray:
    case JsonKind::kObject: break;
  }
  if (layout.width > 0 && is_flat(value)) {
    std::string line;
    put(line, value, {.spaced = true}, 0);
    const std::size_t used = out.size() - (out.rfind('\n') + 1);  // which wraps to 0 where there is no line before
    if (used + line.size() <= layout.width) {
      out += line;
      return;
    }
  }
  out += array ? '[' : '{';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += layout.comma();
    layout.line(out, level + 1);
    if (!array) out += quoted_json(value.members[i].key) + layout.colon();
    put(out, array ? value.elements[i] : value.members[i].value, layout, level + 1);
  }
  if (count > 0) layout.line(out, level);
  out += array ? ']' : '}';
}

}  // namespace

JsonValue::JsonValue(double value) {
  if (!std::isfinite(value)) return;
  kind = JsonKind::kNumber;
  number = value;
  text = digits_json(value);
}

JsonValue::JsonValue(std::string value) : kind(JsonKind::kText), text(std::move(value)) {}

JsonValue::JsonValue(const char* value) : JsonValue(std::string(value)) {}

JsonValue::JsonValue(std::vector<JsonValue> values) : kind(JsonKind::kArray), elements(std::move(values)) {}

JsonValue json_object(std::initializer_list<JsonMember> members) {
  JsonValue value;
  value.kind = JsonKind::kObject;
  value.members = members;
  return value;
}

std::string quoted_json(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  if (first_invalid_utf8(text) == text.size()) {
    put_text(out, text);
  } else {
    put_text(out, valid_utf8(text));
  }
  return out;
}

std::string dump_json(const JsonValue& value, int indent) {
  std::string out;
  put(out, value, {.indent = indent}, 0);
  return out;
}

std::string write_json(const JsonValue& value) {
  constexpr std::size_t kColumns = 110;
  std::string out;
  put(out, value, {.indent = 2, .width = kColumns}, 0);
  return out;
}

}  // namespace accosim
