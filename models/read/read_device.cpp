// Reads a device profile: what the device can do, the fitted constants of its kernels, "gemm" by dtype and "attention",
// and what was measured kernel by kernel, tables of memory-bound kernels and ratios of products.
#include "models/read/read_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/read/parts.hpp"

namespace accosim {
namespace {

constexpr Range kRatio{0, 100, true};
constexpr const char* kAnyRows = "any";
constexpr Range kSpread{0, 10};
constexpr double kMostElements = 1e15;

/// A whole number from 1; 0: it is none.
double whole(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  const bool good = result.ec == std::errc() && result.ptr == end && value > 0;
  return good && static_cast<double>(value) <= kMostElements ? static_cast<double>(value) : 0;
}

std::optional<MeasuredProduct> product_of(std::string key) {
  MeasuredProduct product;
  const auto cut = [&](char until) {
    const std::size_t at = std::min(key.find(until), key.size());
    std::string part = key.substr(0, at);
    key.erase(0, std::min(at + 1, key.size()));
    return part;
  };
  const std::string layout = cut(' ');
  const std::optional<GemmLayout> known = value_named<GemmLayout>(layout);
  if (known) product.layout = *known;
  std::string sizes = cut(' ');
  product.accumulate = key == "+";
  if (!key.empty() && !product.accumulate) return std::nullopt;
  key = sizes;
  product.m = whole(cut('x'));
  product.n = whole(cut('x'));
  product.k = whole(cut('x'));
  product.batch = whole(key);
  const bool good = known && std::min({product.m, product.n, product.k, product.batch}) > 0;
  return good ? std::optional<MeasuredProduct>(product) : std::nullopt;
}

KernelCurve read_curve(ObjectReader& table, const char* key) {
  constexpr const char* kForm = "write times by elements: {\"65536\": \"3 us\"}";
  KernelCurve curve;
  const bool said = read_part(table, key, [&](ObjectReader& points) {
    const std::vector<std::string> names = keys_of(points.value());
    for (const std::string& name : names) {
      const double elements = whole(name);
      const Seconds time = points.seconds(name);
      if (elements == 0)
        points.fail(name, std::string("is no number of elements; ") + kForm);
      else if (points.good(name) && !(time > Seconds{0}))
        points.fail(name, "is not above 0; write the time of the kernel");
      curve.push_back({elements, time});
    }
    if (names.empty()) table.fail(key, std::string("is empty; ") + kForm);
  });
  if (!said) table.fail(key, std::string("missing; ") + kForm);
  std::ranges::sort(curve, [](const auto& a, const auto& b) { return a.elements < b.elements; });
  return curve;
}

KernelTable read_table(ObjectReader& reader) {
  KernelTable table{.spread = reader.number("spread", kSpread, 0),
                    .samples = reader.integer("samples", 0, kMaxInteger, 0)};
  table.times = read_curve(reader, "times");
  return table;
}

/// "products" of a GEMM fit: {"NT 768x768x4096x1 +": 1.02, ...}, ratios of measured over fitted time. Keys are the
/// layout, the sizes m, n, k and batch, and a plus where the product is added to the result.
std::vector<MeasuredProduct> read_measured_products(ObjectReader& fit) {
  std::vector<MeasuredProduct> products;
  read_part(fit, "products", [&](ObjectReader& reader) {
    for (const std::string& key : keys_of(reader.value())) {
      std::optional<MeasuredProduct> product = product_of(key);
      const double ratio = reader.number(key, kRatio);
      if (!product) {
        reader.fail(key,
                    "is no product; write \"NT 768x768x4096x1 +\": 1.02 (layout, m x n x k x batch, + where it adds)");
        continue;
      }
      product->ratio = ratio;
      products.push_back(*product);
    }
  });
  return products;
}

/// "kernels": by name, dtype and rows ("any" or a number) {"spread": 0.02, "samples": 20, "times": {"65536": "3 us",
/// ...}}: times by elements.
std::vector<KernelTable> read_kernel_tables(ObjectReader& device) {
  std::vector<KernelTable> tables;
  const auto read_rows = [&](ObjectReader& by_rows, StepKernel kernel, Dtype dtype) {
    for (const std::string& rows : keys_of(by_rows.value())) {
      KernelTable& table = tables.emplace_back();
      read_part(by_rows, rows, [&](ObjectReader& reader) { table = read_table(reader); });
      table.kernel = kernel;
      table.dtype = dtype;
      table.rows = whole(rows);
      if (table.rows == 0 && rows != kAnyRows)
        by_rows.fail(rows, "is no number of rows; write \"any\", or \"1024\" for columns of 1024");
    }
  };
  read_part(device, "kernels", [&](ObjectReader& kernels) {
    for (int i = 0; i < kStepKernelCount; ++i) {
      const StepKernel kernel = static_cast<StepKernel>(i);
      read_part(kernels, name_of(kernel), [&](ObjectReader& dtypes) {
        for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32})
          read_part(dtypes, name_of(dtype), [&](ObjectReader& by_rows) { read_rows(by_rows, kernel, dtype); });
      });
    }
  });
  return tables;
}

