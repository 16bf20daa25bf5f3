#include "models/fit/kernel_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace accosim {
namespace {

/// Times a micro-batch by the cells of a row.
using Rows = std::vector<std::pair<std::string, double>>;

/// How often it runs; 0 of a row that is new.
double& times_of(Rows& rows, const std::string& cells) {
  const auto same = std::ranges::find(rows, cells, &Rows::value_type::first);
  return same == rows.end() ? rows.emplace_back(cells, 0).second : same->second;
}

std::string cells_of(const Gemm& g, const char* dtype, bool backward) {
  const char* const pass = g.across ? "weight_gradient" : backward ? "input_gradient" : "forward";
  const char* const out = g.out == Bytes{4} ? "fp32" : g.out == Bytes{2} && g.in == Bytes{1} ? "bf16" : dtype;
  return fmt::format("gemm,{},1,{:.0f},{:.0f},{:.0f},{},{:d},,,,,,,,{}", dtype, g.m, g.n, g.k, out, g.accumulate, pass);
}

std::string cells_of(const AttentionShape& a, const char* dtype, bool backward) {
  return fmt::format("attention_{},{},{:.0f},,,,,,{:.0f},{:.0f},{:.0f},{:.0f},{:.0f},{:d},{:d},{}",
                     backward ? "backward" : "forward", dtype, a.batch, a.heads, a.kv_heads, a.seq, a.head_dim,
                     a.value_dim, a.pairs < a.seq * a.seq, a.flash_3, backward ? "input_gradient" : "forward");
}

/// A cell of a table, which has no quotes.
std::string cell_of(std::string name) {
  std::ranges::replace_if(
      name, [](char each) { return each == ',' || each == '#'; }, ' ');
  return name;
}

bool is_whole(const AttentionShape& a) { return a.pairs == a.seq * a.seq || 2 * a.pairs == a.seq * a.seq; }

/// Of one kind of rank; `others` are the operators of which no row can say all.
Rows rows_of(const RankKind& kind, std::set<std::string>& others) {
  Rows rows;
  for (const BilledLayer& layer : kind.bill->layers)
    for (const BilledOperator& op : layer.operators)
      for (const BillLine& line : op.lines) {
        const Kernel& kernel = kind.bill->kernels[line.kernel].kernel;
        // What runs forward, too, is recomputed.
        const bool backward = line.backward && std::ranges::none_of(op.lines, [&](const BillLine& other) {
                                return !other.backward && other.kernel == line.kernel;
                              });
        const char* const dtype = name_of(kernel.dtype.value_or(kind.workload.compute));
        const double times = layer.times() * kernel.repeats;
        if (kernel.kind == KernelKind::kMemory) continue;
        if (kernel.kind == KernelKind::kGemm ? kernel.gemm.batch > 1 : !is_whole(kernel.attention))
          others.insert(op.name);
        else if (kernel.kind == KernelKind::kGemm)
          times_of(rows, cells_of(kernel.gemm, dtype, backward)) += times;
        else
          times_of(rows, cells_of(kernel.attention, dtype, backward)) += times;
      }
  return rows;
}

}  // namespace

void write_kernel_rows(std::ostream& out, const std::string& scenario, const Costs& costs) {
  std::vector<std::pair<std::string, Rows>> devices;  // by name
  std::set<std::string> others;
  for (const RankKind& kind : costs.kinds) {
    auto device = std::ranges::find(devices, kind.device.name, &std::pair<std::string, Rows>::first);
    if (device == devices.end()) device = devices.insert(devices.end(), {kind.device.name, {}});
    for (const auto& [cells, times] : rows_of(kind, others)) {
      double& most = times_of(device->second, cells);
      most = std::max(most, times);
    }
  }
  out << fmt::format(
      "# Matrix products and attention of a micro-batch of {}. Add a column time_us, then: accosim fit FILE "
      "--as-measured -o PROFILE\n",
      scenario);
  for (const std::string& name : others)
    out << fmt::format(
        "# left out: {} (several products in one kernel, or attention over a window or packed sequences)\n", name);
  out << "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,heads,kv_heads,seq,head_dim,value_dim,causal,"
         "flash_3,pass,per_micro_batch\n";
  for (const auto& [name, rows] : devices)
    for (const auto& [cells, times] : rows)
      out << fmt::format("{},{},{},{:g}\n", cell_of(scenario), cell_of(name), cells, times);
}

}  // namespace accosim
