// What one thread, wire or host's thread does depends on the order in which messages come to it. Where a single worker
// feeds it, that is the worker's own order and no agenda is needed, which is what makes long rings quick; where several
// do, the agenda gives the order. Everything else is the latest of a few times.
#include "sim/messages/play_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "sim/player/event_heap.hpp"

namespace accosim {
namespace {

/// What a message of one size takes.
struct Size {
  double work = 0;   ///< seconds of the thread
  double bytes = 0;  ///< on the wire
};

class MessagePlayer {
 public:
  explicit MessagePlayer(const MessageGraph& graph)
      : graph_(graph),
        slots_(graph.slots),
        chunk_(sizes_of(graph.chunk)),
        last_(sizes_of(graph.last)),
        arrived_(graph.edges.size() * slots_, 0.0),
        freed_(graph.edges.size() * slots_, 0.0),
        edges_(graph.edges.size()),
        workers_(graph.workers.size()),
        thread_free_(graph.threads, 0.0),
        post_free_(graph.posts, 0.0),
        wire_free_(graph.wires.size(), 0.0) {
    find_shared();
  }

  MessagesPlayed play() {
    for (std::size_t w = graph_.workers.size(); w-- > 0;) todo_.push_back(w);
    advance_all();
    while (!agenda_.empty()) {
      const Event event = agenda_.take();
      const std::size_t w = event.id;
      if (workers_[w].handled)
        send_out(w, event.time);
      else
        handle(w, std::max(event.time, thread_free_[thread_of(w)]));
      todo_.push_back(w);
      advance_all();
      agenda_.close();
    }
    for (const Worker& worker : workers_)
      if (worker.chunk < graph_.chunks) throw std::logic_error("a collective's ranks wait for each other for ever");
    return {Seconds{end_}, messages_of(graph_)};
  }

 private:
  /// How far a worker is.
  struct Worker {
    std::int64_t chunk = 0;
    int op = 0;
    std::uint16_t message = 0;
    bool pending = false;  // it is on the agenda
    bool handled = false;  // and will send; otherwise it will be handled
    bool thread_shared = false, way_shared = false;
  };
  /// The messages under way are those from `taken` to `sent`, in slots that go round.
  struct Edge {
    std::uint32_t taken = 0, sent = 0;  // slots
    std::uint32_t under_way = 0;
  };

  std::vector<Size> sizes_of(const std::vector<Bytes>& chunk) const {
    return mapped<Size>(chunk, [&](const Bytes bytes) {
      return Size{graph_.inner > BytesPerSecond{0} ? (bytes / graph_.inner).value : 0.0, graph_.flags * bytes.value};
    });
  }

  /// Whether the order in which several workers come decides.
  void find_shared() {
    constexpr int kNobody = -1, kSeveral = -2;
    const auto join = [](int& owner, int worker) {
      if (owner != worker) owner = owner == kNobody ? worker : kSeveral;
    };
    std::vector<int> threads(thread_free_.size(), kNobody), posts(post_free_.size(), kNobody),
        wires(wire_free_.size(), kNobody);
    for (std::size_t w = 0; w < workers_.size(); ++w) join(threads[thread_of(w)], static_cast<int>(w));
    for (const MessageEdge& edge : graph_.edges)
      if (edge.wire >= 0) {
        join(posts[edge.post], edge.from);
        join(wires[edge.wire], edge.from);
      }
    for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].thread_shared = threads[thread_of(w)] == kSeveral;
    for (const MessageEdge& edge : graph_.edges)
      if (edge.wire >= 0 &&
          ((graph_.post > Seconds{0} && posts[edge.post] == kSeveral) || wires[edge.wire] == kSeveral))
        workers_[edge.from].way_shared = true;
  }

  std::size_t thread_of(std::size_t w) const { return graph_.workers[w].thread; }
  const std::vector<Size>& sizes(const Worker& at) const { return at.chunk + 1 < graph_.chunks ? chunk_ : last_; }
  bool receives(std::size_t w) const { return !graph_.workers[w].ring || workers_[w].op > 0; }
  bool sends(std::size_t w) const {
    const MessageWorker& worker = graph_.workers[w];
    return worker.out_count > 0 && (!worker.ring || workers_[w].op + 1 < worker.ops);
  }

  template <typename Visit>
  void for_each_in(std::size_t w, Visit visit) const {
    const MessageWorker& worker = graph_.workers[w];
    for (int i = worker.ins; i < worker.ins + worker.in_count; ++i) visit(graph_.ins[i]);
  }
  template <typename Visit>
  void for_each_out(std::size_t w, Visit visit) const {
    const MessageWorker& worker = graph_.workers[w];
    for (int i = worker.outs; i < worker.outs + worker.out_count; ++i) visit(graph_.outs[i]);
  }

