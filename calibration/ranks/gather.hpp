// Texts of any length from every rank, over the collectives: how the ranks' records come together at the end of a run.
#pragma once

#include <string>
#include <vector>

#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Every rank's text, in the order of the ranks, on every rank.
std::vector<std::string> gather_texts(Transport& transport, const std::string& text);

}  // namespace accocal
