// toml++ reads TOML; its tables become the tree that JSON is read into.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <memory>
#include <utility>

#include "models/base/text.hpp"
#include "models/launch/config_text.hpp"

namespace accosim {
namespace {

/// Names with dots nest a table each, and toml++ takes them apart by recursion: a row of too many is refused before.
int line_of_a_deep_name(std::string_view text) {
  int line = 1, dots = 0;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{') dots = 0;
    if (c == '.' && ++dots >= kMaxJsonDepth) return line;
  }
  return 0;
}

class Converter {
 public:
  explicit Converter(const std::string& source) : file_(std::make_shared<const std::string>(source)) {}

  JsonValue value_of(const toml::node& node, int depth) {
    const JsonOrigin origin = place(node.source());
    if (++values_ > kMaxJsonValues) return refused(origin, fmt::format("has more than {} values", kMaxJsonValues));
    if (depth > kMaxJsonDepth) return refused(origin, fmt::format("is nested deeper than {}", kMaxJsonDepth));
    JsonValue value = json_object(origin);
    if (const toml::table* const table = node.as_table()) {
      for (const auto& [key, each] : *table)
        value.members.emplace_back(std::string(key.str()), place(key.source()), value_of(each, depth + 1));
    } else if (const toml::array* const array = node.as_array()) {
      value.kind = JsonKind::kArray;
      for (const toml::node& each : *array) value.elements.push_back(value_of(each, depth + 1));
    } else if (const auto text = node.value_exact<std::string>()) {
      return json_text(*text, origin);
    } else if (const auto boolean = node.value_exact<bool>()) {
      return json_bool(*boolean, origin);
    } else if (const auto whole = node.value_exact<std::int64_t>()) {
      value = JsonValue(*whole);
      value.origin = origin;
    } else if (const auto number = node.value_exact<double>()) {
      value = JsonValue(*number);
      value.origin = origin;
    } else {
      return json_text("a date", origin);
    }
    return value;
  }

  JsonOrigin place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }
  std::vector<std::string> errors{};

 private:
  JsonValue refused(const JsonOrigin& origin, const std::string& what) {
    if (errors.empty()) errors.push_back(fmt::format("{}: {}", text_of(origin), what));
    return {};
  }

  std::shared_ptr<const std::string> file_;
  int values_ = 0;
};

}  // namespace

JsonDocument parse_toml(std::string_view text, const std::string& source) {
  JsonDocument document;
  if (text.size() > kMostConfigBytes) {
    document.errors = {fmt::format("{}: is larger than {} bytes", source, kMostConfigBytes)};
  } else if (const int line = line_of_a_deep_name(text)) {
    document.errors = {fmt::format("{}:{}: is nested deeper than {}", source, line, kMaxJsonDepth)};
  } else {
    Converter converter(source);
    try {
      document.root = converter.value_of(toml::parse(text), 0);
      document.errors = std::move(converter.errors);
    } catch (const toml::parse_error& error) {
      document.errors = {
          fmt::format("{}: {}", text_of(converter.place(error.source())), printable(error.description(), 200))};
    }
  }
  document.whole = document.errors.empty();
  return document;
}

}  // namespace accosim
