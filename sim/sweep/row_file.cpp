// Rows are appended with one write() each, behind a lock on the whole file; what could not be written whole is cut off
// again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "models/base/descriptor.hpp"
#include "models/base/errors.hpp"
#include "models/base/input_file.hpp"
#include "models/base/system_words.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "sim/sweep/rows.hpp"

namespace accosim {
namespace {

constexpr std::chrono::milliseconds kLockPatience{2000}, kLockLook{20};

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
    if (file < 0) cannot(path, system_words(errno));
    const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
    const int why = errno;
    if (locked && is_still(path, file)) return file;
    close(file);
    if (locked) continue;
    if (why != EWOULDBLOCK && why != EINTR) cannot(path, system_words(why));
    if (std::chrono::steady_clock::now() > until)
      throw BadInput(
          fmt::format("{} is being written by another process; wait for it, or write to another file: with --shard "
                      "each part has its own",
                      in_quotes(path, 300)));
    std::this_thread::sleep_for(kLockLook);
  }
}

}  // namespace

struct RowFile::State {
  std::string path;
  SweepRows all;
  Descriptor file;  ///< none where the path is empty
  off_t end = 0;
  std::vector<bool> there;

  void put(const std::string& line) {
    std::size_t written = 0;
    while (written < line.size()) {
      const ssize_t count =
          pwrite(file.get(), line.data() + written, line.size() - written, end + static_cast<off_t>(written));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int why = errno;
        if (ftruncate(file.get(), end) != 0) cannot(path, system_words(errno));
        cannot(path, fmt::format("{}; the {} rows before are whole: make room and go on with --resume",
                                 system_words(why), all.rows.size()));
      }
      written += static_cast<std::size_t>(count);
    }
    end += static_cast<off_t>(line.size());
  }

  void take_what_is_there(bool again) {
    InputFile in(path);
    std::string line;
    in.line(line);
    if (in.cut() && line_of(all.heading).rfind(line, 0) == 0) return begin_anew();  // the beginning of our heading
    const std::string shown = printable(path, 300);
    if (line.rfind(kRowsBegin, 0) != 0)
      throw BadInput(fmt::format(
          "{}: is no file of a sweep's rows, and is left as it is; write to another one, or replace it by --force",
          shown));
    if (in.cut() || !is_ours(line))
      throw BadInput(fmt::format(
          "{}: holds the rows of another sweep, scenario or version; write to another file, or begin anew with --force",
          shown));
    end = static_cast<off_t>(line.size()) + 1;
    for (std::size_t number = 2; in.line(line) && !in.cut(); ++number) {
      Row row = read_row(all.heading, line, shown, number);
      if (there[row.index]) throw BadInput(fmt::format("{}: point {} is there twice", shown, row.index));
      there[row.index] = true;
      all.rows.push_back(std::move(row));
      end += static_cast<off_t>(line.size()) + 1;
    }
    if (!in.wrong().empty()) throw BadInput(fmt::format("{}: {}", shown, in.wrong()));
    if (ftruncate(file.get(), end) != 0) cannot(path, system_words(errno));
    if (again) drop_failed();
  }

  /// Of a heading that cannot be read: no.
  bool is_ours(const std::string& line) const {
    try {
      return same_sweep(read_heading(line, path), all.heading);
    } catch (const BadInput&) {
      return false;
    }
  }

  void begin_anew() {
    if (ftruncate(file.get(), 0) != 0) cannot(path, system_words(errno));
    end = 0;
    put(line_of(all.heading) + "\n");
  }

  /// Rows of failed points go; the others stay in their order.
  void drop_failed() {
    for (const Row& row : all.rows) there[row.index] = row.done();
    if (std::erase_if(all.rows, [](const Row& row) { return !row.done(); }) > 0) write_anew();
  }

  /// The whole file at once; the old one stays locked until the new one is.
  void write_anew() {
    WholeFile whole(path);
    off_t size = 0;
    const auto write = [&](const std::string& line) {
      whole.stream() << line << '\n';
      size += static_cast<off_t>(line.size()) + 1;
    };
    write(line_of(all.heading));
    for (const Row& row : all.rows) write(line_of(all.heading, row));
    whole.commit();
    file = Descriptor(opened(path));
    end = size;
  }
};

RowFile::RowFile(const std::string& path, const Heading& heading, Existing existing, bool again)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.path = path;
  state.all.heading = heading;
  state.there.resize(heading.points);
  if (path.empty()) return;
  state.file = Descriptor(opened(path));
  struct stat status {};
  if (fstat(state.file.get(), &status) != 0) cannot(path, system_words(errno));
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
const SweepRows& RowFile::rows() const { return state_->all; }

void RowFile::append(Row row) {
  if (state_->file) state_->put(line_of(state_->all.heading, row) + "\n");
  state_->there[row.index] = true;
  state_->all.rows.push_back(std::move(row));
}

void RowFile::sort() {
  std::vector<Row>& rows = state_->all.rows;
  const auto before = [](const Row& a, const Row& b) { return a.index < b.index; };
  if (std::ranges::is_sorted(rows, before)) return;
  std::ranges::sort(rows, before);
  if (!state_->file) return;
  try {
    state_->write_anew();
  } catch (const BadEnvironment& error) {
    throw BadEnvironment(
        fmt::format("{}; all {} rows are there, in the order in which they came: make room and go on with --resume",
                    error.what(), rows.size()));
  }
}

}  // namespace accosim
