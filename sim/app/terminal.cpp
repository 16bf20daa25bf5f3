#include "sim/app/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "models/base/stages.hpp"

namespace accosim {
namespace {

constexpr int kLeastColumns = 20, kMostColumns = 1000;

bool sensible(int columns) { return columns >= kLeastColumns && columns <= kMostColumns; }

/// A whole number, or 0.
int number_in(const char* text) {
  char* end = nullptr;
  const long value = text == nullptr ? 0 : std::strtol(text, &end, 10);
  return end == nullptr || *end != '\0' || value > kMostColumns ? 0 : static_cast<int>(value);
}

bool is_dumb(const char* term) { return term != nullptr && std::string_view(term) == "dumb"; }

Terminal terminal_of(int descriptor) {
  Terminal terminal{.present = isatty(descriptor) != 0};
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) terminal.columns = size.ws_col;
  terminal.asked = std::getenv("COLUMNS");
  terminal.no_color = std::getenv("NO_COLOR");
  terminal.term = std::getenv("TERM");
  return terminal;
}

}  // namespace

ConsoleOptions console_options(const Terminal& terminal) {
  ConsoleOptions options;
  const bool refused = terminal.no_color != nullptr && *terminal.no_color != '\0';
  options.color = terminal.present && !refused && !is_dumb(terminal.term);
  if (const int asked = number_in(terminal.asked); sensible(asked))
    options.width = asked;
  else if (sensible(terminal.columns))
    options.width = terminal.columns;
  return options;
}

ConsoleOptions console_options() { return console_options(terminal_of(STDOUT_FILENO)); }

std::string progress_line(const std::string& what, int seconds, int width) {
  return cut_to_width(fmt::format("accosim: {} ({} s)", what, seconds), width);
}

/// A thread that waits for the next second or for the end. It holds no lock that a forked child could need: it writes
/// past the streams.
struct Progress::Ticker {
  explicit Ticker(std::string first) : what(std::move(first)), thread([this] { tick(); }) {}

  void tick() {
    std::unique_lock<std::mutex> lock(mutex);
    for (int seconds = 1; !ended.wait_until(lock, begin + std::chrono::seconds(seconds), [this] { return over; });
         ++seconds) {
      // The last column stays free: a terminal may wrap behind it.
      const std::string share = share_in_words();
      say("\r" +
          progress_line(share.empty() ? what : what + ": " + share, seconds,
                        console_options(terminal_of(STDERR_FILENO)).width - 1) +
          "\033[K");
      shown = true;
    }
    if (shown) say("\r\033[K");
  }

  static void say(const std::string& text) {
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody misses it
  }

  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false, shown = false;
  std::string what;
  std::thread thread;  // the last: it uses the others
};

Progress::Progress(std::string what) {
  const Terminal terminal = terminal_of(STDERR_FILENO);
  if (terminal.present && !is_dumb(terminal.term)) ticker_ = std::make_unique<Ticker>(std::move(what));
}

Progress::~Progress() {
  if (!ticker_) return;
  {
    const std::lock_guard<std::mutex> lock(ticker_->mutex);
    ticker_->over = true;
  }
  ticker_->ended.notify_one();
  ticker_->thread.join();
}

void Progress::now(std::string what) {
  if (!ticker_) return;
  const std::lock_guard<std::mutex> lock(ticker_->mutex);
  ticker_->what = std::move(what);
}

}  // namespace accosim
