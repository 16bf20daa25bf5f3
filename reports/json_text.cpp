// See json_text.hpp.
#include "reports/json_text.hpp"

#include <nlohmann/json.hpp>

namespace accosim {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) { return nlohmann::json(value).dump(); }

}  // namespace accosim
