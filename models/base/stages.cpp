#include "models/base/stages.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

/// How much of it is over, and when it began: of the outermost Steps, or of the play that is under way.
std::atomic<double> share{0}, since{0};
std::atomic<int> depth{0};  // of Steps
/// Where in the whole the step begins that is under way, and how much of the whole it is.
double begins = 0, part = 1;

}  // namespace

void set_share(double done) {
  if (done == 0 && depth == 0) since = now();
  share = begins + part * done;
}

Steps::Steps(std::size_t of) : left_(static_cast<double>(of)), before_(begins), each_(part) {
  if (depth++ == 0) {
    since = now();
    share = 0;
  }
  if (of > 0) part /= left_;
}

Steps::~Steps() {
  begins = before_;
  part = each_;
  if (--depth == 0) share = 0;
}

void Steps::over(std::size_t steps) {
  const double more = std::min(static_cast<double>(steps), left_);  // never more than there are
  left_ -= more;
  begins += more * part;
  share = begins;
}

std::string share_in_words() {
  const double short_time = depth == 0 ? 2 : 0.5;  // s: a play's share jumps where its first update ends
  const double done = share, taken = now() - since;
  if (done <= 0 || done >= 1 || taken < short_time) return {};
  return fmt::format("{}{:.0f} %, {:.0f} s left", depth == 0 ? "of one play " : "", 100 * done,
                     taken / done * (1 - done));
}

void watch_stages() {
  watch() = std::make_unique<Watch>();
  watch()->used.outside.peak_kib = watch()->peak;
}

Stage::Stage(const char* name) {
  Watch* const watching = watch().get();
  if (watching == nullptr) return;
  watching->settle();
  std::vector<StageUse>& stages = watching->used.stages;
  auto stage = std::ranges::find_if(stages, [&](const StageUse& each) { return each.name == name; });
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
  auto known = std::ranges::find_if(tallies, [&](const auto& each) { return each.first == what; });
  if (known == tallies.end()) known = tallies.insert(tallies.end(), {what, 0});
  known->second += count;
}

StagesUsed stages_used() {
  if (watch() == nullptr) return {};
  watch()->settle();
  return watch()->used;
}

}  // namespace accosim
