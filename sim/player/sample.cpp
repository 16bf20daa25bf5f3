// Of many model replicas that do the same with micro-batches of their own a few are played, and stand for all.
//
// What replicas do to each other is that a collective waits for the last one. Between two meetings, m micro-batches
// apart, a replica takes the sum of its draws and what all take alike; so the one that comes last is the one of the
// greatest sum, and the play is the same whether those are there that come before it. Where a replica may run ahead of
// others it is the greatest sum since they were together, over some meetings. So of every stretch of m, 2 m, 4 m ...
// micro-batches that begins at a multiple of its length the two replicas of the greatest sums are played, with their
// own draws: the maximum of N is that of all N, and not of those that are played.
//
// Replicas that meet in every micro-batch (sharded parameters) are held up by another one each time: the time of a
// micro-batch is the greatest of N draws. For them one is played that is, in each micro-batch, as slow as the slowest
// of all (Pace::slowest). They are a team; a team is as slow as its slowest, and teams that meet more seldom are chosen
// by sums as above.
//
// Beside these some replicas, evenly spread, stand for all others: how long those wait and what they do in the mean.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/player/colours.hpp"
#include "sim/player/fold.hpp"

namespace accosim {
namespace {

constexpr std::size_t kFew = 64;       // replicas that are all played
constexpr std::size_t kOthers = 16;    // that stand for the rest
constexpr std::size_t kSlowest = 2;    // of each stretch
constexpr double kMostDraws = 5e6;     // looked at
constexpr double kNearlyEvery = 0.75;  // of the micro-batches

/// How a program goes on: its micro-batches, its rounds, and by slot in how many of the micro-batches it waits for what
/// it meets others in. What it does not wait for before the next one holds up nobody there: it may run ahead.
struct Rhythm {
  double micro_batches = 0, rounds = 0;
  std::vector<double> met;
};

Rhythm rhythm_of(const EventGraph& graph, const Program& program) {
  const std::size_t lanes = program.lanes.size();
  Rhythm rhythm;
  std::vector<std::vector<double>> times(lanes);  // by lane and op: how often it is done
  std::vector<std::vector<int>> complete(lanes);  // by lane and op: micro-batches that have ended there with it
  std::vector<bool> computes(lanes);
  for (std::size_t l = 0; l < lanes; ++l) {
    std::vector<double> around{1};
    int ended = 0;
    for (const Op& op : program.lanes[l]) {
      if (op.kind == OpKind::kLoopBegin) {
        const Loop& loop = program.loops[static_cast<std::size_t>(op.plan)];
        around.push_back(around.back() * loop.min * loop.stride);
      }
      if (op.kind == OpKind::kLoopEnd) around.pop_back();
      const Label& label = graph.labels[op.label];
      times[l].push_back(around.back());
      complete[l].push_back(ended += label.micro_batches);
      rhythm.micro_batches += around.back() * label.micro_batches;
      rhythm.rounds += label.mark == Mark::kNone ? 0 : around.back();
    }
    computes[l] = ended > 0;
  }
  std::map<std::pair<int, int>, int> waited;  // by lane and micro-batch: the last op that a computation there waits for
  for (std::size_t l = 0; l < lanes; ++l)
    for (std::size_t i = 0; computes[l] && i < program.lanes[l].size(); ++i) {
      const Op& op = program.lanes[l][i];
      const int before = complete[l][i] - graph.labels[op.label].micro_batches;
      for (std::uint32_t w = op.waits; w < op.waits + op.wait_count; ++w) {
        int& last = waited.emplace(std::pair(program.waits[w].lane, before), -1).first->second;
        last = std::max(last, program.waits[w].index);
      }
    }
  std::map<std::pair<int, int>, double> met;  // by slot and micro-batch
  for (std::size_t l = 0; l < lanes; ++l) {
    int now = 0;
    for (std::size_t i = 0; i < program.lanes[l].size(); ++i) {
      const Op& op = program.lanes[l][i];
      for (std::uint32_t w = op.waits; w < op.waits + op.wait_count; ++w) {
        const auto lane = static_cast<std::size_t>(program.waits[w].lane);
        if (computes[lane]) now = std::max(now, complete[lane][static_cast<std::size_t>(program.waits[w].index)]);
      }
      if (op.kind != OpKind::kCollective) continue;
      const int here = computes[l] ? complete[l][i] : now;
      const auto of = waited.find({static_cast<int>(l), here});
      if (!computes[l] && (of == waited.end() || of->second < static_cast<int>(i))) continue;
      double& most = met[{op.slot, here}];
      most = std::max(most, times[l][i]);
    }
  }
  for (const auto& [where, often] : met) {
    const auto slot = static_cast<std::size_t>(where.first);
    rhythm.met.resize(std::max(rhythm.met.size(), slot + 1));
    rhythm.met[slot] += often;
  }
  return rhythm;
}

/// One that computes micro-batches of its own.
struct Replica {
  int number = 0;
  std::vector<int> ranks;  ///< of the graph
  std::size_t kind = 0;    ///< equal where the ranks do the same
  std::size_t team = 0;
};
/// Replicas that meet more often than all do, or that share links.
struct Team {
  std::vector<std::size_t> replicas;
  std::vector<std::size_t> kinds;  ///< ascending, each once
  bool meets = false;              ///< all of them, in every micro-batch
  bool spread = false, chosen = false;
};

class Sample {
 public:
  /// `law`: by rank of the whole graph, equal where ranks would do the same if all had the same draws.
  Sample(Folded folded, std::vector<int> law) : folded_(std::move(folded)), law_(std::move(law)) {}

