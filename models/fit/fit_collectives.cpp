#include "models/fit/fit_collectives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "models/collectives/nccl_cost.hpp"
#include "models/fit/fit_fabrics.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024 * 1024;
constexpr std::size_t kFewest = kFewestOfABoard;  ///< also between nodes
constexpr double kEffective = 10;                 ///< how many independent samples a series counts for
constexpr double kGrowth =
    0.1;  ///< LinkQuality::growth with each doubling of a node's GPUs beyond those measured; assumed

/// The numbers of a link, in the order in which they are found: some are multiples of another one before them.
enum Number : std::uint8_t {
  kEfficiency,
  kLatency,
  kLaunch,
  kStart,
  kTurnaround,
  kCrowding,
  kLlFactor,
  kLlRate,
  kLl128,
  kNvlsEfficiency,
  kNvlsLaunch,
  kNvlsFill,
  kExchangeEfficiency,
  kExchangeLaunch,
  kExchangeChunk,
  kNumbers
};
using Numbers = std::array<double, kNumbers>;

enum class Boards { kNone, kAll, kNvlink, kPcie };  ///< that have a number as their own

/// One of all boards, and how far boards deviate from it where they do.
struct Fitted {
  const char* key;
  Parameter shared;  ///< freedom 0: given
  Boards own = Boards::kNone;
  double freedom = 0;    ///< of a board's deviation
  Number of = kNumbers;  ///< the number that it is a multiple of; kNumbers: none
};

// Centres: NCCL's count of NVLink (20 of 25 GB/s), its own latencies, and what else is usual. What is shared and what a
// board's own was chosen by the error with sources left out.
const std::vector<Fitted>& fitted() {
  static const std::vector<Fitted> kAll = {
      {"efficiency", {0.76, 0.08, 0.1, 1}, Boards::kAll, 0.08},
      {"latency", {3.4e-6, 0.5, 1e-7, 1e-4}, Boards::kAll, 0.25},
      {"launch", {20e-6, 0.4, 1e-6, 1e-4}, Boards::kAll, 0.2},
      {"start", {12e-6, 0.1, 1e-7, 1e-4}},
      {"turnaround", {0.4, 0.4, 1e-3, kMostTurnaround}, Boards::kNvlink, 0.4},
      {"crowding", {0.5, 0, 0.01, 3}, Boards::kPcie, 1},
      {"ll_factor", {1, 0, 0.3, 5}, Boards::kAll, 0.3},
      {"ll_rate", {1, 0, 0.05, 5}},
      {"ll128_efficiency", {0.66, 0.1, 0.1, 1}},
      {"nvls_efficiency", {0.73, 0.1, 0.1, 1.5}},
      {"nvls_launch", {20e-6, 0.3, 1e-6, 1e-4}},
      {"nvls_fill", {0.8, 0.3, 0.01, 5}},
      {"all_to_all_efficiency", {0.85, 0.15, 0.05, 2}, Boards::kNone, 0, kEfficiency},
      {"all_to_all_launch", {0.4, 0.4, 0.01, 10}, Boards::kNone, 0, kLaunch},
      {"all_to_all_chunk", {0.5e-6, 0.7, 1e-9, 1e-4}}};
  return kAll;
}
// Links that join GPUs directly reach more of their bandwidth than those through a switch.
constexpr Parameter kDirect{1.1, 0.1, 0.5, 2};
bool is_direct(const std::string& kind) { return kind == "nvlink" || kind == "cube_mesh"; }

bool has_own(const Fitted& number, const std::string& kind) {
  return number.own == Boards::kAll || number.own == (is_over_pcie(kind) ? Boards::kPcie : Boards::kNvlink);
}

/// What NCCL takes the thread blocks of NVLS to move, over the links' bandwidth: 16 of 36.7 GB/s on Hopper, 24 of 40 on
/// Blackwell (src/transport/nvls.cc and src/graph/tuning.cc).
double blocks_of_nvls(const std::string& generation) {
  return generation == "blackwell" ? 24 * 40.0 / 900 : 16 * 36.7 / 450;
}

