// See provenance.hpp.
#include "calibration/provenance.hpp"

#include <nlohmann/json.hpp>

#include "calibration/machine.hpp"
#include "calibration/namespaces.hpp"

namespace accosim {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(TransportKind transport) { return transport == TransportKind::kRing ? "ring" : "gloo"; }

}  // namespace

std::string network_document(const LaunchOptions& launch) {
  Json network{{"kind", name_of(launch.network.kind)}, {"rates_bytes_per_s", Json::array()}};
  for (int rank = 0; rank < static_cast<int>(launch.network.rates.size()); ++rank) {
    const BytesPerSecond rate = launch.network.rates[rank];
    network["rates_bytes_per_s"].push_back(rate.value);
    network["payload_bytes_per_s"].push_back(payload_rate(launch.network, rank).value);
    if (launch.network.kind == NetworkKind::kNamespaces) network["burst_bytes"].push_back(bucket_for(rate).burst);
  }
  return network.dump();
}

std::string with_provenance(const std::string& document, const LaunchOptions& launch) {
  const Json run = Json::parse(document);
  const Machine machine = this_machine();
  Json whole;
  for (const auto& [key, value] : run.items()) {
    if (key == "updates") {  // the long lists stay last
      whole["machine"] = {{"cpu", machine.cpu}, {"cores", machine.cores}, {"kernel", machine.kernel}};
      whole["compiler"] = compiler_name();
      whole["commit"] = source_commit();
      whole["date"] = date_now();
      // Devices talk by links of their own, unless the ranks are in namespaces or share a device.
      const bool on_device = run.contains("device");
      const bool by_sockets =
          launch.network.kind == NetworkKind::kNamespaces || (on_device && run["device"].contains("experiment"));
      if (!on_device || by_sockets) whole["network"] = Json::parse(network_document(launch));
      whole["transport"] = on_device ? (launch.ranks > 1 ? "nccl" : "none") : name_of(launch.transport);
    }
    whole[key] = value;
  }
  return whole.dump() + "\n";
}

}  // namespace accosim