constexpr Range kFlops{0, 1e24};

FitQuality read_quality(ObjectReader& reader) {
  return FitQuality{.spread = reader.number("spread", kSpread, 0),
                    .samples = reader.integer("samples", 0, kMaxInteger, 0),
                    .least = reader.number("least_flops", kFlops, 0),
                    .most = reader.number("most_flops", kFlops, 0),
                    .inherited = reader.boolean("inherited", false),
                    .other_generation = reader.boolean("other_generation", false)};
}

template <class Fit>
Fit read_fit(ObjectReader& reader) {
  Fit fit;
  for (const FitConstant<Fit>& each : kFitConstants<Fit>)
    fit.*each.member =
        each.is_power ? reader.watts(each.key, each.usual) : reader.number(each.key, each.range, each.usual);
  fit.fixed = reader.seconds("fixed", Seconds{0});
  fit.quality = read_quality(reader);
  return fit;
}

/// "architecture", "sm_count", "power" and the fitted constants of kernels, or the constants that stand for them.
void read_kernel_fits(ObjectReader& reader, Device& device) {
  device.architecture = reader.text("architecture", "");
  const std::vector<std::string>& known = architectures();
  if (const std::string near = nearest(device.architecture, known); !near.empty() && near != device.architecture)
    reader.fail("architecture",
                fmt::format("{} is not known; did you mean {}?", in_quotes(device.architecture), in_quotes(near)));
  device.sm_count = reader.integer("sm_count", 0, 10'000, 0);
  device.power = reader.watts("power", 0);

  // A constant that is written takes the place of the fit: it is how a user says "suppose that".
  const bool constant = reader.has("gemm_efficiency"), fitted = reader.has("gemm");
  if (constant || !fitted) device.gemm_efficiency = reader.number("gemm_efficiency", kFraction);
  if (!constant)
    read_part(reader, "gemm", [&](ObjectReader& fits) {
      for (int i = 0; i < kDtypeCount; ++i) {
        const char* const name = name_of(static_cast<Dtype>(i));
        const std::size_t index = static_cast<std::size_t>(i);
        const bool said = read_part(fits, name, [&](ObjectReader& fit) {
          device.gemm[index] = read_fit<GemmFit>(fit);
          device.gemm[index]->products = read_measured_products(fit);
        });
        if (!said && device.peak[index])
          fits.fail(name,
                    "missing: the device has a peak for it; write its constants, or gemm_efficiency for all dtypes");
      }
    });
  device.kernels = read_kernel_tables(reader);
  const bool fitted_attention = reader.has("attention") && !reader.has("flash_attention_efficiency");
  if (!fitted_attention) device.flash_attention_efficiency = reader.number("flash_attention_efficiency", Range{0, 1});
  if (fitted_attention)
    read_part(reader, "attention", [&](ObjectReader& fit) { device.attention = read_fit<AttentionFit>(fit); });
  read_part(reader, "flash_3", [&](ObjectReader& fit) { device.flash_3 = read_fit<AttentionFit>(fit); });
}

constexpr Range kSlowdown{0.001, 1e6};

}  // namespace

