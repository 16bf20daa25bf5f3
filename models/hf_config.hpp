// A model as Hugging Face's transformers describes it: config.json of gpt2, gpt_neo and llama. What else
// such a file holds and changes the price is refused by name; the rest is none of our business and is dropped.
#pragma once

#include <optional>
#include <string>

#include "models/json.hpp"
#include "models/reader.hpp"
#include "models/spec.hpp"

namespace accosim {

/// Reads the config at `pointer` and fills its defaults in. Nothing when it is wrong in any way; the diagnostics say
/// how.
std::optional<Model> read_model(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

}  // namespace accosim
