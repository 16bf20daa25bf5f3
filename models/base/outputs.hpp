// Checks before the work starts whether a verb may write its output files, so that a typo costs no file. A file is
// replaced where it is empty or the same verb wrote it, else only with --force; an input is never overwritten.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace accosim {

/// A kind of document, and how a file of this kind that our programs wrote is recognised. White space is ignored in
/// both tests.
struct OutputKind {
  std::string what;       ///< "a trace is JSON for Perfetto"
  std::string extension;  ///< ".json"
  std::string begins;     ///< how its text begins
  std::string holds;      ///< what its text also contains near the beginning; empty: nothing more is asked
};

struct Output {
  std::string option;  ///< "--trace"
  std::string path;    ///< empty: not asked for
  OutputKind kind;
  bool in_place = false;  ///< an existing file is meant to be read and rewritten
};

/// Throws BadInput with a line for each output that would overwrite a file of somebody else's, whose name says another
/// kind (x.svg for a trace), or that is one of `inputs` or another output, symbolic and hard links resolved;
/// BadEnvironment where a file cannot be written. `force` allows only the first. A character device is only checked for
/// write access.
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs, bool force);

/// Says on standard error what has been written: "accosim: wrote map.svg (map of winners, 20 configurations)". Nothing
/// where no file is named, and nothing of what is_written_directly(): who named that sees it.
void tell_written(const std::string& path, const std::string& what, std::string_view program = "accosim");
/// For `what`: "1 schedule", "2 schedules".
std::string so_many(std::size_t count, const std::string& noun);

/// The files that a program of ours writes.
OutputKind trace_kind();
/// A JSON document whose first member is its schema, such as "accosim.run/1".
OutputKind document_kind(const std::string& schema);
/// A table, recognised by its heading.
OutputKind table_kind(const std::string& heading);

}  // namespace accosim
