// What a verb may write, found out before the work: no file is lost to a slip of the pen. A file is replaced when it is
// empty or is what the same verb wrote before, and else only by --force; what is read is not written over.
#pragma once

#include <string>
#include <vector>

namespace accosim {

/// A kind of document, and how one that a program of ours wrote is told from all else.
struct OutputKind {
  std::string what;       ///< "a trace is JSON for Perfetto"
  std::string extension;  ///< ".json"
  std::string begins;     ///< of its text, white space left out
  std::string holds;      ///< somewhere, white space left out; empty: nothing more
};

struct Output {
  std::string option;  ///< "--trace"
  std::string path;    ///< empty: not asked for
  OutputKind kind;
  bool in_place = false;  ///< an existing file is read and written anew by design
};

/// Throws BadInput with a line for each that is another's file, another kind by its name (x.svg for a trace), one of
/// `inputs` or another output, through whatever links; BadEnvironment where a file cannot be written. `force` allows
/// the first alone. What is no regular file is only asked whether it can be written.
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs, bool force);

/// The files that a program of ours writes.
OutputKind trace_kind();
/// "accosim.run/1" and so on: a document whose first member is its schema.
OutputKind document_kind(const std::string& schema);
/// By the line that it begins with.
OutputKind table_kind(const std::string& heading);

}  // namespace accosim