  Folded taken() {
    find_replicas();
    find_teams();
    if (teams_.size() == 1 && !teams_.front().meets) return std::move(folded_);
    choose();
    return played();
  }

 private:
  const EventGraph& graph() const { return folded_.graph; }

  void find_replicas() {
    std::map<int, std::vector<int>> ranks;
    for (std::size_t r = 0; r < graph().ranks.size(); ++r) ranks[replica_of(graph(), r)].push_back(static_cast<int>(r));
    std::map<std::vector<int>, std::size_t> kinds;
    replica_.resize(graph().ranks.size());
    for (auto& [number, of] : ranks) {
      std::vector<int> laws;
      for (const int rank : of) {
        laws.push_back(law_[static_cast<std::size_t>(number_of(graph(), static_cast<std::size_t>(rank)))]);
        replica_[static_cast<std::size_t>(rank)] = replicas_.size();
      }
      const std::size_t kind = kinds.emplace(std::move(laws), kinds.size()).first->second;
      replicas_.push_back({number, std::move(of), kind});
    }
  }

  /// By program.
  std::vector<Rhythm> find_rhythms() {
    std::vector<Rhythm> rhythms;
    for (const Program& program : graph().programs) rhythms.push_back(rhythm_of(graph(), program));
    for (const Rank& rank : graph().ranks) {
      const Rhythm& rhythm = rhythms[static_cast<std::size_t>(rank.program)];
      micro_batches_ = std::max(micro_batches_, rhythm.micro_batches);
      round_ = std::max(round_, rhythm.micro_batches / std::max(1.0, rhythm.rounds));
    }
    return rhythms;
  }

