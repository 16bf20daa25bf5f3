// Rows are appended with one write() each, behind a lock on the whole file; what could not be written whole is cut off
// again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "sim/sweep/rows.hpp"

namespace accosim {
namespace {

constexpr std::chrono::milliseconds kLockPatience{2000}, kLockLook{20};

/// Where a row's line is in the file, its end included.
struct LinePlace {
  std::size_t index = 0;
  off_t offset = 0;
  std::size_t length = 0;
  bool failed = false;
};

[[noreturn]] void cannot(const std::string& path, const std::string& what) {
  throw BadEnvironment(fmt::format("{}: cannot be written: {}", printable(path, 300), what));
}

/// Whether the file that a path names now is the one that is open: another process may have put a new one in its place.
bool is_still(const std::string& path, int file) {
  struct stat named {
  }, held{};
  return stat(path.c_str(), &named) == 0 && fstat(file, &held) == 0 && named.st_dev == held.st_dev &&
         named.st_ino == held.st_ino;
}

/// Opened, and locked until it is closed. Waits a little: workers hold the lock of a process that was killed until they
/// have ended too.
int opened(const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + kLockPatience;
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) cannot(path, std::strerror(errno));
    const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
    const int why = errno;
    if (locked && is_still(path, file)) return file;
    close(file);
    if (locked) continue;
    if (why != EWOULDBLOCK && why != EINTR) cannot(path, std::strerror(why));
    if (std::chrono::steady_clock::now() > until)
      throw BadInput(fmt::format(
          "{} is being written by another process; wait for it, or write to another file: with --shard each part has "
          "its own",
          in_quotes(path, 300)));
    std::this_thread::sleep_for(kLockLook);
  }
}

/// One that nobody else sees.
int opened_without_name() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) cannot("the folder of temporary files", error.message());
  std::string name = (folder / "accosim-rows-XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) cannot(name, std::strerror(errno));
  unlink(name.c_str());
  return file;
}

/// Reads a file line by line, with the place of each.
class Lines {
 public:
  explicit Lines(int file) : file_(file) {}
  /// False at the end; a last line without its end counts as none.
  bool next(std::string& line, off_t& offset) {
    for (;;) {
      const std::size_t end = held_.find('\n', looked_);
      if (end != std::string::npos) {
        line.assign(held_, begin_, end - begin_);
        offset = at_ + static_cast<off_t>(begin_);
        begin_ = looked_ = end + 1;
        return true;
      }
      at_ += static_cast<off_t>(begin_);
      held_.erase(0, begin_);
      begin_ = 0;
      looked_ = held_.size();
      std::array<char, 65536> block{};
      ssize_t count = 0;
      do count = pread(file_, block.data(), block.size(), at_ + static_cast<off_t>(held_.size()));
      while (count < 0 && errno == EINTR);
      if (count < 0) throw BadEnvironment(fmt::format("the rows cannot be read: {}", std::strerror(errno)));
      if (count == 0) return false;
      held_.append(block.data(), static_cast<std::size_t>(count));
    }
  }
  /// Behind the last whole line.
  off_t end() const { return at_ + static_cast<off_t>(begin_); }

 private:
  int file_;
  std::string held_;
  std::size_t begin_ = 0, looked_ = 0;
  off_t at_ = 0;
};

}  // namespace

struct RowFile::State {
  std::string path;
  Heading heading;
  int file = -1;
  off_t end = 0;
  std::vector<LinePlace> places;
  std::vector<bool> there;
  std::size_t failed = 0;

  ~State() {
    if (file >= 0) close(file);
  }

