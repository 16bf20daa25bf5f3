// A device from its object in the expanded tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/base/reader.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// A fitted constant of a kind of kernels, as profiles have it.
template <class Fit>
struct FitConstant {
  const char* key;
  double Fit::*member;
  Range range;
  std::optional<double> usual{};  ///< absent: a profile has to say it
  bool is_power = false;          ///< written with its unit, and only where it is known; no fit moves it
};
/// In the order of a profile; "fixed" follows them.
template <class Fit>
inline constexpr std::nullptr_t kFitConstants = nullptr;
template <>
inline constexpr FitConstant<GemmFit> kFitConstants<GemmFit>[] = {
    {"peak_fraction", &GemmFit::peak_fraction, kFraction},
    {"reference_power", &GemmFit::reference_power, {}, 0, true},
    {"streaming", &GemmFit::streaming, {0, 2, true}, 1},
    {"square_tile", &GemmFit::square_tile, {0, 2, true}, 1},
    {"narrow_tile", &GemmFit::narrow_tile, {0, 2, true}, 1},
    {"quantisation", &GemmFit::quantisation, {0, 1}, 1},
    {"exposed_result", &GemmFit::exposed_result, {0, 2}, 0},
    {"k_fill", &GemmFit::k_fill, {0, 1e6}, 0},
};
template <>
inline constexpr FitConstant<AttentionFit> kFitConstants<AttentionFit>[] = {
    {"forward_fraction", &AttentionFit::forward_fraction, kFraction},
    {"backward_fraction", &AttentionFit::backward_fraction, kFraction},
    {"reference_power", &AttentionFit::reference_power, {}, 0, true},
    {"wide_head", &AttentionFit::wide_head, {0, 10}, 0},
    {"tail", &AttentionFit::tail, {0, 2}, 0},
    {"softmax", &AttentionFit::softmax, {0, 1e6}, 0},
    {"streaming", &AttentionFit::streaming, {0, 2, true}, 1},
};

/// Nothing when it is wrong in any way. A text in its place is a reference that could not be resolved, which has
/// already been reported, so it adds no error.
std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics);

/// "sources": JSON pointers inside the object, and a citation for what is there.
void read_sources(ObjectReader& reader);

/// "fp32 and fp16": what the device has a peak for.
std::string dtypes_of(const Device& device);

}  // namespace accosim
