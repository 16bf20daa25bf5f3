// What is shipped, for the verb `list`: found by looking, so that a file put into the folder is there without a word.
#include "models/read/library.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "models/base/json.hpp"
#include "models/base/text.hpp"
#include "models/read/load.hpp"
#include "models/spec/model.hpp"
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
    return fmt::format("{}, {:.{}f} {} parameters, {} layers of {}", model.family, parameters / (billions ? 1e9 : 1e6),
                       billions ? 2 : 1, billions ? "B" : "M", model.num_hidden_layers, model.hidden_size);
  } catch (const ScenarioError& error) {
    return error.errors.front();
  }
}

}  // namespace

std::vector<LibraryEntry> list_library() {
  std::vector<LibraryEntry> out;
  for (const FileKind kind : kFileKinds) {
    const std::string schema = fmt::format("accosim.{}/", name_of(kind));
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
        entry.description = text_member(document.root, "description");
      }
      out.push_back(std::move(entry));
    }
  }
  return out;
}

}  // namespace accosim
