// Finding a file, refusing circles and giants, and laying one device over another.
#include "models/read/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>

#include "models/base/input_file.hpp"
#include "models/base/nearest.hpp"
#include "models/base/standard_input.hpp"
#include "models/base/text.hpp"
#include "models/read/other_words.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

/// Files that are named thousands of times must not multiply into gigabytes.
constexpr int kMaxExpandedValues = 400'000;

/// Whether a file says near its beginning that it is of the kind.
bool looks_like(const std::string& path, FileKind kind) {
  constexpr std::size_t kNear = 4096;
  const std::string begin = beginning_of(path, kNear);
  return begin.find(kind == FileKind::kModel ? "\"model_type\"" : fmt::format("\"accosim.{}/", name_of(kind))) !=
         std::string::npos;
}

/// Names of the JSON files of the kind beside a missing one, for the nearest.
std::vector<std::string> files_in(const fs::path& directory, FileKind kind, bool with_extension) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(directory.empty() ? fs::path(".") : directory, error);
  const fs::directory_iterator end;
  for (int i = 0; !error && entries != end && i < 2000; entries.increment(error), ++i) {
    const fs::path& file = entries->path();
    if (file.extension() == ".json" && looks_like(file.string(), kind))
      names.push_back(with_extension ? file.filename().string() : file.stem().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Whether a file begins with the heading of a sweep's rows.
bool holds_rows(const std::string& path) {
  return beginning_of(path, 100).find("accosim.sweep_rows/") != std::string::npos;
}

std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

}  // namespace

std::optional<JsonValue> References::open(const std::string& path) {
  const bool piped = path == kStandardInput;
  JsonDocument document = piped ? read_standard_input() : read_json_file(path, path);
  if (!document.whole && !piped && holds_rows(path))
    document.errors = {
        fmt::format("{}: holds the rows of a sweep, and no scenario: draw them with accosim plot --kind "
                    "curve or map, or with accosim report",
                    printable(path, 300))};
  const bool yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!document.whole && !piped && yaml && fs::exists(path))
    document.errors = {fmt::format("{}: this is YAML; write it as JSON, like {}", printable(path, 300),
                                   "scenarios/mixed_a100_v100.json")};
  for (std::string& error : document.errors) diagnostics_.errors.push_back(std::move(error));
  if (!document.whole) return std::nullopt;
  begin_at(path);
  return std::move(document.root);
}

void References::begin_at(const std::string& path) {
  const bool piped = path == kStandardInput;
  const std::string shown = piped ? kStandardInputName : path;
  const std::string parent = piped ? "" : fs::path(path).parent_path().string();
  directories_[printable(shown, 300)] = Place{parent, parent};
  stack_.push_back(Open{piped ? shown : identity_of(path), shown});
}

std::vector<std::string> References::files() const {
  std::vector<std::string> files;
  for (const auto& [path, root] : read_) files.push_back(path);
  return files;
}

std::optional<References::Place> References::locate(const std::string& text, FileKind kind, const Place& from,
                                                    const std::string& base, std::string& wrong) const {
  const auto exists = [](const std::string& path) {
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error));  // a link that leads nowhere is told when it is opened
  };
  const auto place_of = [&](const std::string& path) {
    return Place{(fs::path(from.path) / path).string(), (fs::path(from.shown) / path).lexically_normal().string()};
  };
  if (text.empty()) {
    wrong = "is empty; write the path of a file";
    return std::nullopt;
  }
  if (text.size() > 1000 || printable(text, text.size()) != text) {
    wrong = in_quotes(text) + " is no path; write the path of a file";
    return std::nullopt;
  }
  const Place path = place_of(text);
  std::error_code error;
  const bool folder = fs::is_directory(path.path, error);
  if (exists(path.path) && !folder) return path;
  const fs::path file(path.path);
  if (text.ends_with(".json")) {
    const std::string near = nearest(file.filename().string(), files_in(file.parent_path(), kind, true));
    wrong = fmt::format("no file {}; ", in_quotes(path.shown, 200)) +
            (near.empty() ? fmt::format("write a path relative to {}, or a name that accosim list {}s shows", base,
                                        name_of(kind))
                          : "did you mean " + in_quotes(near) + "?");
    return std::nullopt;
  }
  const Place beside = place_of(text + ".json");
  const std::string identity = identity_of(beside.path);
  const bool open = std::ranges::any_of(stack_, [&](const Open& o) { return o.identity == identity; });
  if (!open && exists(beside.path)) return beside;
  const std::vector<ShippedFile> shipped = shipped_as(kind, text);
  if (shipped.size() == 1) return Place{(fs::path(data_dir()) / shipped[0].path).string(), shipped[0].path};
  if (shipped.size() > 1) {
    wrong = fmt::format("{} is the name of {} and of {}; write more of the path, such as {}", in_quotes(text),
                        shipped[0].path, shipped[1].path, in_quotes(shipped[0].name));
    return std::nullopt;
  }
  if (folder) return path;
  std::vector<std::string> names = files_in(file.parent_path(), kind, false);
  for (const ShippedFile& one : shipped_files(kind)) names.push_back(one.name);
  std::erase(names, text);  // which means another file, or one that is open
  if (const std::string other = other_kind_in_words(kind, text); !other.empty()) {
    wrong = fmt::format("{} {}; accosim list {}s shows those", in_quotes(text), other, name_of(kind));
    return std::nullopt;
  }
  const std::string near = nearest(fs::path(text).filename().string(), names);
  // What is one letter away from a GPU is another one.
  const std::string advice = kind == FileKind::kDevice ? device_advice(text, names)
                             : near.empty()            ? ""
                                                       : " did you mean " + in_quotes(near) + "?";
  const char* const instead =
      kind == FileKind::kModel ? ", or write the path of its config.json from Hugging Face" : "";
  wrong = fmt::format("no {} is named {};{} accosim list {}s shows all{}", name_of(kind), in_quotes(text), advice,
                      name_of(kind), instead);
  if (shipped_files(kind).empty()) wrong += fmt::format(", and there is none in {}", printable(data_dir(), 200));
  return std::nullopt;
}

