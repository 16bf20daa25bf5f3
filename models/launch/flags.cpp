#include "models/launch/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "models/base/text.hpp"

namespace accosim {
namespace {

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

/// Where the "=" of "name=value" is; npos where the word is none.
std::size_t override_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  const bool is_name = equals != 0 && equals != std::string::npos &&
                       std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+';
                       });
  return is_name ? equals : std::string::npos;
}

/// Quotes that a variable's text has kept.
std::string without_quotes(std::string text) {
  if (text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::string dashed(std::string_view name) {
  std::string all(name);
  std::replace(all.begin(), all.end(), '_', '-');
  return all;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// "name=value", or a name alone.
std::pair<std::string, std::optional<std::string>> halves(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {dashed(text), std::nullopt};
  return {dashed(text.substr(0, equals)), text.substr(equals + 1)};
}

bool is_begin(std::string_view name) { return name.ends_with('-') || name.ends_with('.'); }

bool is_off(const std::vector<ShellText>& values) {
  if (values.empty()) return false;
  const std::string value = lower(values.front().text);
  for (const char* const off : {"false", "none", "null", "no", "off", "0", "0.0", ""})
    if (value == off) return true;
  return false;
}

/// What follows the name of what is not modelled.
std::string rest_of(const TrainerRow& row) {
  const bool named = row.what.ends_with(" is") || row.what.ends_with(" are");
  return !named            ? ""
         : row.off.empty() ? " not modelled yet; leave it out"
                           : fmt::format(" not modelled yet; write {}", row.off);
}

}  // namespace

std::string Flags::Flag::text() const {
  std::string all = written;
  for (const ShellText& value : values) all += " " + value.text;
  return all;
}

Flags::Flags(const Trainer& trainer, Draft& draft) : trainer_(trainer), draft_(draft) {
  for (const std::span<const TrainerRow> rows : trainer.rows)
    for (const TrainerRow& row : rows)
      for (const std::string& each : split(row.names, ' ')) {
        auto [name, values] = halves(each);
        patterns_.push_back({std::move(name), values ? "|" + lower(*values) + "|" : "", &row});
      }
  for (const std::string& each : split(trainer.defaults, ' ')) {
    auto [name, value] = halves(each);
    add({name, each.substr(0, each.find('=')), {{value.value_or("true"), "", 0}}, 0});
    flags_.back().by_default = true;
  }
}

std::string Flags::whole_name(std::string name) const {
  std::vector<std::string_view> begun;
  for (const Pattern& each : patterns_) {
    if (each.name == name) return name;
    if (!is_begin(each.name) && each.name.starts_with(name) && std::ranges::find(begun, each.name) == begun.end())
      begun.emplace_back(each.name);
  }
  return begun.size() == 1 ? std::string(begun.front()) : name;
}

void Flags::add(Flag flag) {
  for (const auto& [from, to] : trainer_.beginnings)
    if (flag.name.starts_with(from)) {
      flag.name = std::string(to) + flag.name.substr(from.size());
      break;
    }
  const std::string value = "|" + lower(flag.values.empty() ? "true" : flag.values.front().text) + "|";
  const auto fits = [&](const Pattern& each) {
    const bool below = each.row->use != KeyUse::kTaken && flag.name.starts_with(each.name) &&
                       flag.name.substr(each.name.size()).starts_with('.');
    return (is_begin(each.name) ? flag.name.starts_with(each.name) : flag.name == each.name || below) &&
           (each.values.empty() || each.values.find(value) != std::string::npos);
  };
  const auto found = std::ranges::find_if(patterns_, fits);
  if (found != patterns_.end()) {
    flag.row = found->row;
    const bool taken = flag.row->use == KeyUse::kTaken;
    if (taken && flag.row->what.empty()) flag.meanings.push_back({flag.name});
    if (taken)
      for (const std::string& each : split(flag.row->what, ' ')) {
        auto [name, fixed] = halves(each);
        flag.meanings.push_back({std::move(name), std::move(fixed)});
      }
  }
  const auto [last, first_of_its_name] = last_.try_emplace(flag.name, flags_.size());
  if (!first_of_its_name) flags_[std::exchange(last->second, flags_.size())].replaced = true;
  flags_.push_back(std::move(flag));
}

bool Flags::knows(const std::string& key) const {
  Flags one(trainer_, draft_);
  one.add({dashed(key), key, {}, 0});
  return one.flags_.back().row != nullptr;
}

void Flags::add_words(const std::vector<ShellText>& words, const std::string& prefix,
                      const std::shared_ptr<const std::string>& file, bool overrides) {
  std::vector<Flag> flags;
  for (const ShellText& word : words) {
    const std::string text = without_quotes(word.text);
    const bool flag = is_flag(text);
    const std::size_t equals = flag                              ? text.find('=')
                               : overrides || trainer_.overrides ? override_of(text)
                                                                 : std::string::npos;
    if (!flag && equals == std::string::npos) {
      if (!flags.empty() && !text.empty()) flags.back().values.push_back({text, word.unknown, word.line});
      continue;
    }
    const std::string written = text.substr(0, equals);
    const std::string name = dashed(written.substr(std::min(written.find_first_not_of("-+"), written.size())));
    flags.push_back({prefix + (flag && prefix.empty() ? whole_name(name) : name),
                     flag ? written : written + " =",
                     {},
                     {word.line, file}});
    if (equals != std::string::npos)
      flags.back().values.push_back({without_quotes(text.substr(equals + 1)), word.unknown, word.line});
  }
  for (Flag& flag : flags) {
    if (!flag.values.empty()) {
      flag.place.line = flag.values.front().line;
      const std::string value = lower(flag.values.front().text);
      flag.null = value == "null" || (value == "none" && trainer_.overrides);
    }
    add(std::move(flag));
  }
}

void Flags::add_tree(const JsonValue& root, const std::string& prefix, const std::shared_ptr<const std::string>& file,
                     int first_line, const std::string& shown) {
  const auto scalar = [](const JsonValue& value) {
    const std::string text = value.kind == JsonKind::kBool ? (value.boolean ? "true" : "false") : value.text;
    return ShellText{text, text.find("${") != std::string::npos ? text : "", value.origin.line};
  };
  for (const JsonMember& member : root.members) {
    const JsonValue& value = member.value;
    const std::string name = prefix + member.key;
    const bool nested = std::ranges::any_of(value.elements, [](const JsonValue& each) {
      return each.kind == JsonKind::kObject || each.kind == JsonKind::kArray;
    });
    if (value.kind == JsonKind::kObject && !value.members.empty()) {
      add_tree(value, name + ".", file, first_line, shown + member.key + ".");
      continue;
    }
    Flag flag{dashed(name), shown + member.key + ":", {}, {first_line + member.origin.line - 1, file}};
    if (nested)
      flag.values.push_back({fmt::format("a list of {}", value.elements.size()), "", 0});
    else if (value.kind == JsonKind::kArray)
      for (const JsonValue& each : value.elements) flag.values.push_back(scalar(each));
    else
      flag.values.push_back(scalar(value));
    // In DeepSpeed's configuration "auto" leaves a value to the Trainer.
    flag.null = value.kind == JsonKind::kNull || value.kind == JsonKind::kObject || flag.values.empty() ||
                (prefix.starts_with(kDeepspeedKeys) && value.text == "auto");
    add(std::move(flag));
  }
}

std::optional<Flags::Found> Flags::find_meaning(std::string_view name) const {
  for (auto flag = flags_.rbegin(); flag != flags_.rend(); ++flag)
    for (const Meaning& meaning : flag->meanings)
      if (meaning.name == name && !flag->replaced)
        return flag->null ? std::nullopt : std::optional<Found>({&*flag, &meaning});
  return {};
}

const Flags::Flag* Flags::find(std::string_view name) const {
  const std::optional<Found> found = find_meaning(name);
  return found ? found->flag : nullptr;
}

std::optional<Flags::Found> Flags::take(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::optional<Found> found = find_meaning(name);
    if (!found) continue;
    for (Flag& each : flags_) {
      const bool same = &each == found->flag ||
                        std::ranges::any_of(each.meanings, [&](const Meaning& own) { return own.name == name; });
      if (!same || std::exchange(each.read, true) || &each != found->flag || each.by_default) continue;
      draft_.taken(each.place, each.text());
      if (!each.row->but.empty()) draft_.not_modelled(each.place, fmt::format("{}: {}", each.text(), each.row->but));
    }
    return found;
  }
  return {};
}

bool Flags::has_any(std::initializer_list<std::string_view> names) const {
  return std::ranges::any_of(names, [&](std::string_view name) { return has(name); });
}

TextPlace Flags::place(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (const Flag* const found = find(name)) return found->place;
  return {};
}

std::string Flags::value_of(std::string_view name) const {
  const std::optional<Found> found = find_meaning(name);
  if (!found) return "";
  if (found->meaning->value) return *found->meaning->value;
  return found->flag->values.empty() ? "" : found->flag->values.front().text;
}

bool Flags::on(std::string_view name) {
  const std::optional<Found> found = take({name});
  if (!found) return false;
  return found->meaning->value ? !is_off({{*found->meaning->value, "", 0}}) : !is_off(found->flag->values);
}

std::string Flags::written(std::string_view name) const {
  std::string own(name);
  bool is_key = false;
  if (const Flag* const flag = find(name)) {
    own = flag->written;
    is_key = !own.starts_with('-');
    own = own.substr(own.find_first_not_of('-'));
    own = own.substr(0, own.find_last_not_of(" :=") + 1);
  } else {
    is_key = trainer_.overrides;
    const auto row = std::ranges::find_if(patterns_, [&](const Pattern& each) {
      return each.row->use == KeyUse::kTaken && each.values.empty() &&
             (each.row->what == name || (each.row->what.empty() && each.name == name));
    });
    if (row != patterns_.end() && !row->row->what.empty()) own = row->row->names.substr(0, row->row->names.find(' '));
    if (is_key || trainer_.reader == TrainerReader::kTorch) std::replace(own.begin(), own.end(), '-', '_');
  }
  return is_key ? own : "--" + own;
}

std::string Flags::with(std::string_view name, std::string_view value) const {
  const std::string own = written(name);
  return fmt::format("--with '{}{}{}'", own, own.starts_with("--") ? ' ' : '=', value);
}

std::optional<std::string> Flags::text(std::initializer_list<std::string_view> names) {
  const std::optional<Found> found = take(names);
  if (!found) return {};
  if (found->meaning->value) return found->meaning->value;
  const Flag& flag = *found->flag;
  if (flag.values.empty()) {
    draft_.refuse(flag.place, fmt::format("{} has no value; write one behind it", flag.written));
    return {};
  }
  const ShellText& value = flag.values.front();
  if (value.unknown.empty()) return value.text;
  draft_.refuse(flag.place, fmt::format("{} is {}, which only a run would know; add {}", written(found->meaning->name),
                                        value.unknown, with(found->meaning->name, "VALUE")));
  return {};
}

std::optional<std::string> Flags::words(std::initializer_list<std::string_view> names) {
  std::optional<std::string> all = text(names);
  if (!all) return {};
  const Found found = *take(names);
  for (std::size_t i = 1; i < found.flag->values.size(); ++i) *all += " " + found.flag->values[i].text;
  return all;
}

std::optional<std::string> Flags::path(std::initializer_list<std::string_view> names) {
  const std::optional<Found> found = take(names);
  return !found || found->flag->values.empty() ? std::nullopt : std::optional(found->flag->values.front().text);
}

std::optional<double> Flags::number(std::initializer_list<std::string_view> names) {
  const std::optional<std::string> text = this->text(names);
  if (!text) return {};
  std::string digits = *text;
  std::erase(digits, '_');
  const std::optional<double> number = finite_number(digits);
  const Found found = *take(names);
  if (!number)
    draft_.refuse(found.flag->place, fmt::format("{} is {}; write a number, such as {}", written(found.meaning->name),
                                                 in_quotes(*text), with(found.meaning->name, "1")));
  return number;
}

std::optional<int> Flags::count(std::initializer_list<std::string_view> names) {
  const std::optional<double> value = number(names);
  if (!value) return {};
  constexpr double kMost = 1e7;  // so that products of two fit
  if (*value >= 1 && *value <= kMost && *value == std::floor(*value)) return static_cast<int>(*value);
  const Found found = *take(names);
  draft_.refuse(found.flag->place, fmt::format("{} is {}; write a whole number from 1 to 10,000,000",
                                               written(found.meaning->name), shortest(*value)));
  return {};
}

void Flags::pass_over(std::string_view beginning) {
  for (Flag& flag : flags_)
    if (!flag.read && flag.name.starts_with(beginning)) {
      flag.read = true;
      draft_.without_effect(flag.place, flag.text());
    }
}

void Flags::sort_unread() {
  for (const Flag& flag : flags_) {
    const bool refused = flag.row != nullptr && flag.row->use == KeyUse::kRefused;
    if (flag.read || (flag.by_default && (flag.replaced || !refused))) continue;
    const bool off = flag.replaced || flag.null || is_off(flag.values) ||
                     (flag.row != nullptr && !flag.row->off.empty() && !flag.values.empty() &&
                      lower(flag.values.front().text) == lower(flag.row->off));
    if (flag.row == nullptr && !flag.null)
      draft_.not_known(flag.place, flag.text());
    else if (off || flag.row == nullptr || flag.row->use == KeyUse::kTaken || flag.row->use == KeyUse::kNoEffect)
      draft_.without_effect(flag.place, flag.text());
    else if (refused)
      draft_.refuse(flag.place, fmt::format("{}: {}{}", flag.text(), flag.row->what, rest_of(*flag.row)));
    else
      draft_.not_modelled(flag.place, fmt::format("{}: {}", flag.text(), flag.row->what));
  }
}

}  // namespace accosim
