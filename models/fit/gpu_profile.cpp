#include "models/fit/gpu_profile.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "models/base/quantity.hpp"
#include "models/fit/rounded.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/read_device.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

std::string time_text(Seconds time) {
  const double us = 1e6 * time.value;
  return us >= 0.01 ? fmt::format("{:.4g} us", us) : fmt::format("{:.4g} ns", 1e3 * us);
}

JsonValue curve_json(const KernelCurve& curve) {
  JsonValue json = json_object({});
  for (const KernelPoint& point : curve) json.set(fmt::format("{:.0f}", point.elements), time_text(point.time));
  return json;
}

JsonValue table_json(const KernelTable& table) {
  return json_object(
      {{"spread", rounded(table.spread)}, {"samples", rounded(table.samples)}, {"times", curve_json(table.times)}});
}

std::string citation_of(const GpuSamples& samples) {
  std::string text = "accocal measure on " + samples.device;
  const auto add = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += std::string(", ") + what + value;
  };
  add("", samples.date);
  add("commit ", samples.commit);
  add("driver ", samples.driver);
  add("cuBLASLt ", samples.library);
  return text;
}

}  // namespace

GpuProfile::GpuProfile(JsonValue base, const GpuSamples& samples, const std::string& base_name, bool same)
    : root_(std::move(base)), measured_(citation_of(samples)) {
  root_.set("schema", "accosim.device/1");
  // Its own name, so that nothing takes its predictions for the shipped profile's.
  root_.set("name", (same ? base_name : samples.device) + ", measured");
  if (!same) {
    if (JsonValue* sources = root_.find("sources"))
      for (JsonMember& source : sources->members)
        source.value.text = fmt::format("as {}: {}", base_name, source.value.text);
    if (JsonValue* gemm = root_.find("gemm"))
      for (JsonMember& fit : gemm->members) fit.value.set("inherited", true);
    if (JsonValue* attention = root_.find("attention")) attention->set("inherited", true);
    root_.erase("kernels");
    drop_citations(root_, "/kernels");
  }
  root_.set("description", fmt::format("{}, from {} and {}", samples.device, base_name, measured_));
  set("sm_count", rounded(samples.sm_count), measured_ + ": as the driver says");
  set("memory", fmt::format("{:.0f} B", samples.memory.value), measured_ + ": as the driver says");
  if (samples.memory_bandwidth.value > 0)
    set("memory_bandwidth", fmt::format("{:.0f} GB/s", 1e-9 * samples.memory_bandwidth.value),
        measured_ + ": clock and width of the memory");
  if (samples.power > 0)
    set("power", print_quantity(samples.power, Dimension::kPower), measured_ + ": limit that was set");
  read();
}

void GpuProfile::set(const std::string& key, JsonValue value, const std::string& source) {
  drop_citations(root_, "/" + key);
  root_.set(key, std::move(value));
  object_at(root_, "sources").set("/" + key, source);
}

void GpuProfile::read() {
  JsonDocument written = parse_json(text(), "fitted profile");  // numbers as they are written, with their few digits
  Diagnostics diagnostics{.errors = written.errors};
  const std::optional<Device> device = read_device(written.root, "", diagnostics);
  if (!device || !diagnostics.errors.empty()) {  // samples that pass one by one can make a device that cannot be
    diagnostics.errors.insert(diagnostics.errors.begin(), "the samples make a profile that cannot be; measure again:");
    throw ScenarioError(diagnostics.errors);
  }
  device_ = *device;
}

void GpuProfile::set_number(const char* key, double value, const std::string& source) {
  set(key, rounded(value), source);
  read();
}

void GpuProfile::set_time(const char* key, Seconds value, const std::string& source) {
  set(key, time_text(value), source);
  read();
}

void GpuProfile::set_gemm(Dtype dtype, const GemmFit& fit, const std::string& source) {
  spread_gemm_efficiency(root_, device_);
  object_at(root_, "gemm").set(name_of(dtype), json_of(fit));
  const std::string pointer = std::string("/gemm/") + name_of(dtype);
  drop_citations(root_, pointer);
  object_at(root_, "sources").set(pointer, source);
  read();
}

void GpuProfile::set_kernels(const std::vector<KernelTable>& tables) {
  if (tables.empty()) return;
  JsonValue kernels = json_object({});
  for (const KernelTable& table : tables) {
    JsonValue& dtypes = object_at(kernels, name_of(table.kernel));
    JsonValue& by_rows = object_at(dtypes, name_of(table.dtype));
    by_rows.set(table.rows > 0 ? fmt::format("{:.0f}", table.rows) : "any", table_json(table));
  }
  set("kernels", std::move(kernels), measured_ + ": each kernel by itself, several times in a row");
  read();
}

std::string GpuProfile::text() const { return profile_text(root_); }

std::vector<MeasuredProduct> measured_products(const GpuSamples& samples, const Device& device, Dtype dtype) {
  struct Mean {
    MeasuredProduct product;
    double sum[2] = {0, 0};
    int count[2] = {0, 0};
  };
  std::map<std::string, Mean> means;
  for (const GpuProductSample& sample : samples.products) {
    if (sample.dtype != dtype) continue;
    const Gemm& g = sample.gemm;
    const MeasuredProduct product{g.layout, g.accumulate, g.m, g.n, g.k, g.batch, 1};
    Mean& mean = means[key_of(product)];
    mean.product = product;
    const std::size_t which = sample.cold ? 1 : 0;
    mean.sum[which] += std::log(sample.time.mean() / gemm_time(g, device, dtype));
    ++mean.count[which];
  }
  std::vector<MeasuredProduct> products;
  for (auto& [key, mean] : means) {
    const std::size_t which = mean.count[0] > 0 ? 0 : 1;
    mean.product.ratio = std::exp(mean.sum[which] / mean.count[which]);
    products.push_back(mean.product);
  }
  return products;
}

}  // namespace accosim
