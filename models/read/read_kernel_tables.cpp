// Reads what was measured kernel by kernel from a device profile: tables of memory-bound kernels, ratios of products.
#include "models/read/read_kernel_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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
  for (const GemmLayout each : {GemmLayout::kNN, GemmLayout::kTN, GemmLayout::kNT, GemmLayout::kTT})
    if (layout == name_of(each)) product.layout = each;
  std::string sizes = cut(' ');
  product.accumulate = key == "+";
  if (!key.empty() && !product.accumulate) return std::nullopt;
  key = sizes;
  product.m = whole(cut('x'));
  product.n = whole(cut('x'));
  product.k = whole(cut('x'));
  product.batch = whole(key);
  const bool good =
      product.layout != GemmLayout::kAny && std::min({product.m, product.n, product.k, product.batch}) > 0;
  return good ? std::optional<MeasuredProduct>(product) : std::nullopt;
}

KernelCurve read_curve(ObjectReader& table, const char* key) {
  KernelCurve curve;
  JsonValue* value = table.find(key);
  if (value == nullptr) {
    table.fail(key, "missing; write times by elements: {\"65536\": \"3 us\"}");
    return curve;
  }
  ObjectReader points(*value, table.pointer(key), table.diagnostics());
  for (std::size_t i = 0; i < value->members.size(); ++i) {
    const std::string name = value->members[i].key;
    const double elements = whole(name);
    const Seconds time = points.seconds(name);
    if (elements == 0)
      points.fail(name, "is no number of elements; write times by elements: {\"65536\": \"3 us\"}");
    else if (points.good(name) && !(time > Seconds{0}))
      points.fail(name, "is not above 0; write the time of the kernel");
    curve.push_back({elements, time});
  }
  points.finish();
  if (value->members.empty()) table.fail(key, "is empty; write times by elements: {\"65536\": \"3 us\"}");
  std::sort(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.elements < b.elements; });
  return curve;
}

KernelTable read_table(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  KernelTable table;
  table.spread = reader.number("spread", kSpread, 0);
  table.samples = reader.integer("samples", 0, kMaxInteger, 0);
  table.times = read_curve(reader, "times");
  reader.finish();
  return table;
}

}  // namespace

std::vector<MeasuredProduct> read_measured_products(ObjectReader& fit) {
  std::vector<MeasuredProduct> products;
  JsonValue* value = fit.find("products");
  if (value == nullptr) return products;
  ObjectReader reader(*value, fit.pointer("products"), fit.diagnostics());
  for (const JsonMember& member : value->members) {
    const std::string key = member.key;
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
  reader.finish();
  return products;
}

std::vector<KernelTable> read_kernel_tables(ObjectReader& device) {
  std::vector<KernelTable> tables;
  JsonValue* value = device.find("kernels");
  if (value == nullptr) return tables;
  ObjectReader kernels(*value, device.pointer("kernels"), device.diagnostics());
  for (int i = 0; i < kStepKernelCount; ++i) {
    const StepKernel kernel = static_cast<StepKernel>(i);
    JsonValue* of = kernels.find(name_of(kernel));
    if (of == nullptr) continue;
    ObjectReader dtypes(*of, kernels.pointer(name_of(kernel)), kernels.diagnostics());
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32}) {
      JsonValue* one = dtypes.find(name_of(dtype));
      if (one == nullptr) continue;
      ObjectReader by_rows(*one, dtypes.pointer(name_of(dtype)), dtypes.diagnostics());
      for (std::size_t k = 0; k < one->members.size(); ++k) {
        const std::string rows = one->members[k].key;
        KernelTable table = read_table(*by_rows.find(rows), by_rows.pointer(rows), by_rows.diagnostics());
        table.kernel = kernel;
        table.dtype = dtype;
        table.rows = whole(rows);
        if (table.rows == 0 && rows != kAnyRows)
          by_rows.fail(rows, "is no number of rows; write \"any\", or \"1024\" for columns of 1024");
        tables.push_back(std::move(table));
      }
      by_rows.finish();
    }
    dtypes.finish();
  }
  kernels.finish();
  return tables;
}

}  // namespace accosim
