#include "models/fit/fit_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "models/base/minimise.hpp"
#include "models/fit/fit_fabrics.hpp"
#include "models/fit/link_samples.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kGrowth =
    0.1;  ///< LinkQuality::growth with each doubling of a node's GPUs beyond those measured; assumed
constexpr std::size_t kFewest = 10;  ///< samples of a kind of links that make a fit

constexpr std::size_t kNvls = 9;  ///< first of NVLS's among intra_parameters()

// One prior for all boards: NCCL's count of NVLink (20 of 25 GB/s), its own latencies, and what else is usual. A
// board's own constants are deviations from it.
const std::vector<Parameter>& intra_parameters() {
  static const std::vector<Parameter> kAll = {{0.76, 0.08, 0.1, 1},       // efficiency
                                              {3.4e-6, 0.5, 1e-7, 1e-4},  // latency
                                              {20e-6, 0.4, 1e-6, 1e-4},   // launch
                                              {12e-6, 0.2, 1e-7, 1e-4},   // start
                                              {0.4, 0.4, 1e-3, kMostTurnaround},
                                              {0.5, 1, 0.01, 3},           // crowding
                                              {1.1, 0.3, 0.3, 5},          // LL and LL128: latencies over NCCL's
                                              {1, 0.3, 0.05, 5},           // LL: rate over NCCL's
                                              {0.66, 0.1, 0.1, 1},         // LL128: efficiency
                                              {0.95, 0.1, 0.1, 1.5},       // NVLS: efficiency
                                              {28e-6, 0.3, 1e-6, 1e-4},    // NVLS: launch
                                              {0.8, 0.3, 0.01, 5},         // NVLS: fill
                                              {0.6, 0.15, 0.05, 1},        // all-to-all: efficiency
                                              {15e-6, 0.3, 1e-6, 1e-4},    // all-to-all: launch
                                              {0.5e-6, 0.7, 1e-9, 1e-4}};  // all-to-all: chunk
  return kAll;
}

IntraLink intra_of(IntraLink link, const Parameters& p) {
  link.efficiency = p[0];
  link.latency = Seconds{p[1]};
  link.launch = Seconds{p[2]};
  link.start = Seconds{p[3]};
  link.turnaround = p[4];
  if (is_over_pcie(link.kind)) link.crowding = p[5];
  link.ll = {p[6], p[7], p[8]};
  if (link.nvls.efficiency > 0) link.nvls = {p[kNvls], Seconds{p[kNvls + 1]}, p[kNvls + 2]};
  link.exchange = {p[12], Seconds{p[13]}, Seconds{p[14]}};
  return link;
}

/// Half of its square is the minimiser's loss of a residual: what is weighed down must not become less robust by it.
double robust(double residual) {
  constexpr double kHuber = 0.1;
  const double size = std::abs(residual);
  return size < kHuber ? residual : std::copysign(std::sqrt(2 * kHuber * (size - kHuber / 2)), residual);
}

/// A kind of links inside nodes, and the generation of GPUs that its constants are of.
using Board = std::pair<std::string, std::string>;
Board board_of(const IntraLink& link) { return {link.kind, link.generation}; }

/// The constants of one board, to be fitted to samples that use it.
class BoardFit {
 public:
  explicit BoardFit(Board board) : board_(std::move(board)) {}

  Parameters fit(LinkSamples samples) const {
    weigh(samples);
    return minimise([&](const Parameters& p) { return residuals(samples, p); }, intra_parameters());
  }

  std::vector<double> residuals(LinkSamples& samples, const Parameters& p) const {
    std::vector<double> out;
    for (LinkSample& sample : samples) {
      for (NodeGroup& group : sample.cluster.nodes)
        if (board_of(group.intra) == board_) group.intra = intra_of(group.intra, p);
      const double ratio = sample.log_ratio();
      out.push_back(sample.weight == 1 ? ratio : sample.weight * robust(ratio));
    }
    return out;
  }

  LinkFit whole(LinkSamples samples, CrossValidation cross) const {
    LinkFit fit;
    const Parameters p = this->fit(samples);
    for (LinkSample& sample : samples) sample.weight = 1;
    set_evidence(fit, samples, residuals(samples, p));
    if (cross == CrossValidation::kYes) fit.out = left_out(samples);
    const auto reduces = [](const LinkSample& sample) {
      return sample.cluster.nodes.front().intra.nvls.efficiency > 0;
    };
    IntraLink usual = usual_intra(board_.first, board_.second);
    if (std::none_of(samples.begin(), samples.end(), reduces)) usual.nvls = {};
    fit.intra = intra_of(usual, p);
    set_quality(fit.intra.quality, fit);
    for (const LinkSample& sample : samples)
      fit.intra.quality.nodes = std::max(fit.intra.quality.nodes, sample.ring.ranks);
    fit.intra.quality.growth = kGrowth;
    return fit;
  }

