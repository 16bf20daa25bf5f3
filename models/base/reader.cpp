// One function a kind of value; each says in its error what the text would have to be.
#include "models/base/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

/// Nobody reads more, and a file of 100,000 wrong keys must not cost a minute of nearest names.
constexpr std::size_t kEnoughErrors = 1000;

template <class T>
bool contains(const std::vector<T>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

std::string as_written(const JsonValue& value) {
  if (value.kind == JsonKind::kText) return "the text " + in_quotes(value.text);
  if (value.kind == JsonKind::kNumber) return "the number " + printable(value.text, 40);
  if (value.kind == JsonKind::kBool) return value.boolean ? "true" : "false";
  return noun_of(value.kind);
}

std::string form_of(Range range, const char* noun) {
  const char* from = range.above ? "above" : "from";
  const char* to = range.above ? ", at most" : " to";
  return fmt::format("{} {} {}{} {}", noun, from, shortest(range.least), to, shortest(range.most));
}

/// Far beyond anything real, near enough that sums and products of what follows stay finite.
Range range_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime: return {0, 1e6};
    case Dimension::kData: return {0, 1e18};
    case Dimension::kBandwidth: return {1e3, 1e18};
    case Dimension::kCompute: return {1, 1e24};
    case Dimension::kPower: return {0, 1e9};
  }
  return {};
}

std::optional<double> value_of(const auto& quantity) {
  return quantity ? std::optional<double>(quantity->value) : std::nullopt;
}

}  // namespace

void Diagnostics::add(const JsonOrigin& origin, const std::string& pointer, const std::string& what) {
  std::string line = fmt::format("{}{}{}: {}", printable(text_of(origin), 300), pointer.empty() ? "" : " ",
                                 printable(pointer, 200), what);
  // Only the last ones can repeat a line: the tree is walked in one order. Looking at all would cost n^2.
  constexpr std::size_t kLast = 200;
  const std::size_t from = errors.size() > kLast ? errors.size() - kLast : 0;
  if (std::find(errors.begin() + static_cast<std::ptrdiff_t>(from), errors.end(), line) == errors.end()) {
    errors.push_back(std::move(line));
    places.emplace_back(pointer, what);
  }
}

bool Diagnostics::enough() const { return errors.size() > kEnoughErrors; }

const JsonOrigin& default_origin() {
  static const JsonOrigin kDefault = origin_named("default");
  return kDefault;
}

ObjectReader::ObjectReader(JsonValue& value, std::string pointer, Diagnostics& diagnostics)
    : value_(value), pointer_(std::move(pointer)), diagnostics_(diagnostics), object_(value.kind == JsonKind::kObject) {
  if (!object_ && !value.refused) {
    diagnostics_.add(value.origin, pointer_, fmt::format("is {}; write an object: {{...}}", as_written(value)));
  }
}

JsonValue* ObjectReader::find(std::string_view key) {
  if (!contains(known_, key)) known_.emplace_back(key);
  return value_.find(key);
}

bool ObjectReader::good(std::string_view key) const { return object_ && !contains(bad_, key); }

void ObjectReader::fail(std::string_view key, const std::string& what) {
  if (!contains(bad_, key)) bad_.emplace_back(key);
  const JsonValue* member = value_.find(key);
  if (member != nullptr && member->refused) return;
  if (member == nullptr) {
    // A key that is missing and one that is misspelt are one mistake, so they are one line.
    constexpr std::size_t kMostLookedAt = 1000;
    for (std::size_t i = 0; i < std::min(value_.members.size(), kMostLookedAt); ++i) {
      const JsonMember& other = value_.members[i];
      if (contains(known_, other.key) || nearest(other.key, {std::string(key)}).empty()) continue;
      known_.push_back(other.key);
      diagnostics_.add(other.origin, pointer(other.key), fmt::format("unknown key; did you mean \"{}\"?", key));
      return;
    }
  }
  const bool has_place = member != nullptr && text_of(member->origin) != "default";
  diagnostics_.add(has_place ? member->origin : value_.origin, pointer(key), what);
}

template <class Fallback, class Form>
JsonValue* ObjectReader::take(std::string_view key, bool optional, const Fallback& fallback, const Form& form) {
  if (!object_) return nullptr;
  if (JsonValue* member = find(key)) return member;
  if (optional) return &value_.set(key, fallback());
  fail(key, fmt::format("missing; write \"{}\": {}", key, form()));
  return nullptr;
}

namespace {

/// "1T" as a number that is written out: "1000000000000"; of "4k" both that it may mean. Empty for other texts.
std::string spelled_out(const std::string& text) {
  const std::optional<LeadingNumber> number = leading_number(text);
  if (!number || number->rest.size() != 1) return "";
  const std::pair<char, double> letters[] = {{'k', 1e3}, {'m', 1e6}, {'g', 1e9}, {'b', 1e9}, {'t', 1e12}};
  const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(number->rest.front())));
  for (const auto& [known, factor] : letters) {
    if (letter != known) continue;
    const std::string decimal = shortest(number->number * factor);
    return letter == 'k' ? decimal + " or " + shortest(number->number * 1024) : decimal;
  }
  return "";
}

}  // namespace

