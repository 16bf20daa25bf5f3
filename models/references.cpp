// Finding a file, refusing circles and giants, and laying one device over another.
#include "models/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "build_info/project.hpp"
#include "models/nearest.hpp"
#include "models/text.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

/// Files that are named thousands of times must not multiply into gigabytes.
constexpr int kMaxExpandedValues = 400'000;
constexpr const char* kProfiles = "calibration/profiles";

bool is_name(const std::string& reference) {
  const bool json = reference.size() >= 5 && reference.compare(reference.size() - 5, 5, ".json") == 0;
  return !json && reference.find('/') == std::string::npos;
}

/// Names of the JSON files beside a missing one, for the nearest.
std::vector<std::string> files_in(const fs::path& directory, bool with_extension) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(directory.empty() ? fs::path(".") : directory, error);
  const fs::directory_iterator end;
  for (int i = 0; !error && entries != end && i < 2000; entries.increment(error), ++i) {
    const fs::path& file = entries->path();
    if (file.extension() == ".json") names.push_back(with_extension ? file.filename().string() : file.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

}  // namespace

std::string data_dir() {
  const char* const set = std::getenv("ACCOSIM_DATA_DIR");
  return set != nullptr && *set != '\0' ? set : kSourceFolder;
}

std::optional<JsonValue> References::open(const std::string& path) {
  JsonDocument document = read_json_file(path, path);
  for (std::string& error : document.errors) diagnostics_.errors.push_back(std::move(error));
  if (!document.whole) return std::nullopt;
  const std::string parent = fs::path(path).parent_path().string();
  directories_[printable(path, 300)] = Place{parent, parent};
  stack_.push_back(Open{identity_of(path), path});
  return std::move(document.root);
}

std::optional<References::Place> References::locate(const JsonValue& reference, Kind kind, const std::string& pointer) {
  const std::string& text = reference.text;
  const auto fail = [&](const std::string& what) {
    diagnostics_.add(reference.origin, pointer, what);
    return std::nullopt;
  };
  if (text.empty()) return fail("is empty; write the path of a file");
  if (text.size() > 1000 || printable(text, text.size()) != text) {
    return fail(in_quotes(text) + " is no path; write the path of a file");
  }
  if (kind == Kind::kDevice && is_name(text)) {
    const std::string shown = fmt::format("{}/{}.json", kProfiles, text);
    const std::string path = (fs::path(data_dir()) / shown).string();
    std::error_code error;
    if (fs::exists(path, error)) return Place{path, shown};
    return fail(fmt::format("no device is named {}{}", in_quotes(text),
                            hint(text, files_in(fs::path(data_dir()) / kProfiles, false))) +
                (files_in(fs::path(data_dir()) / kProfiles, false).empty()
                     ? fmt::format("; there are no profiles in {}/{}", printable(data_dir(), 200), kProfiles)
                     : ""));
  }
  const auto directory = directories_.find(reference.origin.source ? *reference.origin.source : "");
  const Place from = directory == directories_.end() ? Place{} : directory->second;
  Place place{(fs::path(from.path) / text).string(), (fs::path(from.shown) / text).lexically_normal().string()};
  std::error_code error;
  if (fs::exists(place.path, error)) return place;
  const fs::path file(place.path);
  std::string what = fmt::format("no file {}", in_quotes(place.shown, 200));
  const std::string near = nearest(file.filename().string(), files_in(file.parent_path(), true));
  what +=
      near.empty() ? "; write a path relative to the file that names it" : "; did you mean " + in_quotes(near) + "?";
  return fail(what);
}

bool References::is_kind(const JsonValue& root, Kind kind, const JsonValue& reference, const std::string& pointer) {
  const auto fail = [&](const std::string& what) {
    diagnostics_.add(reference.origin, pointer, in_quotes(reference.text, 200) + what);
    return false;
  };
  if (root.kind != JsonKind::kObject) {
    return fail(fmt::format(" holds {}; name a file that holds an object", noun_of(root.kind)));
  }
  const JsonValue* schema = root.find("schema");
  const std::string found = schema != nullptr && schema->kind == JsonKind::kText ? schema->text : "";
  if (kind == Kind::kModel) {
    if (root.find("model_type") != nullptr) return true;
    return fail(found.empty() ? " has no \"model_type\"; name a Hugging Face config.json"
                              : fmt::format(" is of schema {}; name a Hugging Face config.json", in_quotes(found)));
  }
  const std::string wanted = kind == Kind::kCluster ? "accosim.cluster/1" : "accosim.device/1";
  if (found == wanted) return true;
  return fail(found.empty() ? fmt::format(" does not say what it is; begin it with \"schema\": \"{}\"", wanted)
                            : fmt::format(" is of schema {}; name a file of \"{}\"", in_quotes(found), wanted));
}

std::optional<JsonValue> References::enter(const JsonValue& reference, Kind kind, const std::string& pointer) {
  const std::optional<Place> place = locate(reference, kind, pointer);
  if (!place) return std::nullopt;
  const std::string identity = identity_of(place->path);
  const auto same = [&](const Open& open) { return open.identity == identity; };
  const auto circle = std::find_if(stack_.begin(), stack_.end(), same);
  if (circle != stack_.end()) {
    std::string chain;
    for (auto open = circle; open != stack_.end(); ++open) chain += printable(open->shown, 200) + " -> ";
    diagnostics_.add(reference.origin, pointer,
                     "files that include each other: " + chain + printable(place->shown, 200) + "; break the circle");
    return std::nullopt;
  }
  auto known = read_.find(identity);
  if (known == read_.end()) {
    std::optional<JsonValue> root;
    std::string text;
    const std::string unreadable = read_text_file(place->path, text);
    if (unreadable.empty()) {
      JsonDocument document = parse_json(text, place->shown);
      for (std::string& error : document.errors) diagnostics_.errors.push_back(std::move(error));
      if (document.whole) root = std::move(document.root);
    } else {
      diagnostics_.add(reference.origin, pointer, in_quotes(place->shown, 200) + " " + unreadable);
    }
    known = read_.emplace(identity, std::move(root)).first;
  }
  if (!known->second || !is_kind(*known->second, kind, reference, pointer)) return std::nullopt;
  const bool full = values_ > kMaxExpandedValues;
  values_ += full ? 0 : known->second->size();
  if (values_ > kMaxExpandedValues) {
    const std::string what = fmt::format("the files together hold more than {} values; name fewer", kMaxExpandedValues);
    if (!full) diagnostics_.add(reference.origin, pointer, what);
    return std::nullopt;
  }
  const std::string parent = fs::path(place->path).parent_path().string();
  directories_[printable(place->shown, 300)] = Place{parent, fs::path(place->shown).parent_path().string()};
  stack_.push_back(Open{identity, place->shown});
  return known->second;
}

void References::expand_scenario(JsonValue& scenario) {
  JsonValue* model = scenario.find("model");
  if (model != nullptr && model->kind == JsonKind::kText) {
    if (std::optional<JsonValue> root = enter(*model, Kind::kModel, "/model")) {
      if (root->find("name") == nullptr) {
        root->set("name", json_text(fs::path(model->text).stem().string(), default_origin()));
      }
      *model = std::move(*root);
      leave();
    }
  }
  if (JsonValue* cluster = scenario.find("cluster")) expand_cluster(*cluster, "/cluster");
}

void References::expand_cluster(JsonValue& cluster, const std::string& pointer) {
  bool entered = false;
  if (cluster.kind == JsonKind::kText) {
    std::optional<JsonValue> root = enter(cluster, Kind::kCluster, pointer);
    if (!root) return;
    cluster = std::move(*root);
    entered = true;
  }
  if (cluster.kind == JsonKind::kObject && cluster.find("fabric") == nullptr) {
    cluster.set("fabric", json_object(default_origin()));
  }
  JsonValue* nodes = cluster.find("nodes");
  if (nodes != nullptr && nodes->kind == JsonKind::kArray) {
    for (std::size_t i = 0; i < nodes->elements.size(); ++i) {
      JsonValue* device = nodes->elements[i].find("device");
      if (device == nullptr) continue;
      const std::string at = pointer + "/nodes" + pointer_part(i) + "/device";
      if (device->kind != JsonKind::kArray) {
        expand_device(*device, at);
        continue;
      }
      for (std::size_t gpu = 0; gpu < device->elements.size(); ++gpu) {
        expand_device(device->elements[gpu], at + pointer_part(gpu));
      }
    }
  }
  if (entered) leave();
}

void References::expand_device(JsonValue& device, const std::string& pointer) {
  if (device.kind == JsonKind::kObject) return inherit(device, pointer);
  if (device.kind != JsonKind::kText) return;
  std::optional<JsonValue> root = enter(device, Kind::kDevice, pointer);
  if (!root) return;
  device = std::move(*root);
  inherit(device, pointer);
  leave();
}

/// The base with the device's own keys laid over it; of "peak", "gemm" and "sources" the single
/// members. A citation for a
/// number that the device replaces goes with the number.
void References::inherit(JsonValue& device, const std::string& pointer) {
  JsonValue* named = device.find("inherits");
  if (named == nullptr) return;
  if (named->kind != JsonKind::kText) {
    diagnostics_.add(named->origin, pointer + "/inherits",
                     fmt::format("is {}; write the name or the file of a device", noun_of(named->kind)));
    return;
  }
  JsonValue base = *named;
  expand_device(base, pointer + "/inherits");
  if (base.kind != JsonKind::kObject || base.find("inherits") != nullptr) return;

  const auto drop_citation = [&](const std::string& of) {
    JsonValue* citations = base.find("sources");  // erasing a member moves the others
    if (citations == nullptr) return;
    auto& all = citations->members;
    const auto covered = [&](const JsonMember& m) {
      return m.key == of || m.key.compare(0, of.size() + 1, of + "/") == 0;
    };
    all.erase(std::remove_if(all.begin(), all.end(), covered), all.end());
  };
  for (const JsonMember& member : device.members) {
    if (member.key == "sources" || member.key == "inherits") continue;
    if (member.key == "peak" || member.key == "gemm") {
      for (const JsonMember& inner : member.value.members)
        drop_citation(pointer_part(member.key) + pointer_part(inner.key));
    } else {
      drop_citation(pointer_part(member.key));
    }
  }
  // A constant for all shapes stands for a fit, and a fit for the constant.
  const auto displace = [&](const char* key, const char* other) {
    if (device.find(key) == nullptr || device.find(other) != nullptr) return;
    base.erase(other);
    drop_citation(pointer_part(other));
  };
  displace("gemm", "gemm_efficiency");
  displace("gemm_efficiency", "gemm");
  displace("attention", "flash_attention_efficiency");
  displace("flash_attention_efficiency", "attention");
  if (device.find("name") == nullptr) {
    const JsonValue* name = base.find("name");
    const std::string of = name != nullptr && name->kind == JsonKind::kText ? name->text : base.text;
    base.set("name", json_text(of + " (modified)", default_origin()));
  }
  base.origin = device.origin;
  for (JsonMember& member : device.members) {
    if (member.key == "inherits") continue;
    JsonValue* old = base.find(member.key);
    const bool by_member = member.key == "peak" || member.key == "gemm" || member.key == "sources";
    if (by_member && old != nullptr && old->kind == JsonKind::kObject && member.value.kind == JsonKind::kObject) {
      old->origin = member.value.origin;
      for (JsonMember& inner : member.value.members) old->set(inner.key, std::move(inner.value));
    } else {
      base.set(member.key, std::move(member.value));
    }
  }
  device = std::move(base);
}

}  // namespace accosim
