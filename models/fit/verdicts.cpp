#include "models/fit/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "models/fit/network_doubt.hpp"

namespace accosim {
namespace {

constexpr double kMedianError = 1.2533;      ///< of normal values, in their spread over the root of their number
constexpr double kToTenth = 1.2816;          ///< from the median to the 10th percentile, in spreads
constexpr BytesPerSecond kRateHolds{250e6};  ///< above it a rank's processor decides
constexpr double kClock = 1e-9;              ///< s; what a clock tells from nothing
constexpr double kMostWaiting = 0.1;         ///< share of micro-batches beyond which hand-offs say nothing
constexpr const char* kWithWaits = "micro-batch waits";

constexpr const char* kLookAtCores =
    "its cores: the clock and what throttles it (turbostat), the frequency governor "
    "(/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor), who else runs there (top, taskset -p), and whether its "
    "memory is on its own NUMA node (numastat -p)";
constexpr const char* kLookAtHost =
    "what wakes its threads late: who else runs on its cores (top, taskset -p), the frequency governor, idle states "
    "(cpupower idle-info), and where interrupts go (/proc/interrupts)";
constexpr const char* kLookAtWaits = "who else uses its cores (top, taskset -p): its threads wait for a processor";
constexpr const char* kLookAtLink =
    "the speed that its NIC negotiated (ethtool), errors and drops (ip -s link), a shaped rate (tc qdisc), and which "
    "interface and transport are used (NCCL_SOCKET_IFNAME, NCCL_IB_HCA; NCCL_DEBUG=INFO says NET/IB or NET/Socket)";

/// One shape at one place.
struct Judged {
  const Alike* alike = nullptr;
  double measured = 0, expected = 0;
  double times() const { return measured / expected; }
};

/// Those with something to be held against, from first to middle.
const Judged* middle_of(std::vector<Judged>& all) {
  std::erase_if(all, [](const Judged& one) { return !(one.measured > 0 && one.expected > 0); });
  if (all.empty()) return nullptr;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle, {}, &Judged::times);
  return &*middle;
}

std::vector<double> others_of(const Alike& one, std::size_t place) {
  std::vector<double> others;
  for (std::size_t i = 0; i < one.times.size(); ++i)
    if (i != place && one.times[i] > 0) others.push_back(one.times[i]);
  return others;
}

double error_at(const Alike& one, std::size_t place) { return one.errors.empty() ? 0 : one.errors[place]; }

/// Takes it where it is nearer to its limit than what is there.
void take(std::optional<Verdict>& found, const Judged& judged, std::size_t place, double limit, const char* against) {
  if (found && judged.times() / limit <= found->times / found->limit) return;
  const Alike& one = *judged.alike;
  found = Verdict{one.part, one.sample, one.group + (one.shape.empty() ? "" : kAsShape) + one.shape, "", place};
  found->measured = one.bytes > 0 ? one.bytes / judged.measured : judged.measured;
  found->expected = one.bytes > 0 ? one.bytes / judged.expected : judged.expected;
  found->times = judged.times();
  found->limit = limit;
  found->against = against;
}

/// Of the runs of a rank.
double runs_of(const MachineSample& sample) {
  return std::max(1.0, sample.runs / static_cast<double>(sample.by_rank.size()));
}

Alike alike_ranks(const MachineSample& sample, MachinePart part, const std::string& group) {
  Alike one{part, sample.what, group, "", sample.by_rank, std::vector<double>(sample.by_rank.size())};
  for (std::size_t rank = 0; rank < std::min(sample.by_rank_p10.size(), sample.by_rank_p90.size()); ++rank) {
    const double p10 = std::max(kClock, sample.by_rank_p10[rank]), p90 = std::max(p10, sample.by_rank_p90[rank]);
    const double spread = std::log(p90 / p10) / (2 * kToTenth);
    one.errors.push_back(kMedianError * spread / std::sqrt(runs_of(sample)));
  }
  if (part == MachinePart::kHost || sample.what == "copy") one.usual = kUsualOfHosts;
  return one;
}

Alike alike_links(const MachineSamples& samples, const MachineSample& sample) {
  Alike link = alike_ranks(sample, MachinePart::kLink, "link");
  link.bytes = sample.amount;
  link.spread = link.usual.spread;
  for (std::size_t rank = 0; rank < std::min(samples.payloads.size(), samples.rates.size()); ++rank)
    if (samples.rates[rank] <= kRateHolds.value) link.expected[rank] = sample.amount / samples.payloads[rank];
  return link;
}

/// The share of their micro-batches that the ranks in the middle wait for a processor, with others or each other.
double waiting_share(const MachineSamples& samples) {
  std::vector<double> shares;
  for (const MachineSample& one : samples.samples)
    for (std::size_t rank = 0; rank < one.waited_by_rank.size() && one.what == "micro_batch"; ++rank)
      shares.push_back(one.waited_by_rank[rank] / (one.waited_by_rank[rank] + one.by_rank[rank]));
  return median(shares);
}

/// What others take of the ranks' cores, whose own speed is another matter.
Alike alike_waits(const MachineSample& sample, double share) {
  Alike one = alike_ranks(sample, MachinePart::kHost, kWithWaits);
  one.usual = {};
  for (std::size_t rank = 0; rank < one.times.size(); ++rank)
    one.times[rank] = median(sample.by_rank) + sample.waited_by_rank[rank];
  one.errors.assign(one.times.size(), share / std::sqrt(runs_of(sample)));
  return one;
}

/// "AdamW, 4.2M" of 4,194,304 parameters.
std::string group_of(const MachineSample& sample) {
  if (sample.what == "micro_batch") return "micro-batch";
  const bool many = sample.amount >= 1e6;
  return fmt::format("{}, {:.{}f}{}", sample.what == "adamw" ? "AdamW" : "copy", sample.amount / (many ? 1e6 : 1e3),
                     many ? 1 : 0, many ? "M" : "k");
}

/// Micro-batches first, as a step is mostly made of them. A hand-off is its begin and its end together.
std::vector<Alike> alike_in(const MachineSamples& samples) {
  std::vector<Alike> all;
  const auto each = [&](std::initializer_list<const char*> kinds, const auto& add) {
    for (const char* what : kinds)
      for (const MachineSample& one : samples.samples)
        if (one.what == what && !one.by_rank.empty()) add(one);
  };
  each({"micro_batch", "adamw", "copy"},
       [&](const MachineSample& one) { all.push_back(alike_ranks(one, MachinePart::kKernels, group_of(one))); });
  each({"link"}, [&](const MachineSample& one) { all.push_back(alike_links(samples, one)); });
  each({"micro_batch"}, [&](const MachineSample& one) {
    if (!one.waited_by_rank.empty()) all.push_back(alike_waits(one, waiting_share(samples)));
  });
  if (waiting_share(samples) > kMostWaiting) return all;
  each({"hand_off_start"}, [&](const MachineSample& begin) {
    Alike hand_off = alike_ranks(begin, MachinePart::kHost, "hand-off");
    each({"hand_off_end"}, [&](const MachineSample& end) {
      std::ranges::transform(hand_off.times, end.by_rank, hand_off.times.begin(), std::plus());
    });
    all.push_back(std::move(hand_off));
  });
  return all;
}

std::string look_at(const MachineSamples& samples, const Verdict& verdict) {
  const std::size_t rank = verdict.place;
  if (verdict.part == MachinePart::kKernels) return kLookAtCores;
  if (verdict.part == MachinePart::kLink)
    return samples.rates.empty() || samples.rates[rank] > 0.9 * median(samples.rates)
               ? kLookAtLink
               : fmt::format("the rate that was set for it, {} (--rate)", to_text(BytesPerSecond{samples.rates[rank]}));
  return verdict.what == kWithWaits ? kLookAtWaits : kLookAtHost;
}

}  // namespace

