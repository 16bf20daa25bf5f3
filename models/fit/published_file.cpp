#include "models/fit/published_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/base/text.hpp"

namespace accosim {

std::vector<JsonValue*> list_of(ObjectReader& reader, const char* key) {
  return reader.list(key, 0, static_cast<std::size_t>(kMaxJsonValues));
}

std::vector<std::string> read_texts(ObjectReader& reader, const char* key) {
  std::vector<std::string> texts;
  std::size_t index = 0;
  for (const JsonValue* element : list_of(reader, key)) {
    const std::string at = reader.pointer(key) + pointer_part(index++);
    const std::string& text = element->text;
    if (element->refused) continue;
    if (element->kind != JsonKind::kText || text.empty() || text.size() > kLongText ||
        printable(text, text.size()) != text)
      reader.diagnostics().add(element->origin, at,
                               fmt::format("is no line of text; write one of at most {} bytes", kLongText));
    texts.push_back(text);
  }
  return texts;
}

PublishedCase read_case(ObjectReader& reader, PublishedFile& file, const char* group) {
  PublishedCase one;
  one.id = file.source.key + "/" + reader.text("id", {}, 200);
  const bool simulated = !file.source.simulated.empty();
  one.group = simulated ? kSimulatorGroup : group;
  one.source = file.source.key;
  one.url = reader.text("url", file.source.url, kLongText);
  one.trust = reader.one_of("trust", {"A", "B"}, "A")[0];
  one.inferred = file.inferred;
  for (std::string& text : read_texts(reader, "inferred")) one.inferred.push_back(std::move(text));
  one.explanation = reader.text("explanation", std::string(), kLongText);
  one.memory_explanation = reader.text("memory_explanation", file.memory_explanation, kLongText);
  one.left_out = reader.text("left_out", std::string(), kLongText);
  one.not_expressible = reader.text("not_expressible", std::string(), kLongText);
  if (simulated && !one.left_out.empty())
    reader.fail("left_out", "nothing of a simulator's output is scored anyway; leave it out");
  if (simulated) one.left_out = "a simulator's output, not a measurement";
  if (!one.not_expressible.empty()) {
    one.configuration = reader.text("configuration", {}, kLongText);
    one.published = reader.text("published", {}, kLongText);
  }
  return one;
}

void add_case(PublishedFile& file, PublishedCase one, const JsonOrigin& origin, const std::string& pointer) {
  if (!file.ids.insert(one.id).second) {
    file.diagnostics.add(origin, pointer,
                         fmt::format("two cases are named {}; give each its own id", in_quotes(one.id, 200)));
    return;
  }
  file.cases.push_back(std::move(one));
}

}  // namespace accosim
