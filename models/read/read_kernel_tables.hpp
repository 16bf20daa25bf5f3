// The measured kernels of a device's profile.
#pragma once

#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/device.hpp"
#include "models/spec/kernel_table.hpp"

namespace accosim {

/// "products" of a GEMM fit: {"NT 768x768x4096x1 +": 1.02, ...}, ratios of measured over fitted time. Keys are the
/// layout, the sizes m, n, k and batch, and a plus where the product is added to the result.
std::vector<MeasuredProduct> read_measured_products(ObjectReader& fit);

/// "kernels": by name, dtype and rows ("any" or a number) {"spread": 0.02, "samples": 20, "times": {"65536": "3 us",
/// ...}}: times by elements.
std::vector<KernelTable> read_kernel_tables(ObjectReader& device);

}  // namespace accosim
