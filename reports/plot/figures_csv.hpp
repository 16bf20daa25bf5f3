// The numbers of each picture as a table, RFC 4180 but for the ends of lines, which are "\n". Times are in seconds,
// memory in bytes.
#pragma once

#include <string>
#include <vector>

#include "models/draw/curves.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {

/// A cell: in quotes where it holds what would end one. What a spreadsheet would take for a formula gets an apostrophe,
/// by which it is a text.
std::string in_csv(std::string text);

std::string timeline_csv(const TimelinePicture& picture);
std::string breakdown_csv(const std::vector<UpdateBreakdown>& breakdowns);
std::string memory_csv(const std::vector<MemoryBar>& bars);
std::string pipeline_csv(const std::vector<PipelineChart>& charts);
std::string ladder_csv(const Ladder& ladder);
std::string curves_csv(const std::vector<CurvePanel>& panels);

}  // namespace accosim
