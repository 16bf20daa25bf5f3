// How long one prediction's prices take: a model of 100 layers on a shipped device, layers built and priced from
// nothing, and with them the whole of price() for a cluster. And how many prices were made of how many kernels: one of
// each different kernel and device is what is needed. Prints a table; judges nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Model llama_of(int layers) {
  Model m = load_model("llama-2-70b");
  m.num_hidden_layers = layers;
  m.attention_window.assign(static_cast<std::size_t>(layers), 0);
  return m;
}

/// Kernels of one micro-batch, counted without its bill.
struct Count {
  std::size_t runs = 0, different = 0, needed = 0;  ///< needed: prices, one of each different kernel and device
};

Count count_of(const RankKind& kind) {
  Count count;
  std::vector<const Kernel*> different;
  const std::size_t devices = held_devices(kind.device).size();
  for (const Layer& layer : *kind.layers)
    for (const Operator& op : layer.operators)
      for (const auto* kernels : {&op.forward, &op.backward})
        for (const Kernel& kernel : *kernels) {
          ++count.runs;
          if (std::ranges::any_of(different, [&](const Kernel* each) { return *each == kernel; })) continue;
          different.push_back(&kernel);
          count.needed += kernel.kind == KernelKind::kMemory ? 1 : devices;
        }
  count.different = different.size();
  return count;
}

void bench(const std::string& name, Scenario& scenario, Implementation implementation) {
  scenario.training.implementation = implementation;
  ScheduleSpec spec;
  spec.name = spec.label = plain_schedule().name;
  double best = 1e9;
  Costs costs;
  for (int i = 0; i < 20; ++i) {
    const double start = now();
    Costs priced = price(scenario, spec);
    best = std::min(best, now() - start);
    costs = std::move(priced);
  }
  const RankKind& kind = costs.kinds.front();
  const Count count = count_of(kind);
  fmt::print(
      "{:<26} {:>8.3f} ms to price {:>8.3f} s of a micro-batch: {:>6} kernels, {:>3} different, {:>4} prices made, "
      "{:>4} needed\n",
      name, 1e3 * best, (kind.forward + kind.backward).value, count.runs, count.different, kind.bill->prices,
      count.needed);
}

}  // namespace
}  // namespace accosim

int main() {
  using namespace accosim;
  Scenario scenario{.training = {.sequence_length = 4096}};
  NodeGroup nodes{.gpus = 8};
  nodes.devices.assign(8, load_device("A100-SXM4-80GB"));
  nodes.intra = {"nvswitch", BytesPerSecond{300e9}, 0.8, Seconds{3e-6}};
  scenario.cluster.nodes = {nodes};
  for (const int layers : {10, 100, 1000}) {
    scenario.model = llama_of(layers);
    bench(fmt::format("{} layers, eager", layers), scenario, Implementation::kEager);
    bench(fmt::format("{} layers, merged kernels", layers), scenario, Implementation::kFused);
  }
}