IntraLink with_numbers(IntraLink link, const Numbers& n) {
  link.efficiency = n[kEfficiency];
  link.latency = Seconds{n[kLatency]};
  link.launch = Seconds{n[kLaunch]};
  link.start = Seconds{n[kStart]};
  link.turnaround = n[kTurnaround];
  if (is_over_pcie(link.kind)) link.crowding = n[kCrowding];
  link.ll = {n[kLlFactor], n[kLlRate], is_over_pcie(link.kind) ? 0 : n[kLl128]};
  if (link.nvls.efficiency > 0) link.nvls = {n[kNvlsEfficiency], Seconds{n[kNvlsLaunch]}, n[kNvlsFill]};
  link.exchange = {n[kExchangeEfficiency], Seconds{n[kExchangeLaunch]}, Seconds{n[kExchangeChunk]}};
  return link;
}

bool reduces(const LinkSample& sample) { return sample.cluster.nodes.front().intra.nvls.efficiency > 0; }

bool depends(const LinkSample& sample, std::size_t number) {
  switch (number) {
    case kLaunch:
    case kTurnaround:
    case kLl128: return !is_exchange(sample.kind);
    case kCrowding: return is_over_pcie(sample.cluster.nodes.front().intra.kind);
    case kNvlsEfficiency:
    case kNvlsLaunch:
    case kNvlsFill: return reduces(sample) && sample.kind == CollectiveKind::kAllReduce;
    case kExchangeEfficiency:
    case kExchangeLaunch:
    case kExchangeChunk: return is_exchange(sample.kind);
    default: return true;
  }
}

/// Half of its square is the minimiser's loss of a residual: what is weighed down must not become less robust by it.
double robust(double residual) {
  constexpr double kHuber = 0.1;
  const double size = std::abs(residual);
  return size < kHuber ? residual : std::copysign(std::sqrt(2 * kHuber * (size - kHuber / 2)), residual);
}

using Board = std::pair<std::string, std::string>;  ///< kind and generation
Board board_of(const IntraLink& link) { return {link.kind, link.generation}; }

void set(LinkSample& sample, const Numbers& numbers) {
  std::vector<NodeGroup>& groups = sample.cluster.nodes;
  for (std::size_t i = groups.size(); i-- > 0;)
    if (i == 0 || board_of(groups[i].intra) == board_of(groups[0].intra))
      groups[i].intra = with_numbers(std::move(groups[i].intra), numbers);
}

/// Over PCIe a number that is fitted, crowding, is one that NCCL's choice goes by.
void settle_ways(LinkSamples& samples) {
  Numbers usual;
  for (std::size_t n = 0; n < kNumbers; ++n) usual[n] = fitted()[n].shared.usual;
  for (LinkSample& sample : samples) {
    if (is_over_pcie(sample.cluster.nodes.front().intra.kind)) continue;
    set(sample, usual);
    if (goes_by_steps(sample.kind, sample.cluster, sample.ring))
      sample.way = tuned_way(sample.kind, sample.bytes, sample.cluster, sample.ring, sample.only);
  }
}

/// All boards in one: the shared numbers, and of each board those of its own.
class JointFit {
 public:
  explicit JointFit(std::map<Board, LinkSamples> samples) : samples_(std::move(samples)) {
    for (std::size_t n = 0; n < kNumbers; ++n)
      if (fitted()[n].shared.freedom > 0) add(fitted()[n].shared, {n, false, {}});
    add(kDirect, {kEfficiency, true, {}});
    for (auto& [board, of_board] : samples_) {
      weigh_series(of_board, kEffective, 1);
      for (std::size_t n = 0; n < kNumbers; ++n)
        if (has_own(fitted()[n], board.first)) add({1, fitted()[n].freedom, 1e-3, 1e3}, {n, false, board});
    }
    at_ = minimise([this](const Parameters& p) { return residuals(p); }, all_, {},
                   [this](const Parameters& p) { return slopes(p); });
  }

