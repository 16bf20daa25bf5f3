// From /proc, uname and the build.
#include "calibration/base/machine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "build_info/commit.hpp"

namespace accocal {
namespace {

struct CpuTime {
  double idle = 0;
  double all = 0;
};

/// In the kernel's ticks: user, nice, system, idle, iowait, irq, softirq, steal.
CpuTime cpu_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  CpuTime time;
  double ticks = 0;
  for (int column = 0; column < 8 && file >> ticks; ++column) {
    time.all += ticks;
    if (column == 3 || column == 4) time.idle += ticks;
  }
  return time;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; machine.cpu.empty() && std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) machine.cpu = line.substr(line.find(':') + 2);
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  utsname name{};
  if (uname(&name) == 0) machine.kernel = name.release;
  return machine;
}

double idle_share(Seconds time) {
  const CpuTime before = cpu_time();
  std::this_thread::sleep_for(std::chrono::duration<double>(time.value));
  const CpuTime after = cpu_time();
  return after.all > before.all ? (after.idle - before.idle) / (after.all - before.all) : 0;
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string compiler_name() {
#ifdef __clang__
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string source_commit() { return kCommit; }

double all_threads_waited() {
  double seconds = 0;
  std::error_code error;  // a thread may end meanwhile
  for (std::filesystem::directory_iterator tasks("/proc/self/task", error), end; !error && tasks != end;
       tasks.increment(error)) {
    std::ifstream file(tasks->path() / "schedstat");  // on the processor, waiting for it, slices; nanoseconds
    double ran = 0, waited = 0;
    if (file >> ran >> waited) seconds += waited * 1e-9;
  }
  return seconds;
}

}  // namespace accocal
