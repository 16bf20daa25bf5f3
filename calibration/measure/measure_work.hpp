// From the cases of a plan to work that a bench can run: which arrays, holding what, and the call.
#pragma once

#include "calibration/measure/measure_bench.hpp"
#include "calibration/measure/measure_cases.hpp"

namespace accocal {

/// `products` must live as long as the work.
DeviceWork work_of(const ProductCase& one, Products& products);
DeviceWork work_of(const KernelCase& one);

}  // namespace accocal
