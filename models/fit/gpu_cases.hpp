// Our own measurements as questions to the model: each step that accocal timed on a GPU, asked of the profile that the
// kernels of the same document alone give.
#pragma once

#include <string>

#include "models/fit/gpu_samples.hpp"
#include "models/fit/published_case.hpp"

namespace accosim {

/// Adds the cases of every GPU document in the folder (other documents and a missing folder add none): the time of a
/// micro-batch, of the optimizer and of an update, and the memory that the device held for each. `profile`: the profile
/// that each fit starts from, as for fit_gpu(); empty: the shipped one of the GPU, without which its steps cannot be
/// predicted. Returns how many were added. Throws ScenarioError.
int add_gpu_cases(Published& published, const std::string& directory, const std::string& profile = "");

/// The same of one document. `key`: of its source, unique; `url`: where it is.
void add_gpu_cases(Published& published, const GpuSamples& samples, const std::string& key, const std::string& url,
                   const std::string& profile = "");

}  // namespace accosim
