// What is shipped, for the verb `list`.
#pragma once

#include <string>
#include <vector>

namespace accosim {

/// A shipped file. `kind` is device, model, cluster or scenario; `path` is relative to data_dir(); its name stands for
/// it wherever a path of that kind does.
struct LibraryEntry {
  std::string kind, name, path, description;
};
/// Sorted by kind (in that order) and name. A file that cannot be read is listed with what is wrong as its description.
std::vector<LibraryEntry> list_library();

}  // namespace accosim
