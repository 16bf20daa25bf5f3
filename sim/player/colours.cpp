#include "sim/player/colours.hpp"

#include <algorithm>
#include <utility>

#include "sim/player/numbering.hpp"

namespace accosim {
namespace {

bool holds(const std::vector<int>& ranks, int rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); }

/// What belongs to each of `owners` things, one after another: of thing i from first[i] up to before first[i + 1].
template <typename Item>
struct Lists {
  std::vector<std::size_t> first;
  std::vector<Item> items;

  /// `each(put)` calls put(owner, item) for every item, and does so twice.
  template <typename Each>
  Lists(std::size_t owners, const Each& each) : first(owners + 1, 0) {
    each([&](std::size_t owner, const Item&) { ++first[owner + 1]; });
    for (std::size_t i = 0; i < owners; ++i) first[i + 1] += first[i];
    items.resize(first.back());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    each([&](std::size_t owner, const Item& item) { items[next[owner]++] = item; });
  }
  const Item* begin(std::size_t owner) const { return items.data() + first[owner]; }
  const Item* end(std::size_t owner) const { return items.data() + first[owner + 1]; }
};

/// A rank in a group that it has in that slot.
struct Seat {
  int rank, slot;
};
/// A flow of a group's plan; `kind` is of equal plans' places and equal bytes.
struct Use {
  int group, kind, path;
};
/// A path over a link, which is at that place of it.
struct Taker {
  int path, place;
};

std::vector<Use> uses_of(const EventGraph& graph) {
  std::vector<Use> uses;
  Numbering kinds;
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    for (std::size_t p = 0; p < graph.groups[g].plans.size(); ++p)
      for (const Plan::Flow& flow : graph.groups[g].plans[p].flows) {
        kinds.add(static_cast<std::int64_t>(p));
        kinds.add(flow.bytes.value);
        uses.push_back({static_cast<int>(g), kinds.number(), flow.path});
      }
  return uses;
}

/// Whether the first member of the group decides how often the loops of all are repeated.
std::vector<bool> decided_by_one(const EventGraph& graph) {
  std::vector<std::vector<int>> slots;  // of such groups, by program
  for (const Program& program : graph.programs) {
    std::vector<int>& of = slots.emplace_back();
    for (const Loop& loop : program.loops)
      if (loop.slot >= 0 && std::find(of.begin(), of.end(), loop.slot) == of.end()) of.push_back(loop.slot);
  }
  std::vector<bool> decided(graph.groups.size(), false);
  for (const Rank& rank : graph.ranks)
    for (const int slot : slots[rank.program]) decided[rank.groups[slot]] = true;
  return decided;
}

/// Refines the colours of a graph that it keeps as lists of who is with whom.
class Refinement {
 public:
  Refinement(const EventGraph& graph, Apart apart)
      : graph_(graph),
        apart_(apart),
        uses_(uses_of(graph)),
        decided_(decided_by_one(graph)),
        uses_of_path_(graph.paths.size(),
                      [&](const auto& put) {
                        for (const Use& use : uses_) put(static_cast<std::size_t>(use.path), use);
                      }),
        seats_(graph.groups.size(),
               [&](const auto& put) {
                 for (std::size_t r = 0; r < graph.ranks.size(); ++r)
                   for (std::size_t s = 0; s < graph.ranks[r].groups.size(); ++s)
                     if (graph.ranks[r].groups[s] != kNoGroup)
                       put(static_cast<std::size_t>(graph.ranks[r].groups[s]),
                           Seat{static_cast<int>(r), static_cast<int>(s)});
               }),
        takers_(graph.links.size(), [&](const auto& put) {
          for (std::size_t p = 0; p < graph.paths.size(); ++p)
            for (std::size_t i = 0; is_used(p) && i < graph.paths[p].links.size(); ++i)
              put(static_cast<std::size_t>(graph.paths[p].links[i]), Taker{static_cast<int>(p), static_cast<int>(i)});
        }) {}

  Colours colours() {
    colour_groups();
    colour_ranks();
    colour_paths();
    colour_links();
    refine();
    if (part_links_of_one_path()) refine();
    return std::move(colours_);
  }

 private:
  void refine() {
    for (std::size_t before = 0; before != number();) {
      before = number();
      refine_ranks();
      refine_groups();
      refine_links();
      refine_paths();
    }
  }

