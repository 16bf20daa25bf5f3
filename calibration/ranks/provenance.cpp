#include "calibration/ranks/provenance.hpp"

#include <vector>

#include "calibration/base/machine.hpp"
#include "calibration/ranks/namespaces.hpp"

namespace accocal {
namespace {

/// {"kind": "netns", "rates_bytes_per_s": [...], "payload_bytes_per_s": [...], "burst_bytes": [...]}
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

}  // namespace

JsonValue machine_json() {
  const Machine machine = this_machine();
  return json_object({{"cpu", machine.cpu}, {"cores", machine.cores}, {"kernel", machine.kernel}});
}

JsonValue run_provenance(const LaunchOptions& launch, bool on_device, bool experiment) {
  JsonValue run = json_object(
      {{"machine", machine_json()}, {"compiler", compiler_name()}, {"commit", source_commit()}, {"date", date_now()}});
  // Devices talk by links of their own, unless the ranks are in namespaces or share a device.
  if (!on_device || experiment || launch.network.kind == NetworkKind::kNamespaces)
    run.set("network", network_json(launch));
  run.set("transport", !on_device ? kTransport : launch.ranks > 1 ? "nccl" : "none");
  return run;
}

}  // namespace accocal
