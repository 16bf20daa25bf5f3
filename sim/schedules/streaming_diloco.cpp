// Streaming DiLoCo (arXiv 2501.18512, algorithm 2): the parameters are fragments of a few blocks, block b in fragment b
// mod F, and the fragments meet one after the other, spread over the H updates between two meetings of the same one.
// What a replica's fragment moved is sent, and after `delay` further updates the outer step is taken on the fragment,
// whose parameters then are a mixture of its own and the new ones. Without delay the replica waits where it sends.
//
// by_layer, as the paper's own simulator has it: each layer is reduced when the backward pass of the update before the
// meeting has reached it, and without delay the next forward pass waits for a layer where it needs it.
#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

struct Fragment {
  std::vector<int> sets;
  double elements = 0;  ///< that a rank answers for
  int sent_after = 0;   ///< updates since the round began
  OpRef sent{kCommunicationLane, -1};
};

/// That a rank answers for.
double elements_of(const RuleInput& input, int set) {
  const std::vector<double>& tensors = input.body.sets[set].tensors;
  return exchanged_elements(input) / input.kind.parameters * std::accumulate(tensors.begin(), tensors.end(), 0.0);
}

/// Fragment p of F is sent after (p + 1) H / F updates.
std::vector<Fragment> fragments_of(const RuleInput& input) {
  const int sets = static_cast<int>(input.body.sets.size()), count = fragments_of(input.spec, sets);
  const std::int64_t updates = inner_updates_of(input);
  std::vector<Fragment> fragments(count);
  for (int set = 0; set < sets; ++set) {
    Fragment& of = fragments[fragment_of(input.spec, set, sets)];
    of.sets.push_back(set);
    of.elements += elements_of(input, set);
  }
  for (int p = 0; p < count; ++p) fragments[p].sent_after = std::max(1, static_cast<int>((p + 1) * updates / count));
  return fragments;
}

class Rounds {
 public:
  Rounds(ProgramBuilder& program, const RuleInput& input)
      : program_(program),
        input_(input),
        fragments_(fragments_of(input)),
        lane_(meeting_lane(program, input)),
        arrives_(input.body.sets.size(), OpRef{lane_, -1}),
        awaited_(input.body.sets.size()) {
    for (Fragment& each : fragments_) each.sent = {lane_, -1};
  }

  void add_round() {
    done_ = 0;
    for (const int now : times()) {
      const bool sends = sends_at(now);
      run_until(now - (by_layer() && sends ? 1 : 0));
      if (by_layer() && sends) add_sending_update(now);
      for (Fragment& each : fragments_)
        if (input_.spec.delay > 0 && applied_after(each) == now) apply(each);
      for (Fragment& each : fragments_)
        if (!by_layer() && each.sent_after == now) send(each);
    }
    run_until(inner_updates_of(input_));
  }

 private:
  bool by_layer() const { return input_.spec.by_layer; }
  /// In its own round or, later than that, in the next.
  int applied_after(const Fragment& each) const {
    const int updates = inner_updates_of(input_);
    return (each.sent_after + input_.spec.delay - 1) % updates + 1;
  }
  bool sends_at(int now) const {
    return std::ranges::any_of(fragments_, [&](const Fragment& each) { return each.sent_after == now; });
  }
  /// Of a round, when something is sent or applied.
  std::vector<int> times() const {
    std::vector<int> all;
    for (const Fragment& each : fragments_) {
      all.push_back(each.sent_after);
      if (input_.spec.delay > 0) all.push_back(applied_after(each));
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void run_until(int update) {
    if (update > done_ && std::ranges::any_of(awaited_, [](bool each) { return each; })) {
      add_local_update(program_, input_, Hooks{.first = await()});
      ++done_;
    }
    add_local_updates(program_, input_, update - done_);
    done_ = update;
  }

  void send(Fragment& each) {
    const OpRef filled = add_buffer(program_, input_, "changes", each.elements);
    each.sent = add_exchanges(program_, lane_, "changes of a fragment", exchanges(input_, each.elements), filled);
    if (input_.spec.delay == 0) apply(each);
  }

  void apply(const Fragment& each) { step(each.elements, each.sent); }
  void step(double elements, OpRef sent) {
    add_outer_step(program_, input_, elements, sent, {.reads_own = input_.spec.mixing > 0});
  }

  /// Layers leave as the backward pass goes on.
  void add_sending_update(int now) {
    Hooks hooks{.first = await()};
    hooks.last.stands = [&](int set, int tensor) {
      return tensor + 1 == static_cast<int>(input_.body.sets[set].tensors.size()) && sent_at(set) == now;
    };
    hooks.last.write = [&](ProgramBuilder&, int set, int, OpRef) {
      const double elements = elements_of(input_, set);
      const OpRef filled = add_buffer(program_, input_, "changes", elements);
      arrives_[set] = add_exchanges(program_, lane_, "changes of a layer", exchanges(input_, elements), filled);
    };
    add_local_update(program_, input_, hooks);
    ++done_;
    for (Fragment& each : fragments_) {
      if (each.sent_after != now) continue;
      each.sent = program_.last(lane_);
      for (const int set : each.sets) awaited_[set] = input_.spec.delay == 0;
    }
  }

  Before await() {
    return {[this](Pass, int set, int) { return awaited_[set]; },
            [this](ProgramBuilder&, Pass, int set, int) {
              awaited_[set] = false;
              step(elements_of(input_, set), arrives_[set]);
              return OpRef{kComputeLane, -1};  // it stands on the lane
            }};
  }
  int sent_at(int set) const {
    return fragments_[fragment_of(input_.spec, set, static_cast<int>(awaited_.size()))].sent_after;
  }

  ProgramBuilder& program_;
  const RuleInput& input_;
  std::vector<Fragment> fragments_;
  int lane_;
  int done_ = 0;                // updates of the round
  std::vector<OpRef> arrives_;  // by set, of by_layer
  std::vector<bool> awaited_;   // by set: the next forward pass waits for it
};

}  // namespace

void add_streaming_diloco_updates(ProgramBuilder& program, const RuleInput& input) {
  Rounds rounds(program, input);
  for (int round = 0; round < input.updates; ++round) {
    rounds.add_round();
    end_update(program, input);
  }
}

}  // namespace accosim
