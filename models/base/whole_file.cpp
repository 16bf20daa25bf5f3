// open(O_TMPFILE), write, fsync, linkat, rename, fsync of the folder; or a name from the start, and signal handlers
// that know it.
#include "models/base/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <streambuf>
#include <vector>

#include "models/base/descriptor.hpp"
#include "models/base/errors.hpp"
#include "models/base/system_words.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

/// Names beside targets that exist at this moment. What a signal handler sees is of fixed size and never freed.
struct Part {
  std::atomic<pid_t> owner{0};  ///< a forked child leaves its parent's files alone; 0: free
  std::array<char, PATH_MAX> path{};
};
std::array<Part, 8> parts;

/// Nothing here but what a signal handler may call. The process then ends as by the signal.
void remove_parts_and_end(int signal) {
  const pid_t self = getpid();
  for (Part& part : parts)
    if (part.owner.load() == self) unlink(part.path.data());
  std::signal(signal, SIG_DFL);
  raise(signal);  // blocked until this returns
}

/// All that end a process unless it says otherwise, but SIGKILL and those of real time. Who ignores one, or has a
/// handler, keeps it.
void watch_signals() {
  static bool watched = false;
  if (watched) return;
  watched = true;
  for (const int signal :
       {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,   SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGVTALRM,
        SIGPROF, SIGTRAP, SIGIO,   SIGPWR,  SIGSTKFLT, SIGABRT, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGSYS}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
      continue;
    now.sa_handler = remove_parts_and_end;
    sigaction(signal, &now, nullptr);
  }
}

/// A name that signal handlers know from before the file exists until after it is gone.
class PartName {
 public:
  PartName() = default;
  PartName(const PartName&) = delete;
  PartName& operator=(const PartName&) = delete;
  ~PartName() { remove(); }

  /// Tries names of which there is no file: `make` returns a descriptor (or 0), or -1 with errno. So does this.
  template <typename Make>
  int take(const std::string& target, Make&& make) {
    watch_signals();
    for (Part& part : parts) {
      pid_t free = 0;
      if (!part.owner.compare_exchange_strong(free, -1)) continue;
      part_ = &part;
      break;
    }
    if (part_ == nullptr) return errno = EMFILE, -1;
    for (int number = 0; number < 100; ++number) {
      const std::string path = fmt::format("{}.part{}.{}", target, getpid(), number);
      if (path.size() >= part_->path.size()) return forget(), errno = ENAMETOOLONG, -1;
      std::memcpy(part_->path.data(), path.c_str(), path.size() + 1);
      part_->owner = getpid();
      const int made = make(path.c_str());
      if (made >= 0) return made;
      const int error = errno;
      part_->owner = -1;
      if (error != EEXIST) return forget(), errno = error, -1;
    }
    return forget(), errno = EEXIST, -1;
  }
  const char* path() const { return part_->path.data(); }
  /// The file is no longer there.
  void forget() {
    if (part_ != nullptr) part_->owner = 0;
    part_ = nullptr;
  }
  void remove() {
    if (part_ != nullptr && part_->owner.load() == getpid()) unlink(path());
    forget();
  }

 private:
  Part* part_ = nullptr;
};

[[noreturn]] void refuse(const std::string& path, int error) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const bool absent = error == ENOENT && !folder.empty() && !std::filesystem::exists(folder, none);
  throw BadEnvironment(
      fmt::format("{}: cannot be written: {}", printable(path, 300),
                  absent ? fmt::format("there is no folder {}; make it first", printable(folder.string(), 300))
                         : system_words(error)));
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// The standard output or error that a file is, or -1. /dev/stdout leads to a regular file where the shell redirects.
int standard_stream(const struct stat& file) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat of {};
    // What a closed stream was replaced by is only read.
    const int flags = fcntl(stream, F_GETFL);
    const bool written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    if (written && fstat(stream, &of) == 0 && is_same(of, file)) return stream;
  }
  return -1;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Where a path leads, and what is there.
struct Target {
  std::string path;
  bool exists = false;
  struct stat found {};
  bool direct = false;  ///< no rename replaces it
};

Target target_of(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) refuse(path, EINVAL);
  Target target;
  target.exists = stat(path.c_str(), &target.found) == 0;
  if (!target.exists && errno != ENOENT) refuse(path, errno);
  target.direct = target.exists && (!S_ISREG(target.found.st_mode) || standard_stream(target.found) >= 0);
  target.path = target.direct ? path : behind_links(path);
  if (!target.exists) return target;
  if (S_ISDIR(target.found.st_mode)) refuse(path, EISDIR);
  if (S_ISBLK(target.found.st_mode)) refuse(path, EPERM);  // a disk is nobody's result
  if (S_ISSOCK(target.found.st_mode) && standard_stream(target.found) < 0) refuse(path, ENXIO);
  if (standard_stream(target.found) < 0 && access(path.c_str(), W_OK) != 0) refuse(path, errno);
  return target;
}

