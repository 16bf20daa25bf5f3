// Is the table of kernels all that a micro-batch computes, and can it be fitted once it has times?
#include "models/fit/kernel_rows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "models/base/csv.hpp"
#include "models/fit/kernel_samples.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

std::string rows_of(const Costs& costs) {
  std::ostringstream out;
  write_kernel_rows(out, "s", costs);
  return out.str();
}

/// The same with a time of 1 us for each kernel.
std::string timed(const std::string& rows) {
  std::istringstream in(rows);
  std::string all;
  for (std::string line; std::getline(in, line);)
    all += line + (line[0] == '#' ? "\n" : line.rfind("source", 0) == 0 ? ",time_us\n" : ",1\n");
  return all;
}

// Elementwise kernels compute nothing that counts: what is left is all FLOPs of a micro-batch, recomputed ones too.
TEST(KernelRows, AreAllThatAMicroBatchComputes) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kFull})
    for (const int tensor : {1, 2}) {
      Scenario scenario = sample_scenario(1, 2);
      scenario.training.activation_recompute = recompute;
      scenario.training.parallel.tensor = tensor;
      const Costs costs = price(scenario, sample_schedule("ddp"));
      const std::string rows = timed(rows_of(costs));
      Diagnostics diagnostics;
      const CsvTable table = parse_csv(rows, "rows.csv", diagnostics);
      ASSERT_TRUE(diagnostics.errors.empty()) << diagnostics.errors.front();
      const std::vector<KernelSample> samples = read_kernel_samples(rows, "rows.csv");
      ASSERT_EQ(samples.size(), table.rows.size());
      double flops = 0;
      for (std::size_t i = 0; i < samples.size(); ++i)
        flops += CsvRowReader(table, table.rows[i], diagnostics).number("per_micro_batch", Range{0, 1e9}) *
                 flops_of(samples[i].kernel).value;
      EXPECT_NEAR(flops, costs.kinds[0].hardware_flops.value, 1e-9 * flops);
    }
}

// Of one product of each pass; recomputed ones are forward passes.
TEST(KernelRows, SayWhichPassEachIsOf) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.training.activation_recompute = Recompute::kFull;
  const std::string rows = rows_of(price(scenario, sample_schedule("ddp")));
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = rows.find(what); at != std::string::npos; at = rows.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(",weight_gradient,"), count(",forward,") - 1);  // and attention
  EXPECT_GT(count(",input_gradient,"), 0);
}

}  // namespace
}  // namespace accosim