  void find_teams() {
    const std::vector<Rhythm> rhythms = find_rhythms();
    std::vector<std::size_t> parent(replicas_.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t one) {
      while (parent[one] != one) one = parent[one] = parent[parent[one]];
      return one;
    };
    std::size_t apart = replicas_.size();  // teams
    const auto join = [&](std::size_t a, std::size_t b) {
      if (root(a) != root(b)) --apart;
      parent[root(a)] = root(b);
    };
    std::vector<std::set<std::size_t>> met(graph().groups.size());  // by group, the replicas in it
    std::vector<bool> each(met.size());                             // which meet in every micro-batch
    within_.resize(met.size());
    for (std::size_t g = 0; g < met.size(); ++g) {
      for (const int member : graph().groups[g].members) {
        const Rank& rank = graph().ranks[static_cast<std::size_t>(member)];
        const Rhythm& rhythm = rhythms[static_cast<std::size_t>(rank.program)];
        met[g].insert(replica_[static_cast<std::size_t>(member)]);
        for (std::size_t slot = 0; slot < rhythm.met.size(); ++slot)
          if (rank.groups[slot] == static_cast<int>(g) && rhythm.met[slot] >= kNearlyEvery * rhythm.micro_batches)
            each[g] = true;
      }
      within_[g] = met[g].size() == 1;
      if (each[g])
        for (const std::size_t one : met[g]) join(one, *met[g].begin());
    }
    std::map<int, std::size_t> user;  // by link, of groups that are not of all teams
    for (std::size_t g = 0; g < met.size(); ++g) {
      if (met[g].empty()) continue;
      std::set<std::size_t> of;
      for (const std::size_t one : met[g]) of.insert(root(one));
      if (of.size() == apart) continue;
      for (const std::size_t one : of) join(one, *of.begin());
      for (const Plan& plan : graph().groups[g].plans)
        for (const Plan::Flow& flow : plan.flows)
          for (const int link : graph().paths[static_cast<std::size_t>(flow.path)].links)
            join(user.emplace(link, *of.begin()).first->second, *of.begin());
    }
    std::map<std::size_t, std::size_t> number;  // of a team, by its root
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      replicas_[i].team = number.emplace(root(i), teams_.size()).first->second;
      teams_.resize(number.size());
      teams_[replicas_[i].team].replicas.push_back(i);
    }
    for (std::size_t g = 0; g < met.size(); ++g) {
      if (!each[g] || within_[g]) continue;
      Team& team = teams_[replicas_[*met[g].begin()].team];
      team.meets = team.meets || met[g].size() == team.replicas.size();
    }
    for (Team& team : teams_) {
      std::set<std::size_t> kinds;
      for (const std::size_t one : team.replicas) kinds.insert(replicas_[one].kind);
      team.kinds.assign(kinds.begin(), kinds.end());
    }
  }

  /// Some of each kind, evenly spread; those that are last somewhere; and those whose first rank decides for others.
  void choose() {
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> kinds;
    for (std::size_t t = 0; t < teams_.size(); ++t) kinds[teams_[t].kinds].push_back(t);
    for (const auto& [kind, of] : kinds) {
      const std::size_t some = std::min(kOthers, of.size());
      for (std::size_t i = 0; i < some; ++i) teams_[of[i * of.size() / some]].spread = true;
      choose_slowest(of);
    }
    for (const Rank& rank : graph().ranks)
      for (const Loop& loop : graph().programs[static_cast<std::size_t>(rank.program)].loops)
        if (loop.slot >= 0 && !within_[static_cast<std::size_t>(rank.groups[static_cast<std::size_t>(loop.slot)])])
          must_.insert(replica_[static_cast<std::size_t>(decider_of(rank, loop))]);
    for (const std::size_t one : must_) teams_[replicas_[one].team].chosen = true;
    for (Team& team : teams_) team.chosen = team.chosen || team.spread;
  }

  int decider_of(const Rank& rank, const Loop& loop) const {
    return graph().groups[static_cast<std::size_t>(rank.groups[static_cast<std::size_t>(loop.slot)])].members.front();
  }

  void choose_slowest(const std::vector<std::size_t>& teams) {
    const auto most = static_cast<std::size_t>(micro_batches_);
    const auto base = static_cast<std::size_t>(std::max(1.0, std::round(round_)));
    using Last = std::vector<std::pair<double, std::size_t>>;
    std::map<std::pair<std::size_t, std::size_t>, Last> last;  // by length and begin of the stretch
    for (const std::size_t team : teams) {
      std::vector<double> sums{0};
      for (std::size_t i = 0; i < most; ++i) {
        double slowest = 0;
        for (const std::size_t one : teams_[team].replicas) slowest = std::max(slowest, length_of(replicas_[one], i));
        sums.push_back(sums.back() + slowest);
      }
      for (std::size_t length = base; length <= most; length *= 2)
        for (std::size_t from = 0; from + length <= most; from += length) {
          Last& of = last[{length, from}];
          of.emplace_back(sums[from] - sums[from + length], team);  // the greatest first
          std::sort(of.begin(), of.end());
          if (of.size() > kSlowest) of.pop_back();
        }
    }
    for (const auto& [stretch, of] : last)
      for (const auto& [sum, team] : of) teams_[team].chosen = true;
  }

