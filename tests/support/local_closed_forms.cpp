// Schedules whose replicas make updates by themselves between meetings. U: an update of a replica; H: those between two
// meetings; T: a meeting.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/replicas.hpp"
#include "tests/support/closed_forms.hpp"

namespace accosim {
namespace {

Seconds time_of(const ScheduleInput& input, const PlanRequest& request) {
  return request_time(input.costs, request, input.kind.first_rank);
}

/// t, forward and backward of a micro-batch.
Seconds passes(const ScheduleInput& input) { return input.kind.forward + input.kind.backward; }

/// U, an update of a rank by itself, or of the slowest replica, for which the others wait when they meet.
Seconds local_update_time(const ScheduleInput& input) {
  if (island_of(input.spec) == Island::kGpu)
    return input.accumulation_steps * passes(input) + full_optimizer_time(input);
  Seconds slowest;
  int rank = 0;  // the first of each node group
  for (const NodeGroup& group : input.costs.cluster.nodes) {
    RankKind kind = input.costs.kinds[input.costs.kind_of[rank]];
    kind.first_rank = rank;
    const ScheduleInput inside{input.spec, input.costs, kind, kind.steps(input.accumulation_steps), 1};
    const Seconds update = is_sharded_inside(input.spec) ? zero3_closed_form(inside)
                           : rounds_of(input.spec) > 1   ? acco_closed_form(inside)
                                                         : ddp_closed_form(inside);
    slowest = std::max(slowest, update);
    rank += group.count * group.gpus;
  }
  return slowest;
}

/// What a replica touches where it meets others, in bytes: `kept` of its parameters in the type of the computation,
/// `master` of the fp32 copy that the optimizer steps from, where there is one; `sent`; and fp32 states, each of
/// `state`. Of outer states on the host its own parameters are copied there before and back after, and those in the
/// narrower type made from what came.
struct Touched {
  Bytes kept, master, sent, state;
  const RankKind& kind;
  bool on_host;

