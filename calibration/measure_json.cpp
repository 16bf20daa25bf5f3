// The times of a rank as text, for the way from its process to the launcher's.
#include <nlohmann/json.hpp>

#include "calibration/measure_rank.hpp"

namespace accosim {

using Json = nlohmann::json;

std::string write_times(const RankTimes& times) {
  Json cells = Json::array();
  for (const CellTimes& cell : times.cells)
    cells.push_back({{"begin", cell.begin}, {"end", cell.end}, {"waited", cell.waited}});
  Json elements = Json::array();
  for (const ElementTimes& one : times.elements)
    elements.push_back({{"elements", one.elements}, {"adamw", one.adamw}, {"copy", one.copy}});
  return Json{{"cells", cells},
              {"hand_off_start", times.hand_off_start},
              {"hand_off_end", times.hand_off_end},
              {"elements", elements},
              {"micro_batch", times.micro_batch},
              {"parameters", times.parameters},
              {"tokens", times.tokens},
              {"compute_alone", times.theft.compute_alone},
              {"compute_beside", times.theft.compute_beside},
              {"collective_alone", times.theft.collective_alone},
              {"collective_beside", times.theft.collective_beside}}
      .dump();
}

RankTimes read_times(const std::string& text) {
  const Json json = Json::parse(text);
  RankTimes times;
  for (const Json& cell : json.at("cells"))
    times.cells.push_back({cell.at("begin"), cell.at("end"), cell.at("waited")});
  for (const Json& one : json.at("elements"))
    times.elements.push_back({one.at("elements"), one.at("adamw"), one.at("copy")});
  times.micro_batch = json.at("micro_batch").get<std::vector<double>>();
  times.parameters = json.at("parameters");
  times.tokens = json.at("tokens");
  times.hand_off_start = json.at("hand_off_start").get<std::vector<double>>();
  times.hand_off_end = json.at("hand_off_end").get<std::vector<double>>();
  times.theft.compute_alone = json.at("compute_alone").get<std::vector<double>>();
  times.theft.compute_beside = json.at("compute_beside").get<std::vector<double>>();
  times.theft.collective_alone = json.at("collective_alone").get<std::vector<double>>();
  times.theft.collective_beside = json.at("collective_beside").get<std::vector<double>>();
  return times;
}

}  // namespace accosim