  double length_of(const Replica& replica, std::size_t index) const {
    const int program = graph().ranks[static_cast<std::size_t>(replica.ranks.front())].program;
    return length_of_passes(micro_batch_of(graph().pace, program, replica.number, static_cast<std::int64_t>(index))) *
           gpu_factor(graph().pace, replica.number);
  }

  /// A new one, whose groups of its own ranks are its own and which is in all others beside `like`.
  std::vector<int> add_slowest(EventGraph& made, const Replica& like, std::vector<int> of) const {
    std::map<int, int> own;  // group by that of `like`
    std::vector<int> added;
    for (const int rank : like.ranks) {
      Rank copy = graph().ranks[static_cast<std::size_t>(rank)];
      copy.replica = kSlowestOf + static_cast<int>(made.pace.slowest.size());
      copy.number = -1;
      copy.multiplicity = 0;
      const int number = static_cast<int>(made.ranks.size());
      std::set<int> seen;
      for (int& group : copy.groups) {
        if (group == kNoGroup) continue;
        const int from = group;
        if (within_[static_cast<std::size_t>(group)]) {
          const auto [at, is_new] = own.emplace(group, static_cast<int>(made.groups.size()));
          if (is_new) {
            made.groups.push_back(graph().groups[static_cast<std::size_t>(group)]);
            for (int& member : made.groups.back().members) member = -1 - member;  // until all of it are there
          }
          group = at->second;
        } else if (seen.insert(group).second) {
          const std::vector<int>& members = graph().groups[static_cast<std::size_t>(group)].members;
          std::vector<int>& joined = made.groups[static_cast<std::size_t>(group)].members;
          joined.insert(joined.end(), static_cast<std::size_t>(std::count(members.begin(), members.end(), rank)),
                        number);
        }
        if (group != from)
          for (int& member : made.groups[static_cast<std::size_t>(group)].members)
            if (member == -1 - rank) member = number;
      }
      added.push_back(number);
      made.ranks.push_back(std::move(copy));
    }
    made.pace.slowest.push_back(std::move(of));
    return added;
  }

  Folded played() {
    EventGraph made = graph();
    const auto chosen = static_cast<std::size_t>(
        std::count_if(teams_.begin(), teams_.end(), [](const Team& team) { return team.chosen; }));
    const std::size_t each = std::max<std::size_t>(1, kOthers / chosen);
    std::vector<std::vector<int>> stands(replicas_.size());  // the ranks that stand for those of each replica
    std::map<std::size_t, std::vector<std::size_t>> others;  // by kind: replicas that stand for the rest
    for (const Team& team : teams_) {
      if (!team.chosen) continue;
      for (const std::size_t kind : team.kinds) {
        std::vector<std::size_t> of =
            matching(team.replicas, [&](const std::size_t one) { return replicas_[one].kind == kind; });
        const bool all = !team.meets || of.size() <= each + 1;
        std::vector<std::size_t> some = matching(of, [&](const std::size_t one) { return all || must_.contains(one); });
        for (std::size_t i = 0; !all && i < each; ++i) some.push_back(of[i * of.size() / each]);
        for (const std::size_t one : some) stands[one] = replicas_[one].ranks;
        if (!all) {
          std::vector<int> numbers = mapped<int>(of, [&](const std::size_t one) { return replicas_[one].number; });
          const auto hidden = std::find_if(of.begin(), of.end(), [&](std::size_t one) { return stands[one].empty(); });
          if (hidden != of.end()) stands[*hidden] = add_slowest(made, replicas_[*hidden], std::move(numbers));
        }
        if (team.spread) others[kind].insert(others[kind].end(), some.begin(), some.end());
      }
    }
    std::map<std::size_t, std::size_t> turn;  // by kind
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      if (!stands[i].empty()) continue;
      const std::vector<std::size_t>& of = others[replicas_[i].kind];
      stands[i] = stands[of[turn[replicas_[i].kind]++ % of.size()]];
    }
    return without_the_rest(std::move(made), stands);
  }