  Bytes own() const { return std::max(kept, master); }
  Bytes taken() const { return kept + master; }
  Seconds pass(Bytes read, Bytes written) const {
    return on_host ? (read + written) / kind.host_memory : memory_time(read, written, kind.device);
  }
  Seconds copied() const { return on_host ? own() / kind.pcie : Seconds{0}; }
  /// theta - theta_replica, or the parameters.
  Seconds changed() const { return pass(own() + state, sent); }
  Seconds change() const { return copied() + changed(); }
  Seconds copy() const { return copied() + pass(on_host ? own() : kept, sent); }
  Seconds take() const { return memory_time(sent, taken(), kind.device); }
  /// Two states and what `came`; the replica's own too where they are mixed.
  Seconds step(Bytes came, bool mixed = false) const { return stepped(came, mixed) + copied() + take_back(mixed); }
  Seconds stepped(Bytes came, bool mixed) const {
    if (on_host) return pass(came + 2 * state, 2 * state + own());
    return pass(came + 2 * state + (mixed ? own() : Bytes{0}), 2 * state + taken());
  }
  /// From the host; mixed with its own on the GPU.
  Seconds take_back(bool mixed) const {
    if (!on_host) return Seconds{0};
    if (mixed) return memory_time(2 * own(), taken(), kind.device);
    return master > Bytes{0} ? memory_time(master, kept, kind.device) : Seconds{0};
  }
};

Touched touched(const ScheduleInput& input, double elements) {
  const Bytes kept = kept_bytes(input), states = bytes_of(input.spec.optimizer_dtype);
  return {elements * kept,
          kept < states ? elements * states : Bytes{0},
          elements * outer_bytes(input.spec),
          Bytes{4 * elements},
          input.kind,
          input.spec.offload_outer};
}

Touched touched(const ScheduleInput& input) { return touched(input, exchanged_elements(input)); }

/// (H U + T + O_outer) / H, T being exchange_time().
Seconds diloco_closed_form(const ScheduleInput& input) {
  const Touched of = touched(input);
  return local_update_time(input) +
         1.0 / input.spec.inner_updates * (of.change() + exchange_time(input) + of.step(of.sent));
}

/// (H U + T + two copies) / H: into the buffer, and back.
Seconds local_sgd_closed_form(const ScheduleInput& input) {
  const Touched of = touched(input);
  return local_update_time(input) + 1.0 / input.spec.inner_updates * (of.copy() + exchange_time(input) + of.take());
}

/// The outer step of the released codes, S shards: a reduction and a broadcast of each, in fp32, one after the other;
/// three fp32 tensors of a shard read and written; the parameters taken.
Seconds owners_step_time(const ScheduleInput& input) {
  const double elements = input.kind.parameters;
  const int S = std::min(input.costs.ranks(), 32);
  const Seconds one = time_of(input, {CollectiveKind::kBroadcast, Bytes{4 * elements / S}});
  const Bytes shard{12 * elements / S};
  return 2 * S * one + memory_time(shard, shard, input.kind.device) +
         memory_time(Bytes{4 * elements}, touched(input, elements).taken(), input.kind.device);
}

/// Of n meetings in E = n H updates n - 1 are averages and the last has the outer step: U + ((n - 1) (copy + T + take)
/// + copy + T + step) / E; as released the last is the owners' step.
Seconds slowmo_closed_form(const ScheduleInput& input) {
  const int n = input.spec.outer_every / input.spec.inner_updates;
  const Touched of = touched(input);
  Touched on_gpu = of;
  on_gpu.on_host = false;
  const Seconds average = on_gpu.copy() + exchange_time(input) + on_gpu.take();
  const Seconds last = input.spec.form == MethodForm::kCode ? owners_step_time(input)
                                                            : of.copy() + exchange_time(input) + of.step(of.sent);
  return local_update_time(input) + 1.0 / input.spec.outer_every * ((n - 1) * average + last);
}

/// What is sent before the step, which waits for what was sent at the meeting before: max(H U + what the meeting takes,
/// T) / H, whoever waits.
Seconds sent_before_step(const ScheduleInput& input, Seconds meeting) {
  const int H = input.spec.inner_updates;
  return 1.0 / H * std::max(H * local_update_time(input) + meeting, exchange_time(input));
}

/// The anchor, an outer state, is sent after the step and travels beside the next H updates: (max(H U, T) + step +
/// copy) / H. The step also reads the replica's own parameters.
Seconds overlap_local_sgd_closed_form(const ScheduleInput& input) {
  const int H = input.spec.inner_updates;
  const Touched of = touched(input);
  return 1.0 / H *
         (std::max(H * local_update_time(input), exchange_time(input)) + of.step(of.sent, true) +
          of.pass(of.state, of.sent));
}

/// As released, n rounds of H updates: the average of a round is sent after it and taken after the next; the last round
/// only waits for it, and then comes the owners' step. n H U + owners, and for n > 1 in place of n - 1 rounds H U +
/// copy + (n - 2) (max(H U, T) + take + copy) + max(H U, T).
Seconds co2_closed_form(const ScheduleInput& input) {
  const int H = input.spec.inner_updates, n = input.spec.outer_every / H;
  const Touched of = touched(input);
  if (input.spec.form == MethodForm::kPaper) return sent_before_step(input, of.copy() + of.step(of.sent));
  const Seconds round = H * local_update_time(input), beside = std::max(round, exchange_time(input));
  Seconds all = round + owners_step_time(input);
  if (n > 1) all += of.copy() + (n - 2) * (beside + of.take() + of.copy()) + beside;
  return 1.0 / input.spec.outer_every * all;
}

/// The changes are sent before the step, which waits for those of the meeting before: max(H U + change + step, T) / H.
Seconds eager_diloco_closed_form(const ScheduleInput& input) {
  const Touched of = touched(input);
  return sent_before_step(input, of.change() + of.step(3 * of.sent));
}

/// A max-plus recursion over the updates of some rounds. c: when the rank has computed so far, h: when its host is
/// free, l: when all that was sent has arrived. After update (p + 1) H / F fragment p is sent, l = max(l, c) + T_p; d
/// updates later it is awaited. With every layer of its own it leaves at its place in the backward pass, and without
/// delay the forward pass waits for it there.
class StreamingRecursion {
 public:
  explicit StreamingRecursion(const ScheduleInput& input)
      : input_(input),
        layers_(static_cast<int>(input.kind.times.size())),
        H_(input.spec.inner_updates),
        F_((layers_ - 2 + input.spec.fragment_layers - 1) / input.spec.fragment_layers),
        U_(local_update_time(input)),
        whole_(F_),
        arrives_(F_),
        layer_arrives_(layers_),
        awaited_(layers_) {
    for (int layer = 0; layer < layers_; ++layer) whole_[fragment(layer)] += elements(layer);
  }

