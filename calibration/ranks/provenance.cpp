#include "calibration/ranks/provenance.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "calibration/base/machine.hpp"
#include "calibration/ranks/namespaces.hpp"

namespace accocal {
namespace {

std::string name_of(TransportKind transport) { return transport == TransportKind::kRing ? "ring" : "gloo"; }

}  // namespace

JsonValue network_json(const LaunchOptions& launch) {
  std::vector<double> rates, payloads;
  std::vector<std::int64_t> bursts;
  for (int rank = 0; rank < static_cast<int>(launch.network.rates.size()); ++rank) {
    const BytesPerSecond rate = launch.network.rates[rank];
    rates.push_back(rate.value);
    payloads.push_back(payload_rate(launch.network, rank).value);
    if (launch.network.kind == NetworkKind::kNamespaces) bursts.push_back(bucket_for(rate).burst);
  }
  JsonValue network = json_object({{"kind", name_of(launch.network.kind)}, {"rates_bytes_per_s", rates}});
  if (!payloads.empty()) network.set("payload_bytes_per_s", payloads);
  if (!bursts.empty()) network.set("burst_bytes", bursts);
  return network;
}

JsonValue machine_json() {
  const Machine machine = this_machine();
  return json_object({{"cpu", machine.cpu}, {"cores", machine.cores}, {"kernel", machine.kernel}});
}

std::string with_provenance(const std::string& document, const LaunchOptions& launch) {
  const std::size_t lists = document.find(",\"updates\":[");  // a text of JSON has no bare quotes
  if (lists == std::string::npos) throw std::logic_error("a run's document has no updates");
  JsonDocument head = parse_json(document.substr(0, lists) + "}", "a run's document");
  if (!head.errors.empty()) throw std::logic_error(head.errors.front());
  JsonValue& run = head.root;
  run.set("machine", machine_json());
  run.set("compiler", compiler_name());
  run.set("commit", source_commit());
  run.set("date", date_now());
  // Devices talk by links of their own, unless the ranks are in namespaces or share a device.
  const JsonValue* device = run.find("device");
  const bool by_sockets =
      launch.network.kind == NetworkKind::kNamespaces || (device != nullptr && device->find("experiment") != nullptr);
  if (device == nullptr || by_sockets) run.set("network", network_json(launch));
  run.set("transport", device != nullptr ? (launch.ranks > 1 ? "nccl" : "none") : name_of(launch.transport));
  std::string text = dump_json(run);
  text.pop_back();
  return text + document.substr(lists);
}

}  // namespace accocal
