// The two passes cost about the same, so in the first one half of the time is kept for the second.
#include "calibration/measure/measure_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/device/device.hpp"

namespace accocal {
namespace {

constexpr Seconds kSayEvery{3};
/// The second pass may take so much longer than was kept for it, as a share of the budget.
constexpr double kOverrun = 0.05;

}  // namespace

Entries joined(Entries first, const Entries& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Session::Session(Seconds budget, Clock clock, Say say, std::function<bool()> alive)
    : budget_(budget), clock_(std::move(clock)), say_(std::move(say)), alive_(std::move(alive)) {
  start_ = clock_();
  said_ = start_ - kSayEvery;
}

void Session::leave_out(const std::string& what, const std::string& why) {
  const auto same =
      std::ranges::find_if(left_out_, [&](const Omission& one) { return one.what == what && one.why == why; });
  if (same != left_out_.end())
    ++same->count;
  else
    left_out_.push_back({what, why, 1});
}

void Session::progress(const std::string& what, std::size_t done, std::size_t all, const std::string& now) {
  if (clock_() - said_ < kSayEvery) return;
  said_ = clock_();
  const double left = std::max(0.0, (budget_ - (said_ - start_)).value);
  say_(fmt::format("{}: {} of {}, {:.0f} s left at most; {}", what, done, all, left, now));
}

std::optional<ItemTimes> Session::attempt(const MeasureItem& item, Seconds most, bool again) {
  const std::string pass = again ? ", second pass" : "";
  try {
    std::optional<ItemTimes> measured = item.measure(most, again);
    if (!measured) leave_out(item.group + pass, "no time was left");
    return measured;
  } catch (const NotMeasured& reason) {
    leave_out(item.group + pass, reason.what());
  } catch (const DeviceError& error) {
    // The item itself, since an error may be its size's.
    leave_out(item.text + pass, error.what());
    if (!alive_()) lost_ = std::string("the device was lost: ") + error.what();
  } catch (const std::exception& error) {
    leave_out(item.text + pass, error.what());
  }
  return std::nullopt;
}

void Session::run(const std::string& what, const std::vector<MeasureItem>& items, double until) {
  const Seconds begin = now(), deadline = until * budget_;
  struct Done {
    const MeasureItem* item;
    std::size_t sample;
  };
  std::vector<Done> done;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const MeasureItem& item = items[i];
    progress(what, i, 2 * items.size(), item.text);
    const Seconds left = deadline - now() - (now() - begin);
    if (lost() || left.value <= 0) {
      leave_out(item.group, lost() ? lost_ : "no time was left");
      continue;
    }
    const std::optional<ItemTimes> measured = attempt(item, 0.5 * left, false);
    if (!measured) continue;
    done.push_back({&item, samples_.size()});
    samples_.push_back({joined(item.keys, measured->more), measured->spread, {}});
  }
  for (std::size_t i = done.size(); i-- > 0;) {
    const MeasureItem& item = *done[i].item;
    progress(what, items.size() + done.size() - i, 2 * items.size(), item.text);
    const Seconds left = deadline + kOverrun * budget_ - now();
    if (lost() || left.value <= 0) {
      leave_out(item.group + ", second pass", lost() ? lost_ : "no time was left");
      continue;
    }
    const std::optional<ItemTimes> measured = attempt(item, left, true);
    if (measured) samples_[done[i].sample].again = measured->spread.median;
  }
}

}  // namespace accocal
