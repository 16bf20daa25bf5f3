// Opened first, without waiting for a pipe's other end, and asked afterwards what it is: a name may mean something else
// a moment later.
#include "models/base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "models/base/system_words.hpp"

namespace accosim {
namespace {

constexpr int kPipePatience = 60'000;  // ms

}  // namespace

InputFile::InputFile(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    wrong_ = "is no path; write the path of a file";
    return;
  }
  file_ = Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!file_ && errno == ENOENT) {
    wrong_ = "no such file; check the path";
  } else if (!file_ && errno == ENXIO) {
    wrong_ = "is not a regular file; copy it into one";  // a socket
  } else if (!file_) {
    wrong_ = "cannot be opened: " + system_words(errno);
  } else if (fstat(file_.get(), &found) != 0) {
    wrong_ = "cannot be looked at: " + system_words(errno);
  } else if (S_ISDIR(found.st_mode)) {
    wrong_ = "is a directory; name a file in it";
  } else {
    // A device may never end. A pipe is read while somebody writes into it.
    pipe_ = S_ISFIFO(found.st_mode);
    if (!S_ISREG(found.st_mode) && !pipe_) wrong_ = "is not a regular file; copy it into one";
    size_ = static_cast<std::size_t>(std::max<off_t>(found.st_size, 0));
  }
}

bool InputFile::read(std::string& text) {
  if (!wrong_.empty()) return false;
  std::array<char, 1 << 16> chunk{};
  for (;;) {
    const ssize_t got = ::read(file_.get(), chunk.data(), chunk.size());
    if (got > 0) {
      begun_ = true;
      text.append(chunk.data(), static_cast<std::size_t>(got));
      return true;
    }
    if (got == 0) {
      if (pipe_ && !begun_) wrong_ = "is not a regular file, but a pipe that gave nothing; copy it into one";
      return false;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      wrong_ = "cannot be read to its end: " + system_words(errno);
      return false;
    }
    pollfd more{file_.get(), POLLIN, 0};  // a pipe's writer has not got so far
    if (poll(&more, 1, kPipePatience) != 0) continue;
    wrong_ = fmt::format("is a pipe that gave nothing for {} s; copy what it gives into a file", kPipePatience / 1000);
    return false;
  }
}

bool InputFile::line(std::string& line) {
  std::size_t end = ahead_.find('\n', at_);
  while (end == std::string::npos) {
    ahead_.erase(0, std::exchange(at_, 0));
    const std::size_t looked = ahead_.size();
    if (looked > kMaxLineBytes)
      wrong_ = fmt::format("has a line of more than {} MiB; check that it is the right file", kMaxLineBytes >> 20);
    if (!read(ahead_)) {
      line = std::exchange(ahead_, {});
      if (!wrong_.empty() || line.empty()) return false;
      return cut_ = true;
    }
    end = ahead_.find('\n', looked);
  }
  line.assign(ahead_, at_, end - at_);
  at_ = end + 1;
  return true;
}

std::string beginning_of(const std::string& path, std::size_t bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return "";
  std::string text(bytes, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, pread(file.get(), text.data(), bytes, 0))));
  return text;
}

}  // namespace accosim
