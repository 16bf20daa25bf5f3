// Reads the fitted constants of kernels from a device profile: "gemm" by dtype, and "attention".
#include "models/read/read_kernel_fits.hpp"

#include <fmt/format.h>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/read/read_kernel_tables.hpp"

namespace accosim {
namespace {

constexpr Range kShare{0, 2};
constexpr Range kElements{0, 1e6};
constexpr Range kFlops{0, 1e24};

FitQuality read_quality(ObjectReader& reader) {
  FitQuality quality;
  quality.spread = reader.number("spread", Range{0, 10}, 0);
  quality.samples = reader.integer("samples", 0, kMaxInteger, 0);
  quality.least = reader.number("least_flops", kFlops, 0);
  quality.most = reader.number("most_flops", kFlops, 0);
  quality.inherited = reader.boolean("inherited", false);
  quality.other_generation = reader.boolean("other_generation", false);
  return quality;
}

GemmFit read_gemm_fit(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  GemmFit fit;
  fit.peak_fraction = reader.number("peak_fraction", kFraction);
  fit.reference_power = reader.watts("reference_power", 0);
  fit.streaming = reader.number("streaming", Range{0, 2, true}, 1);
  fit.square_tile = reader.number("square_tile", Range{0, 2, true}, 1);
  fit.narrow_tile = reader.number("narrow_tile", Range{0, 2, true}, 1);
  fit.quantisation = reader.number("quantisation", Range{0, 1}, 1);
  fit.exposed_result = reader.number("exposed_result", kShare, 0);
  fit.k_fill = reader.number("k_fill", kElements, 0);
  fit.fixed = reader.seconds("fixed", Seconds{0});
  fit.quality = read_quality(reader);
  fit.products = read_measured_products(reader);
  reader.finish();
  return fit;
}

AttentionFit read_attention_fit(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  AttentionFit fit;
  fit.forward_fraction = reader.number("forward_fraction", kFraction);
  fit.backward_fraction = reader.number("backward_fraction", kFraction);
  fit.reference_power = reader.watts("reference_power", 0);
  fit.wide_head = reader.number("wide_head", Range{0, 10}, 0);
  fit.tail = reader.number("tail", kShare, 0);
  fit.softmax = reader.number("softmax", kElements, 0);
  fit.streaming = reader.number("streaming", Range{0, 2, true}, 1);
  fit.fixed = reader.seconds("fixed", Seconds{0});
  fit.quality = read_quality(reader);
  reader.finish();
  return fit;
}

}  // namespace

void read_kernel_fits(ObjectReader& reader, Device& device) {
  device.architecture = reader.text("architecture", "");
  const std::vector<std::string>& known = architectures();
  if (const std::string near = nearest(device.architecture, known); !near.empty() && near != device.architecture)
    reader.fail("architecture",
                fmt::format("{} is not known; did you mean {}?", in_quotes(device.architecture), in_quotes(near)));
  device.sm_count = reader.integer("sm_count", 0, 10'000, 0);
  device.power = reader.watts("power", 0);

  // A constant that is written takes the place of the fit: it is how a user says "suppose that".
  JsonValue* gemm = reader.find("gemm");
  const bool constant = reader.has("gemm_efficiency");
  if (constant || gemm == nullptr) device.gemm_efficiency = reader.number("gemm_efficiency", kFraction);
  if (!constant && gemm != nullptr) {
    ObjectReader fits(*gemm, reader.pointer("gemm"), reader.diagnostics());
    for (int i = 0; i < kDtypeCount; ++i) {
      const char* const name = name_of(static_cast<Dtype>(i));
      const std::size_t index = static_cast<std::size_t>(i);
      if (JsonValue* fit = fits.find(name))
        device.gemm[index] = read_gemm_fit(*fit, fits.pointer(name), reader.diagnostics());
      else if (device.peak[index])
        fits.fail(name,
                  "missing: the device has a peak for it; write its constants, or gemm_efficiency for all dtypes");
    }
    fits.finish();
  }
  device.kernels = read_kernel_tables(reader);
  JsonValue* attention = reader.find("attention");
  if (attention == nullptr || reader.has("flash_attention_efficiency"))
    device.flash_attention_efficiency = reader.number("flash_attention_efficiency", Range{0, 1});
  else
    device.attention = read_attention_fit(*attention, reader.pointer("attention"), reader.diagnostics());
  if (JsonValue* flash_3 = reader.find("flash_3"))
    device.flash_3 = read_attention_fit(*flash_3, reader.pointer("flash_3"), reader.diagnostics());
}

}  // namespace accosim
