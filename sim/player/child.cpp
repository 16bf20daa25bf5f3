// The pipe carries records of a tag and a plain struct: both ends are the same binary.
#include "sim/player/child.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace accosim {
namespace {

enum Tag : unsigned char { kSpan = 1, kPlayed = 2, kLogicError = 3, kRangeError = 4, kOtherError = 5 };
static_assert(std::is_trivially_copyable_v<Span> && std::is_trivially_copyable_v<Played>);

void write_record(std::FILE* out, Tag tag, const void* data, std::size_t size) {
  const unsigned char byte = tag;
  if (std::fwrite(&byte, 1, 1, out) != 1 || std::fwrite(data, 1, size, out) != size) _exit(3);  // the parent is gone
}

[[noreturn]] void be_child(std::FILE* out, const SpanSink& sink, const std::function<Played(const SpanSink&)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would hear of what it plays
  try {
    SpanSink to_parent;
    if (sink) to_parent = [out](const Span& span) { write_record(out, kSpan, &span, sizeof span); };
    const Played played = body(to_parent);
    write_record(out, kPlayed, &played, sizeof played);
  } catch (const std::exception& error) {
    const std::uint64_t length = std::strlen(error.what());
    const bool logic = dynamic_cast<const std::logic_error*>(&error) != nullptr;
    const bool range = dynamic_cast<const std::range_error*>(&error) != nullptr;
    write_record(out, logic ? kLogicError : range ? kRangeError : kOtherError, &length, sizeof length);
    std::fwrite(error.what(), 1, length, out);
  }
  std::fflush(out);
  _exit(0);  // no destructors, no atexit: what the parent opened is the parent's to close
}

/// The child, stopped and waited for however the parent leaves.
struct Child {
  pid_t pid;
  std::FILE* in;
  int status = 0;

  Child(pid_t child, std::FILE* stream) : pid(child), in(stream) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid > 0) kill(pid, SIGKILL);
    wait();
    std::fclose(in);
  }
  void wait() {
    if (pid <= 0) return;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = -1;
  }
  bool read(void* data, std::size_t size) { return std::fread(data, 1, size, in) == size; }
};

}  // namespace

Played play_in_child(const SpanSink& sink, const std::function<Played(const SpanSink&)>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::cout.flush();
  std::fflush(nullptr);  // or the child would print the parent's buffer again
  const pid_t pid = fork();
  if (pid < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    throw std::system_error(why, std::generic_category(), "fork");
  }
  if (pid == 0) {
    close(ends[0]);
    std::signal(SIGPIPE, SIG_IGN);
    be_child(fdopen(ends[1], "wb"), sink, body);
  }
  close(ends[1]);
  Child child(pid, fdopen(ends[0], "rb"));
  unsigned char tag = 0;
  while (child.read(&tag, 1)) {
    if (tag == kSpan) {
      Span span;
      if (!child.read(&span, sizeof span)) break;
      sink(span);
    } else if (tag == kPlayed) {
      Played played;
      if (!child.read(&played, sizeof played)) break;
      child.wait();
      return played;
    } else {
      std::uint64_t length = 0;
      if (!child.read(&length, sizeof length)) break;
      std::string text(length, '\0');
      if (!child.read(text.data(), length)) break;
      child.wait();
      if (tag == kLogicError) throw std::logic_error(text);
      if (tag == kRangeError) throw std::range_error(text);
      throw std::runtime_error(text);
    }
  }
  child.wait();
  throw std::runtime_error(WIFSIGNALED(child.status)
                               ? fmt::format("the simulation's process was ended by signal {}", WTERMSIG(child.status))
                               : std::string("the simulation's process ended without a result"));
}

}  // namespace accosim
