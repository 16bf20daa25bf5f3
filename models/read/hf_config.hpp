// Reads a model as Hugging Face's transformers describes it: the config.json of a family of model_families.hpp. Keys
// that would change the price and are not supported are refused by name, and so is what --set writes and nobody reads;
// others are dropped, and those that may matter are named (Model::unread).
#pragma once

#include <optional>
#include <string>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "models/spec/model.hpp"

namespace accosim {

/// Reads the config at `pointer` and fills its defaults in. Nothing when it is wrong in any way; the diagnostics say
/// how.
std::optional<Model> read_model(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

/// The sizes of accocal's own GPT (calibration/train/gpt.hpp).
struct AccocalConfig {
  int layers = 1, width = 1, heads = 1, context = 1, vocabulary = 1;
};
/// A config of such a model.
JsonValue accocal_config(const AccocalConfig& sizes);

}  // namespace accosim
