// Products by plain loops, for a device that is played on the host: in fp32 as on the device, the result rounded to its
// type, and only where the real ones would be done.
#include <fmt/format.h>

#include <bit>

#include "calibration/device/product_shape.hpp"
#include "calibration/device/products.hpp"
#include "calibration/ranks/bf16.hpp"
#include "tests/device/small_floats.hpp"
#include "tests/on_host/on_host.hpp"

namespace accocal {
namespace {

float to_tf32(float value) {
  // Ten bits of mantissa, to nearest, ties away from zero.
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

float operand_of(ProductType type, const void* data, std::int64_t i) {
  switch (type) {
    case ProductType::kFp32: return static_cast<const float*>(data)[i];
    case ProductType::kTf32: return to_tf32(static_cast<const float*>(data)[i]);
    case ProductType::kFp16: return static_cast<float>(decode(kFp16Format, static_cast<const std::uint16_t*>(data)[i]));
    case ProductType::kBf16: return to_float(static_cast<const Bf16*>(data)[i]);
    case ProductType::kFp8: return static_cast<float>(decode(kE4m3Format, static_cast<const std::uint8_t*>(data)[i]));
  }
  return 0;
}

// Of C, D and the bias.
float result_of(ProductType type, const void* data, std::int64_t i) {
  if (type == ProductType::kTf32) type = ProductType::kFp32;
  if (type == ProductType::kFp8) type = ProductType::kBf16;
  return operand_of(type, data, i);
}
void store(ProductType type, void* data, std::int64_t i, float value) {
  switch (type) {
    case ProductType::kFp32:
    case ProductType::kTf32: static_cast<float*>(data)[i] = value; return;
    case ProductType::kFp16:
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(encode(kFp16Format, value));
      return;
    case ProductType::kBf16:
    case ProductType::kFp8: static_cast<Bf16*>(data)[i] = to_bf16(value); return;
  }
}

void multiply_now(const Product& p, const ProductShape& s, void* c, const void* a, const void* b, const void* bias,
                  const void* d) {
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        float sum = 0;
        for (std::int64_t i = 0; i < p.k; ++i) {
          const std::int64_t at = p.transpose_a ? i + row * s.a.leading : row + i * s.a.leading;
          const std::int64_t bt = p.transpose_b ? column + i * s.b.leading : i + column * s.b.leading;
          sum += operand_of(p.type, a, batch * s.a.stride + at) * operand_of(p.type, b, batch * s.b.stride + bt);
        }
        const std::int64_t at = batch * s.c.stride + row + column * s.c.leading;
        float value = p.alpha * sum;
        if (d != nullptr && p.beta != 0) value += p.beta * result_of(p.type, d, at);
        if (bias != nullptr) value += result_of(p.type, bias, row);
        store(p.type, c, at, value);
      }
    }
  }
}

// "product 768 x 1024 x 3072 (1) NN + bias": sizes, transposes, then what is not usual of it; D or C is what is added.
std::string line_of(const Product& p, const void* c, const void* bias, const void* d) {
  std::string line = fmt::format("product {} x {} x {} ({}) {}{}", p.m, p.n, p.k, p.batch, p.transpose_a ? 'T' : 'N',
                                 p.transpose_b ? 'T' : 'N');
  if (p.lda != 0) line += fmt::format(", A {} apart", p.lda);
  if (p.ldb != 0) line += fmt::format(", B {} apart", p.ldb);
  if (p.ldc != 0) line += fmt::format(", C {} apart", p.ldc);
  if (p.alpha != 1) line += ", scaled";
  if (bias != nullptr) line += " + bias";
  if (p.beta != 0) line += d == c ? " + C" : " + D";
  return line;
}

// What cuBLASLt asks of fp8 on Hopper.
bool done_in_fp8(const Product& p, const ProductShape& s) {
  return p.transpose_a && !p.transpose_b && s.a.leading % 16 == 0 && s.b.leading % 16 == 0 && s.c.leading % 8 == 0;
}

}  // namespace

struct Products::State {
  DeviceMemory workspace;
};

Products::Products(std::size_t workspace) : state_(make_hidden<State>(DeviceMemory(workspace))) {}

void Products::multiply(const Product& product, void* c, const void* a, const void* b, const void* bias, const void* d,
                        Stream& stream) {
  if (!supported(product)) throw DeviceError("the host plays no such product: " + describe(product));
  const ProductShape shape = shape_of(product);
  log_launch(line_of(product, c, bias, d));
  give(stream, {describe(product), [=] { multiply_now(product, shape, c, a, b, bias, d); }});
}

bool Products::supported(const Product& product) {
  const ProductShape shape = shape_of(product);
  return product.type != ProductType::kFp8 || done_in_fp8(product, shape);
}

ProductChoice Products::choice(const Product& product) {
  if (!supported(product)) throw DeviceError("the host plays no such product: " + describe(product));
  return {"plain loops", 1};
}

std::int64_t Products::memory() const { return static_cast<std::int64_t>(state_->workspace.size()); }

}  // namespace accocal
