// OmegaConf's "${...}": the values of other keys, and a few functions of them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/base/text.hpp"
#include "models/launch/config_text.hpp"

namespace accosim {
namespace {

constexpr int kMostDeep = 20, kMostLookups = 20'000;
constexpr std::size_t kMostText = 10'000;

using Path = std::vector<std::string>;

class Interpolation {
 public:
  explicit Interpolation(const JsonValue& root) : root_(root) {}

  void apply(JsonValue& value, Path& parent) {
    for (JsonValue& each : value.elements) apply(each, parent);
    for (JsonMember& each : value.members) {
      const bool nested = each.value.kind == JsonKind::kObject;
      if (nested) parent.push_back(each.key);
      apply(each.value, parent);
      if (nested) parent.pop_back();
    }
    if (value.kind != JsonKind::kText || value.text.find("${") == std::string::npos) return;
    const std::optional<std::string> text = resolved(value.text, parent, 0);
    if (!text) return;
    if (*text == "null") value.kind = JsonKind::kNull;
    value.text = *text;
  }

 private:
  /// Nothing where a part is not known.
  std::optional<std::string> resolved(std::string_view text, const Path& parent, int deep) {
    if (deep > kMostDeep || ++lookups_ > kMostLookups || text.size() > kMostText) return {};
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
      if (!text.substr(at).starts_with("${")) {
        all += text[at++];
        continue;
      }
      std::size_t end = at + 2;
      for (int open = 1; end < text.size() && open > 0; ++end) open += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      const std::optional<std::string> part = value_of(text.substr(at + 2, end - at - 3), parent, deep + 1);
      if (!part) return {};
      all += *part;
      at = end;
    }
    return all.size() > kMostText ? std::nullopt : std::optional(all);
  }

  /// Of "name", ".name", "multiply:4, ${.name}".
  std::optional<std::string> value_of(std::string_view inside, const Path& parent, int deep) {
    const std::optional<std::string> plain = resolved(inside, parent, deep);
    if (!plain) return {};
    const std::size_t colon = plain->find(':');
    if (colon != std::string::npos) return function(plain->substr(0, colon), plain->substr(colon + 1));
    Path path;
    std::string_view name = trimmed(*plain);
    if (name.starts_with('.')) {
      path = parent;
      for (name.remove_prefix(1); name.starts_with('.') && !path.empty(); name.remove_prefix(1)) path.pop_back();
    } else if (name.starts_with("training.") && root_.find("training") == nullptr) {
      name.remove_prefix(9);  // where NeMo's launcher puts the file
    }
    while (!name.empty()) {
      const std::size_t dot = std::min(name.find('.'), name.size());
      path.emplace_back(name.substr(0, dot));
      name.remove_prefix(std::min(dot + 1, name.size()));
    }
    const JsonValue* value = &root_;
    for (const std::string& each : path) value = value == nullptr ? nullptr : value->find(each);
    if (value == nullptr || value->kind == JsonKind::kArray || value->kind == JsonKind::kObject) return {};
    if (value->kind == JsonKind::kNull) return "null";
    if (value->kind == JsonKind::kBool) return value->boolean ? "true" : "false";
    if (!path.empty()) path.pop_back();
    return resolved(value->text, path, deep);
  }

  static std::optional<std::string> function(const std::string& name, const std::string& arguments) {
    const std::size_t comma = arguments.find(',');
    if (comma == std::string::npos) return {};
    const std::string second(trimmed(arguments.substr(comma + 1)));
    if (name == "oc.env" || name == "env") return second;  // its default
    const std::optional<double> a = finite_number(trimmed(arguments.substr(0, comma))), b = finite_number(second);
    if (!a || !b) return {};
    if (name == "multiply" || name == "mult") return shortest(*a * *b);
    if ((name == "divide" || name == "div") && *b != 0) return shortest(std::floor(*a / *b));
    if (name == "add" || name == "sum") return shortest(*a + *b);
    return {};
  }

  const JsonValue& root_;
  int lookups_ = 0;
};

}  // namespace

void interpolate(JsonValue& root) {
  const JsonValue before = root;
  Path parent;
  Interpolation(before).apply(root, parent);
}

}  // namespace accosim