template <class Form>
bool ObjectReader::wrong_kind(std::string_view key, const JsonValue& value, JsonKind kind, const Form& form) {
  if (value.kind == kind) return false;
  const bool quoted_number = kind == JsonKind::kNumber && value.kind == JsonKind::kText && value.origin.line > 0;
  const std::string meant = kind == JsonKind::kNumber && value.kind == JsonKind::kText ? spelled_out(value.text) : "";
  fail(key, fmt::format("is {}; write {}{}{}", as_written(value), meant.empty() ? "" : meant + ", ", form(),
                        quoted_number && meant.empty() ? ", without quotes" : ""));
  return true;
}

std::string ObjectReader::text(std::string_view key, const std::optional<std::string>& fallback, std::size_t most) {
  const auto form = [] { return "a text"; };
  const auto usual = [&] { return json_text(fallback.value_or(""), default_origin()); };
  const JsonValue* member = take(key, fallback.has_value(), usual, form);
  if (member == nullptr || wrong_kind(key, *member, JsonKind::kText, form)) return fallback.value_or("");
  if (member->text.empty() && !(fallback && fallback->empty())) {
    fail(key, "is empty; write a text");
  } else if (member->text.size() > most) {
    fail(key, fmt::format("is {} bytes long; write at most {}", member->text.size(), most));
  } else if (printable(member->text, member->text.size()) != member->text) {
    fail(key, fmt::format("{} holds control characters; write one line of plain text", in_quotes(member->text)));
  }
  return good(key) ? member->text : fallback.value_or("");
}

double ObjectReader::number(std::string_view key, Range range, std::optional<double> fallback) {
  const auto form = [&] { return form_of(range, "a number"); };
  const auto usual = [&] { return json_number(fallback.value_or(0), default_origin()); };
  const JsonValue* member = take(key, fallback.has_value(), usual, form);
  const double harmless = fallback.value_or(range.most);
  if (member == nullptr || wrong_kind(key, *member, JsonKind::kNumber, form)) return harmless;
  if (range.holds(member->number)) return member->number;
  fail(key, fmt::format("is {}; write {}", printable(member->text, 40), form()));
  return harmless;
}

int ObjectReader::integer(std::string_view key, int least, int most, std::optional<int> fallback) {
  return static_cast<int>(whole(key, least, most, fallback));
}

double ObjectReader::whole(std::string_view key, double least, double most, std::optional<double> fallback) {
  const auto form = [&] { return fmt::format("a whole number from {:.0f} to {:.0f}", least, most); };
  const auto usual = [&] { return json_number(fallback.value_or(0), default_origin()); };
  const JsonValue* member = take(key, fallback.has_value(), usual, form);
  const double harmless = fallback.value_or(least);
  if (member == nullptr || wrong_kind(key, *member, JsonKind::kNumber, form)) return harmless;
  const double value = member->number;
  if (value == std::floor(value) && value >= least && value <= most) return value;
  fail(key, fmt::format("is {}; write {}", printable(member->text, 40), form()));
  return harmless;
}

std::vector<JsonValue*> ObjectReader::list(std::string_view key, std::size_t least, std::size_t most) {
  std::vector<JsonValue*> elements;
  if (!object_) return elements;
  JsonValue* member = find(key);
  if (member == nullptr) {
    if (least > 0) fail(key, fmt::format("missing; write \"{}\": a list", key));
    return elements;
  }
  if (wrong_kind(key, *member, JsonKind::kArray, [] { return "a list"; })) return elements;
  const std::size_t count = member->elements.size();
  if (count < least || count > most)
    fail(key, count == 0 ? "is empty; write a list of one element at least"
                         : fmt::format("has {} elements; write {} to {}", count, least, most));
  for (std::size_t i = 0; i < std::min(count, most); ++i) elements.push_back(&member->elements[i]);
  return elements;
}

std::vector<double> ObjectReader::numbers(std::string_view key, Range range, std::size_t most) {
  std::vector<double> out;
  std::size_t index = 0;
  for (const JsonValue* each : list(key, 0, most)) {
    const std::string at = pointer(key) + pointer_part(index++);
    if (each->kind == JsonKind::kNumber && range.holds(each->number)) {
      out.push_back(each->number);
      continue;
    }
    if (!contains(bad_, key)) bad_.emplace_back(key);
    const bool number = each->kind == JsonKind::kNumber;
    if (!each->refused)
      diagnostics_.add(each->origin, at,
                       fmt::format("is {}; write {}", number ? printable(each->text, 40) : as_written(*each),
                                   form_of(range, "a number")));
    if (diagnostics_.enough()) break;
  }
  return out;
}

