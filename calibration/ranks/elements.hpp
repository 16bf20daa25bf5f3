// The one thing that a transport computes: sums of buffers, element by element.
#pragma once

#include <cstddef>

#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Bytes of an element.
std::size_t size_of(ElementType type);

/// to[i] = a[i] + b[i]. `to` may be one of the others. In bf16 each sum is made in fp32 and rounded to nearest even;
/// integers wrap around.
void add_elements(ElementType type, void* to, const void* a, const void* b, std::size_t count);

}  // namespace accocal
