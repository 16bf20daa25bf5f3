// Products on the device against sums in double, element by element: every type, both transpositions, gaps between
// columns and between matrices, bias, and what the product is added to.
#include "calibration/device/products.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "calibration/base/names.hpp"
#include "calibration/device/product_shape.hpp"
#include "tests/device/on_device.hpp"
#include "tests/device/small_floats.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

// What the numbers of a matrix are stored in.
struct Storage {
  int bytes;
  SmallFloat format;  // of those that are not floats

  double get(const std::vector<std::uint8_t>& data, std::int64_t i) const {
    const std::uint8_t* at = data.data() + i * bytes;
    if (bytes == 1) return decode(format, *at);
    if (bytes == 2) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, at, 2);
      return decode(format, bits);
    }
    float value = 0;
    std::memcpy(&value, at, 4);
    return value;
  }
  void set(std::vector<std::uint8_t>& data, std::int64_t i, double value) const {
    std::uint8_t* at = data.data() + i * bytes;
    if (bytes == 4) {
      const auto rounded = static_cast<float>(value);
      std::memcpy(at, &rounded, 4);
    } else if (bytes == 2) {
      const auto bits = static_cast<std::uint16_t>(encode(format, value));
      std::memcpy(at, &bits, 2);
    } else {
      *at = static_cast<std::uint8_t>(encode(format, value));
    }
  }
};

Storage operands_of(ProductType type) {
  switch (type) {
    case ProductType::kFp16: return {2, kFp16Format};
    case ProductType::kBf16: return {2, kBf16Format};
    case ProductType::kFp8: return {1, kE4m3Format};
    default: return {4, {}};
  }
}
Storage results_of(ProductType type) { return type == ProductType::kFp8 ? Storage{2, kBf16Format} : operands_of(type); }

// A batch of matrices of random numbers, with NaN between columns and between matrices: whoever reads there shows.
std::vector<std::uint8_t> random_matrices(const StoredMatrix& m, int batch, const Storage& storage, Random& random) {
  std::vector<std::uint8_t> data(static_cast<std::size_t>(m.stride * batch * storage.bytes), 0xff);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t column = 0; column < m.columns; ++column) {
      for (std::int64_t row = 0; row < m.rows; ++row)
        storage.set(data, b * m.stride + column * m.leading + row, random.uniform(-2, 2));
    }
  }
  return data;
}

enum class Added { kNothing, kInPlace, kFromElsewhere };

// The bound of an element's error. Its k products and alpha, beta, bias are summed in fp32, each step erring by 2^-23
// of the magnitudes so far (tensor cores cut off where a processor rounds), in any order; then half a place of the
// result. tf32 cuts each operand to 2^-10. The tensor cores of Hopper keep 13 bits of the largest addend when they add
// products of fp8, 32 at a time. `rounded`: of what a library rounds to the type of the result before it adds the rest.
double bound(const Product& p, double magnitude, double largest, double value, double rounded, const Storage& results) {
  double sum = (p.k + 4) * 0x1p-23 * magnitude;
  if (p.type == ProductType::kTf32) sum += 1.01 * 0x1p-9 * magnitude;
  if (p.type == ProductType::kFp8) sum += 0x1p-13 * (p.k * largest + (p.k / 32.0 + 1) * magnitude);
  const double half = results.bytes == 4 ? 0x1p-24 : results.format.half_ulp();
  return sum + half * (std::abs(value) + std::abs(rounded) + sum) + (results.bytes == 2 ? 0x1p-25 : 0);
}

// alpha times a row of A with a column of B: its sum, the sum of its terms' magnitudes, and the largest of these.
struct Element {
  double sum = 0, magnitude = 0, largest = 0;
};
Element element_of(const Product& p, const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                   std::int64_t batch, std::int64_t column, std::int64_t row) {
  const ProductShape s = shape_of(p);
  const Storage operands = operands_of(p.type);
  Element element;
  for (std::int64_t i = 0; i < p.k; ++i) {
    const std::int64_t at_a = p.transpose_a ? i + row * s.a.leading : row + i * s.a.leading;
    const std::int64_t at_b = p.transpose_b ? column + i * s.b.leading : i + column * s.b.leading;
    const double term = operands.get(a, batch * s.a.stride + at_a) * operands.get(b, batch * s.b.stride + at_b);
    element.sum += term;
    element.magnitude += std::abs(term);
    element.largest = std::max(element.largest, std::abs(term));
  }
  const double alpha = static_cast<double>(p.alpha);
  return {alpha * element.sum, std::abs(alpha) * element.magnitude, std::abs(alpha) * element.largest};
}

