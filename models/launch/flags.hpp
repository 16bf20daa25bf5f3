// What a launch line and the configuration files that it names say, as a trainer's rows have it. Arguments are read as
// Python's argparse takes them: "--name value ..." or "--name=value", the last of equal ones wins, and a beginning that
// is unique stands for the whole name. Keys of files are names with dots.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/draft.hpp"
#include "models/launch/shell_text.hpp"
#include "models/launch/trainer.hpp"

namespace accosim {

class Flags {
 public:
  Flags(const Trainer& trainer, Draft& draft);

  // What is added later wins.

  /// "--name value", "--name=value" and, where the trainer or `overrides` has it so, "name=value".
  void add_words(const std::vector<ShellText>& words, const std::string& prefix = "",
                 const std::shared_ptr<const std::string>& file = nullptr, bool overrides = false);
  /// A configuration file, which begins at that line of `file`. Its keys are looked up with `prefix` before them, and
  /// shown with `shown`.
  void add_tree(const JsonValue& root, const std::string& prefix, const std::shared_ptr<const std::string>& file,
                int first_line = 1, const std::string& shown = "");

  // Of `names`, a reader's, the first that is there; reading one counts it as taken. null is as if it was not there.

  /// Whether a row is about a name as the trainer has it.
  bool knows(const std::string& key) const;
  /// Whether the trainer's command line has "key=value".
  bool takes_keys() const { return trainer_.overrides; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool has_any(std::initializer_list<std::string_view> names) const;
  /// Its first value; empty without one.
  std::string value_of(std::string_view name) const;
  /// Whether it is there and no false.
  bool on(std::string_view name);
  std::optional<std::string> text(std::initializer_list<std::string_view> names);
  /// All its values, with blanks between them.
  std::optional<std::string> words(std::initializer_list<std::string_view> names);
  /// The same of a path, which may hold what only a run would know.
  std::optional<std::string> path(std::initializer_list<std::string_view> names);
  std::optional<double> number(std::initializer_list<std::string_view> names);
  /// 1 to 10,000,000. What is no such number is refused.
  std::optional<int> count(std::initializer_list<std::string_view> names);
  TextPlace place(std::initializer_list<std::string_view> names) const;
  /// As who wrote it, or would write it, has it: "--num-layers", "model.num_layers".
  std::string written(std::string_view name) const;
  /// What to add on the command line: "--with '--num-layers 32'".
  std::string with(std::string_view name, std::string_view value) const;

  /// All whose names begin so have no effect.
  void pass_over(std::string_view beginning);
  /// Each that nobody has read is passed over, told or refused, as the rows have it.
  void sort_unread();

 private:
  struct Meaning {
    std::string name;  ///< a reader's
    std::optional<std::string> value{};
  };
  struct Flag {
    std::string name;               ///< with "-" for "_"
    std::string written;            ///< "--micro-batch-size", "training.local_batch_size:"
    std::vector<ShellText> values;  ///< none of a bare argument
    TextPlace place;
    bool null = false, by_default = false, replaced = false;
    const TrainerRow* row = nullptr;
    std::vector<Meaning> meanings{};
    bool read = false;

    std::string text() const;
  };
  struct Found {
    Flag* flag;
    const Meaning* meaning;
  };
  /// One of a row's names.
  struct Pattern {
    std::string name, values;
    const TrainerRow* row;
  };

  std::string whole_name(std::string name) const;
  void add(Flag flag);
  std::optional<Found> find_meaning(std::string_view name) const;
  const Flag* find(std::string_view name) const;
  std::optional<Found> take(std::initializer_list<std::string_view> names);

  const Trainer& trainer_;
  Draft& draft_;
  std::vector<Pattern> patterns_;
  mutable std::vector<Flag> flags_;
  std::map<std::string, std::size_t> last_;  ///< of each name the flag that counts
};

}  // namespace accosim
