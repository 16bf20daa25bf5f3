// How long one prediction's prices take: a model of 100 layers on a shipped device, layers built and priced from
// nothing, and with them the whole of price() for a cluster. Prints a table; judges nothing.
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "models/costs.hpp"
#include "models/scenario.hpp"

namespace accosim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Model llama_of(int layers) {
  Model m = load_model("llama-2-70b");
  m.num_hidden_layers = layers;
  m.attention_window.assign(static_cast<std::size_t>(layers), 0);
  return m;
}

void bench(const std::string& name, Scenario& scenario, Implementation implementation) {
  scenario.training.implementation = implementation;
  ScheduleSpec spec;
  spec.name = spec.label = plain_schedule().name;
  double best = 1e9;
  Seconds micro_batch;
  for (int i = 0; i < 20; ++i) {
    const double start = now();
    const Costs costs = price(scenario, spec);
    best = std::min(best, now() - start);
    micro_batch = costs.kinds[0].forward + costs.kinds[0].backward;
  }
  fmt::print("{:<52} {:>8.3f} ms to price {:>8.3f} s of a micro-batch\n", name, 1e3 * best, micro_batch.value);
}

}  // namespace
}  // namespace accosim

int main() {
  using namespace accosim;
  Scenario scenario;
  scenario.training.sequence_length = 4096;
  NodeGroup nodes;
  nodes.gpus = 8;
  nodes.devices.assign(8, load_device("A100-SXM4-80GB"));
  nodes.intra = {"nvswitch", BytesPerSecond{300e9}, 0.8, Seconds{3e-6}};
  scenario.cluster.nodes = {nodes};
  for (const int layers : {10, 100, 1000}) {
    scenario.model = llama_of(layers);
    bench(fmt::format("{} layers, eager", layers), scenario, Implementation::kEager);
    bench(fmt::format("{} layers, merged kernels", layers), scenario, Implementation::kFused);
  }
}