Descriptor open_directly(const Target& target) {
  const int stream = standard_stream(target.found);
  if (stream < 0) return Descriptor(open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  std::cout.flush();  // what was printed before comes before
  return Descriptor(fcntl(stream, F_DUPFD_CLOEXEC, 3));
}

Descriptor open_unnamed(const std::string& folder) {
  if (access("/proc/self/fd", X_OK) != 0) return {};  // by which it is named in the end
  return Descriptor(open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
}

Descriptor open_named(const std::string& target, PartName& part) {
  return Descriptor(part.take(
      target, [](const char* path) { return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666); }));
}

/// Gives bytes to write() and throws what that throws.
class Buffer : public std::streambuf {
 public:
  explicit Buffer(WholeFile& file) : file_(file), bytes_(1 << 16) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }

 protected:
  int_type overflow(int_type c) override {
    sync();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    const std::string_view text(pbase(), static_cast<std::size_t>(pptr() - pbase()));
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    file_.write(text);
    return 0;
  }

 private:
  WholeFile& file_;
  std::vector<char> bytes_;
};

}  // namespace

struct WholeFile::State {
  State(WholeFile& whole, const std::string& path) : shown(path), buffer(whole), stream(&buffer) {
    stream.exceptions(std::ios::badbit);  // which lets the buffer's own through
  }

  std::string shown;
  Target target;
  PartName part;  ///< none while the file has no name
  bool named = false;
  int failed = 0;  ///< what write() has thrown, in case that somebody went on
  Descriptor file;
  Buffer buffer;
  std::ostream stream;
};

WholeFile::WholeFile(const std::string& path, Beside beside) : state_(std::make_unique<State>(*this, path)) {
  State& state = *state_;
  state.target = target_of(path);
  const Target& target = state.target;
  if (target.direct) {
    state.file = open_directly(target);
  } else {
    if (beside == Beside::kUnnamed) state.file = open_unnamed(folder_of(target.path));
    if (!state.file) {
      state.file = open_named(target.path, state.part);
      state.named = true;
    }
  }
  if (!state.file) refuse(path, errno);
  if (target.direct || !target.exists) return;
  // The owner first: a change of it may take permissions away.
  const bool kept = fchown(state.file.get(), target.found.st_uid, target.found.st_gid) == 0;
  const mode_t permissions = target.found.st_mode & (kept ? 07777U : 0777U);
  if (fchmod(state.file.get(), permissions) != 0) refuse(path, errno);
}

WholeFile::~WholeFile() = default;

std::ostream& WholeFile::stream() { return state_->stream; }

void WholeFile::write(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(state_->file.get(), text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) refuse(state_->shown, state_->failed = errno);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

void WholeFile::commit() {
  State& state = *state_;
  if (state.failed == 0) state.stream.flush();
  if (state.failed != 0) refuse(state.shown, state.failed);
  if (state.target.direct) return state.file.close();
  // Some file systems find out only now that they are full.
  if (fsync(state.file.get()) != 0) refuse(state.shown, errno);
  if (!state.named) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", state.file.get());
    const int linked = state.part.take(state.target.path, [&](const char* path) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    });
    if (linked != 0) refuse(state.shown, errno);
  }
  if (std::rename(state.part.path(), state.target.path.c_str()) != 0) {
    const int error = errno;
    state.part.remove();
    refuse(state.shown, error);
  }
  state.part.forget();
  state.file.close();
  // The file is in its place; where the folder cannot be synced, the system will do it in its own time.
  const Descriptor folder(open(folder_of(state.target.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
}

void write_whole(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  file.commit();
}

bool is_written_directly(const std::string& path) { return target_of(path).direct; }

void check_writable(const std::string& path) {
  if (is_written_directly(path)) return;  // opening a pipe would wait for its reader
  const WholeFile file(path);
}

std::string behind_links(const std::string& path) {
  fs::path at = path;
  for (int links = 0; links < 40; ++links) {
    std::error_code error;
    const fs::path to = fs::read_symlink(at, error);
    if (error) return at.string();
    at = at.parent_path() / to;  // which is `to` alone where that is absolute
  }
  return path;
}

}  // namespace accosim