 private:
  /// Where one source alone measured a kind, its sizes count for few: what it errs by as a whole must not pass for the
  /// kind's.
  static void weigh(LinkSamples& samples) {
    constexpr double kEffective = 4;
    std::set<std::string> sources;
    for (LinkSample& sample : samples) sources.insert(sample.source), sample.weight = 1;
    if (sources.size() == 1) weigh_series(samples, kEffective, 1);
  }

  std::vector<std::pair<std::string, FitErrors>> left_out(const LinkSamples& samples) const {
    std::map<std::string, std::vector<double>> out;
    for (std::size_t fold = 0; fold < kCollectiveFolds && samples.size() > 2 * kCollectiveFolds; ++fold) {
      LinkSamples rest, left;
      for (std::size_t i = 0; i < samples.size(); ++i)
        (i % kCollectiveFolds == fold ? left : rest).push_back(samples[i]);
      const Parameters without = this->fit(std::move(rest));
      for (LinkSample& sample : left) sample.weight = 1;
      const std::vector<double> errors = residuals(left, without);
      for (std::size_t i = 0; i < left.size(); ++i) out[what_is(left[i])].push_back(errors[i]);
    }
    std::vector<std::pair<std::string, FitErrors>> all;
    for (const auto& [what, errors] : out) all.emplace_back(what, errors_of(errors));
    return all;
  }

  static std::string what_is(const LinkSample& sample) {
    constexpr double kMiB = 1024 * 1024;
    const bool exchange = is_exchange(sample.kind);
    return std::string(exchange ? "exchanges" : "collectives") +
           (sample.bytes.value < kMiB ? " below 1 MiB" : " from 1 MiB");
  }

  /// Few samples prove no small spread: what a kind has without them stands until there are enough.
  static void set_quality(LinkQuality& quality, const LinkFit& fit) {
    constexpr int kProof = 10;
    constexpr double kBest = 0.02;  // of measuring again
    if (fit.large.samples >= kProof) quality.spread = std::max(kBest, fit.large.spread);
    if (fit.small.samples >= kProof) quality.spread_small = std::max(kBest, fit.small.spread);
  }

  Board board_;
};

}  // namespace

std::vector<LinkFit> fit_collectives(const std::vector<MeasuredCollective>& samples, std::vector<LinkFit> known,
                                     CrossValidation cross) {
  std::vector<LinkFit> fits = std::move(known);
  std::map<Board, LinkSamples> boards;
  LinkSamples between;
  for (const MeasuredCollective& measured : samples)
    if (measured.query.nodes == 1)
      boards[board_of(measured.query.cluster->nodes.front().intra)].push_back(light(measured));
  for (auto& [board, of_kind] : boards) {
    for (LinkSample& sample : of_kind)
      for (NodeGroup& group : sample.cluster.nodes) group = with_links(std::move(group), fits);
    if (of_kind.size() >= kFewest) fits.push_back(BoardFit(board).whole(std::move(of_kind), cross));
  }
  for (const MeasuredCollective& measured : samples) {
    if (measured.query.nodes == 1 || measured.query.cluster->nodes.front().nics.kind == kOwnRings) continue;
    between.push_back(light(measured));
    for (NodeGroup& group : between.back().cluster.nodes) group = with_links(std::move(group), fits);
  }
  if (between.size() < kFewest) return fits;
  for (LinkFit& fit : fit_fabrics(between)) fits.push_back(std::move(fit));
  return fits;
}

std::vector<LinkFit> with_relatives(std::vector<LinkFit> fits, const std::vector<LinkFit>& known) {
  // How far a fit of a board is from one that has none: another kind is farther than any generation.
  const auto distance = [](const Board& from, const IntraLink& to) {
    static const std::vector<std::string> kNearest = {"nvlink", "nvswitch", "cube_mesh"};
    const auto kind = std::find(kNearest.begin(), kNearest.end(), to.kind);
    const int far = static_cast<int>(architectures().size());
    return std::abs(generation_of(from.second) - generation_of(to.generation)) +
           (from.first == to.kind ? 0 : far * static_cast<int>(1 + (kind - kNearest.begin())));
  };
  const std::vector<LinkFit> found = fits;
  for (const LinkFit& each : known) {
    if (each.between_nodes) continue;  // which takes the prior
    const Board board = board_of(each.intra);
    const LinkFit* nearest = nullptr;
    for (const LinkFit& fit : found)
      if (!fit.between_nodes && (is_over_pcie(fit.intra.kind) == is_over_pcie(board.first)) &&
          (nearest == nullptr || distance(board, fit.intra) < distance(board, nearest->intra)))
        nearest = &fit;
    if (nearest == nullptr || board_of(nearest->intra) == board) continue;
    LinkFit copy = *nearest;
    std::tie(copy.intra.kind, copy.intra.generation) = board;
    LinkQuality& quality = copy.intra.quality;
    quality.spread = std::max(quality.spread, LinkQuality().spread);  // of links that nobody measured
    quality.spread_small = std::max(quality.spread_small, LinkQuality().spread_small);
    fits.push_back(std::move(copy));
  }
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
        link.nvls = {intra_parameters()[kNvls].usual, Seconds{intra_parameters()[kNvls + 1].usual},
                     intra_parameters()[kNvls + 2].usual};
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
