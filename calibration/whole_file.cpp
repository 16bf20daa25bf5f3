// A temporary file in the same folder, since only there a rename is one step.
#include "calibration/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "calibration/descriptor.hpp"
#include "calibration/errors.hpp"

namespace accosim {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw BadEnvironment(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
}

/// Devices and pipes cannot be replaced.
bool is_special(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return false;
  if (S_ISDIR(found.st_mode)) refuse(path, EISDIR);
  return !S_ISREG(found.st_mode);
}

std::string beside(const std::string& path) { return fmt::format("{}.part{}", path, getpid()); }

int write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  return 0;
}

}  // namespace

void check_writable(const std::string& path) {
  const bool special = is_special(path);
  const std::string written = special ? path : beside(path);
  const Descriptor file(open(written.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT), 0666));
  if (!file) refuse(path, errno);
  if (!special) std::remove(written.c_str());
}

void write_whole(const std::string& path, const std::string& text) {
  const bool special = is_special(path);
  const std::string written = special ? path : beside(path);
  const Descriptor file(open(written.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), 0666));
  int error = file ? write_all(file.get(), text) : errno;
  // Some file systems find out only now that they are full.
  if (error == 0 && !special && fsync(file.get()) != 0) error = errno;
  if (error == 0 && !special && std::rename(written.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (!special) std::remove(written.c_str());
  refuse(path, error);
}

}  // namespace accosim
