// A scenario names other files: its model, its cluster, the cluster's devices, what a device inherits from. Here the
// names are replaced by what the files hold, so that the rest sees one tree whose every value still knows its own file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {

class References {
 public:
  explicit References(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// The path of a file that the command line names, by its path or as one that is shipped. Nothing when there is none.
  std::optional<std::string> find(const std::string& name_or_path, FileKind kind);
  /// The file that the user named, as it stands. Nothing when it cannot be read.
  std::optional<JsonValue> open(const std::string& path);
  /// The same for a file that was read before: names that it writes start from its folder, and none means it.
  void begin_at(const std::string& path);
  /// Replaces what /model, /cluster, the devices, their "inherits" and the file of sequence lengths name. What cannot
  /// be replaced stays a text and is reported, so a reader that still finds a text there says nothing more. Can be
  /// called again after a change.
  void expand_scenario(JsonValue& scenario);
  void expand_cluster(JsonValue& cluster, const std::string& pointer);
  /// A name, a file, or an object that may inherit.
  void expand_device(JsonValue& device, const std::string& pointer);
  /// What was named and read so far.
  std::vector<std::string> files() const;

 private:
  struct Place {
    std::string path;   ///< for the system
    std::string shown;  ///< for people
  };
  struct Open {
    std::string identity;  ///< the same for every spelling of a path
    std::string shown;
  };

  /// The file that `text` refers to from the folder `from`: a path, or the name (without ".json") of a file in that
  /// folder or else of a shipped file. A name never means a file that is open: gpt2.json may take the model gpt2.
  /// Nothing when there is no such file, and then `wrong` says why. `base` names the folder in words.
  std::optional<Place> locate(const std::string& text, FileKind kind, const Place& from, const std::string& base,
                              std::string& wrong) const;
  /// The file's tree when it can be read, is of that kind and does not refer back to an open file; it is then pushed on
  /// the stack of open files.
  std::optional<JsonValue> enter(const JsonValue& reference, FileKind kind, const std::string& pointer);
  void leave() { stack_.pop_back(); }
  bool is_kind(const JsonValue& root, FileKind kind, const Place& place, const JsonValue& reference,
               const std::string& pointer);
  void inherit(JsonValue& device, const std::string& pointer);
  void expand_lengths(JsonValue& lengths, const std::string& pointer);

  Diagnostics& diagnostics_;
  std::map<std::string, Place> directories_;  ///< by a file's shown name: the folder that its references start from
  std::map<std::string, std::optional<JsonValue>> read_;  ///< by identity
  std::vector<Open> stack_;
  int values_ = 0;  ///< expanded so far
};

}  // namespace accosim
