// See provenance.hpp.
#include "calibration/provenance.hpp"

#include <nlohmann/json.hpp>

#include "calibration/machine.hpp"
#include "calibration/namespaces.hpp"

namespace accosim {
namespace {

using Json = nlohmann::ordered_json;

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
      whole["network"] = Json::parse(network_document(launch));
      whole["transport"] = launch.transport == TransportKind::kRing ? "ring" : "gloo";
    }
    whole[key] = value;
  }
  return whole.dump() + "\n";
}

}  // namespace accosim