  Numbers numbers_of(const Board& board) const { return numbers_of(board, at_); }

 private:
  /// What a parameter multiplies.
  struct Place {
    std::size_t number;
    bool direct;  ///< of boards whose links join GPUs directly
    Board board;  ///< of this one; empty: of all
  };

  void add(const Parameter& parameter, Place place) {
    all_.push_back(parameter);
    places_.push_back(std::move(place));
  }

  static bool is_of(const Place& place, const Board& board) {
    if (place.direct) return is_direct(board.first);
    return place.board.first.empty() || place.board == board;
  }

  /// Whether a number of the board changes with it.
  static bool moves(const Place& place, const Board& board, std::size_t number) {
    return is_of(place, board) && (number == place.number || fitted()[number].of == place.number);
  }

  Numbers numbers_of(const Board& board, const Parameters& p) const {
    Numbers numbers;
    for (std::size_t n = 0; n < kNumbers; ++n) {
      const Fitted& number = fitted()[n];
      numbers[n] = number.shared.freedom > 0 ? 1 : number.shared.usual;
      for (std::size_t i = 0; i < p.size(); ++i)
        if (places_[i].number == n && is_of(places_[i], board)) numbers[n] *= p[i];
      if (n == kNvlsEfficiency) numbers[n] *= blocks_of_nvls(board.second);
      if (number.of != kNumbers) numbers[n] *= numbers[number.of];
      if (number.of == kNumbers) numbers[n] = std::clamp(numbers[n], number.shared.least, number.shared.most);
    }
    return numbers;
  }

  std::vector<double> residuals(const Parameters& p) const {
    std::vector<double> out;
    for (auto& [board, of_board] : samples_) {
      const Numbers numbers = numbers_of(board, p);
      for (const double residual : residuals(of_board, numbers)) out.push_back(residual);
    }
    return out;
  }

  /// `number`: only of the samples that depend on it, the others' are 0.
  static std::vector<double> residuals(LinkSamples& samples, const Numbers& numbers,
                                       std::optional<std::size_t> number = {}) {
    std::vector<double> out = log_ratios(samples, [&](LinkSample& sample) {
      if (number && !depends(sample, *number)) return false;
      set(sample, numbers);
      return true;
    });
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = samples[i].weight * robust(out[i]);
    return out;
  }

  /// Each sample once for each number of its board: parameters multiply numbers.
  std::vector<std::vector<double>> slopes(const Parameters& p) const {
    const std::vector<double> here = residuals(p);
    std::vector<std::vector<double>> out(p.size(), std::vector<double>(here.size(), 0.0));
    std::size_t first = 0;
    for (auto& [board, of_board] : samples_) {
      for (std::size_t n = 0; n < kNumbers; ++n) {
        std::vector<std::size_t> movers;
        for (std::size_t k = 0; k < p.size(); ++k)
          if (moves(places_[k], board, n)) movers.push_back(k);
        if (movers.empty()) continue;
        Numbers more = numbers_of(board, p);
        more[n] *= std::exp(kDerivativeStep);
        const std::vector<double> there = residuals(of_board, more, n);
        for (std::size_t i = 0; i < of_board.size(); ++i) {
          if (!depends(of_board[i], n)) continue;
          const double slope = (there[i] - here[first + i]) / kDerivativeStep;
          for (const std::size_t k : movers) out[k][first + i] += slope;
        }
      }
      first += of_board.size();
    }
    return out;
  }

  mutable std::map<Board, LinkSamples> samples_;  ///< whose links are those of the last evaluation
  std::vector<Parameter> all_;
  std::vector<Place> places_;
  Parameters at_;
};

std::vector<double> log_ratios(LinkSamples samples, const Numbers& numbers) {
  return log_ratios(samples, [&](LinkSample& sample) {
    set(sample, numbers);
    return true;
  });
}

