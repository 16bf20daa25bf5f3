#include "models/read/parts.hpp"

#include <fmt/format.h>

namespace accosim {

bool read_part(ObjectReader& whole, std::string_view key, const ReadPart& read,
               const std::map<std::string, std::string>& notes) {
  JsonValue* const value = whole.find(key);
  if (value == nullptr) return false;
  ObjectReader part(*value, whole.pointer(key), whole.diagnostics());
  read(part);
  part.finish(notes);
  return true;
}

void read_object(ObjectReader& whole, std::string_view key, const ReadPart& read) {
  const bool missing = !read_part(whole, key, read);
  if (missing && whole.value().kind == JsonKind::kObject)
    whole.fail(key, fmt::format("missing; write \"{}\": an object", key));
}

void read_objects(ObjectReader& whole, std::string_view key, std::size_t least, std::size_t most,
                  const ReadPart& read) {
  std::size_t index = 0;
  for (JsonValue* const value : whole.list(key, least, most)) {
    ObjectReader part(*value, whole.pointer(key) + pointer_part(index++), whole.diagnostics());
    read(part);
    part.finish();
    if (whole.diagnostics().enough()) return;
  }
}

void pass_over(ObjectReader& reader, std::initializer_list<const char*> keys) {
  for (const char* key : keys) reader.find(key);
}

}  // namespace accosim