double peer_limit(const std::vector<double>& others, double error, const UsualNoise& usual) {
  constexpr double kSpreads = 5, kUsualCounts = 4, kMadToSpread = 1.4826;
  const auto n = static_cast<double>(others.size());
  if (others.empty()) return usual.least;
  std::vector<double> distances;
  const double middle = median(others);
  for (const double each : others) distances.push_back(std::abs(std::log(each / middle)));
  const double own = kMadToSpread * median(distances);
  const double variance =
      error * error + (kUsualCounts * usual.spread * usual.spread + n * own * own) / (kUsualCounts + n);
  return std::max(usual.least, std::exp(kSpreads * std::sqrt(variance * (1 + std::numbers::pi / (2 * n)))));
}

std::vector<Verdict> judged(const std::vector<Alike>& all, std::size_t places) {
  constexpr double kSpreads = 3;
  std::vector<Verdict> verdicts;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].group == all[begin].group) ++end;
    const UsualNoise& usual = all[begin].usual;
    for (std::size_t place = 0; place < places; ++place) {
      std::vector<Judged> by_kind, by_others;
      for (std::size_t i = begin; i < end; ++i) {
        by_kind.push_back({&all[i], all[i].times[place], all[i].expected[place]});
        by_others.push_back({&all[i], all[i].times[place], median(others_of(all[i], place))});
      }
      std::optional<Verdict> found;
      if (const Judged* const one = middle_of(by_others))
        take(found, *one, place, peer_limit(others_of(*one->alike, place), error_at(*one->alike, place), usual), "");
      if (const Judged* const one = middle_of(by_kind))
        take(found, *one, place,
             std::max(usual.least, std::exp(kSpreads * std::hypot(error_at(*one->alike, place), one->alike->spread))),
             "kind");
      if (found) verdicts.push_back(std::move(*found));
    }
  }
  return verdicts;
}

