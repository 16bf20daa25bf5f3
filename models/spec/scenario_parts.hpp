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

/// Nothing when it is wrong in any way. A text in its place is a reference that could not be resolved, which has
/// already been reported, so it adds no error.
std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

/// What every device can do: for a cluster of which only the links are asked for.
Training any_training();

/// Node groups take precision, attention and micro-batch size from the training where they do not say.
std::optional<Cluster> read_cluster(JsonValue& value, const std::string& pointer, const Training& training,
                                    Diagnostics& diagnostics);

/// "architecture", "sm_count", "power" and the fitted constants of kernels, or the constants that stand for them.
void read_kernel_fits(ObjectReader& reader, Device& device);

/// "products" of a GEMM fit: {"NT 768x768x4096x1 +": 1.02, ...}, ratios of measured over fitted time. Keys are the
/// layout, the sizes m, n, k and batch, and a plus where the product is added to the result.
std::vector<MeasuredProduct> read_measured_products(ObjectReader& fit);

/// "kernels": by name, dtype and rows ("any" or a number) {"spread": 0.02, "samples": 20, "times": {"65536": "3 us",
/// ...}}: times by elements.
std::vector<KernelTable> read_kernel_tables(ObjectReader& device);

/// Refuses a precision or an attention that accocal's own step does not have, in the training or in a node group.
void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention);

/// "sequence_lengths", "compute_jitter", "stragglers", "pauses" and "seed" of a training.
Unsteady read_unsteady(ObjectReader& training, int sequence_length);

/// Pauses of ranks that are not there, and lengths of a model whose time is known at one length alone; `top` is the
/// scenario.
void check_unsteady(const Training& checked, const Model& model, int ranks, ObjectReader& top);

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics);

/// `cluster`, where it is valid, is used to check what its devices can do.
ScheduleSpec read_schedule(JsonValue& value, const std::string& pointer, const Training& training,
                           const std::optional<Cluster>& cluster, Diagnostics& diagnostics);

/// "sources": JSON pointers inside the object, and a citation for what is there.
void read_sources(ObjectReader& reader);

/// "fp32 and fp16": what the device has a peak for.
std::string dtypes_of(const Device& device);

/// The minor version of the NCCL that comes with the wheel of PyTorch 2.`minor`; from 2.0 to 2.9.
int nccl_of_pytorch(int minor);
inline constexpr int kNewestPytorch = 9;

/// `nccl`, `tuner` and `collnet`, into a cluster whose nodes and fabric are read. A release that the file does not name
/// is the one of the training's PyTorch, where that is known. Refuses a choice that cannot run on these nodes.
void read_nccl(ObjectReader& reader, const Training& training, Cluster& cluster);

/// "pytorch", such as "2.5" or "2.5.1": the minor version, from which NCCL's release follows.
std::optional<int> read_pytorch(ObjectReader& reader);

}  // namespace accosim
