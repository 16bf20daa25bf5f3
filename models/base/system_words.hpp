// What the system says of a file, in words.
#pragma once

#include <string>

namespace accosim {

/// What an errno means for whoever named a file, and what to do about it: behind "FILE: cannot be opened: ".
std::string system_words(int error);

}  // namespace accosim