std::optional<std::string> References::find(const std::string& name_or_path, FileKind kind) {
  std::string wrong;
  if (name_or_path.ends_with(".json")) {
    std::error_code error;
    const std::vector<ShippedFile> shipped = shipped_as(kind, fs::path(name_or_path).stem().string());
    if (shipped.empty() || fs::exists(name_or_path, error)) return name_or_path;  // whoever reads it says what is wrong
    diagnostics_.errors.push_back(fmt::format("{}: no such file; the one that comes with accosim is named {}",
                                              printable(name_or_path, 300), in_quotes(shipped[0].name)));
    return std::nullopt;
  }
  const std::optional<Place> place = locate(name_or_path, kind, {}, "the current directory", wrong);
  if (place) return place->path;
  diagnostics_.errors.push_back(name_or_path.empty() ? fmt::format("the path of the {} {}", name_of(kind), wrong)
                                                     : wrong);
  return std::nullopt;
}

bool References::is_kind(const JsonValue& root, FileKind kind, const Place& place, const JsonValue& reference,
                         const std::string& pointer) {
  const auto fail = [&](const std::string& what) {
    const bool is_path = reference.text.ends_with(".json");
    diagnostics_.add(reference.origin, pointer, in_quotes(is_path ? reference.text : place.shown, 200) + what);
    return false;
  };
  if (root.kind != JsonKind::kObject) {
    return fail(fmt::format(" holds {}; name a file that holds an object", noun_of(root.kind)));
  }
  const JsonValue* schema = root.find("schema");
  const std::string found = schema != nullptr && schema->kind == JsonKind::kText ? schema->text : "";
  if (kind == FileKind::kModel) {
    if (root.find("model_type") != nullptr) return true;
    if (root.find("peft_type") != nullptr)
      return fail(
          " is an adapter's config; name the config.json of its base model, and write \"lora\" into the training");
    return fail(found.empty() ? " has no \"model_type\"; name a Hugging Face config.json"
                              : fmt::format(" is of schema {}; name a Hugging Face config.json", in_quotes(found)));
  }
  const std::string wanted = fmt::format("accosim.{}/1", name_of(kind));
  if (found == wanted) return true;
  return fail(found.empty() ? fmt::format(" does not say what it is; begin it with \"schema\": \"{}\"", wanted)
                            : fmt::format(" is of schema {}; name a file of \"{}\"", in_quotes(found), wanted));
}

std::optional<JsonValue> References::enter(const JsonValue& reference, FileKind kind, const std::string& pointer) {
  const auto directory = directories_.find(reference.origin.source ? *reference.origin.source : "");
  const bool in_file = directory != directories_.end();
  std::string wrong;
  const std::optional<Place> place = locate(reference.text, kind, in_file ? directory->second : Place{},
                                            in_file ? "the file that names it" : "the current directory", wrong);
  if (!place) {
    diagnostics_.add(reference.origin, pointer, wrong);
    return std::nullopt;
  }
  const std::string identity = identity_of(place->path);
  const auto same = [&](const Open& open) { return open.identity == identity; };
  const auto circle = std::ranges::find_if(stack_, same);
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
  if (!known->second || !is_kind(*known->second, kind, *place, reference, pointer)) return std::nullopt;
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
    if (std::optional<JsonValue> root = enter(*model, FileKind::kModel, "/model")) {
      if (root->find("name") == nullptr) {
        root->set("name", json_text(fs::path(stack_.back().shown).stem().string(), default_origin()));
      }
      *model = std::move(*root);
      leave();
    }
  }
  if (JsonValue* cluster = scenario.find("cluster")) expand_cluster(*cluster, "/cluster");
  JsonValue* training = scenario.find("training");
  JsonValue* lengths = training != nullptr ? training->find("sequence_lengths") : nullptr;
  if (lengths != nullptr) expand_lengths(*lengths, "/training/sequence_lengths/file");
}

