// A scenario while it is made from a launch line: what was taken and from which line, what was passed over, and what
// is wrong.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/base/json.hpp"

namespace accosim {

/// Where something is said. Line 0: nobody says so, and it is what the framework then does.
struct TextPlace {
  int line = 0;
  std::shared_ptr<const std::string> file{};  ///< nullptr: the script, or the file that was given in its place

  TextPlace(int of_line = 0) : line(of_line) {}  // NOLINT(google-explicit-constructor)
  TextPlace(int of_line, std::shared_ptr<const std::string> of_file) : line(of_line), file(std::move(of_file)) {}
};

/// A scenario made from a launch line.
struct ImportedLaunch {
  JsonValue scenario;                         ///< accosim.scenario/1, with "origins"
  std::vector<std::string> taken{};           ///< "train.sh:12: --micro-batch-size 2"
  std::vector<std::string> without_effect{};  ///< on the time of a step
  std::vector<std::string> not_modelled{};    ///< with what it would change
  std::vector<std::string> not_known{};       ///< arguments and keys that nothing is known of
  std::string cluster_file{};                 ///< that its cluster was read from
};

class Draft {
 public:
  /// `source` is how the file is shown.
  explicit Draft(std::string source);

  /// A value at a pointer, such as "/training/micro_batch_size" or "/schedules/0/overlap", and who says so.
  void set(const std::string& pointer, JsonValue value, const TextPlace& place);
  /// The same where something else says so, such as an option.
  void put(const std::string& pointer, JsonValue value, const std::string& origin);

  /// What has been set at a pointer; nullptr: nothing.
  const JsonValue* at(const std::string& pointer) const { return at_pointer(result_.scenario, pointer); }
  const std::string& source() const { return source_; }

  void taken(const TextPlace& place, const std::string& what);
  void without_effect(const TextPlace& place, const std::string& what);
  void not_modelled(const TextPlace& place, const std::string& what);
  void not_known(const TextPlace& place, const std::string& what);
  /// A part of the script, with its place, that was not evaluated.
  void passed_over(const std::string& note);
  /// What is wrong, or asked for, with what to write instead.
  void refuse(const TextPlace& place, const std::string& what);
  bool good() const { return errors_.empty(); }

  /// Throws ScenarioError where something was refused.
  ImportedLaunch finish() &&;

 private:
  std::string shown(const TextPlace& place) const;

  std::string source_;
  std::shared_ptr<const std::string> file_;
  ImportedLaunch result_;
  JsonValue origins_;
  std::vector<std::string> errors_;
};

}  // namespace accosim
