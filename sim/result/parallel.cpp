// Child j does the indices j, j + jobs, ... and writes each result as a length and its bytes; the parent reads the
// children one after the other, which is enough: a full pipe only makes a child wait.
#include "sim/result/parallel.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <system_error>

namespace accosim {
namespace {

struct Record {
  std::uint64_t length = 0;
  std::uint8_t failed = 0;
};

void write_record(std::FILE* out, bool failed, const std::string& text) {
  Record record;
  record.length = text.size();
  record.failed = failed ? 1 : 0;
  const bool written =
      std::fwrite(&record, sizeof record, 1, out) == 1 && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (!written) _exit(3);  // the parent is gone
}

[[noreturn]] void be_child(std::FILE* out, std::size_t first, std::size_t step, std::size_t count,
                           const std::function<std::string(std::size_t)>& work) {
  for (std::size_t i = first; i < count; i += step) {
    try {
      write_record(out, false, work(i));
    } catch (const std::exception& error) {
      write_record(out, true, error.what());
    }
  }
  std::fflush(out);
  _exit(0);  // no destructors, no atexit: what the parent opened is the parent's to close
}

/// Children with their pipes, stopped and waited for however the parent leaves.
struct Children {
  struct One {
    pid_t pid;
    std::FILE* in;
  };
  std::vector<One> all;
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const One& one : all) {
      kill(one.pid, SIGKILL);
      while (waitpid(one.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      std::fclose(one.in);
    }
  }
};

}  // namespace

std::vector<std::string> in_children(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work) {
  const std::size_t step = std::min(count, static_cast<std::size_t>(std::max(1, jobs)));
  std::cout.flush();
  std::fflush(nullptr);  // or a child would print the parent's buffer again
  Children children;
  for (std::size_t j = 0; j < step; ++j) {
    int ends[2];
    if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
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
      be_child(fdopen(ends[1], "wb"), j, step, count, work);
    }
    close(ends[1]);
    children.all.push_back({pid, fdopen(ends[0], "rb")});
  }
  std::vector<std::string> results(count);
  std::string error;
  std::size_t error_at = count;
  for (std::size_t j = 0; j < step; ++j) {
    for (std::size_t i = j; i < count; i += step) {
      Record record;
      std::FILE* const in = children.all[j].in;
      if (std::fread(&record, sizeof record, 1, in) != 1)
        throw std::runtime_error(fmt::format("a process ended without the result of part {}", i));
      std::string text(record.length, '\0');
      if (std::fread(text.data(), 1, text.size(), in) != text.size())
        throw std::runtime_error(fmt::format("a process ended within the result of part {}", i));
      if (record.failed != 0 && i < error_at) {
        error = text;
        error_at = i;
      }
      results[i] = std::move(text);
    }
  }
  if (error_at < count) throw std::logic_error(error);
  return results;
}

}  // namespace accosim