void expect_product(const Product& p, bool with_bias, Added added, Random& random) {
  const std::string what = describe(p) + (with_bias ? ", bias" : "") + (added == Added::kInPlace ? ", in place" : "");
  const ProductShape s = shape_of(p);
  const Storage operands = operands_of(p.type), results = results_of(p.type);
  Stream stream;
  Products products(1 << 20);
  const std::vector<std::uint8_t> a = random_matrices(s.a, p.batch, operands, random);
  const std::vector<std::uint8_t> b = random_matrices(s.b, p.batch, operands, random);
  const std::vector<std::uint8_t> bias = random_matrices({p.m, 1, p.m, p.m}, 1, results, random);
  const std::vector<std::uint8_t> d = random_matrices(s.c, p.batch, results, random);
  // 0xff in every byte is a NaN in all formats.
  const std::vector<std::uint8_t> before = added == Added::kInPlace ? d : std::vector<std::uint8_t>(d.size(), 0xff);
  const DeviceMemory on_a = on_device(a, stream), on_b = on_device(b, stream), on_bias = on_device(bias, stream),
                     on_d = on_device(d, stream), on_c = on_device(before, stream);
  const void* add = added == Added::kNothing ? nullptr : added == Added::kInPlace ? on_c.data() : on_d.data();
  products.multiply(p, on_c.data(), on_a.data(), on_b.data(), with_bias ? on_bias.data() : nullptr, add, stream);
  const auto c = on_host<std::uint8_t>(on_c.data(), before.size(), stream);

  std::vector<bool> written(c.size());
  int wrong = 0;
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        auto [sum, magnitude, largest] = element_of(p, a, b, batch, column, row);
        // On an H200 cuBLASLt 13.1 rounds products of fp8 before it adds what is there, and a sum with what is there
        // before it adds the bias.
        double rounded = 0;
        if (added != Added::kNothing && p.type == ProductType::kFp8) rounded = sum;
        const std::int64_t at = batch * s.c.stride + column * s.c.leading + row;
        if (added != Added::kNothing) {
          sum += static_cast<double>(p.beta) * results.get(d, at);
          magnitude += std::abs(static_cast<double>(p.beta) * results.get(d, at));
        }
        if (with_bias) {
          if (added != Added::kNothing && results.bytes == 2) rounded = std::abs(rounded) + std::abs(sum);
          sum += results.get(bias, row);
          magnitude += std::abs(results.get(bias, row));
        }
        const double error = std::abs(results.get(c, at) - sum);
        if (!(error <= bound(p, magnitude, largest, sum, rounded, results)) && ++wrong <= 3)
          ADD_FAILURE() << what << ": element " << row << ", " << column << " of " << batch << " is "
                        << results.get(c, at) << ", not " << sum;
        for (int byte = 0; byte < results.bytes; ++byte)
          written[static_cast<std::size_t>(at * results.bytes + byte)] = true;
      }
    }
  }
  bool gaps_kept = true;
  for (std::size_t i = 0; i < c.size(); ++i) gaps_kept = gaps_kept && (written[i] || c[i] == before[i]);
  EXPECT_TRUE(gaps_kept) << what << ": wrote between its columns";
}

// Sizes that are no multiples of anything, and gaps.
Product random_product(ProductType type, Random& random) {
  Product p{.m = random.integer(2, 20), .n = random.integer(2, 20), .k = random.integer(2, 40), .type = type};
  p.batch = random.integer(0, 2) == 0 ? random.integer(2, 4) : 1;
  p.alpha = static_cast<float>(random.uniform(-2, 2));
  return p;
}
void add_gaps(Product& p, Random& random, int unit) {
  const ProductShape s = shape_of(p);
  p.lda = s.a.rows + unit * random.integer(0, 3);
  p.ldb = s.b.rows + unit * random.integer(0, 3);
  p.ldc = s.c.rows + unit * random.integer(0, 3);
  const ProductShape wide = shape_of(p);
  p.stride_a = wide.a.stride + unit * random.integer(0, 5);
  p.stride_b = wide.b.stride + unit * random.integer(0, 5);
  p.stride_c = wide.c.stride + unit * random.integer(0, 5);
}