std::string what_is(const LinkSample& sample) {
  return std::string(is_exchange(sample.kind) ? "exchanges" : "collectives") +
         (sample.bytes.value < kMiB ? " below 1 MiB" : " from 1 MiB");
}

using Out = std::vector<std::pair<std::string, FitErrors>>;

/// Every second sample by a fit to the others.
std::map<Board, Out> left_out(const std::map<Board, LinkSamples>& boards) {
  std::map<Board, std::map<std::string, std::vector<double>>> errors;
  for (std::size_t fold = 0; fold < kCollectiveFolds; ++fold) {
    std::map<Board, LinkSamples> rest, left;
    for (const auto& [board, samples] : boards)
      for (std::size_t i = 0; i < samples.size(); ++i)
        (i % kCollectiveFolds == fold ? left : rest)[board].push_back(samples[i]);
    const JointFit without(rest);
    for (const auto& [board, samples] : left) {
      const std::vector<double> of_board = log_ratios(samples, without.numbers_of(board));
      for (std::size_t i = 0; i < samples.size(); ++i) errors[board][what_is(samples[i])].push_back(of_board[i]);
    }
  }
  std::map<Board, Out> out;
  for (const auto& [board, of_board] : errors)
    for (const auto& [what, all] : of_board) out[board].emplace_back(what, errors_of(all));
  return out;
}

/// The sizes of one collective on one cluster err together, so that few such series prove no small spread: a board's is
/// as of its own series and some that err as boards do on average. Of the large or of the small samples.
void set_spreads(std::vector<LinkFit>& fits, const std::map<Board, LinkSamples>& boards, FitErrors LinkFit::*errors,
                 double LinkQuality::*spread) {
  constexpr double kOthers = 4;
  constexpr double kBest = 0.02;  // of measuring again
  double of_all = 0, measured = 0;
  for (const LinkFit& fit : fits)
    if (const FitErrors& own = fit.*errors; own.samples > 0) of_all += own.spread * own.spread, ++measured;
  for (LinkFit& fit : fits) {
    const FitErrors& own = fit.*errors;
    if (own.samples == 0) continue;
    std::set<std::tuple<std::string, std::string, CollectiveKind, int>> series;
    for (const LinkSample& sample : boards.at(board_of(fit.intra)))
      if ((sample.bytes.value < kMiB) == (errors == &LinkFit::small))
        series.emplace(sample.source, sample.cluster.name, sample.kind, sample.ring.ranks);
    const double n = static_cast<double>(series.size());
    const double square = (n * own.spread * own.spread + kOthers * of_all / measured) / (n + kOthers);
    fit.intra.quality.*spread = std::max(kBest, std::sqrt(square));
  }
}

LinkFit fit_of(const Board& board, const Numbers& numbers) {
  LinkFit fit{.intra = usual_intra(board.first, board.second)};
  fit.intra.generation = board.second;
  fit.intra.quality = {};
  fit.intra = with_numbers(fit.intra, numbers);
  return fit;
}

LinkFit fit_of(const Board& board, const Numbers& numbers, const LinkSamples& samples) {
  LinkFit fit = fit_of(board, numbers);
  if (std::ranges::none_of(samples, reduces)) fit.intra.nvls = {};
  set_evidence(fit, samples, log_ratios(samples, numbers));
  LinkQuality& quality = fit.intra.quality;
  for (const LinkSample& sample : samples) quality.nodes = std::max(quality.nodes, sample.ring.ranks);
  quality.growth = kGrowth;
  for (std::size_t n = 0; n < kNumbers; ++n)
    if (fitted()[n].of == kNumbers && has_own(fitted()[n], board.first))
      if (const std::string end = at_end(fitted()[n].key, fitted()[n].shared, numbers[n]); !end.empty())
        fit.at_ends.push_back(end);
  return fit;
}

