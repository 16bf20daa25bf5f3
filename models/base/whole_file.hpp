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

/// One output file. All of it throws BadEnvironment, "PATH: cannot be written: why", and leaves what was there.
///
/// A symbolic link stays: what it leads to is replaced. An existing file keeps its permissions, and its owner where the
/// system lets us; one that may not be written is not replaced either, nor is one of another name (a hard link). What
/// is no regular file is written directly: a pipe, a device, and what is the standard output or error, as /dev/stdout
/// is.
class WholeFile {
 public:
  /// kNamed: as on a file system that knows no unnamed files.
  enum class Beside { kUnnamed, kNamed };
  explicit WholeFile(const std::string& path, Beside beside = Beside::kUnnamed);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// What was not committed is gone.
  ~WholeFile();

  /// Throws what write() throws at the moment when it fails.
  std::ostream& stream();
  /// Without a buffer.
  void write(std::string_view text);
  /// All that was written is on the disk, and then in its place. Once.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The whole of a file at once.
void write_whole(const std::string& path, std::string_view text);

/// Throws BadEnvironment where `path` could not be written, before the work rather than after it. Leaves no trace.
void check_writable(const std::string& path);

/// What `path` leads to, symbolic links resolved, whether it exists or not. A link that leads nowhere in the end (a
/// circle) is returned as it is.
std::string behind_links(const std::string& path);

}  // namespace accosim
