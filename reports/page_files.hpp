// The page without its document, cut into pieces that every compiler takes as a literal. CMake writes the definitions
// from the files in reports/page/.
#pragma once

#include <string_view>
#include <vector>

namespace accosim {

extern const std::vector<std::string_view> kPageBefore, kPageAfter;

}  // namespace accosim
