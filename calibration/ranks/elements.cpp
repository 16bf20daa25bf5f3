// Plain loops that the compiler may vectorise; bf16 goes through fp32.
#include "calibration/ranks/elements.hpp"

#include <cstdint>

#include "calibration/ranks/bf16.hpp"

namespace accocal {
namespace {

template <typename Element>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* sum = static_cast<Element*>(to);
  const auto* left = static_cast<const Element*>(a);
  const auto* right = static_cast<const Element*>(b);
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

void add_bf16(void* to, const void* a, const void* b, std::size_t count) {
  auto* sum = static_cast<Bf16*>(to);
  const auto* left = static_cast<const Bf16*>(a);
  const auto* right = static_cast<const Bf16*>(b);
  for (std::size_t i = 0; i < count; ++i) sum[i] = to_bf16(to_float(left[i]) + to_float(right[i]));
}

}  // namespace

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return 4;
    case ElementType::kFloat64: return 8;
    case ElementType::kBf16: return 2;
    case ElementType::kInt64: return 8;
  }
  return 0;
}

void add_elements(ElementType type, void* to, const void* a, const void* b, std::size_t count) {
  switch (type) {
    case ElementType::kFloat32: return add<float>(to, a, b, count);
    case ElementType::kFloat64: return add<double>(to, a, b, count);
    case ElementType::kBf16: return add_bf16(to, a, b, count);
    case ElementType::kInt64: return add<std::uint64_t>(to, a, b, count);  // unsigned: wraps
  }
}

}  // namespace accocal
