// Plain loops that the compiler may vectorise; bf16 goes through fp32.
#include "calibration/ranks/elements.hpp"

#include <cstdint>
#include <functional>

#include "calibration/ranks/bf16.hpp"

namespace accocal {
namespace {

template <typename Element, typename Sum>
void add(void* to, const void* a, const void* b, std::size_t count, Sum sum) {
  auto* sums = static_cast<Element*>(to);
  const auto* left = static_cast<const Element*>(a);
  const auto* right = static_cast<const Element*>(b);
  for (std::size_t i = 0; i < count; ++i) sums[i] = sum(left[i], right[i]);
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
    case ElementType::kFloat32: return add<float>(to, a, b, count, std::plus());
    case ElementType::kFloat64: return add<double>(to, a, b, count, std::plus());
    case ElementType::kBf16:
      return add<Bf16>(to, a, b, count, [](Bf16 x, Bf16 y) { return to_bf16(to_float(x) + to_float(y)); });
    case ElementType::kInt64: return add<std::uint64_t>(to, a, b, count, std::plus());  // unsigned: wraps
  }
}

}  // namespace accocal