  /// Links of one colour that a path takes together get different ones, as few as they need in the order of the links:
  /// what is told apart by them is for refine() to find out. Returns whether there were any.
  bool part_links_of_one_path() {
    std::vector<int> part(graph_.links.size(), 0), taken;
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (colours_.link[l] == kUnused) continue;
      taken.clear();
      for (const Taker* taker = takers_.begin(l); taker != takers_.end(l); ++taker)
        for (const int other : graph_.paths[taker->path].links)
          if (other < static_cast<int>(l) && colours_.link[other] == colours_.link[l]) taken.push_back(part[other]);
      while (std::find(taken.begin(), taken.end(), part[l]) != taken.end()) ++part[l];
    }
    if (std::all_of(part.begin(), part.end(), [](int each) { return each == 0; })) return false;
    Numbering numbers;
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (colours_.link[l] == kUnused) continue;
      numbers.add(std::int64_t{colours_.link[l]});
      numbers.add(std::int64_t{part[l]});
      colours_.link[l] = numbers.number();
    }
    colours_.links = numbers.size();
    return true;
  }

  std::size_t number() const { return colours_.ranks + colours_.groups + colours_.paths + colours_.links; }
  bool is_used(std::size_t path) const { return uses_of_path_.begin(path) != uses_of_path_.end(path); }

  /// By plans, and by the slots in which members have it; or a number of its own.
  void colour_groups() {
    colour_groups(std::vector<bool>(graph_.groups.size(), apart_ == Apart::kRanks));
    const std::vector<bool> together = on_paths_of_their_like();
    if (std::find(together.begin(), together.end(), true) != together.end()) colour_groups(together);
  }

  void colour_groups(const std::vector<bool>& own) {
    Numbering numbers;
    std::vector<int> slots;
    colours_.group.clear();
    for (std::size_t g = 0; g < graph_.groups.size(); ++g) {
      numbers.add(std::int64_t{own[g] ? static_cast<int>(g) : -1});
      slots.clear();
      for (const Seat* seat = seats_.begin(g); seat != seats_.end(g); ++seat)
        if (slots.empty() || slots.back() != seat->slot) slots.push_back(seat->slot);
      std::sort(slots.begin(), slots.end());
      slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
      numbers.add(static_cast<std::int64_t>(slots.size()));
      for (const int slot : slots) numbers.add(std::int64_t{slot});
      for (const Plan& plan : graph_.groups[g].plans) {
        for (const double each :
             {plan.latency.value, plan.fixed.value, plan.sent_per_rank.value, plan.memory_traffic.value, plan.slowed})
          numbers.add(each);
        numbers.add(std::int64_t{plan.sms});
      }
      colours_.group.push_back(numbers.number());
    }
    colours_.groups = numbers.size();
  }

  /// Groups that take a path together with another of their colour: of two such flows the path knows of one.
  std::vector<bool> on_paths_of_their_like() const {
    std::vector<bool> together(graph_.groups.size(), false);
    std::vector<int> users;
    for (std::size_t p = 0; p < graph_.paths.size(); ++p) {
      users.clear();
      for (const Use* use = uses_of_path_.begin(p); use != uses_of_path_.end(p); ++use)
        if (users.empty() || users.back() != use->group) users.push_back(use->group);  // uses stand by group
      for (const int one : users)
        for (const int other : users)
          if (one != other && colours_.group[one] == colours_.group[other]) together[one] = true;
    }
    return together;
  }

  int own_number(std::size_t rank) const {
    return apart_ == Apart::kRanks      ? static_cast<int>(rank)
           : apart_ == Apart::kReplicas ? replica_of(graph_, rank)
                                        : -1;
  }

  /// By programs, and by which of the pauses are theirs; or a number of its own, or its replica's.
  void colour_ranks() {
    Numbering numbers;
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
      numbers.add(std::int64_t{graph_.ranks[r].program});
      numbers.add(std::int64_t{own_number(r)});
      for (const PlacedPause& pause : graph_.pace.pauses)
        numbers.add(std::int64_t{pause.ranks.empty() || holds(pause.ranks, static_cast<int>(r))});
      colours_.rank.push_back(numbers.number());
    }
    colours_.ranks = numbers.size();
  }

  /// By windows. Tokens that a link gathered pass for the flow that comes first: where several begin on it they differ.
  void colour_paths() {
    std::vector<int> first(graph_.links.size(), 0);
    for (std::size_t p = 0; p < graph_.paths.size(); ++p)
      if (is_used(p)) ++first[graph_.paths[p].links.front()];
    Numbering numbers;
    for (std::size_t p = 0; p < graph_.paths.size(); ++p) {
      colours_.path.push_back(kUnused);
      if (!is_used(p)) continue;
      const Path& path = graph_.paths[p];
      const auto link = static_cast<std::size_t>(path.links.front());
      const bool differs = graph_.links[link].burst > Bytes{0} && first[link] > 1;
      numbers.add(path.cap().value);
      numbers.add(std::int64_t{path.alike});
      numbers.add(std::int64_t{differs ? static_cast<int>(p) : -1});
      colours_.path.back() = numbers.number();
    }
    colours_.paths = numbers.size();
  }

  /// By bandwidths and bursts.
  void colour_links() {
    Numbering numbers;
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      colours_.link.push_back(kUnused);
      if (takers_.begin(l) == takers_.end(l)) continue;
      const Link& link = graph_.links[l];
      numbers.add(link.bandwidth.value);
      numbers.add(link.burst.value);
      numbers.add(std::int64_t{link.alike});
      colours_.link.back() = numbers.number();
    }
    colours_.links = numbers.size();
  }

  void refine_ranks() {
    Numbering numbers;
    for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
      numbers.add(std::int64_t{colours_.rank[r]});
      for (const int group : graph_.ranks[r].groups)
        numbers.add(std::int64_t{group == kNoGroup ? kNoGroup : colours_.group[group]});
      colours_.rank[r] = numbers.number();
    }
    colours_.ranks = numbers.size();
  }

  /// Adds pairs of small numbers, in whatever order they come: how many there are, and each.
  void add_sorted(Numbering& numbers) {
    std::sort(pairs_.begin(), pairs_.end());
    numbers.add(static_cast<std::int64_t>(pairs_.size()));
    for (const std::int64_t pair : pairs_) numbers.add(pair);
    pairs_.clear();
  }
  void put_pair(int first, int second) { pairs_.push_back(std::int64_t{first} << 32 | std::int64_t{second}); }

  /// By how many members they have of each colour, each with it in which slot, and how many flows; and by who decides.
  /// Whoever is of the decider's colour comes to the end of a body when it does and learns at that moment: it may be
  /// taken for the decider.
  void refine_groups() {
    Numbering numbers;
    auto use = uses_.begin();
    for (std::size_t g = 0; g < graph_.groups.size(); ++g) {
      numbers.add(std::int64_t{colours_.group[g]});
      numbers.add(std::int64_t{decided_[g] ? colours_.rank[graph_.groups[g].members.front()] : kUnused});
      for (const Seat* seat = seats_.begin(g); seat != seats_.end(g); ++seat)
        put_pair(colours_.rank[seat->rank], seat->slot);
      add_sorted(numbers);
      for (; use != uses_.end() && use->group == static_cast<int>(g); ++use)
        put_pair(use->kind, colours_.path[use->path]);
      add_sorted(numbers);
      colours_.group[g] = numbers.number();
    }
    colours_.groups = numbers.size();
  }

  void refine_links() {
    Numbering numbers;
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (colours_.link[l] == kUnused) continue;
      numbers.add(std::int64_t{colours_.link[l]});
      for (const Taker* taker = takers_.begin(l); taker != takers_.end(l); ++taker)
        put_pair(taker->place, colours_.path[taker->path]);
      add_sorted(numbers);
      colours_.link[l] = numbers.number();
    }
    colours_.links = numbers.size();
  }

  /// By the collectives that use them, and the colours of their links, in order.
  void refine_paths() {
    Numbering numbers;
    for (std::size_t p = 0; p < graph_.paths.size(); ++p) {
      if (colours_.path[p] == kUnused) continue;
      numbers.add(std::int64_t{colours_.path[p]});
      for (const Use* use = uses_of_path_.begin(p); use != uses_of_path_.end(p); ++use)
        put_pair(colours_.group[use->group], use->kind);
      add_sorted(numbers);
      for (const int link : graph_.paths[p].links) numbers.add(std::int64_t{colours_.link[link]});
      colours_.path[p] = numbers.number();
    }
    colours_.paths = numbers.size();
  }

  const EventGraph& graph_;
  Apart apart_;
  std::vector<Use> uses_;      // by group
  std::vector<bool> decided_;  // by group: its first member decides for all
  Lists<Use> uses_of_path_;
  Lists<Seat> seats_;
  Lists<Taker> takers_;
  Colours colours_;
  std::vector<std::int64_t> pairs_;
};

}  // namespace

