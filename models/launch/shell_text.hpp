// A word that a script makes.
#pragma once

#include <string>

namespace accosim {

struct ShellText {
  std::string text{};     ///< as far as it is known
  std::string unknown{};  ///< what of it only a run would know: "$MASTER_ADDR"; empty: nothing
  int line = 0;           ///< on which it is written, from 1
};

}  // namespace accosim
