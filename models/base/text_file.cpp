// Opened first, without waiting for a pipe's other end, and asked afterwards what it is: a name may mean something else
// a moment later.
#include "models/base/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "models/base/descriptor.hpp"

namespace accosim {
namespace {

constexpr int kPipePatience = 60'000;  // ms

}  // namespace

std::string read_text_file(const std::string& path, std::string& text, std::size_t most_bytes) {
  if (path.find('\0') != std::string::npos) return "is no path; write the path of a file";
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!file) {
    if (errno == ENOENT) return "no such file; check the path";
    if (errno == ENXIO) return "is not a regular file; copy it into one";  // a socket
    return std::string("cannot be opened: ") + std::strerror(errno);
  }
  if (fstat(file.get(), &found) != 0) return std::string("cannot be looked at: ") + std::strerror(errno);
  if (S_ISDIR(found.st_mode)) return "is a directory; name a file in it";
  // A device may never end. A pipe is read while somebody writes into it.
  const bool pipe = S_ISFIFO(found.st_mode);
  if (!S_ISREG(found.st_mode) && !pipe) return "is not a regular file; copy it into one";
  const auto too_large = [most_bytes] {
    return fmt::format("is larger than {} MiB; {}: check that it is the right file", most_bytes >> 20,
                       most_bytes == kMaxJsonBytes ? "no scenario is" : "nothing that is read here is");
  };
  if (found.st_size > 0 && static_cast<std::size_t>(found.st_size) > most_bytes) return too_large();
  std::array<char, 1 << 16> chunk{};
  for (;;) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got == 0)
      return pipe && text.empty() ? "is not a regular file, but a pipe that gave nothing; copy it into one" : "";
    if (got < 0 && errno == EAGAIN) {  // a pipe's writer has not got so far
      pollfd more{file.get(), POLLIN, 0};
      if (poll(&more, 1, kPipePatience) != 0) continue;
      return fmt::format("is a pipe that gave nothing for {} s; copy what it gives into a file", kPipePatience / 1000);
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::string("cannot be read to its end: ") + std::strerror(errno);
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) return too_large();  // it grows, or its size was no promise
  }
}

}  // namespace accosim