  /// Ranks that stand for nobody go, and groups without a rank.
  Folded without_the_rest(EventGraph made, const std::vector<std::vector<int>>& stands) {
    constexpr int kGone = -1;
    std::vector<int> rank_of(made.ranks.size(), kGone), group_of(made.groups.size(), kGone);
    for (const std::vector<int>& ranks : stands)
      for (const int rank : ranks) rank_of[static_cast<std::size_t>(rank)] = 0;
    std::vector<Rank> ranks;
    for (std::size_t r = 0; r < made.ranks.size(); ++r) {
      if (rank_of[r] == kGone) continue;
      rank_of[r] = static_cast<int>(ranks.size());
      ranks.push_back(std::move(made.ranks[r]));
      ranks.back().multiplicity = 0;
    }
    std::vector<Group> groups;
    for (std::size_t g = 0; g < made.groups.size(); ++g) {
      std::vector<int>& members = made.groups[g].members;
      std::erase_if(members, [&](int member) { return rank_of[static_cast<std::size_t>(member)] == kGone; });
      if (members.empty()) continue;
      for (int& member : members) member = rank_of[static_cast<std::size_t>(member)];
      group_of[g] = static_cast<int>(groups.size());
      groups.push_back(std::move(made.groups[g]));
    }
    for (Rank& rank : ranks)
      for (int& group : rank.groups)
        if (group != kNoGroup) group = group_of[static_cast<std::size_t>(group)];
    std::vector<std::size_t> place(graph().ranks.size());  // of a rank in its replica
    for (const Replica& replica : replicas_)
      for (std::size_t i = 0; i < replica.ranks.size(); ++i) place[static_cast<std::size_t>(replica.ranks[i])] = i;
    for (int& of : folded_.class_of) {
      const auto rank = static_cast<std::size_t>(of);
      of = rank_of[static_cast<std::size_t>(stands[replica_[rank]][place[rank]])];
      ++ranks[static_cast<std::size_t>(of)].multiplicity;
    }
    made.ranks = std::move(ranks);
    made.groups = std::move(groups);
    return {std::move(made), std::move(folded_.class_of)};
  }

  Folded folded_;
  std::vector<int> law_;
  std::vector<Replica> replicas_;
  std::vector<std::size_t> replica_;  // by rank: its place in replicas_
  std::vector<bool> within_;          // by group: its ranks are of one replica
  std::vector<Team> teams_;
  std::set<std::size_t> must_;  // replicas that are played
  double micro_batches_ = 0, round_ = 1;
};

/// Whether draws are of replicas, and there are many of these, with draws that can be looked at.
bool is_sampled(const EventGraph& graph) {
  const Unsteady& unsteady = graph.pace.unsteady;
  const bool paused = std::any_of(graph.pace.pauses.begin(), graph.pace.pauses.end(),
                                  [](const PlacedPause& pause) { return !pause.ranks.empty(); });
  if (!graph.pace.drawn() || !unsteady.stragglers.empty() || paused) return false;
  std::set<int> replicas;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) replicas.insert(replica_of(graph, r));
  if (replicas.size() <= kFew || (unsteady.jitter.gpu > 0 && replicas.size() < graph.ranks.size())) return false;
  double most = 0;
  for (const Program& program : graph.programs) most = std::max(most, rhythm_of(graph, program).micro_batches);
  return most * static_cast<double>(replicas.size()) <= kMostDraws;
}

}  // namespace

Folded fold_sample(EventGraph graph) {
  if (!is_sampled(graph)) return fold(std::move(graph));
  std::vector<int> law = colours_of(graph, Apart::kNothing).rank;
  return Sample(fold(std::move(graph)), std::move(law)).taken();
}

}  // namespace accosim
