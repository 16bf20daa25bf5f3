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

/// Quotes that a variable's text has kept.
std::string without_quotes(std::string text) {
  if (text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::string whole_name(std::string name, const std::vector<std::string_view>& known) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  std::vector<std::string_view> begun;
  for (const std::string_view each : known)
    if (each.starts_with(name)) begun.push_back(each);
  return begun.size() == 1 ? std::string(begun.front()) : name;
}

}  // namespace

std::string Flag::text() const {
  std::string all = "--" + name;
  for (const ShellText& value : values) all += " " + value.text;
  return all;
}

Flags::Flags(const std::vector<ShellText>& words, std::span<const std::string_view> read, const FlagLists& lists,
             Draft& draft)
    : lists_(lists), draft_(draft) {
  std::vector<std::string_view> known(read.begin(), read.end());
  const auto add = [&](std::string_view name) {
    if (!name.ends_with('-')) known.push_back(name);
  };
  for (const std::string_view name : lists.without_effect) add(name);
  for (const std::span<const FlagRow> rows : {lists.unmodelled, lists.refused})
    for (const FlagRow& row : rows) add(row.name);
  for (const ShellText& word : words) {
    const std::string text = without_quotes(word.text);
    if (!is_flag(text)) {
      if (!flags_.empty() && !text.empty()) flags_.back().values.push_back({text, word.unknown, word.line});
      continue;
    }
    const std::size_t equals = text.find('=');
    const std::string name =
        text.substr(text.starts_with("--") ? 2 : 1,
                    equals == std::string::npos ? equals : equals - (text.starts_with("--") ? 2 : 1));
    flags_.push_back({whole_name(name, known), {}, word.line});
    if (equals != std::string::npos)
      flags_.back().values.push_back({without_quotes(text.substr(equals + 1)), word.unknown, word.line});
  }
}

const Flag* Flags::find(std::string_view name) const {
  const auto last = std::find_if(flags_.rbegin(), flags_.rend(), [&](const Flag& each) { return each.name == name; });
  return last == flags_.rend() ? nullptr : &*last;
}

Flag* Flags::take(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Flag* const found = find(name);
    if (found == nullptr) continue;
    for (Flag& each : flags_)
      if (each.name == name && !std::exchange(each.read, true) && &each == found) draft_.taken(each.line, each.text());
    return &flags_[static_cast<std::size_t>(found - flags_.data())];
  }
  return nullptr;
}

int Flags::line(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (const Flag* const found = find(name)) return found->values.empty() ? found->line : found->values.front().line;
  return 0;
}

bool Flags::on(std::string_view name) {
  const Flag* const flag = take({name});
  return flag != nullptr && (flag->values.empty() || lower(flag->values.front().text) != "false");
}

std::optional<std::string> Flags::text(std::initializer_list<std::string_view> names) {
  const Flag* const flag = take(names);
  if (flag == nullptr) return {};
  if (flag->values.empty()) {
    draft_.refuse(flag->line, fmt::format("--{} has no value; write one behind it", flag->name));
    return {};
  }
  const ShellText& value = flag->values.front();
  if (!value.unknown.empty()) {
    draft_.refuse(value.line, fmt::format("--{} is {}, which only a run would know; add --with '--{} VALUE'",
                                          flag->name, value.unknown, flag->name));
    return {};
  }
  return value.text;
}

std::optional<std::string> Flags::path(std::initializer_list<std::string_view> names) {
  const Flag* const flag = take(names);
  return flag == nullptr || flag->values.empty() ? std::nullopt : std::optional(flag->values.front().text);
}

std::optional<double> Flags::number(std::initializer_list<std::string_view> names) {
  const int at = line(names);
  const std::optional<std::string> text = this->text(names);
  if (!text) return {};
  std::string digits = *text;
  std::erase(digits, '_');
  const std::optional<double> number = finite_number(digits);
  if (!number) draft_.refuse(at, fmt::format("--{} is {}; write a number", *names.begin(), in_quotes(*text)));
  return number;
}

std::optional<int> Flags::count(std::initializer_list<std::string_view> names) {
  const int at = line(names);
  const std::optional<double> value = number(names);
  if (!value) return {};
  constexpr double kMost = 1e7;  // so that products of two fit
  if (*value >= 1 && *value <= kMost && *value == std::floor(*value)) return static_cast<int>(*value);
  draft_.refuse(at,
                fmt::format("--{} is {}; write a whole number from 1 to 10,000,000", *names.begin(), shortest(*value)));
  return {};
}

std::string Flags::value_of(std::string_view name) const {
  const Flag* const flag = find(name);
  return flag == nullptr || flag->values.empty() ? "" : flag->values.front().text;
}

void Flags::pass_over(std::string_view beginning) {
  for (Flag& flag : flags_)
    if (!flag.read && flag.name.starts_with(beginning)) {
      flag.read = true;
      draft_.without_effect(flag.line, flag.text());
    }
}

void Flags::sort_unread() {
  for (const Flag& flag : flags_) {
    if (flag.read) continue;
    const auto is = [&](std::string_view name) {
      return name.ends_with('-') ? flag.name.starts_with(name) : flag.name == name;
    };
    const auto row_of = [&](std::span<const FlagRow> rows) {
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const FlagRow& each) { return is(each.name); });
      return row == rows.end() ? nullptr : &*row;
    };
    const std::string value = flag.values.empty() ? "" : flag.values.front().text;
    const FlagRow *const refused = row_of(lists_.refused), *const unmodelled = row_of(lists_.unmodelled);
    const bool harmless = refused != nullptr && !refused->harmless.empty() && value == refused->harmless;
    if (refused != nullptr && !harmless)
      draft_.refuse(flag.line, fmt::format("{}: {}", flag.text(), refused->what));
    else if (unmodelled != nullptr)
      draft_.not_modelled(flag.line, fmt::format("{}: {}", flag.text(), unmodelled->what));
    else if (harmless || std::any_of(lists_.without_effect.begin(), lists_.without_effect.end(), is))
      draft_.without_effect(flag.line, flag.text());
    else
      draft_.not_modelled(flag.line, fmt::format("{}: not known here; what it changes is not counted", flag.text()));
  }
}

}  // namespace accosim
