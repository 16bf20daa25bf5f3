// The parts of a scenario, each read from its object in the expanded tree: checked against itself and what it depends
// on, defaults filled in. For the loader; others use models/spec/scenario.hpp.
#pragma once

#include <optional>
#include <string>

#include "models/base/reader.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

/// A whole scenario from its expanded tree; `path` gives it a name where it has none.
Scenario read_scenario(JsonValue& tree, const std::string& path, Diagnostics& diagnostics);

/// Nothing when wrong in any way; a text that is left from a failed reference is wrong without a further word.
std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

/// Node groups take precision, attention and micro-batch size from the training where they do not say.
std::optional<Cluster> read_cluster(JsonValue& value, const std::string& pointer, const Training& training,
                                    Diagnostics& diagnostics);

/// "architecture", "sm_count", "power" and the fitted constants of kernels, or the constants that stand for them.
void read_kernel_fits(ObjectReader& reader, Device& device);

/// "products" of a fit of matrix products: {"NT 768x768x4096x1 +": 1.02, ...}, ratios of measured over fitted time by
/// layout, m x n x k x batch, and a plus where the result is added to.
std::vector<MeasuredProduct> read_measured_products(ObjectReader& fit);

/// "kernels": by name, dtype and rows ("any" or a number) {"spread": 0.02, "samples": 20, "times": {"65536": "3 us",
/// ...}}: times by elements.
std::vector<KernelTable> read_kernel_tables(ObjectReader& device);

/// Refuses what accocal's own step does not compute in, of a training or of a node group.
void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention);

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics);

/// The cluster is given when it is valid, to check what its devices can do.
ScheduleSpec read_schedule(JsonValue& value, const std::string& pointer, const Training& training,
                           const std::optional<Cluster>& cluster, Diagnostics& diagnostics);

/// "sources": JSON pointers inside the object, and a citation for what is there.
void read_sources(ObjectReader& reader);

/// "fp32 and fp16": what the device has a peak for.
std::string dtypes_of(const Device& device);

}  // namespace accosim