std::vector<LinkFit> fit_boards(const LinkSamples& samples, CrossValidation cross, Unmeasured unmeasured) {
  std::map<Board, LinkSamples> boards;
  for (const LinkSample& sample : samples) boards[board_of(sample.cluster.nodes.front().intra)].push_back(sample);
  for (auto at = boards.begin(); at != boards.end();)
    at = at->second.size() < kFewest ? boards.erase(at) : std::next(at);
  if (boards.empty()) return {};
  const JointFit joint(boards);
  std::map<Board, Out> out;
  if (cross == CrossValidation::kYes) out = left_out(boards);
  std::vector<LinkFit> fits;
  for (const auto& [board, of_board] : boards) {
    fits.push_back(fit_of(board, joint.numbers_of(board), of_board));
    if (of_board.size() > 2 * kCollectiveFolds) fits.back().out = out[board];
  }
  set_spreads(fits, boards, &LinkFit::large, &LinkQuality::spread);
  set_spreads(fits, boards, &LinkFit::small, &LinkQuality::spread_small);
  if (unmeasured == Unmeasured::kShared)
    for (const IntraLink& link : constants().intra)
      if (boards.count(board_of(link)) == 0) fits.push_back(fit_of(board_of(link), joint.numbers_of(board_of(link))));
  return fits;
}

/// NVLS of a board with such GPUs, none of whose samples was reduced by a switch.
Nvls usual_nvls(const std::string& generation) {
  const auto usual = [](Number number) { return fitted()[number].shared.usual; };
  return {usual(kNvlsEfficiency) * blocks_of_nvls(generation), Seconds{usual(kNvlsLaunch)}, usual(kNvlsFill)};
}

}  // namespace

BoardNumbers board_numbers(const std::string& intra_kind) {
  BoardNumbers numbers;
  for (const Fitted& number : fitted()) {
    if (has_own(number, intra_kind)) numbers.own.emplace_back(number.key);
    if (number.shared.freedom > 0) numbers.shared.emplace_back(number.key);
  }
  numbers.shared.emplace_back("efficiency of direct NVLinks");
  return numbers;
}

std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known,
                                     CrossValidation cross, Unmeasured unmeasured) {
  std::vector<LinkFit> fits = std::move(known);
  LinkSamples inside, between;
  for (const MeasuredCollective& measured : samples)
    if (measured.query.nodes == 1) inside.push_back(light(measured));
  settle_ways(inside);
  for (LinkFit& fit : fit_boards(inside, cross, unmeasured)) fits.push_back(std::move(fit));
  for (const MeasuredCollective& measured : samples) {
    if (measured.query.nodes == 1 || measured.query.cluster->nodes.front().nics.kind == kOwnRings) continue;
    between.push_back(light(measured));
    for (NodeGroup& group : between.back().cluster.nodes) group = with_links(std::move(group), fits);
  }
  if (between.size() < kFewest) return fits;
  for (LinkFit& fit : fit_fabrics(std::move(between))) fits.push_back(std::move(fit));
  return fits;
}

NodeGroup with_links(NodeGroup group, const std::vector<LinkFit>& fits) {
  for (const LinkFit& fit : fits) {
    if (!fit.between_nodes && board_of(fit.intra) == board_of(group.intra)) {
      IntraLink link = fit.intra;
      link.bandwidth = group.intra.bandwidth;
      link.links = group.intra.links;
      if (group.intra.nvls.efficiency == 0)
        link.nvls = {};
      else if (link.nvls.efficiency == 0)  // no sample's switch reduced
        link.nvls = usual_nvls(link.generation);
      group.intra = std::move(link);
    }
    if (fit.between_nodes && fit.nics.kind == group.nics.kind) {
      group.nics.efficiency = fit.nics.efficiency;
      group.nics.latency = fit.nics.latency;
      group.nics.message = fit.nics.message;
      group.nics.staging = fit.nics.staging;
      group.nics.collisions = fit.nics.collisions;
      group.nics.quality = fit.nics.quality;
    }
  }
  return group;
}

}  // namespace accosim