Colours colours_of(const EventGraph& graph, Apart apart) { return Refinement(graph, apart).colours(); }

EventGraph with_folded_flows(EventGraph graph, const Colours& colours) {
  std::vector<Link> links;
  std::vector<int> link_of(colours.links, kUnused);
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    if (colours.link[l] == kUnused) continue;
    int& kept = link_of[colours.link[l]];
    if (kept == kUnused) {
      kept = static_cast<int>(links.size());
      links.push_back(std::move(graph.links[l]));
    } else {
      links[kept].alike += graph.links[l].alike;
    }
  }
  std::vector<Path> paths;
  std::vector<int> path_of(colours.paths, kUnused);
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    if (colours.path[p] == kUnused) continue;
    int& kept = path_of[colours.path[p]];
    if (kept != kUnused) {
      paths[kept].alike += graph.paths[p].alike;
      continue;
    }
    kept = static_cast<int>(paths.size());
    paths.push_back(std::move(graph.paths[p]));
    for (int& link : paths.back().links) link = link_of[colours.link[link]];
  }
  std::vector<int> standing(paths.size(), kUnused);  // which path of a plan stands for those of its colour
  for (Group& group : graph.groups)
    for (Plan& plan : group.plans) {
      std::vector<Plan::Flow> flows;
      for (const Plan::Flow& flow : plan.flows) {
        const int path = path_of[colours.path[flow.path]];
        int& of = standing[path];
        if (of == kUnused) of = flow.path;
        if (of == flow.path) flows.push_back({path, flow.bytes});
      }
      for (const Plan::Flow& flow : flows) standing[flow.path] = kUnused;
      plan.flows = std::move(flows);
    }
  graph.links = std::move(links);
  graph.paths = std::move(paths);
  return graph;
}

}  // namespace accosim
