// Time of fused attention by its shape: blocks of queries (of keys, backward) are dealt to the multiprocessors; the
// longest block of a causal mask ends last.
#pragma once

#include "models/base/units.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// One fused attention: `batch` sequences of `seq` tokens.
struct AttentionShape {
  double batch = 1, heads = 0, kv_heads = 0, seq = 0;
  double head_dim = 0, value_dim = 0;
  double pairs = 0;  ///< (query, key) pairs of one sequence and head that the mask leaves
  double span = 0;   ///< most keys that one query attends to
  Bytes element{2};
  bool flash_3 = false;  ///< by FlashAttention 3, where the device has a fit of it

  bool operator==(const AttentionShape&) const = default;
};

/// QK' and PV: 2 (head_dim + value_dim) a pair; backward five products for these two: 2.5 times as many.
Flops flops_of(const AttentionShape& a, bool backward);
/// Forward: q, k, v read, o and a log-sum-exp in fp32 written. Backward: these and do read, dq, dk, dv written.
Bytes bytes_of(const AttentionShape& a, bool backward);

/// fixed + 3-norm of (arithmetic + tail x longest block), memory / streaming; a block is 128 rows of one head over
/// `span` columns on one multiprocessor. Rate = peak x fraction x power_factor x (128 / widest head side)^wide_head
/// where that is wider than 128. Forward a pair takes a softmax beside its products, as long for a narrow head as for a
/// wide: arithmetic = flops / rate x (1 + softmax / d) / (1 + softmax / 128), d: mean of head_dim and value_dim.
/// Backward has neither softmax nor streaming: measured backwards are met better without. Without a fit: the larger of
/// arithmetic at flash_attention_efficiency and memory traffic. `dtype` is the compute dtype; where that is fp8,
/// attention runs in 16 bits.
Seconds attention_time(const AttentionShape& a, bool backward, const Device& device, Dtype dtype);

/// The fit that the kernel is priced by; nullptr: there is none.
const AttentionFit* attention_fit(const Device& device, bool flash_3);

}  // namespace accosim