class ProductsOf : public testing::TestWithParam<ProductType> {};

TEST_P(ProductsOf, AreSumsOfProducts) {
  Random random(static_cast<std::uint64_t>(GetParam()) + 1);
  const bool fp8 = GetParam() == ProductType::kFp8;
  {
    Products products(1 << 20);
    if (!products.supported({.m = 64, .n = 64, .k = 64, .transpose_a = true, .type = GetParam()}))
      GTEST_SKIP() << "this device has no such products";
  }
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      if (fp8 && (!transpose_a || transpose_b)) continue;
      for (const bool bias : {false, true}) {
        for (const Added added : {Added::kNothing, Added::kInPlace, Added::kFromElsewhere}) {
          for (const bool gaps : {false, true}) {
            Product p = random_product(GetParam(), random);
            p.transpose_a = transpose_a;
            p.transpose_b = transpose_b;
            if (fp8) p.m = 16 * random.integer(1, 3), p.n = 16 * random.integer(1, 3), p.k = 16 * random.integer(1, 5);
            if (added != Added::kNothing) p.beta = random.integer(0, 1) == 0 ? 1 : -0.5f;
            if (bias) p.batch = 1;
            if (gaps) add_gaps(p, random, fp8 ? 16 : 1);
            expect_product(p, bias, added, random);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachType, ProductsOf,
                         testing::Values(ProductType::kFp32, ProductType::kTf32, ProductType::kFp16, ProductType::kBf16,
                                         ProductType::kFp8),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Products, OneOfManyTermsIsStillExact) {
  // A long sum, which a device may split into parts: these too are to be added in fp32, so that only the result is
  // rounded to bf16.
  Random random(7);
  expect_product({.m = 3, .n = 5, .k = 3000, .type = ProductType::kBf16}, false, Added::kNothing, random);
  expect_product({.m = 8, .n = 8, .k = 4096, .transpose_b = true, .type = ProductType::kBf16, .beta = 1}, false,
                 Added::kInPlace, random);
}

TEST(Products, OfOneRowOneColumnOneTerm) {
  Random random(9);
  for (const bool transpose : {false, true}) {
    Product p{.m = 1, .n = 7, .k = 3, .transpose_a = transpose, .transpose_b = transpose, .type = ProductType::kFp32};
    expect_product(p, false, Added::kNothing, random);
    p = {.m = 7, .n = 1, .k = 3, .transpose_a = transpose, .transpose_b = transpose, .type = ProductType::kFp32};
    expect_product(p, false, Added::kNothing, random);
    p = {.m = 7, .n = 5, .k = 1, .transpose_a = transpose, .transpose_b = transpose, .type = ProductType::kFp32};
    expect_product(p, false, Added::kNothing, random);
  }
}

TEST(Products, BetaWithoutAnythingToAddIsNone) {
  Random random(8);
  expect_product({.m = 4, .n = 4, .k = 4, .type = ProductType::kFp32, .beta = 3}, false, Added::kNothing, random);
}

TEST(Products, RefuseWhatCannotBe) {
  Products products(1 << 20);
  EXPECT_THROW(products.supported({.m = 4, .n = 4, .k = 0}), std::invalid_argument);
  EXPECT_THROW(products.supported({.m = 4, .n = 4, .k = 4, .ldc = 3}), std::invalid_argument);
  // E4M3 is multiplied with A transposed alone, at sizes that fill 16 bytes.
  EXPECT_FALSE(products.supported({.m = 15, .n = 17, .k = 13, .type = ProductType::kFp8}));
  EXPECT_THROW(products.choice({.m = 15, .n = 17, .k = 13, .type = ProductType::kFp8}), DeviceError);
}

TEST(Products, SayWhatTheyChose) {
  Products products(1 << 20);
  const ProductChoice choice = products.choice({.m = 64, .n = 64, .k = 64, .type = ProductType::kFp32});
  EXPECT_FALSE(choice.algorithm.empty());
  EXPECT_GT(choice.waves, 0);
  EXPECT_GE(products.memory(), 1 << 20);
}

}  // namespace
}  // namespace accocal
