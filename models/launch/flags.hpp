// The arguments of a trainer, as Python's argparse takes them: "--name value ..." or "--name=value", the last of equal
// ones wins, and a beginning that is unique stands for the whole name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/draft.hpp"
#include "models/launch/shell.hpp"

namespace accosim {

struct Flag {
  std::string name;  ///< without "--", with "-" for "_"
  std::vector<ShellText> values{};
  int line = 0;
  bool read = false;

  std::string text() const;  ///< as it is written
};

/// An argument, or all whose names begin with it where it ends in "-".
struct FlagRow {
  std::string_view name;
  const char* what;                ///< it would change, or why it is refused
  std::string_view harmless = "";  ///< a value that switches it off
};

/// What is known of a trainer's arguments beside those that are read.
struct FlagLists {
  std::span<const std::string_view> without_effect;  ///< on the time of a step; "-" at an end as above
  std::span<const FlagRow> unmodelled, refused;
};

class Flags {
 public:
  /// A beginning of a name may stand for it where no other name of `read` or of the lists begins so.
  Flags(const std::vector<ShellText>& words, std::span<const std::string_view> read, const FlagLists& lists,
        Draft& draft);

  // Of `names` the first that is there; reading one counts it as taken.

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Its first value; empty without one.
  std::string value_of(std::string_view name) const;
  int line_of(std::string_view name) const { return has(name) ? find(name)->line : 0; }
  /// Whether a flag without a value is there.
  bool on(std::string_view name);
  std::optional<std::string> text(std::initializer_list<std::string_view> names);
  /// The same of a path, which may hold what only a run would know.
  std::optional<std::string> path(std::initializer_list<std::string_view> names);
  std::optional<double> number(std::initializer_list<std::string_view> names);
  /// 1 to 10,000,000. What is no such number is refused.
  std::optional<int> count(std::initializer_list<std::string_view> names);
  int line(std::initializer_list<std::string_view> names) const;

  /// All whose names begin so have no effect.
  void pass_over(std::string_view beginning);
  /// Each flag that nobody has read is passed over, told or refused, as the lists have it.
  void sort_unread();

 private:
  const Flag* find(std::string_view name) const;
  Flag* take(std::initializer_list<std::string_view> names);

  std::vector<Flag> flags_;
  FlagLists lists_;
  Draft& draft_;
};

}  // namespace accosim
