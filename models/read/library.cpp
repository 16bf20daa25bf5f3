// What is shipped, for the verb `list`: found by looking, so that a file put into the folder is there without a word.
#include "models/read/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/shipped.hpp"

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
    const std::string active =
        model.experts.count > 0
            ? fmt::format(" ({:.2f} B active)", 1e-9 * static_cast<double>(active_parameters(model)))
            : "";
    return fmt::format("{}, {:.{}f} {} parameters{}, {} layers of {}", model.family,
                       parameters / (billions ? 1e9 : 1e6), billions ? 2 : 1, billions ? "B" : "M", active,
                       model.num_hidden_layers, model.hidden_size);
  } catch (const ScenarioError& error) {
    return error.errors.front();
  }
}

/// Sets description and architecture; of a file that cannot be loaded, what is wrong.
void describe(LibraryEntry& entry, FileKind kind, const JsonValue& root, const std::string& path) {
  entry.description = text_member(root, "description");
  try {
    if (kind == FileKind::kDevice) entry.architecture = load_device(path).architecture;
    if (kind == FileKind::kCluster) entry.architecture = load_cluster(path).nodes.front().devices.front().architecture;
  } catch (const ScenarioError& error) {
    entry.description = error.errors.front();
  }
}

/// Where an architecture stands in time.
std::ptrdiff_t place_in_time(const std::string& architecture) {
  const std::vector<std::string>& all = architectures();
  return std::ranges::find(all, architecture) - all.begin();
}

}  // namespace

std::vector<LibraryEntry> list_library() {
  std::vector<LibraryEntry> out;
  for (const FileKind kind : kFileKinds) {
    const std::string schema = fmt::format("accosim.{}/", name_of(kind));
    const auto first_of_kind = static_cast<std::ptrdiff_t>(out.size());
    for (const ShippedFile& file : shipped_files(kind)) {
      LibraryEntry entry{name_of(kind), file.name, file.path, ""};
      const std::string path = (fs::path(data_dir()) / file.path).string();
      const JsonDocument document = read_json_file(path, file.path);
      if (!document.errors.empty()) {
        entry.description = document.errors.front();
      } else if (kind == FileKind::kModel) {
        entry.description = describe_model(path);
      } else if (text_member(document.root, "schema").rfind(schema, 0) != 0) {
        continue;
      } else {
        describe(entry, kind, document.root, path);
      }
      out.push_back(std::move(entry));
    }
    std::stable_sort(out.begin() + first_of_kind, out.end(), [](const LibraryEntry& a, const LibraryEntry& b) {
      return place_in_time(a.architecture) < place_in_time(b.architecture);
    });
  }
  return out;
}

}  // namespace accosim
