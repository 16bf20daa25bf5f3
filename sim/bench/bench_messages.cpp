// How long it takes to play every message of a ring all-reduce of 1 GiB, and of a double tree: on the clock, and of the
// processor, which other work on the machine does not stretch. Prints a table; judges nothing.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "sim/messages/play_messages.hpp"

namespace accosim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

MessageQuery query_of(int nodes, int here, bool tree, bool in_turn) {
  constexpr double kKiB = 1024;
  MessageQuery query;
  query.tree = tree;
  query.in_turn = in_turn;
  query.bytes = Bytes{0x1p30};
  query.ranks_here.assign(static_cast<std::size_t>(nodes), here);
  query.links.channels = 2;
  query.links.wire = BytesPerSecond{12.5e9};
  query.links.net_hop = Seconds{15e-6};
  query.links.chunk = Bytes{(tree ? 512 : 2048) * kKiB};
  query.links.slices = tree ? 1 : 2;
  query.slots = tree ? kSlots : 4;
  if (here == 1) return query;
  query.links.inner_hop = Seconds{3e-6};
  query.links.inner = BytesPerSecond{20e9};
  return query;
}

void bench(const char* name, const MessageQuery& query) {
  const double start = now();
  const std::clock_t cpu = std::clock();
  const MessagesPlayed played = play(expand(query));
  fmt::print("{:<42} {:>9} messages {:>8.3f} s {:>8.3f} s of CPU\n", name, played.messages, now() - start,
             static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace accosim

int main() {
  using namespace accosim;
  bench("ring, 256 ranks, one a node", query_of(256, 1, false, false));
  bench("ring, 1024 ranks, one a node", query_of(1024, 1, false, false));
  bench("ring, 1024 ranks, 8 a node", query_of(128, 8, false, false));
  bench("ring, 1024 ranks, messages take turns", query_of(1024, 1, false, true));
  bench("tree, 1024 ranks, one a node", query_of(1024, 1, true, true));
  bench("tree, 1024 ranks, 8 a node", query_of(128, 8, true, true));
}
