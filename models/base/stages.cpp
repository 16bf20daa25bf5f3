#include "models/base/stages.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>

namespace accosim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Stages are entered by one thread, as everything here is.
struct Watch {
  StagesUsed used;
  std::vector<std::size_t> open;  // of `used.stages`, the innermost last
  double since = now();
  std::int64_t peak = peak_kib();

  /// What has been used since the last call goes to the innermost stage.
  void settle() {
    const double time = now();
    const std::int64_t most = peak_kib();
    StageUse& of = open.empty() ? used.outside : used.stages[open.back()];
    of.seconds += time - since;
    of.peak_kib += most - peak;
    since = time;
    peak = most;
  }
};

std::unique_ptr<Watch>& watch() {
  static std::unique_ptr<Watch> one;
  return one;
}

}  // namespace

void watch_stages() {
  watch() = std::make_unique<Watch>();
  watch()->used.outside.peak_kib = watch()->peak;
}

Stage::Stage(const char* name) {
  Watch* const watching = watch().get();
  if (watching == nullptr) return;
  watching->settle();
  std::vector<StageUse>& stages = watching->used.stages;
  auto stage = std::find_if(stages.begin(), stages.end(), [&](const StageUse& each) { return each.name == name; });
  if (stage == stages.end()) stage = stages.insert(stages.end(), StageUse{name});
  ++stage->times;
  watching->open.push_back(static_cast<std::size_t>(stage - stages.begin()));
}

Stage::~Stage() {
  Watch* const watching = watch().get();
  if (watching == nullptr || watching->open.empty()) return;  // it was entered before
  watching->settle();
  watching->open.pop_back();
}

void tally(const char* what, std::int64_t count) {
  if (watch() == nullptr) return;
  auto& tallies = watch()->used.tallies;
  auto known = std::find_if(tallies.begin(), tallies.end(), [&](const auto& each) { return each.first == what; });
  if (known == tallies.end()) known = tallies.insert(tallies.end(), {what, 0});
  known->second += count;
}

StagesUsed stages_used() {
  if (watch() == nullptr) return {};
  watch()->settle();
  return watch()->used;
}

}  // namespace accosim
