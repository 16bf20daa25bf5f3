// See result_json.hpp.
#include "reports/result_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "reports/json_text.hpp"

namespace accosim {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

/// All of a result but its ranks.
Json body_of(const RunResult& result) {
  Json body;
  body["schedule"] = result.schedule;
  body["label"] = result.label;
  body["update_time_s"] = number(result.update_time.value);
  body["update_time_s_low"] = number(result.update_time_low.value);
  body["update_time_s_high"] = number(result.update_time_high.value);
  body["total_time_s"] = number(result.total_time.value);
  body["tokens_per_s"] = number(result.tokens_per_second);
  body["tokens_per_s_per_gpu"] = number(result.tokens_per_second_per_gpu);
  body["speedup"] = number(result.speedup);
  body["speedup_same_batch"] = number(result.speedup_same_batch);
  if (result.to_loss) {
    const TimeToLoss& to_loss = *result.to_loss;
    body["samples_to_loss"] = to_loss.samples;
    body["loss_reached"] = to_loss.reached;
    body["speedup_to_loss"] = to_loss.speedup;
    body["speedup_to_loss_low"] = to_loss.reached ? Json(to_loss.speedup_low) : Json(nullptr);
    body["speedup_to_loss_high"] = to_loss.speedup_high;
  }
  body["published_speedup"] = number(result.published_speedup);
  body["batch_inflation"] = number(result.batch_inflation);
  body["samples_per_update"] = number(result.samples_per_update);
  body["micro_batches_per_update"] = number(result.micro_batches_per_update);
  body["mfu"] = number(result.mfu);
  body["hfu"] = number(result.hfu);
  body["gpu_idle_fraction"] = number(result.gpu_idle_fraction);
  body["exposed_communication_s"] = number(result.exposed_communication.value);
  body["bytes_sent_per_rank_per_update"] = number(result.bytes_sent_per_rank_per_update.value);
  body["memory_formula_bytes"] = number(result.memory_formula.value);
  body["memory_resident_bytes"] = number(result.memory_resident.value);
  body["memory_capacity_bytes"] = number(result.memory_capacity.value);
  body["fits"] = result.fits;
  body["memory_parts_bytes"] = Json::object();
  for (const auto& [name, bytes] : result.memory_parts.parts) {
    body["memory_parts_bytes"][name] = number(bytes.value);
  }
  body["warnings"] = Json::array();
  for (const Warning& warning : result.warnings) {
    body["warnings"].push_back(Json{{"code", warning.code}, {"message", warning.message}, {"advice", warning.advice}});
  }
  return body;
}

/// `value` over several lines, each after the first behind `indent`. No string of JSON holds a line's end, so every one
/// in the text is layout.
std::string indented(const Json& value, const std::string& indent) {
  std::string text;
  for (const char c : value.dump(2, ' ', false, Json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text += indent;
  }
  return text;
}

std::string rank_line(const RankResult& rank) {
  return fmt::format(
      R"({{"rank": {}, "node": {}, "device": {}, "micro_batches_per_round": {{"mean": {}, "least": {}, "most": {}}}, )"
      R"("micro_batches_per_update": {}, "idle_fraction": {}}})",
      rank.rank, rank.node, json_text(rank.device), json_number(rank.micro_batches_per_round),
      rank.micro_batches_per_round_min, rank.micro_batches_per_round_max, json_number(rank.micro_batches_per_update),
      json_number(rank.idle_fraction));
}

void write_result(std::ostream& out, const RunResult& result) {
  std::string body = indented(body_of(result), "    ");
  body.resize(body.find_last_of('}'));  // the ranks go in before the closing brace
  body.erase(body.find_last_not_of(" \n") + 1);
  out << "    " << body << ",\n      \"ranks\": [";
  const char* separator = "\n        ";
  for (const RankResult& rank : result.ranks) {
    out << separator << rank_line(rank);
    separator = ",\n        ";
  }
  out << (result.ranks.empty() ? "]" : "\n      ]") << "\n    }";
}

}  // namespace

void write_results_json(std::ostream& out, const Scenario& scenario, const std::string& network,
                        const std::vector<RunResult>& results) {
  std::int64_t gpus = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) gpus += static_cast<std::int64_t>(group.count) * group.gpus;
  out << "{\n  \"schema\": \"accosim.result/1\",\n  \"scenario\": " << json_text(scenario.name)
      << ",\n  \"network\": " << json_text(network)
      << fmt::format(",\n  \"model\": {{\"name\": {}, \"parameters\": {}}}", json_text(scenario.model.name),
                     parameter_count(scenario.model))
      << fmt::format(",\n  \"gpus\": {}", gpus)
      << ",\n  \"baseline\": " << (scenario.baseline.empty() ? "null" : json_text(scenario.baseline))
      << ",\n  \"results\": [";
  const char* separator = "\n";
  for (const RunResult& result : results) {
    out << separator;
    write_result(out, result);
    separator = ",\n";
  }
  out << (results.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace accosim
