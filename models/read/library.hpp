// What is shipped, for the verb `list`.
#pragma once

#include <string>
#include <vector>

namespace accosim {

/// A shipped file. `kind` is device, model, cluster or scenario; `path` is relative to data_dir(); its name stands for
/// it wherever a path of that kind does. `architecture` is a device's, and of a cluster that of its first GPU; empty:
/// unknown, or of another kind.
struct LibraryEntry {
  std::string kind, name, path, description;
  std::string architecture{};
};
/// Sorted by kind (in that order), architecture (in order of time, unknown ones last) and name. A file that cannot be
/// read is listed with what is wrong as its description.
std::vector<LibraryEntry> list_library();

}  // namespace accosim