  void advance_all() {
    while (!todo_.empty()) {
      const std::size_t w = todo_.back();
      todo_.pop_back();
      while (!workers_[w].pending && workers_[w].chunk < graph_.chunks && begin(w)) {
      }
    }
  }

  /// The worker's next operation, if all that it waits for is known.
  bool begin(std::size_t w) {
    double ready = 0;
    bool known = true;
    if (receives(w))
      for_each_in(w, [&](std::size_t e) {
        known = known && edges_[e].under_way > 0;
        ready = std::max(ready, arrived_[e * slots_ + edges_[e].taken]);
      });
    if (sends(w))
      for_each_out(w, [&](std::size_t e) {
        known = known && edges_[e].under_way < slots_;
        ready = std::max(ready, freed_[e * slots_ + edges_[e].sent]);
      });
    if (!known) return false;
    if (workers_[w].thread_shared)
      put_on_agenda(w, ready, false);
    else
      handle(w, std::max(ready, thread_free_[thread_of(w)]));
    return true;
  }

  void put_on_agenda(std::size_t w, double time, bool handled) {
    workers_[w].pending = true;
    workers_[w].handled = handled;
    agenda_.push({time, static_cast<std::uint32_t>(w)});
  }

  void handle(std::size_t w, double start) {
    const Worker& at = workers_[w];
    const bool sending = sends(w);
    const double handled = start + (sending && !graph_.workers[w].proxy ? sizes(at)[at.message].work : 0.0);
    double free = handled;
    if (sending && at.message == 0)
      for_each_out(w, [&](std::size_t e) { free = std::max(free, handled + graph_.edges[e].hop.value); });
    thread_free_[thread_of(w)] = free;
    end_ = std::max(end_, free);
    if (receives(w)) for_each_in(w, [&](std::size_t e) { take(e, handled); });
    if (sending)
      for_each_out(w, [&](std::size_t e) {
        const MessageEdge& edge = graph_.edges[e];
        if (edge.wire < 0) deliver(e, (edge.hop > Seconds{0} ? free : handled) + edge.latency.value);
      });
    if (sending && at.way_shared)
      put_on_agenda(w, handled, true);
    else
      send_out(w, handled);
  }

  /// What goes to other nodes, and on to the next operation.
  void send_out(std::size_t w, double time) {
    Worker& at = workers_[w];
    if (sends(w)) {
      const double bytes = sizes(at)[at.message].bytes;
      for_each_out(w, [&](std::size_t e) {
        const MessageEdge& edge = graph_.edges[e];
        if (edge.wire < 0) return;
        double& wire = wire_free_[edge.wire];
        wire = std::max(wire, posted(edge, time)) + bytes / graph_.wires[edge.wire].value;
        deliver(e, wire + edge.latency.value);
      });
    }
    at.pending = at.handled = false;
    if (++at.message < sizes(at).size()) return;
    at.message = 0;
    if (++at.op < graph_.workers[w].ops) return;
    at.op = 0;
    ++at.chunk;
  }

  double posted(const MessageEdge& edge, double time) {
    if (graph_.post <= Seconds{0}) return time;
    double& post = post_free_[edge.post];
    return post = std::max(post, time) + graph_.post.value;
  }

  /// A message that its receiver has handled.
  void take(std::size_t e, double time) {
    Edge& edge = edges_[e];
    freed_[e * slots_ + edge.taken] = time + graph_.edges[e].credit.value;
    edge.taken = next(edge.taken);
    if (edge.under_way-- == slots_) todo_.push_back(graph_.edges[e].from);
  }

  void deliver(std::size_t e, double time) {
    Edge& edge = edges_[e];
    arrived_[e * slots_ + edge.sent] = time;
    edge.sent = next(edge.sent);
    if (edge.under_way++ == 0) todo_.push_back(graph_.edges[e].to);
  }

  std::uint32_t next(std::uint32_t slot) const { return slot + 1 == slots_ ? 0 : slot + 1; }

  const MessageGraph& graph_;
  const std::size_t slots_;
  const std::vector<Size> chunk_, last_;
  std::vector<double> arrived_, freed_;  // by edge and slot: seconds
  std::vector<Edge> edges_;
  std::vector<Worker> workers_;
  std::vector<double> thread_free_, post_free_, wire_free_;
  std::vector<std::size_t> todo_;  // workers that may go on
  EventHeap agenda_;
  double end_ = 0;
};

}  // namespace

MessagesPlayed play(const MessageGraph& graph) { return MessagePlayer(graph).play(); }

}  // namespace accosim