  void put(const std::string& line) {
    std::size_t written = 0;
    while (written < line.size()) {
      const ssize_t count =
          pwrite(file, line.data() + written, line.size() - written, end + static_cast<off_t>(written));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int why = errno;
        if (ftruncate(file, end) != 0) cannot(path, std::strerror(errno));
        if (path.empty()) cannot("the folder of temporary files", std::strerror(why));
        cannot(path, fmt::format("{}; the {} rows before are whole: make room and go on with --resume",
                                 std::strerror(why), places.size()));
      }
      written += static_cast<std::size_t>(count);
    }
    end += static_cast<off_t>(line.size());
  }

  void add(const Row& row, off_t offset, std::size_t length) {
    places.push_back({row.index, offset, length, !row.done()});
    there[row.index] = true;
    if (!row.done()) ++failed;
  }

  std::string text_at(const LinePlace& place) const {
    std::string line(place.length, '\0');
    if (pread(file, line.data(), line.size(), place.offset) != static_cast<ssize_t>(line.size()))
      throw BadEnvironment(fmt::format("{}: cannot be read: {}", printable(path, 300), std::strerror(errno)));
    return line;
  }

  void take_what_is_there(bool again) {
    Lines lines(file);
    std::string line;
    off_t offset = 0;
    if (!lines.next(line, offset)) {  // nothing, or a heading that was cut
      begin_anew();
      return;
    }
    const std::string shown = printable(path, 300);
    if (line.rfind(kRowsBegin, 0) != 0)
      throw BadInput(fmt::format("{}: is no file of a sweep's rows; write to another one", shown));
    if (line != line_of(heading))
      throw BadInput(
          fmt::format("{}: holds the rows of another sweep, scenario or version; write to another file, or "
                      "begin anew with --force",
                      shown));
    end = static_cast<off_t>(line.size()) + 1;
    for (std::size_t number = 2; lines.next(line, offset); ++number) {
      const Row row = read_row(heading, line, shown, number);
      if (there[row.index]) throw BadInput(fmt::format("{}: point {} is there twice", shown, row.index));
      add(row, offset, line.size() + 1);
    }
    end = lines.end();
    if (ftruncate(file, end) != 0) cannot(path, std::strerror(errno));
    if (again && failed > 0) drop_failed();
  }

  void begin_anew() {
    if (ftruncate(file, 0) != 0) cannot(path, std::strerror(errno));
    end = 0;
    put(line_of(heading) + "\n");
  }

  /// Rows of failed points go; the others stay in their order.
  void drop_failed() {
    std::string kept = line_of(heading) + "\n";
    std::vector<LinePlace> places_kept;
    for (const LinePlace& place : places) {
      if (place.failed) {
        there[place.index] = false;
        continue;
      }
      places_kept.push_back({place.index, static_cast<off_t>(kept.size()), place.length, false});
      kept += text_at(place);
    }
    replace(kept);
    places = std::move(places_kept);
    failed = 0;
  }

  /// The whole file at once; the old one stays locked until the new one is.
  void replace(const std::string& text) {
    write_whole(path, text);
    const int anew = opened(path);
    close(file);
    file = anew;
    end = static_cast<off_t>(text.size());
  }
};

RowFile::RowFile(const std::string& path, const Heading& heading, Existing existing, bool again)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.path = path;
  state.heading = heading;
  state.there.resize(heading.points);
  state.file = path.empty() ? opened_without_name() : opened(path);
  struct stat status {};
  if (fstat(state.file, &status) != 0) cannot(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw BadInput(fmt::format("{} is no regular file; name one", in_quotes(path, 300)));
  if (status.st_size > 0 && existing == Existing::kRefuse)
    throw BadInput(
        fmt::format("{} is there; go on with it by --resume, or replace it by --force", in_quotes(path, 300)));
  if (status.st_size > 0 && existing == Existing::kResume)
    state.take_what_is_there(again);
  else
    state.begin_anew();
}

RowFile::~RowFile() = default;

bool RowFile::has(std::size_t index) const { return state_->there[index]; }
std::size_t RowFile::rows() const { return state_->places.size(); }
std::size_t RowFile::failed() const { return state_->failed; }

void RowFile::append(const Row& row) {
  const std::string line = line_of(state_->heading, row) + "\n";
  const off_t offset = state_->end;
  state_->put(line);
  state_->add(row, offset, line.size());
}

SweepRows RowFile::read() const {
  SweepRows all{state_->heading, {}};
  for (const LinePlace& place : state_->places) {
    std::string line = state_->text_at(place);
    line.pop_back();
    all.rows.push_back(read_row(all.heading, line, state_->path, all.rows.size() + 2));
  }
  std::sort(all.rows.begin(), all.rows.end(), [](const Row& a, const Row& b) { return a.index < b.index; });
  return all;
}

void RowFile::sort() {
  State& state = *state_;
  const auto before = [](const LinePlace& a, const LinePlace& b) { return a.index < b.index; };
  if (state.path.empty() || std::is_sorted(state.places.begin(), state.places.end(), before)) return;
  std::vector<LinePlace> places = state.places;
  std::sort(places.begin(), places.end(), before);
  std::string text = line_of(state.heading) + "\n";
  for (LinePlace& place : places) {
    const std::string line = state.text_at(place);
    place.offset = static_cast<off_t>(text.size());
    text += line;
  }
  try {
    state.replace(text);
  } catch (const BadEnvironment& error) {
    throw BadEnvironment(
        fmt::format("{}; all {} rows are there, in the order in which they came: make room and go on with --resume",
                    error.what(), state.places.size()));
  }
  state.places = std::move(places);
}

}  // namespace accosim
