#include "models/price/attention_time.hpp"

#include <algorithm>
#include <cmath>

#include "models/price/gemm.hpp"

namespace accosim {
namespace {

constexpr double kBlock = 128;      ///< rows of a block, FlashAttention-2's for heads of up to 128
constexpr double kFullSpeed = 128;  ///< widest head that leaves the block its size
constexpr double kBackward = 2.5;   ///< QK' again, dV, dP, dQ, dK: five products for two

FlopsPerSecond peak_of(const Device& device, Dtype dtype) {
  const auto peak = [&](Dtype d) { return device.peak[static_cast<std::size_t>(d)]; };
  if (dtype == Dtype::kFp8) return peak(Dtype::kBf16) ? *peak(Dtype::kBf16) : peak(dtype).value();
  return peak(dtype).value();
}

}  // namespace

Flops flops_of(const AttentionShape& a, bool backward) {
  return Flops{(backward ? kBackward : 1) * 2 * a.batch * a.heads * a.pairs * (a.head_dim + a.value_dim)};
}

Bytes bytes_of(const AttentionShape& a, bool backward) {
  const double tokens = a.batch * a.seq;
  const Bytes qkv = tokens * (a.heads * a.head_dim + a.kv_heads * (a.head_dim + a.value_dim)) * a.element;
  const Bytes out = tokens * a.heads * a.value_dim * a.element;
  const Bytes log_sum_exp = tokens * a.heads * Bytes{4};
  return (backward ? 2 : 1) * (qkv + out) + log_sum_exp;
}

const AttentionFit* attention_fit(const Device& device, bool flash_3) {
  if (flash_3 && device.flash_3) return &*device.flash_3;
  return device.attention ? &*device.attention : nullptr;
}

Seconds attention_time(const AttentionShape& a, bool backward, const Device& device, Dtype dtype) {
  const FlopsPerSecond peak = peak_of(device, dtype);
  const BytesPerSecond bandwidth = device.memory_efficiency * device.memory_bandwidth;
  const Bytes bytes = bytes_of(a, backward);
  const Flops work = flops_of(a, backward);
  const AttentionFit* const known = attention_fit(device, a.flash_3);
  if (known == nullptr) return std::max(bytes / bandwidth, work / (device.flash_attention_efficiency * peak));
  const AttentionFit& fit = *known;
  const double widest = std::max({a.head_dim, a.value_dim, kFullSpeed});
  const double fraction =
      std::min(1.0, (backward ? fit.backward_fraction : fit.forward_fraction) *
                        power_factor(device.power, fit.reference_power) * std::pow(kFullSpeed / widest, fit.wide_head));
  const double width = (a.head_dim + a.value_dim) / 2;
  const double softmax = backward ? 1 : (1 + fit.softmax / width) / (1 + fit.softmax / kFullSpeed);
  const FlopsPerSecond rate = fraction / softmax * peak;
  const Flops block{(backward ? kBackward : 1) * 2 * kBlock * a.span * (a.head_dim + a.value_dim)};
  const Seconds longest = device.sm_count > 0 ? block / (1.0 / device.sm_count * rate) : Seconds{0};
  return fit.fixed + overlapped(std::max(work / rate + fit.tail * longest, longest),
                                bytes / ((backward ? 1 : fit.streaming) * bandwidth));
}

}  // namespace accosim
