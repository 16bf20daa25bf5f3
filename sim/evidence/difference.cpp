#include "sim/evidence/difference.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "sim/evidence/measured_timeline.hpp"

namespace accosim {
namespace {

/// Indices of `a` and `b` that belong together.
template <typename One>
std::vector<std::array<std::size_t, 2>> pairs_of(const std::vector<One>& a, const std::vector<One>& b,
                                                 std::array<std::vector<std::string>, 2>& alone) {
  std::vector<std::array<std::size_t, 2>> pairs;
  std::vector<bool> taken(b.size(), false);
  std::array<std::vector<std::size_t>, 2> left;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t k = 0;
    while (k < b.size() && (taken[k] || b[k].label != a[i].label)) ++k;
    if (k == b.size()) {
      left[0].push_back(i);
      continue;
    }
    taken[k] = true;
    pairs.push_back({i, k});
  }
  for (std::size_t k = 0; k < b.size(); ++k)
    if (!taken[k]) left[1].push_back(k);
  if (left[0].size() == 1 && left[1].size() == 1) {
    pairs.push_back({left[0][0], left[1][0]});
  } else {
    for (const std::size_t i : left[0]) alone[0].push_back(a[i].label);
    for (const std::size_t k : left[1]) alone[1].push_back(b[k].label);
  }
  std::ranges::sort(pairs);
  return pairs;
}

/// A figure while it is added up.
struct Sums {
  std::array<double, 2> value{};
  std::map<std::string, DifferencePart> parts;

  DifferencePart& part(const std::string& name) {
    DifferencePart& one = parts[name];
    one.name = name;
    return one;
  }
  FigureDifference take() {
    FigureDifference figure{value, {}};
    for (auto& [name, part] : parts) figure.parts.push_back(std::move(part));
    std::ranges::stable_sort(figure.parts, [](const DifferencePart& x, const DifferencePart& y) {
      return std::fabs(x.difference()) > std::fabs(y.difference());
    });
    return figure;
  }
};

void add_result(Sums& update, Sums& memory, std::size_t side, const RecordedResult& result) {
  const double time = result.update_time.value, busy = (1 - result.idle_fraction) * time;
  const double exposed = result.exposed_communication.value;
  update.value[side] = time;
  update.part("GPUs busy").value[side] = busy;
  update.part("exposed communication").value[side] = exposed;
  update.part("otherwise idle").value[side] = time - busy - exposed;
  double rest = memory.value[side] = result.memory.value;
  for (const auto& [name, bytes] : result.memory_parts) {
    memory.part(name).value[side] += bytes.value;
    rest -= bytes.value;
  }
  constexpr double kRounding = 1e-9;
  if (std::fabs(rest) > kRounding * result.memory.value) memory.part("in no part").value[side] = rest;
}

/// What a span is called, and what it counts as, where one of the two sides was measured.
struct Named {
  std::string name;
  RecordedUse use;
  double count;
};
Named named(const RecordedSpan& span, bool measured, bool beside_measured) {
  Named one{span.name, span.use, static_cast<double>(span.count)};
  if (span.use == RecordedUse::kWaiting) one.count = 0;
  if (measured || !beside_measured) return one;
  if (span.use == RecordedUse::kWaiting && !span.waits_for.empty()) {
    one.name = span.waits_for;
    one.use = RecordedUse::kCommunication;
  }
  if (one.name == "forward") one.count = 0;  // a micro-batch is forward and backward
  one.name = measured_name(one.name);
  return one;
}

/// The seconds of each name in [from, to], which add up to it: of what goes on at once the first by use, then by begin.
class Uses {
 public:
  Uses(std::int64_t from, std::int64_t to) : from_(from), to_(to) {}

  void add(const std::string& name, RecordedUse use, std::int64_t begin, std::int64_t end) {
    const std::int64_t cut_begin = std::max(begin, from_), cut_end = std::min(end, to_);
    if (cut_end <= cut_begin) return;
    const Active one{use, begin, name, next_++};
    changes_.emplace_back(cut_begin, true, one);
    changes_.emplace_back(cut_end, false, one);
  }

