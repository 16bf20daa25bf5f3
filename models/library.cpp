// What is shipped, for the verb `list`: found by looking, so that a file put into the folder is there without a word.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "models/json.hpp"
#include "models/scenario.hpp"
#include "models/text.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

std::string text_member(const JsonValue& root, const char* key) {
  const JsonValue* value = root.find(key);
  return value != nullptr && value->kind == JsonKind::kText ? printable(value->text, 4000) : "";
}

std::string describe_model(const std::string& path) {
  try {
    const Model model = load_model(path);
    const auto parameters = static_cast<double>(parameter_count(model));
    const bool billions = parameters >= 1e9;
    return fmt::format("{}, {:.{}f} {} parameters, {} layers of {}", model.family, parameters / (billions ? 1e9 : 1e6),
                       billions ? 2 : 1, billions ? "B" : "M", model.num_hidden_layers, model.hidden_size);
  } catch (const ScenarioError& error) {
    return error.errors.front();
  }
}

void add_folder(const fs::path& root, const char* kind, const std::string& folder, const std::string& schema,
                std::vector<LibraryEntry>& out) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entries(root / folder, error);
  for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
    if (entries->path().extension() == ".json") files.push_back(entries->path().filename().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    LibraryEntry entry{kind, fs::path(file).stem().string(), folder + "/" + file, ""};
    const std::string path = (root / folder / file).string();
    const JsonDocument document = read_json_file(path, entry.path);
    if (!document.errors.empty()) {
      entry.description = document.errors.front();
    } else if (schema.empty()) {
      entry.description = describe_model(path);
    } else if (text_member(document.root, "schema").rfind(schema, 0) != 0) {
      continue;
    } else {
      entry.description = text_member(document.root, "description");
    }
    out.push_back(std::move(entry));
  }
}

}  // namespace

std::vector<LibraryEntry> list_library() {
  const fs::path root = data_dir();
  std::vector<LibraryEntry> out;
  add_folder(root, "device", "calibration/profiles", "accosim.device/", out);
  add_folder(root, "model", "scenarios/llms", "", out);
  add_folder(root, "cluster", "scenarios/clusters", "accosim.cluster/", out);
  add_folder(root, "scenario", "scenarios", "accosim.scenario/", out);
  add_folder(root, "scenario", "scenarios/paper", "accosim.scenario/", out);
  return out;
}

}  // namespace accosim