  /// Of an update, over the last of some rounds.
  Seconds update_time() {
    constexpr int kRounds = 6;
    const int d = input_.spec.delay;
    Seconds before;
    for (int update = 1; update <= kRounds * H_; ++update) {
      if (update == (kRounds - 1) * H_ + 1) before = c_;
      const int now = (update - 1) % H_ + 1;
      if (input_.spec.by_layer)
        update_by_layer(now);
      else
        c_ += U_;
      for (int p = 0; p < F_ && d > 0; ++p)
        if ((sent_after(p) + d - 1) % H_ + 1 == now && update > d) step(whole_[p], arrives_[p]);
      if (!input_.spec.by_layer) send_fragments(now);
    }
    return 1.0 / H_ * (c_ - before);
  }

 private:
  int fragment(int layer) const { return layer == 0 ? 0 : layer > layers_ - 2 ? F_ - 1 : (layer - 1) % F_; }
  int sent_after(int p) const { return std::max(1, static_cast<int>(1L * (p + 1) * H_ / F_)); }
  double elements(int layer) const {
    return exchanged_elements(input_) / input_.kind.parameters * input_.kind.times[layer].parameters;
  }
  Seconds travel(double each) const {
    return sum_of<Seconds>(exchanges(input_, each),
                           [&](const PlanRequest& request) { return time_of(input_, request); });
  }

  /// Returns when it has arrived.
  Seconds send(double each) {
    const Touched of = touched(input_, each);
    if (of.on_host) {
      up_ = std::max(up_, c_) + of.copied();
      h_ = std::max(h_, up_) + of.changed();
    } else {
      c_ += of.change();
    }
    return l_ = std::max(l_, of.on_host ? h_ : c_) + travel(each);
  }

  void step(double each, Seconds arrived) {
    const bool mixed = input_.spec.mixing > 0;
    const Touched of = touched(input_, each);
    const int M = input_.spec.outer_dtype == OuterDtype::kE3m0 ? input_.costs.layout.size(Dim::kReplica) : 1;
    if (of.on_host) {
      h_ = std::max({h_, arrived, c_}) + of.stepped(M * of.sent, mixed);
      down_ = std::max(down_, h_) + of.copied();
      c_ = std::max(c_, down_) + of.take_back(mixed);
    } else {
      c_ = std::max(c_, arrived) + of.step(M * of.sent, mixed);
    }
  }

  void update_by_layer(int now) {
    for (int layer = 0; layer < layers_; ++layer) {
      if (awaited_[layer]) step(elements(layer), layer_arrives_[layer]);
      awaited_[layer] = false;
      c_ += input_.kind.times[layer].forward;
    }
    // Between that and the last backward pass.
    c_ += (input_.accumulation_steps - 1) * passes(input_);
    for (int layer = layers_; layer-- > 0;) {
      c_ += input_.kind.times[layer].backward;
      if (sent_after(fragment(layer)) != now) continue;
      layer_arrives_[layer] = arrives_[fragment(layer)] = send(elements(layer));
      awaited_[layer] = input_.spec.delay == 0;
    }
    c_ += full_optimizer_time(input_);
  }

  void send_fragments(int now) {
    for (int p = 0; p < F_; ++p) {
      if (sent_after(p) != now) continue;
      arrives_[p] = send(whole_[p]);
      if (input_.spec.delay == 0) step(whole_[p], arrives_[p]);
    }
  }

  const ScheduleInput& input_;
  int layers_, H_, F_;
  Seconds U_;
  Seconds c_, h_, l_, up_, down_;  // up and down: the copies to the host and from it
  std::vector<double> whole_;      // elements of a fragment
  std::vector<Seconds> arrives_, layer_arrives_;
  std::vector<bool> awaited_;
};

Seconds streaming_diloco_closed_form(const ScheduleInput& input) { return StreamingRecursion(input).update_time(); }

}  // namespace

Seconds exchange_time(const ScheduleInput& input) {
  return sum_of<Seconds>(exchanges(input), [&](const PlanRequest& request) { return time_of(input, request); });
}

Seconds local_closed_form(const ScheduleInput& input) {
  static const std::map<std::string, Seconds (*)(const ScheduleInput&)> kForms{
      {"diloco", diloco_closed_form},
      {"local_sgd", local_sgd_closed_form},
      {"slowmo", slowmo_closed_form},
      {"overlap_local_sgd", overlap_local_sgd_closed_form},
      {"co2", co2_closed_form},
      {"eager_diloco", eager_diloco_closed_form},
      {"streaming_diloco", streaming_diloco_closed_form}};
  return kForms.at(input.spec.name)(input);
}

}  // namespace accosim
