// A device from its object in the expanded tree.
#pragma once

#include <optional>
#include <string>

#include "models/base/reader.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// Nothing when it is wrong in any way. A text in its place is a reference that could not be resolved, which has
/// already been reported, so it adds no error.
std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

/// "sources": JSON pointers inside the object, and a citation for what is there.
void read_sources(ObjectReader& reader);

/// "fp32 and fp16": what the device has a peak for.
std::string dtypes_of(const Device& device);

}  // namespace accosim
