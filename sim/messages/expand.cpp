#include "sim/messages/expand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace accosim {
namespace {

template <typename List>
int size_of(const List& list) {
  return static_cast<int>(list.size());
}

/// The node at place i of a tree. The second tree is the first one mirrored or, of an odd number of nodes, moved on by
/// one.
int in_tree(int nodes, int i, bool second) {
  if (!second) return i;
  return nodes % 2 == 0 ? nodes - 1 - i : (i + 1) % nodes;
}

/// The messages of a chunk.
std::vector<Bytes> chunk_of(Bytes m, const StepLinks& links) {
  const int most = m > kLeastSlice ? links.slices : 1;
  const Bytes slice = std::max(std::min(m, kLeastSlice), m / most);
  std::vector<Bytes> messages;
  Bytes rest = m;
  while (size_of(messages) + 1 < most && rest > slice) {
    messages.push_back(slice);
    rest -= slice;
  }
  messages.push_back(rest);
  return messages;
}

class Expansion {
 public:
  explicit Expansion(const MessageQuery& query)
      : query_(query),
        links_(query.links),
        nodes_(size_of(query.ranks_here)),
        threads_(std::max(1, static_cast<int>(links_.threads))),
        queues_(query.in_turn ? std::max(1, static_cast<int>(links_.lines))
                              : std::max(links_.channels, links_.adapters)) {
    for (const int here : query.ranks_here) {
      first_.push_back(ranks_);
      ranks_ += here;
    }
    for (int node = 0; node < nodes_; ++node) {
      const BytesPerSecond wire = query.wires.empty() ? links_.wire : query.wires[node];
      graph_.wires.insert(graph_.wires.end(), queues_, wire / queues_);
    }
    graph_.posts = nodes_ * threads_;
    graph_.inner = links_.inner;
    graph_.post = links_.post;
    graph_.flags = links_.flags;
    graph_.slots = query.slots;
  }

  MessageGraph take() {
    const bool chain = query_.kind == CollectiveKind::kBroadcast;
    for (int channel = 0; channel < links_.channels; ++channel)
      query_.tree ? add_tree(channel) : add_ring(channel, chain);
    deal(query_.tree || chain ? 1 : ranks_);
    list_edges();
    return std::move(graph_);
  }

 private:
  int worker(int ops, bool ring, int thread) {
    graph_.workers.push_back({ops, ring, false, thread});
    return static_cast<int>(graph_.workers.size()) - 1;
  }

  /// Of a connection to another node.
  int proxy(int ops) {
    graph_.workers.push_back({ops, false, true, graph_.threads++});
    return static_cast<int>(graph_.workers.size()) - 1;
  }

  int site(int node) const { return query_.site.empty() ? 0 : query_.site[node]; }

  /// `sends`: operations of a chunk in which `from` sends.
  void edge(int channel, int sends, int from_node, int to_node, int from, int to) {
    MessageEdge edge{.from = from, .to = to};
    if (from_node == to_node) {
      edge.hop = links_.inner_hop;
      graph_.edges.push_back(edge);
      return;
    }
    const Seconds apart = site(from_node) == site(to_node) ? Seconds{0} : query_.between_sites;
    const Seconds in_host = std::max(Seconds{0}, 0.5 * (links_.net_hop - links_.post - query_.wire_latency));
    edge.to = proxy(sends);
    edge.latency = in_host;
    graph_.edges.push_back(edge);
    edge.from = edge.to;
    edge.to = to;
    edge.post = from_node * threads_ + channel % threads_;
    edge.wire = from_node * queues_ + channel % queues_;
    edge.latency = std::max(Seconds{0}, links_.net_hop - links_.post - in_host) + apart;
    edge.credit = query_.wire_latency + apart;
    graph_.edges.push_back(edge);
  }

  int here(int node) const { return query_.ranks_here[node]; }

  /// Node after node; a chain is the ring without the edge that closes it.
  void add_ring(int channel, bool chain) {
    const int passes = query_.kind == CollectiveKind::kAllReduce ? 2 : 1;
    const int sends = chain ? 1 : passes * (ranks_ - 1);
    const auto first = static_cast<int>(graph_.workers.size());
    for (int rank = 0; rank < ranks_; ++rank) worker(chain ? 1 : sends + 1, !chain, graph_.threads++);
    int rank = 0;
    for (int node = 0; node < nodes_; ++node)
      for (int i = 0; i < here(node); ++i, ++rank) {
        if (chain && rank + 1 == ranks_) return;
        const int next_node = i + 1 < here(node) ? node : (node + 1) % nodes_;
        edge(channel, sends, node, next_node, first + rank, first + (rank + 1) % ranks_);
      }
  }

