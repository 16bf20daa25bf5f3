// How much GPU memory a schedule needs: by the formula that papers compare with, and what is really resident. Only the
// second decides whether it fits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/layers.hpp"
#include "models/spec.hpp"
#include "models/units.hpp"

namespace accosim {

/// Model states in bytes for `parameters` elements on `ranks` ranks, K = 12 bytes of optimizer state an element, 2-byte
/// parameters, gradients and buffers: ACCO's Table 1 (arXiv 2406.02613). Methods: ddp, zero1, zero2, zero3, slowmo,
/// diloco, co2, dpu, wp, acco. Throws std::invalid_argument for another.
Bytes memory_formula(const std::string& method, double parameters, int ranks);

/// What is resident at the peak, by name, in the order of a report.
struct MemoryParts {
  std::vector<std::pair<std::string, Bytes>> parts;
  Bytes total() const;
};
/// For ddp, zero1, dpu and acco. P parameters, their gradients; optimizer states m, v and, unless the parameters are
/// fp32 themselves, a master copy, whole or ceil(P / ranks) of them; dpu and acco: the flat communication buffer and an
/// fp32 gradient of the shard; acco: clones of master, m and v for the estimate; ddp and zero1 in buckets: the buckets,
/// which PyTorch keeps beside the gradients (gradient_as_bucket_view=False). Activations and logits are those of the
/// moment of the backward pass at which they are the most together; `logits and loss` is absent when that moment is
/// after the head's.
MemoryParts resident_memory(const ScheduleSpec& schedule, const std::vector<Layer>& layers, const Device& device,
                            int ranks);

}  // namespace accosim
