#include "models/fit/write_profile.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "models/fit/pooled_kernels.hpp"
#include "models/fit/rounded.hpp"
#include "models/read/read_device.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

template <class Fit>
JsonValue json_of_fit(const Fit& fit) {
  JsonValue json = json_object({});
  for (const FitConstant<Fit>& each : kFitConstants<Fit>) {
    const double value = fit.*each.member;
    if (!each.is_power)
      json.set(each.key, rounded(value));
    else if (value > 0)
      json.set(each.key, print_quantity(value, Dimension::kPower));
  }
  json.set("fixed", fmt::format("{:.2f} us", 1e6 * fit.fixed.value));
  const FitQuality& quality = fit.quality;
  json.set("spread", rounded(quality.spread));
  json.set("samples", rounded(quality.samples));
  json.set("least_flops", rounded(quality.least));
  json.set("most_flops", rounded(quality.most));
  if (quality.inherited) json.set("inherited", true);
  if (quality.other_generation) json.set("other_generation", true);
  return json;
}

/// "accosim fit: 270 kernels of simumax A100-PCIE-80GB, ...; mean error 3.6 %, left out 4.0 %".
std::string citation(const std::vector<KernelFit>& fits, const std::string& architecture, double spread, int samples) {
  for (const KernelFit& fit : fits) {
    const FitQuality& quality = fit.dtypes.empty() ? fit.attention.quality : fit.gemm.quality;
    if (fit.architecture != architecture || quality.spread != spread || quality.samples != samples) continue;
    std::string of;
    for (const auto& each : fit.by) of += (of.empty() ? "" : ", ") + each.first;
    std::string text =
        fmt::format("accosim fit, {}, from the tables in calibration/tables: {} kernels ({}); mean error {:.1f} %",
                    fit.what, samples, of, 100 * fit.in.mean_absolute);
    if (fit.out.samples > 0) text += fmt::format(", of samples left out {:.1f} %", 100 * fit.out.mean_absolute);
    return text;
  }
  return "accosim fit: no kernel of this dtype was measured; pooled from the fits of other dtypes and architectures";
}

/// Whether a fit takes the place of what the profile had: what was measured on the device does not give way to a
/// relative's.
template <typename Fit>
bool is_new(const std::optional<Fit>& before, const std::optional<Fit>& after) {
  if (!after || after == before) return false;
  return !before || before->quality.inherited || !after->quality.inherited;
}

/// Measured over fitted time of each product of the device in that dtype; of several samples their mean.
std::vector<MeasuredProduct> products_of(const std::vector<KernelSample>& samples, const Device& device, Dtype dtype) {
  std::map<std::string, std::pair<MeasuredProduct, std::vector<double>>> ratios;
  for (const KernelSample& sample : samples) {
    if (sample.device != device.name || sample.dtype != dtype || sample.kernel.kind != KernelKind::kGemm) continue;
    const Gemm& g = sample.kernel.gemm;
    const MeasuredProduct product{g.layout, g.accumulate, g.m, g.n, g.k, g.batch, 1};
    auto& [of, all] = ratios[key_of(product)];
    of = product;
    all.push_back(std::log(sample.time / gemm_time(g, device, dtype)));
  }
  std::vector<MeasuredProduct> products;
  for (auto& [key, each] : ratios) {
    each.first.ratio = std::exp(mean_of(each.second).value);
    products.push_back(each.first);
  }
  return products;
}

}  // namespace

std::string key_of(const MeasuredProduct& product) {
  return fmt::format("{} {:.0f}x{:.0f}x{:.0f}x{:.0f}{}", name_of(product.layout), product.m, product.n, product.k,
                     product.batch, product.accumulate ? " +" : "");
}

JsonValue json_of(const GemmFit& fit) {
  JsonValue json = json_of_fit(fit);
  if (fit.products->empty()) return json;
  JsonValue products = json_object({});
  for (const MeasuredProduct& product : *fit.products) products.set(key_of(product), rounded(product.ratio));
  json.set("products", std::move(products));
  return json;
}

void spread_gemm_efficiency(JsonValue& profile, const Device& device) {
  if (profile.find("gemm_efficiency") == nullptr) return;
  GemmFit flat{.peak_fraction = device.gemm_efficiency, .quality = {.inherited = true}};
  JsonValue gemm = json_object({});
  for (int i = 0; i < kDtypeCount; ++i)
    if (device.peak[static_cast<std::size_t>(i)]) gemm.set(name_of(static_cast<Dtype>(i)), json_of(flat));
  profile.erase("gemm_efficiency");
  if (JsonValue* sources = profile.find("sources")) sources->erase("/gemm_efficiency");
  profile.set("gemm", std::move(gemm));
}

std::string profile_with_fits(const std::string& text, const std::string& file, const Device& device,
                              const std::vector<KernelFit>& fits, const std::vector<KernelFit>& others,
                              const std::vector<KernelSample>& as_measured) {
  JsonDocument document = parse_json(text, file);
  if (!document.errors.empty()) throw ScenarioError(document.errors);
  JsonValue& root = document.root;
  if (root.kind != JsonKind::kObject) throw ScenarioError({file + ": is no object; name a device profile"});
  object_at(root, "sources");
  for (const KernelFit& fit : fits) check_plausible(fit.architecture + " " + fit.what, fit.in);
  Device fitted = with_fits(device, fits, others);

  const auto cite = [&](const std::string& pointer, const FitQuality& quality) {
    root.find("sources")->set(pointer, citation(fits, device.architecture, quality.spread, quality.samples));
  };
  for (int i = 0; i < kDtypeCount; ++i) {
    std::optional<GemmFit>& fit = fitted.gemm[static_cast<std::size_t>(i)];
    if (!fitted.peak[static_cast<std::size_t>(i)] || !is_new(device.gemm[static_cast<std::size_t>(i)], fit)) continue;
    const char* const dtype = name_of(static_cast<Dtype>(i));
    if (!as_measured.empty()) fit->products = products_of(as_measured, fitted, static_cast<Dtype>(i));
    spread_gemm_efficiency(root, device);
    object_at(root, "gemm").set(dtype, json_of(*fit));
    cite(std::string("/gemm/") + dtype, fit->quality);
  }
  if (is_new(device.attention, fitted.attention)) {
    root.erase("flash_attention_efficiency");
    root.find("sources")->erase("/flash_attention_efficiency");
    object_at(root, "attention") = json_of_fit(*fitted.attention);
    cite("/attention", fitted.attention->quality);
  }
  if (is_new(device.flash_3, fitted.flash_3)) {
    object_at(root, "flash_3") = json_of_fit(*fitted.flash_3);
    cite("/flash_3", fitted.flash_3->quality);
  }
  return profile_text(std::move(root));
}

}  // namespace accosim
