// Output is whole or not there: what took hours to make must not end in half a file, nor cost the file that was there.
//
// A text is written beside its target, in the same folder, and put in its place by one rename once it is on the disk.
// Until then it has no name where the file system can do that (O_TMPFILE), so that nothing is left however the process
// ends; elsewhere it is TARGET.partPID.N, which goes away with an exception and with every signal but SIGKILL and those
// of real time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace accosim {

/// One output file. Every function throws BadEnvironment, "PATH: cannot be written: why", and then leaves the old file
/// as it was.
///
/// A symbolic link stays, and the file that it leads to is replaced. The new file takes the old one's permissions, and
/// its owner where the system allows that; a file without write permission is not replaced, and other hard links keep
/// the old content. What is not a regular file is written directly: a pipe, a device, and whatever is standard output
/// or error, such as /dev/stdout.
class WholeFile {
 public:
  /// kNamed: as on a file system without O_TMPFILE.
  enum class Beside { kUnnamed, kNamed };
  explicit WholeFile(const std::string& path, Beside beside = Beside::kUnnamed);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// Discards what was not committed.
  ~WholeFile();

  /// Passes on what write() throws, as soon as it fails.
  std::ostream& stream();
  /// Writes at once, unbuffered.
  void write(std::string_view text);
  /// Flushes everything to the disk, then moves the file into its place. Call it once.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The whole of a file at once.
void write_whole(const std::string& path, std::string_view text);

/// Throws BadEnvironment where `path` could not be written, before the work rather than after it. Leaves no trace.
void check_writable(const std::string& path);

/// Whether what is written there goes somewhere at once, and not into a file that is put in its place: a pipe, a
/// device, standard output or error.
bool is_written_directly(const std::string& path);

/// What `path` leads to, symbolic links resolved, whether it exists or not. A link that leads nowhere in the end (a
/// circle) is returned as it is.
std::string behind_links(const std::string& path);

}  // namespace accosim