  std::map<std::string, std::int64_t> times() {
    std::ranges::sort(changes_, [](const auto& x, const auto& y) { return std::get<0>(x) < std::get<0>(y); });
    std::map<std::string, std::int64_t> times;
    std::set<Active> active;
    std::int64_t now = from_;
    const auto pass = [&](std::int64_t until) {
      if (until > now) times[active.empty() ? "idle" : shown(*active.begin())] += until - now;
      now = std::max(now, until);
    };
    for (const auto& [time, begins, one] : changes_) {
      pass(time);
      if (begins)
        active.insert(one);
      else
        active.erase(one);
    }
    pass(to_);
    return times;
  }

 private:
  using Active = std::tuple<RecordedUse, std::int64_t, std::string, std::size_t>;
  static std::string shown(const Active& one) {
    return std::get<2>(one) + (std::get<0>(one) == RecordedUse::kCommunication ? ", exposed" : "");
  }

  std::int64_t from_, to_;
  std::size_t next_ = 0;
  std::vector<std::tuple<std::int64_t, bool, Active>> changes_;
};

constexpr double kNanosecond = 1e-9;

void add_rank(Sums& sums, std::size_t side, const RecordedSchedule& schedule, const RecordedRank& rank,
              bool beside_measured) {
  const std::int64_t from = rank.marks.front().time, to = rank.marks.back().time;
  double updates = 0;
  for (std::size_t i = 1; i < rank.marks.size(); ++i) updates += rank.marks[i].updates;
  const double share = 1 / (updates * static_cast<double>(schedule.ranks.size()));
  Uses uses(from, to);
  std::map<std::string, std::pair<double, double>> lasted;  // by shown name: count, seconds
  for (const RecordedSpan& span : rank.spans) {
    const Named one = named(span, schedule.measured, beside_measured);
    uses.add(one.name, one.use, span.begin, span.end);
    if (span.end <= from || span.end > to) continue;
    auto& [count, seconds] = lasted[one.name + (one.use == RecordedUse::kCommunication ? ", exposed" : "")];
    count += one.count;
    seconds += static_cast<double>(span.end - span.begin) * kNanosecond;
  }
  for (const auto& [name, time] : uses.times())
    sums.part(name).value[side] += share * static_cast<double>(time) * kNanosecond;
  for (const auto& [name, count_seconds] : lasted) {
    DifferencePart& part = sums.part(name);
    part.count[side] += share * count_seconds.first;
    part.each[side] += share * count_seconds.second;  // divided by the count in the end
  }
  sums.value[side] += share * static_cast<double>(to - from) * kNanosecond;
}

}  // namespace

Differences difference_of(const std::vector<RecordedResult>& a, const std::vector<RecordedResult>& b) {
  Differences differences;
  for (const auto& [i, k] : pairs_of(a, b, differences.alone)) {
    Sums update, memory;
    add_result(update, memory, 0, a[i]);
    add_result(update, memory, 1, b[k]);
    differences.schedules.push_back(
        {{a[i].label, b[k].label}, {a[i].samples_per_update, b[k].samples_per_update}, update.take(), memory.take()});
  }
  return differences;
}

Differences difference_of(const std::vector<RecordedSchedule>& a, const std::vector<RecordedSchedule>& b) {
  Differences differences{.of_traces = true};
  for (const auto& [i, k] : pairs_of(a, b, differences.alone)) {
    ScheduleDifference one;
    Sums sums;
    const bool measured = a[i].measured || b[k].measured;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const RecordedSchedule& schedule = side == 0 ? a[i] : b[k];
      one.label[side] = schedule.label + (schedule.measured ? ", measured" : "");
      for (const RecordedRank& rank : schedule.ranks) add_rank(sums, side, schedule, rank, measured);
      for (auto& [name, part] : sums.parts)
        part.each[side] = part.count[side] > 0 ? part.each[side] / part.count[side] : 0;
    }
    one.update_time = sums.take();
    differences.schedules.push_back(std::move(one));
  }
  return differences;
}

}  // namespace accosim
