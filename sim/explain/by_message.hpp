// The collectives between nodes of a schedule's update, message by message: what each takes when every message is
// played, beside the closed form that predictions are made with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/price/price.hpp"

namespace accosim {

struct ByMessage {
  std::string collective, algorithm, protocol;
  Bytes bytes;  ///< the full buffer, of one call
  int ranks = 0, nodes = 0, channels = 1;
  std::int64_t messages = 0;
  Seconds closed_form, played;

  double deviation() const { return closed_form / played - 1; }  ///< of the closed form
};

struct CollectivesByMessage {
  std::string label;
  std::vector<ByMessage> rows{};          ///< each different collective once, longest first
  std::vector<std::string> without = {};  ///< what has no messages to play, and why
};

/// Each alone, with nothing else on the network, started by all ranks at once.
CollectivesByMessage by_message(const Scenario& scenario, const ScheduleSpec& spec);

}  // namespace accosim
