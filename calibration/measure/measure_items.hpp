// The samples of each kind as items that a session runs.
#pragma once

#include <vector>

#include "calibration/device/products.hpp"
#include "calibration/measure/device_plan.hpp"
#include "calibration/measure/measure_bench.hpp"
#include "calibration/measure/measure_session.hpp"

namespace accocal {

/// How long each kind is run; tests take little.
struct Efforts {
  Effort product{Seconds{15e-3}, Seconds{25e-3}, 5, 40};
  Effort kernel{Seconds{2e-3}, Seconds{10e-3}, 7, 25};
  Effort copy{Seconds{2e-3}, Seconds{20e-3}, 5, 15};
  Effort launch{Seconds{1e-3}, Seconds{1e-3}, 15, 15};
  Effort beside{Seconds{2e-3}, Seconds{10e-3}, 15, 40};
  Seconds load{2};         ///< of warm-up load before GEMMs are timed, and before a step is counted
  Seconds step{0.5};       ///< of counted micro-batches
  Seconds rest{0.5};       ///< before a step
  Seconds rested{0.1};     ///< of counted micro-batches after it
  int load_size = 4096;    ///< m, n and k of the GEMMs of that load
  int launches = 100;      ///< base number of launches of an empty kernel in one measurement
  Seconds settle{300e-6};  ///< from the launch of what a kernel is timed beside until it surely runs
};

/// What all samples use.
struct Lab {
  Bench& bench;
  Products& products;
  const Efforts& efforts;
  int device = 0;  ///< the one in use
};

/// A case as work that a bench can run: which arrays, holding what, and the call. `products` must live as long.
DeviceWork work_of(const ProductCase& one, Products& products);
DeviceWork work_of(const KernelCase& one);

std::vector<MeasureItem> product_items(const std::vector<ProductCase>& cases, Lab lab);
std::vector<MeasureItem> kernel_items(const std::vector<KernelCase>& cases, Lab lab);
std::vector<MeasureItem> launch_items(Lab lab);
std::vector<MeasureItem> copy_items(const std::vector<CopyCase>& cases, Lab lab);
std::vector<MeasureItem> interference_items(const std::vector<InterferenceCase>& cases, Lab lab);
/// Medians after a rest are added to `rested`, with their keys.
std::vector<MeasureItem> step_items(const std::vector<StepCase>& cases, Lab lab, std::vector<Entries>& rested);
std::vector<MeasureItem> update_items(const std::vector<UpdateCase>& cases, Lab lab);

/// Repeats a GEMM of efforts.load_size for efforts.load.
void warm_up_device(Lab lab);

/// The keys of a sample, without "what".
Entries keys_of(const ProductCase& one);
Entries keys_of(const KernelCase& one);

}  // namespace accocal