  /// A worker of each rank for the way up and one for the way down; the root has one for both. Of a node the first
  /// rank is joined to the parent and to one child, the second to the other one, and the rest follow as a chain.
  void add_tree(int channel) {
    const bool second = 2 * channel >= links_.channels && links_.channels > 1;
    const std::vector<int> parent = tree_parents(nodes_, second);
    std::vector<int> last(nodes_, -1);  // child of each node
    for (int i = 0; i < nodes_; ++i)
      if (const int node = in_tree(nodes_, i, second); parent[node] >= 0) last[parent[node]] = node;
    std::vector<int> up(ranks_), down = up;
    for (int node = 0, rank = 0; node < nodes_; ++node)
      for (int i = 0; i < here(node); ++i, ++rank) {
        const int thread = graph_.threads++;
        const bool root = parent[node] < 0 && i == 0;
        up[rank] = worker(1, false, thread);
        down[rank] = root ? up[rank] : worker(1, false, query_.one_thread ? thread : graph_.threads++);
      }
    for (int node = 0; node < nodes_; ++node) {
      const int head = first_[node];
      for (int rank = head + 1; rank < head + here(node); ++rank) {
        edge(channel, 1, node, node, up[rank], up[rank - 1]);
        edge(channel, 1, node, node, down[rank - 1], down[rank]);
      }
      const int above = parent[node];
      if (above < 0) continue;
      const int to = first_[above] + (here(above) > 1 && last[above] == node ? 1 : 0);
      edge(channel, 1, node, above, up[head], up[to]);
      edge(channel, 1, above, node, down[to], down[head]);
    }
  }

  /// The bytes to channels and chunks, of which each is dealt to `parts` ranks.
  void deal(int parts) {
    const Bytes part = query_.bytes / (1.0 * links_.channels * parts);
    const double full = std::floor(part / links_.chunk);
    const Bytes rest = part - full * links_.chunk;
    graph_.chunk = chunk_of(links_.chunk, links_);
    graph_.last = rest > Bytes{0} || full == 0 ? chunk_of(rest, links_) : graph_.chunk;
    graph_.chunks = static_cast<std::int64_t>(full) + (rest > Bytes{0} || full == 0 ? 1 : 0);
  }

  void list_edges() {
    const auto list = [&](std::vector<int>& all, int MessageEdge::*end, int MessageWorker::*begin,
                          int MessageWorker::*count) {
      all.resize(graph_.edges.size());
      std::iota(all.begin(), all.end(), 0);
      std::ranges::stable_sort(all, [&](int a, int b) { return graph_.edges[a].*end < graph_.edges[b].*end; });
      for (int i = size_of(all) - 1; i >= 0; --i) {
        MessageWorker& worker = graph_.workers[graph_.edges[all[i]].*end];
        worker.*begin = i;
        ++(worker.*count);
      }
    };
    list(graph_.ins, &MessageEdge::to, &MessageWorker::ins, &MessageWorker::in_count);
    list(graph_.outs, &MessageEdge::from, &MessageWorker::outs, &MessageWorker::out_count);
  }

  const MessageQuery& query_;
  const StepLinks& links_;
  int nodes_, threads_, queues_, ranks_ = 0;
  std::vector<int> first_;  // rank of each node
  MessageGraph graph_;
};

}  // namespace

std::vector<int> tree_parents(int nodes, bool second) {
  // A node's parent is found by its lowest bit that is set; the leaves are the odd nodes.
  const auto above = [&](int node) {
    if (node == 0) return -1;
    const int bit = node & -node;
    const int up = (node ^ bit) | (bit << 1);
    return up < nodes ? up : node ^ bit;
  };
  std::vector<int> parents(nodes, -1);
  for (int i = 0; i < nodes; ++i)
    if (const int up = above(i); up >= 0) parents[in_tree(nodes, i, second)] = in_tree(nodes, up, second);
  return parents;
}

std::int64_t messages_of(const MessageGraph& graph) {
  std::int64_t sends = 0;  // of a chunk; what a proxy gets it sends on
  for (const MessageEdge& edge : graph.edges) {
    const MessageWorker& from = graph.workers[edge.from];
    if (!graph.workers[edge.to].proxy) sends += from.ops - (from.ring ? 1 : 0);
  }
  return sends * ((graph.chunks - 1) * size_of(graph.chunk) + size_of(graph.last));
}

MessageGraph expand(const MessageQuery& query) { return Expansion(query).take(); }

}  // namespace accosim