std::vector<Verdict> verdicts_of(const MachineSamples& samples) {
  std::vector<Verdict> verdicts = judged(alike_in(samples), static_cast<std::size_t>(samples.ranks));
  for (Verdict& one : verdicts) {
    one.where = fmt::format("rank {}", one.place);
    if (one.part == MachinePart::kLink)
      one.where += fmt::format(" to {}", (one.place + 1) % static_cast<std::size_t>(samples.ranks));
    one.against = one.against.empty() ? "the other ranks'" : "the rate that was set for it allows";
    if (one.slow()) one.look_at = look_at(samples, one);
  }
  return verdicts;
}

std::vector<std::string> untold_by(const MachineSamples& samples) {
  std::vector<std::string> untold;
  const auto has = [&](const char* what) {
    return std::ranges::any_of(samples.samples,
                               [&](const MachineSample& one) { return one.what == what && !one.by_rank.empty(); });
  };
  if (samples.ranks < 2) return {"one rank has no other to be held against; measure with -n 2 or more"};
  if (!has("micro_batch"))
    untold.emplace_back(
        "it has no times of single ranks, so that no rank's kernels or host can be named; measure again");
  if (!has("link")) untold.emplace_back("it has no times of single links, so that no link can be named; measure again");
  if (const double share = waiting_share(samples); share > kMostWaiting)
    untold.push_back(fmt::format(
        "whether a host is slow: ranks waited {:.0f} % of their time for a processor, with {} ranks on {} cores of "
        "which others used {:.0f} %",
        100 * share, samples.ranks, samples.cores, 100 * (1 - std::min(samples.idle_before, samples.idle_after))));
  return untold;
}

MachineSamples without_slow(MachineSamples samples, const std::vector<Verdict>& verdicts) {
  for (MachineSample& sample : samples.samples) {
    std::vector<double> sound = sample.by_rank;
    for (const Verdict& one : verdicts) {
      const bool host = one.part == MachinePart::kHost && sample.what.starts_with("hand_off");
      if (one.slow() && one.place < sound.size() && (host || one.sample == sample.what)) sound[one.place] = 0;
    }
    std::erase(sound, 0);
    if (!sound.empty() && sound.size() < sample.by_rank.size()) sample.median = Seconds{median(sound)};
  }
  return samples;
}

std::vector<Verdict> verdicts_of(const std::vector<MeasuredCollective>& samples) {
  std::vector<Verdict> verdicts;
  for (const NetworkDoubt& doubt : doubts_of(samples)) {
    const SlowCollective& worst = *std::ranges::max_element(
        doubt.slow, {}, [](const SlowCollective& one) { return one.measured.time / one.usual; });
    const CollectiveQuery& query = worst.measured.query;
    verdicts.push_back(
        {MachinePart::kCollectives, name_of(query.kind),
         fmt::format("{} of {} on {} ranks", name_of(query.kind), to_text(query.bytes), query.ranks), doubt.kind,
         verdicts.size(), worst.measured.time.value, worst.usual.value, worst.measured.time / worst.usual,
         worst.bus > BytesPerSecond{0} ? kLargeTooSlow : kSmallTooSlow, "such links usually do", doubt.look_at});
  }
  return verdicts;
}

}  // namespace accosim