bool ObjectReader::boolean(std::string_view key, std::optional<bool> fallback) {
  const auto form = [] { return "true or false"; };
  const auto usual = [&] { return json_bool(fallback.value_or(false), default_origin()); };
  const JsonValue* member = take(key, fallback.has_value(), usual, form);
  if (member == nullptr || wrong_kind(key, *member, JsonKind::kBool, form)) return fallback.value_or(false);
  return member->boolean;
}

double ObjectReader::quantity(std::string_view key, Dimension dimension, Range range, std::optional<double> fallback) {
  const double harmless = fallback.value_or(range.most);
  const auto usual = [&] { return json_text(print_quantity(*fallback, dimension), default_origin()); };
  if (!object_) return harmless;
  if (find(key) == nullptr && !fallback) {
    fail(key, "missing; " + how_to_write(dimension));
    return harmless;
  }
  const JsonValue* member = take(key, true, usual, [] { return ""; });
  if (member->kind != JsonKind::kText) {
    const bool bare = member->kind == JsonKind::kNumber;
    fail(key, fmt::format("is {}{}; {}", as_written(*member), bare ? " without a unit" : "", how_to_write(dimension)));
    return harmless;
  }
  const ParsedQuantity parsed = parse_quantity(member->text, dimension);
  if (!parsed.error.empty()) {
    fail(key, parsed.error);
    return harmless;
  }
  if (range.holds(parsed.value)) return parsed.value;
  fail(key, fmt::format("{} is out of range; write {} to {}", in_quotes(member->text),
                        print_quantity(range.least, dimension), print_quantity(range.most, dimension)));
  return harmless;
}

Seconds ObjectReader::seconds(std::string_view key, std::optional<Seconds> fallback) {
  return Seconds{quantity(key, Dimension::kTime, range_of(Dimension::kTime), value_of(fallback))};
}
Bytes ObjectReader::bytes(std::string_view key, std::optional<Bytes> fallback) {
  return Bytes{quantity(key, Dimension::kData, range_of(Dimension::kData), value_of(fallback))};
}
BytesPerSecond ObjectReader::bandwidth(std::string_view key, std::optional<BytesPerSecond> fallback) {
  return BytesPerSecond{quantity(key, Dimension::kBandwidth, range_of(Dimension::kBandwidth), value_of(fallback))};
}
FlopsPerSecond ObjectReader::compute(std::string_view key, std::optional<FlopsPerSecond> fallback) {
  return FlopsPerSecond{quantity(key, Dimension::kCompute, range_of(Dimension::kCompute), value_of(fallback))};
}
double ObjectReader::watts(std::string_view key, std::optional<double> fallback) {
  return quantity(key, Dimension::kPower, range_of(Dimension::kPower), fallback);
}

std::string ObjectReader::one_of(std::string_view key, const std::vector<std::string>& names,
                                 const std::string& fallback, const Advice& advice) {
  const auto form = [&] {
    std::string text = names.size() > 1 ? "one of: " : "";
    for (std::size_t i = 0; i < names.size(); ++i) text += (i > 0 ? ", " : "") + in_quotes(names[i], kAllOfIt);
    return text;
  };
  const auto usual = [&] { return json_text(fallback, default_origin()); };
  std::string harmless = fallback.empty() ? names.front() : fallback;
  const JsonValue* member = take(key, !fallback.empty(), usual, form);
  if (member == nullptr || wrong_kind(key, *member, JsonKind::kText, form)) return harmless;
  if (contains(names, member->text)) return member->text;
  const std::string meant = advice ? advice(member->text) : did_you_mean(member->text, names);
  fail(key, fmt::format("{} is not known; {}write {}", in_quotes(member->text), meant, form()));
  return harmless;
}

void ObjectReader::schema(const std::string& name) {
  const JsonValue* member = find("schema");
  if (member == nullptr || (member->kind == JsonKind::kText && member->text == name)) return;
  fail("schema", fmt::format("is {}; write \"{}\"", as_written(*member), name));
}

bool ObjectReader::has_unknown() const {
  return std::ranges::any_of(value_.members, [&](const JsonMember& member) { return !contains(known_, member.key); });
}

void ObjectReader::finish(const std::map<std::string, std::string>& notes,
                          const std::function<bool(const JsonMember&)>& passes) {
  if (!object_) return;
  for (const JsonMember& member : value_.members) {
    if (diagnostics_.enough()) return;
    if (contains(known_, member.key) || (passes && passes(member))) continue;
    const auto note = notes.find(member.key);
    diagnostics_.add(member.origin, pointer(member.key),
                     "unknown key" + (note != notes.end() ? "; " + note->second : hint(member.key, known_)));
  }
}

void ObjectReader::drop_unknown() {
  std::erase_if(value_.members, [&](const JsonMember& member) { return !contains(known_, member.key); });
}

}  // namespace accosim
