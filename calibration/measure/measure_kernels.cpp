// Products and memory-bound kernels: a runner, a time.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/measure/measure_items.hpp"
#include "calibration/measure/measure_rank.hpp"

namespace accocal {
namespace {

Effort second_pass(Effort effort, bool again) {
  if (!again) return effort;
  effort.counted = 0.5 * effort.counted;
  effort.most_batches = std::max(effort.least_batches, effort.most_batches / 2);
  return effort;
}

std::optional<ItemTimes> time_work(const DeviceWork& work, bool cold, const Effort& effort, Seconds most,
                                   Bench& bench) {
  Runner runner = bench.make_ready(work, cold);
  const std::optional<Spread> spread = bench.time(runner, effort, most);
  if (!spread) return std::nullopt;
  return ItemTimes{*spread, {}};
}

}  // namespace

Entries keys_of(const ProductCase& one) {
  const Product& p = one.product;
  return {{"dtype", name_of(p.type)},
          {"layout", one.layout},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"transpose_a", p.transpose_a},
          {"transpose_b", p.transpose_b},
          {"bias", one.bias},
          {"accumulate", p.beta != 0},
          {"model", one.model},
          {"cold", one.cold}};
}

Entries keys_of(const KernelCase& one) {
  Entries keys = {{"dtype", one.type == ElementType::kBf16 ? "bf16" : "fp32"},
                  {"rows", rows_of(one)},
                  {"columns", columns_of(one)},
                  {"bytes", static_cast<std::int64_t>(bytes_of(one))},
                  {"cold", one.cold}};
  if (!one.model.empty()) keys.emplace_back("model", one.model);
  return keys;
}

std::vector<MeasureItem> product_items(const std::vector<ProductCase>& cases, Lab lab) {
  std::vector<MeasureItem> items;
  for (const ProductCase& one : cases) {
    const auto measure = [one, lab](Seconds most, bool again) -> std::optional<ItemTimes> {
      if (!lab.products.supported(one.product)) throw NotMeasured("this device has no such product");
      const DeviceWork work = work_of(one, lab.products);
      std::optional<ItemTimes> measured =
          time_work(work, one.cold, second_pass(lab.efforts.product, again), most, lab.bench);
      if (!measured) return measured;
      const ProductChoice choice = lab.products.choice(one.product);
      measured->more = {{"algorithm", choice.algorithm}, {"waves", choice.waves}};
      return measured;
    };
    items.push_back(
        {text_of(one),
         fmt::format("products in {} of {}{}", name_of(one.product.type), one.model, one.cold ? " with a cold L2" : ""),
         joined({{"what", "gemm"}}, keys_of(one)), measure});
  }
  return items;
}

std::vector<MeasureItem> kernel_items(const std::vector<KernelCase>& cases, Lab lab) {
  std::vector<MeasureItem> items;
  for (const KernelCase& one : cases) {
    items.push_back({text_of(one),
                     fmt::format("kernels{}{}", one.model.empty() ? " by size" : " of " + one.model,
                                 one.cold ? " with a cold L2" : ""),
                     joined({{"what", "kernel"}, {"kernel", name_of(one.kind)}}, keys_of(one)),
                     [one, lab](Seconds most, bool again) {
                       return time_work(work_of(one), one.cold, second_pass(lab.efforts.kernel, again), most,
                                        lab.bench);
                     }});
  }
  return items;
}

void warm_up_device(Lab lab) {
  if (lab.efforts.load.value <= 0) return;
  ProductCase one;
  one.product.m = one.product.n = one.product.k = lab.efforts.load_size;
  const DeviceWork work = work_of(one, lab.products);
  Runner runner = lab.bench.make_ready(work, false);
  for (const double begin = monotonic_seconds(); monotonic_seconds() - begin < lab.efforts.load.value;) {
    for (int i = 0; i < 10; ++i) runner.batch(lab.bench.stream());
    lab.bench.stream().synchronise();
  }
}

}  // namespace accocal
