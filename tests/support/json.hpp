// JSON as a test looks at it: document["results"][0]["label"]. What is not there, or not of its kind, throws in words,
// and so fails the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/base/each.hpp"
#include "models/base/json.hpp"

namespace accosim {

class Json {
 public:
  Json() : Json(JsonValue()) {}
  explicit Json(JsonValue value) : value_(std::make_shared<const JsonValue>(std::move(value))) {}
  static Json parse(const std::string& text) {
    constexpr int kAnyNumber = std::numeric_limits<int>::max();  // traces have more than what people write
    JsonDocument document = parse_json(text, "the document", kAnyNumber);
    if (!document.errors.empty()) throw std::runtime_error(document.errors.front());
    return Json(std::move(document.root));
  }

  const JsonValue& value() const { return *value_; }
  double number() const { return of(JsonKind::kNumber).number; }
  std::int64_t integer() const { return std::stoll(of(JsonKind::kNumber).text); }
  const std::string& text() const { return of(JsonKind::kText).text; }
  bool is_null() const { return value_->kind == JsonKind::kNull; }
  bool contains(const std::string& key) const { return value_->find(key) != nullptr; }
  /// Of an array or an object.
  std::size_t size() const {
    return value_->kind == JsonKind::kObject ? value_->members.size() : of(JsonKind::kArray).elements.size();
  }

  Json at(const std::string& key) const {
    const JsonValue* member = of(JsonKind::kObject).find(key);
    if (member == nullptr) throw std::out_of_range("no " + key + " in " + dump_json(*value_));
    return part(*member);
  }
  Json operator[](const std::string& key) const { return at(key); }
  Json operator[](std::size_t index) const { return part(of(JsonKind::kArray).elements.at(index)); }
  Json back() const { return (*this)[size() - 1]; }
  std::vector<Json> elements() const {
    return mapped<Json>(of(JsonKind::kArray).elements, [this](const JsonValue& element) { return part(element); });
  }
  std::vector<std::pair<std::string, Json>> members() const {
    std::vector<std::pair<std::string, Json>> all;
    for (const JsonMember& member : of(JsonKind::kObject).members) all.emplace_back(member.key, part(member.value));
    return all;
  }
  std::vector<std::string> keys() const { return mapped<std::string>(of(JsonKind::kObject).members, &JsonMember::key); }

  /// Numbers by their values, members in their order.
  friend bool operator==(const Json& a, const Json& b) { return same(*a.value_, *b.value_); }
  /// json["ranks"] == 4, json["name"] == "acco".
  friend bool operator==(const Json& a, const JsonValue& b) { return same(*a.value_, b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json) { return out << dump_json(*json.value_); }

 private:
  Json part(const JsonValue& value) const {
    Json json = *this;
    json.value_ = std::shared_ptr<const JsonValue>(value_, &value);  // keeps the whole tree
    return json;
  }
  const JsonValue& of(JsonKind kind) const {
    if (value_->kind != kind) throw std::runtime_error(dump_json(*value_) + " is not " + noun_of(kind));
    return *value_;
  }
  static bool same(const JsonValue& a, const JsonValue& b) {
    if (a.kind != b.kind || a.boolean != b.boolean || a.number != b.number) return false;
    if (a.kind == JsonKind::kText && a.text != b.text) return false;
    if (a.elements.size() != b.elements.size() || a.members.size() != b.members.size()) return false;
    for (std::size_t i = 0; i < a.elements.size(); ++i)
      if (!same(a.elements[i], b.elements[i])) return false;
    for (std::size_t i = 0; i < a.members.size(); ++i)
      if (a.members[i].key != b.members[i].key || !same(a.members[i].value, b.members[i].value)) return false;
    return true;
  }

  std::shared_ptr<const JsonValue> value_;
};

}  // namespace accosim
