// libyaml gives events with places; the tree is built here, so that aliases cost no more than what they copy.
#include <fmt/format.h>
#include <yaml.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "models/launch/config_text.hpp"

namespace accosim {
namespace {

/// What a scalar without quotes is.
JsonValue resolved(const std::string& text, const JsonOrigin& origin) {
  const std::string small = lower(text);
  if (text.empty() || text == "~" || small == "null") {
    JsonValue none;
    none.origin = origin;
    return none;
  }
  for (const char* const yes : {"true", "yes", "on"})
    if (small == yes) return json_bool(true, origin);
  for (const char* const no : {"false", "no", "off"})
    if (small == no) return json_bool(false, origin);
  std::string digits = text;
  std::erase(digits, '_');
  const std::optional<double> number = finite_number(digits);
  if (!number) return json_text(text, origin);
  JsonValue value = json_number(*number, origin);
  value.text = text;
  return value;
}

class Builder {
 public:
  Builder(std::string_view text, const std::string& source) : file_(std::make_shared<const std::string>(source)) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Builder() { yaml_parser_delete(&parser_); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  JsonDocument build() {
    while (document_.errors.empty() && !ended_) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) {
        const yaml_mark_t& mark = parser_.problem_mark;
        wrong(mark, parser_.problem == nullptr ? "no YAML" : parser_.problem);
        break;
      }
      take(event);
      yaml_event_delete(&event);
    }
    document_.whole = document_.errors.empty();
    return std::move(document_);
  }

 private:
  /// A list or an object that is not whole yet.
  struct Open {
    JsonValue value;
    std::string anchor;
    std::optional<JsonMember> key;  ///< of an object: whose value is next
    std::vector<JsonValue> merged{};
  };

  JsonOrigin place(const yaml_mark_t& mark) const {
    return {file_, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
  }
  void wrong(const yaml_mark_t& mark, const std::string& what) {
    document_.errors.push_back(fmt::format("{}: {}", text_of(place(mark)), what));
  }
  static std::string text_or_none(const yaml_char_t* text) {
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
  }

  void take(const yaml_event_t& event) {
    const JsonOrigin origin = place(event.start_mark);
    switch (event.type) {
      case YAML_STREAM_END_EVENT: ended_ = true; break;
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(began_, true)) wrong(event.start_mark, "a second document begins; give a file with one");
        break;
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        const std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        put(plain ? resolved(text, origin) : json_text(text, origin), text, text_or_none(scalar.anchor), event, 1);
        break;
      }
      case YAML_ALIAS_EVENT: {
        const std::string name = text_or_none(event.data.alias.anchor);
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) return wrong(event.start_mark, fmt::format("nothing is called &{}", name));
        if (!count(event, found->second.second)) return;
        put(found->second.first, name, "", event, 0);
        break;
      }
      case YAML_SEQUENCE_START_EVENT:
      case YAML_MAPPING_START_EVENT: {
        if (open_.size() >= kMaxJsonDepth)
          return wrong(event.start_mark, fmt::format("is nested deeper than {}", kMaxJsonDepth));
        if (!count(event, 1)) return;
        const bool list = event.type == YAML_SEQUENCE_START_EVENT;
        Open open{json_object(origin),
                  text_or_none(list ? event.data.sequence_start.anchor : event.data.mapping_start.anchor),
                  {}};
        if (list) open.value.kind = JsonKind::kArray;
        open_.push_back(std::move(open));
        break;
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        Open done = std::move(open_.back());
        open_.pop_back();
        merge(done);
        put(std::move(done.value), "", done.anchor, event, 0);
        break;
      }
      default: break;
    }
  }

  /// What "<<" brings stands before an object's own members, which win.
  static void merge(Open& done) {
    std::vector<JsonMember> members;
    for (JsonValue& each : done.merged)
      std::move(each.members.begin(), each.members.end(), std::back_inserter(members));
    std::move(done.value.members.begin(), done.value.members.end(), std::back_inserter(members));
    done.value.members = std::move(members);
  }

  bool count(const yaml_event_t& event, int values) {
    values_ += values;
    if (values_ <= kMaxJsonValues) return true;
    wrong(event.start_mark, fmt::format("has more than {} values, aliases counted", kMaxJsonValues));
    return false;
  }

  /// A whole value, where it belongs. `text` is it as a key.
  void put(JsonValue value, const std::string& text, const std::string& anchor, const yaml_event_t& event, int values) {
    if (!count(event, values)) return;
    if (!anchor.empty()) {
      const int size = value.size();
      if (!count(event, size)) return;
      anchors_[anchor] = {value, size};
    }
    if (open_.empty()) {
      document_.root = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == JsonKind::kArray) {
      parent.value.elements.push_back(std::move(value));
    } else if (!parent.key) {
      if (value.kind == JsonKind::kArray || value.kind == JsonKind::kObject)
        return wrong(event.start_mark, "a key is a list or an object; write a name");
      parent.key.emplace(text, value.origin, JsonValue());
    } else {
      const JsonMember key = *std::exchange(parent.key, std::nullopt);
      if (key.key != "<<")
        parent.value.members.emplace_back(key.key, key.origin, std::move(value));
      else if (value.kind == JsonKind::kArray)
        std::move(value.elements.rbegin(), value.elements.rend(), std::back_inserter(parent.merged));
      else
        parent.merged.push_back(std::move(value));
    }
  }

  std::shared_ptr<const std::string> file_;
  yaml_parser_t parser_{};
  JsonDocument document_{};
  std::vector<Open> open_;
  std::map<std::string, std::pair<JsonValue, int>> anchors_;
  int values_ = 0;
  bool began_ = false, ended_ = false;
};

}  // namespace

JsonDocument parse_yaml(std::string_view text, const std::string& source) {
  JsonDocument document;
  if (text.size() <= kMostConfigBytes) return Builder(text, source).build();
  document.errors = {fmt::format("{}: is larger than {} bytes", source, kMostConfigBytes)};
  return document;
}

bool is_config_name(std::string_view path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".toml");
}

JsonDocument parse_config(std::string_view text, const std::string& path, const std::string& source) {
  if (path.ends_with(".toml")) return parse_toml(text, source);
  return is_config_name(path) ? parse_yaml(text, source) : parse_json(text, source);
}

}  // namespace accosim
