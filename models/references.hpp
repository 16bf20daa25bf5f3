// A scenario names other files: its model, its cluster, the cluster's devices, what a device inherits from. Here the
// names are replaced by what the files hold, so that the rest sees one tree whose every value still knows its own file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/json.hpp"
#include "models/reader.hpp"

namespace accosim {

class References {
 public:
  explicit References(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// The file that the user named, as it stands. Nothing when it cannot be read.
  std::optional<JsonValue> open(const std::string& path);
  /// Replaces what /model, /cluster, the devices and their "inherits" name. What cannot be replaced stays a text and is
  /// reported, so a reader that still finds a text there says nothing more. Can be called again after a change.
  void expand_scenario(JsonValue& scenario);
  void expand_cluster(JsonValue& cluster, const std::string& pointer);
  /// A name (of a profile), a file, or an object that may inherit.
  void expand_device(JsonValue& device, const std::string& pointer);
  /// What was named and read so far.
  std::vector<std::string> files() const;

 private:
  enum class Kind { kModel, kCluster, kDevice };
  struct Place {
    std::string path;   ///< for the system
    std::string shown;  ///< for people
  };
  struct Open {
    std::string identity;  ///< the same for every spelling of a path
    std::string shown;
  };

  std::optional<Place> locate(const JsonValue& reference, Kind kind, const std::string& pointer);
  /// The file's tree when it can be read, is of that kind and closes no circle; it is then on the stack of open files.
  std::optional<JsonValue> enter(const JsonValue& reference, Kind kind, const std::string& pointer);
  void leave() { stack_.pop_back(); }
  bool is_kind(const JsonValue& root, Kind kind, const JsonValue& reference, const std::string& pointer);
  void inherit(JsonValue& device, const std::string& pointer);

  Diagnostics& diagnostics_;
  std::map<std::string, Place> directories_;              ///< of a file as shown: where its references start
  std::map<std::string, std::optional<JsonValue>> read_;  ///< by identity
  std::vector<Open> stack_;
  int values_ = 0;  ///< expanded so far
};

/// Where shipped devices, models, clusters and scenarios are: the environment's ACCOSIM_DATA_DIR, else the source tree.
std::string data_dir();

}  // namespace accosim