std::string dtypes_of(const Device& device) {
  std::string out;
  for (int i = 0; i < kDtypeCount; ++i) {
    if (!device.peak[static_cast<std::size_t>(i)]) continue;
    out += (out.empty() ? "" : ", ") + std::string(name_of(static_cast<Dtype>(i)));
  }
  return out;
}

void read_sources(ObjectReader& reader) {
  read_part(reader, "sources", [&](ObjectReader& cited) {
    for (const JsonMember& member : cited.value().members) {
      if (at_pointer(reader.value(), member.key) == nullptr)
        reader.diagnostics().add(member.origin, cited.pointer(member.key),
                                 "cites what is not there; write the JSON pointer of a value, such as \"/memory\"");
      cited.text(member.key, {}, 2000);
    }
  });
}

std::optional<Device> read_device(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  if (value.kind == JsonKind::kText) return std::nullopt;  // a reference that failed and has been reported
  const std::size_t errors = diagnostics.errors.size();
  ObjectReader reader(value, pointer, diagnostics);
  if (reader.has("inherits")) return std::nullopt;  // the same
  Device device;
  reader.schema("accosim.device/1");
  device.name = reader.text("name", "device");
  if (reader.has("description")) reader.text("description", {}, 4000);
  constexpr const char* kPeak = "write \"peak\": {\"bf16\": \"312 TFLOP/s\"}";
  const bool said = read_part(reader, "peak", [&](ObjectReader& peaks) {
    for (int i = 0; i < kDtypeCount; ++i) {
      const char* const name = name_of(static_cast<Dtype>(i));
      if (peaks.has(name)) device.peak[static_cast<std::size_t>(i)] = peaks.compute(name);
    }
    if (peaks.good() && peaks.value().members.empty()) reader.fail("peak", std::string("is empty; ") + kPeak);
  });
  if (!said) reader.fail("peak", std::string("missing; ") + kPeak);
  read_kernel_fits(reader, device);
  device.collective_sms = reader.integer("collective_sms", 0, 10'000, 0);
  device.collective_slowdown = reader.number("collective_slowdown", Range{1, 100}, 1);
  device.memory_bandwidth = reader.bandwidth("memory_bandwidth");
  device.memory_efficiency = reader.number("memory_efficiency", kFraction);
  device.memory = reader.bytes("memory");
  device.reserved_memory = reader.bytes("reserved_memory", Bytes{0});
  device.launch_interval = reader.seconds("launch_interval");
  if (reader.has("product_overhead")) device.product_overhead = reader.number("product_overhead", Range{0.1, 10});
  device.adamw_time_per_parameter = reader.seconds("adamw_time_per_parameter", Seconds{0});
  device.steps = reader.choice("steps", StepEvidence::kOwn);
  device.step_factor = reader.number("step_factor", Range{0.1, 10}, 1);
  if (reader.has("step_spread")) device.step_spread = reader.number("step_spread", Range{0.001, 10});
  device.slowdown = reader.number("slowdown", kSlowdown, 1);
  if (reader.good("memory") && reader.good("reserved_memory") && device.reserved_memory >= device.memory) {
    reader.fail("reserved_memory", "leaves nothing of the memory; write less than \"memory\"");
  }
  read_sources(reader);
  reader.finish();
  if (diagnostics.errors.size() != errors || holds_refused(value)) return std::nullopt;
  return device;
}

}  // namespace accosim
