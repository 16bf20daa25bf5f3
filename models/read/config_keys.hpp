// Keys of a Hugging Face config that no model here reads: which of them change nothing, and what those are called that
// another family or program has for the same.
#pragma once

#include <map>
#include <string>

#include "models/spec/model_families.hpp"

namespace accosim {

/// Whether it says nothing about the time and the memory of a training step: names, tokens, how weights begin, how text
/// is generated.
bool is_without_effect(const std::string& key);

/// By what others write: what the family's config has for it, and where dropout and kernels are said.
std::map<std::string, std::string> config_words(const ModelFamily& family);

}  // namespace accosim
