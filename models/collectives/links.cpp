// NCCL searches the topology for rings in the same spirit (src/graph/search.cc); with at most 8 GPUs every ring can be
// tried.
#include "models/collectives/links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace accosim {
namespace {

using Matrix = std::vector<std::vector<int>>;

constexpr BytesPerSecond kHostBridge{10e9};  ///< PCIe gen 3 x16 between GPUs that no NVLink joins, as achieved

/// Undirected rings through the first `ranks` GPUs as orders that begin with GPU 0, each once.
std::vector<std::vector<int>> orders(const Matrix& links, int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> all;
  do {
    if (order[1] > order.back()) continue;  // the same ring the other way
    bool closed = true;
    for (std::size_t i = 0; i < order.size(); ++i)
      closed = closed && links[order[i]][order[(i + 1) % order.size()]] > 0;
    if (closed) all.push_back(order);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return all;
}

/// The most of `rings` from `first` on that fit on what is left of the links; of those found within `patience` tries,
/// which is all of them on any machine built so far.
int most(const std::vector<std::vector<int>>& rings, std::size_t first, Matrix& left, int bound, int& patience) {
  int best = 0;
  for (std::size_t r = first; r < rings.size() && best < bound && --patience > 0; ++r) {
    const std::vector<int>& ring = rings[r];
    bool fits = true;
    for (std::size_t i = 0; i < ring.size(); ++i) fits = fits && left[ring[i]][ring[(i + 1) % ring.size()]] > 0;
    if (!fits) continue;
    const auto take = [&](int links) {
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const int a = ring[i], b = ring[(i + 1) % ring.size()];
        left[a][b] -= links;
        left[b][a] -= links;
      }
    };
    take(1);
    best = std::max(best, 1 + most(rings, r, left, bound - 1, patience));
    take(-1);
  }
  return best;
}

/// One direction at a time, a step from a to b over a link of theirs or through a third GPU. Takes the links it uses.
bool close_ring(Matrix& left, std::vector<int>& path, int ranks) {
  const int from = path.back();
  const auto through = [&](int a, int b, auto&& go_on) {
    if (left[a][b] > 0) {
      --left[a][b];
      if (go_on()) return true;
      ++left[a][b];
    }
    for (int c = 0; c < ranks; ++c) {
      if (c == a || c == b || left[a][c] <= 0 || left[c][b] <= 0) continue;
      --left[a][c], --left[c][b];
      if (go_on()) return true;
      ++left[a][c], ++left[c][b];
    }
    return false;
  };
  if (static_cast<int>(path.size()) == ranks) return through(from, path.front(), [] { return true; });
  for (int next = 1; next < ranks; ++next) {
    if (std::ranges::find(path, next) != path.end()) continue;
    const bool closed = through(from, next, [&] {
      path.push_back(next);
      if (close_ring(left, path, ranks)) return true;
      path.pop_back();
      return false;
    });
    if (closed) return true;
  }
  return false;
}

int degree(const Matrix& links, int gpu, int ranks) {
  return std::accumulate(links[gpu].begin(), links[gpu].begin() + ranks, 0);
}

int count_rings(const Matrix& links, int ranks) {
  if (ranks == 2) return links[0][1];  // a ring of two takes a link both ways
  int least = degree(links, 0, ranks);
  for (int gpu = 1; gpu < ranks; ++gpu) least = std::min(least, degree(links, gpu, ranks));
  Matrix left = links;
  int patience = 2'000'000;
  if (const int rings = most(orders(links, ranks), 0, left, least / 2, patience); rings > 0) return 2 * rings;
  left = links;
  int rings = 0;
  for (std::vector<int> path = {0}; close_ring(left, path, ranks); path = {0}) ++rings;
  return rings;
}

}  // namespace

int rings_on(const Matrix& links, int ranks) {
  static std::map<std::pair<Matrix, int>, int> known;  // the search tries thousands of orders
  const auto [place, is_new] = known.emplace(std::pair(links, ranks), 0);
  if (is_new) place->second = count_rings(links, ranks);
  return place->second;
}

namespace {

/// The links between these GPUs alone.
Matrix links_between(const Matrix& links, const std::vector<int>& gpus) {
  Matrix some;
  for (const int a : gpus) {
    some.emplace_back();
    for (const int b : gpus) some.back().push_back(links[a][b]);
  }
  return some;
}

/// Of the GPU that has most of them.
double most_links(const Matrix& links) {
  int most = 1;
  for (const std::vector<int>& row : links) most = std::max(most, std::accumulate(row.begin(), row.end(), 0));
  return most;
}

}  // namespace

BytesPerSecond ring_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here) {
  const int ranks = static_cast<int>(here.size());
  if (!link.links.empty()) {
    const int rings = rings_on(links_between(link.links, here), ranks);
    return rings > 0 ? rings / most_links(link.links) * link.bandwidth : kHostBridge;
  }
  if (link.kind == "nvlink" && gpus > 2) return (ranks - 1.0) / (gpus - 1) * link.bandwidth;
  return std::pow(2.0 / ranks, link.crowding) * link.bandwidth;  // bridges, sockets and memory are shared
}

BytesPerSecond exchange_bandwidth(const IntraLink& link, int gpus, const std::vector<int>& here) {
  if (link.links.empty()) return ring_bandwidth(link, gpus, here);
  int fewest = std::numeric_limits<int>::max();
  for (const int a : here)
    for (const int b : here)
      if (a != b) fewest = std::min(fewest, link.links[a][b]);
  const BytesPerSecond pair = fewest > 0 ? fewest / most_links(link.links) * link.bandwidth : kHostBridge;
  return (static_cast<double>(here.size()) - 1) * pair;
}

SocketShare socket_share(const IntraLink& link, int gpus, const std::vector<int>& here) {
  constexpr BytesPerSecond kAll{std::numeric_limits<double>::infinity()};
  SocketShare share{kAll, kAll};
  if (link.socket_gpus == 0) return share;
  std::map<int, int> at;  // GPUs by socket
  for (const int gpu : here) ++at[gpu / link.socket_gpus];
  if (at.size() < 2) return share;
  const double ranks = static_cast<double>(here.size());
  share.ring = ranks / gpus * link.between_sockets;
  for (const auto& [socket, own] : at)
    share.exchange = std::min(share.exchange, (ranks - 1) / (own * (ranks - own)) * share.ring);
  return share;
}

}  // namespace accosim