namespace {

/// Lengths by how often each stands in `text`, one a line; the number of the first line that is none, or 0.
int count_lengths(const std::string& text, std::map<int, int>& counts, std::string& wrong) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    wrong = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    const int length = whole_number(wrong).value_or(0);
    if (length < 1) return number;
    ++counts[length];
  }
  return 0;
}

}  // namespace

/// A text file of lengths becomes a histogram.
void References::expand_lengths(JsonValue& lengths, const std::string& pointer) {
  const JsonValue* const file = lengths.find("file");
  if (file == nullptr || file->kind != JsonKind::kText || lengths.find("histogram") != nullptr) return;
  const auto directory = directories_.find(file->origin.source ? *file->origin.source : "");
  const Place from = directory != directories_.end() ? directory->second : Place{};
  const std::string path = (fs::path(from.path) / file->text).string();
  const std::string shown = printable((fs::path(from.shown) / file->text).lexically_normal().string(), 300);
  std::string text;
  if (const std::string unreadable = read_text_file(path, text); !unreadable.empty())
    return diagnostics_.add(file->origin, pointer, in_quotes(shown, 200) + " " + unreadable);
  std::map<int, int> counts;
  std::string wrong;
  JsonOrigin at{std::make_shared<std::string>(shown), 1, 1};
  if (const int line = count_lengths(text, counts, wrong); line > 0) {
    at.line = line;
    return diagnostics_.add(at, pointer,
                            in_quotes(wrong, 50) + " is no length; write whole numbers of tokens from 1, one a line");
  }
  if (counts.empty()) return diagnostics_.add(at, pointer, "holds no length; write one a line");
  std::vector<JsonValue> bars;
  for (const auto& [tokens, count] : counts) {
    bars.push_back(std::vector<JsonValue>{json_number(tokens, at), json_number(count, at)});
    bars.back().origin = at;
  }
  JsonValue histogram(std::move(bars));
  histogram.origin = at;
  read_.emplace(identity_of(path), std::nullopt);
  lengths.erase("file");
  lengths.set("histogram", std::move(histogram));
}

void References::expand_cluster(JsonValue& cluster, const std::string& pointer) {
  bool entered = false;
  if (cluster.kind == JsonKind::kText) {
    std::optional<JsonValue> root = enter(cluster, FileKind::kCluster, pointer);
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
  std::optional<JsonValue> root = enter(device, FileKind::kDevice, pointer);
  if (!root) return;
  device = std::move(*root);
  inherit(device, pointer);
  leave();
}

namespace {

/// Of a base whose fits were measured on another part than the device: they are a relative's. Of another architecture
/// they are taken at the device's own power.
void mark_inherited(JsonValue& base, const JsonValue& device) {
  static constexpr const char* kOfThePart[] = {"peak", "architecture", "sm_count", "power", "memory_bandwidth"};
  const bool same = std::none_of(std::begin(kOfThePart), std::end(kOfThePart),
                                 [&](const char* key) { return device.find(key) != nullptr; });
  if (same) return;
  const JsonValue* const now = device.find("architecture");
  const JsonValue* const before = base.find("architecture");
  const bool other = now != nullptr && (before == nullptr || now->text != before->text);
  const auto mark = [&](JsonValue& fit) {
    if (fit.kind != JsonKind::kObject) return;
    fit.set("inherited", json_bool(true, default_origin()));
    if (!other) return;
    fit.set("other_generation", json_bool(true, default_origin()));
    fit.erase("reference_power");  // what a limit costs is one generation's
  };
  if (JsonValue* gemm = base.find("gemm"); gemm != nullptr && gemm->kind == JsonKind::kObject)
    for (JsonMember& fit : gemm->members) mark(fit.value);
  for (const char* const key : {"attention", "flash_3"})
    if (JsonValue* attention = base.find(key)) mark(*attention);
  // Published steps were not this part's, unless it says so itself; a relative's lack of them stays.
  if (other || base.find("steps") == nullptr || base.find("steps")->text == "own")
    base.set("steps", json_text(other ? "other_generation" : "relative", default_origin()));
  base.erase("kernels");  // times of that part
  drop_citations(base, "/kernels");
}

}  // namespace

/// The base with the device's own keys laid over it; of "peak", "gemm" and "sources" the single members. A citation for
/// a number that the device replaces goes with the number.
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

  for (const JsonMember& member : device.members) {
    if (member.key == "sources" || member.key == "inherits") continue;
    if (member.key == "peak" || member.key == "gemm") {
      for (const JsonMember& inner : member.value.members)
        drop_citations(base, pointer_part(member.key) + pointer_part(inner.key));
    } else {
      drop_citations(base, pointer_part(member.key));
    }
  }
  // A constant for all shapes stands for a fit, and a fit for the constant.
  const auto displace = [&](const char* key, const char* other) {
    if (device.find(key) == nullptr || device.find(other) != nullptr) return;
    base.erase(other);
    drop_citations(base, pointer_part(other));
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
  mark_inherited(base, device);
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
