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

/// What is sent after the step travels beside the next H updates: (max(H U, T) + step + copy) / H. In Overlap-Local-SGD
/// the step also reads the replica's own parameters. On the host the copy, too, is beside them.
Seconds beside_closed_form(const ScheduleInput& input, bool mixed) {
  const int H = input.spec.inner_updates;
  const Touched of = touched(input);
  const Seconds round = H * local_update_time(input), T = exchange_time(input), step = of.step(of.sent, mixed);
  return 1.0 / H * (of.on_host ? std::max(round, of.copy() + T) + step : std::max(round, T) + step + of.copy());
}

/// As released, n rounds of H updates: the average of a round is sent after it and taken after the next; the last round
/// only waits for it, and then comes the owners' step. n H U + owners, and for n > 1 in place of n - 1 rounds H U +
/// copy
/// + (n - 2) (max(H U, T) + take + copy) + max(H U, T).
Seconds co2_closed_form(const ScheduleInput& input) {
  if (input.spec.form == MethodForm::kPaper) return beside_closed_form(input, false);
  const int H = input.spec.inner_updates, n = input.spec.outer_every / H;
  const Touched of = touched(input);
  const Seconds round = H * local_update_time(input), beside = std::max(round, exchange_time(input));
  Seconds all = round + owners_step_time(input);
  if (n > 1) all += of.copy() + (n - 2) * (beside + of.take() + of.copy()) + beside;
  return 1.0 / input.spec.outer_every * all;
}

/// The changes are sent before the step, which waits for those of the meeting before: max(H U + change + step, T) / H.
Seconds eager_diloco_closed_form(const ScheduleInput& input) {
  const int H = input.spec.inner_updates;
  const Touched of = touched(input);
  return 1.0 / H * std::max(H * local_update_time(input) + of.change() + of.step(3 * of.sent), exchange_time(input));
}

/// A max-plus recursion over the updates of some rounds. c: when the rank has computed so far, h: when its host is
/// free, l: when all that was sent has arrived. After update (p + 1) H / F fragment p is sent, l = max(l, c) + T_p; d
/// updates later it is awaited. With every layer of its own it leaves at its place in the backward pass, and without
/// delay the forward pass waits for it there.
// NOLINTNEXTLINE(readability-function-size)
Seconds streaming_diloco_closed_form(const ScheduleInput& input) {
  const ScheduleSpec& spec = input.spec;
  const int H = spec.inner_updates, layers = static_cast<int>(input.kind.times.size()), blocks = layers - 2;
  const int F = (blocks + spec.fragment_layers - 1) / spec.fragment_layers, d = spec.delay;
  const double part = exchanged_elements(input) / input.kind.parameters;
  const auto fragment = [&](int layer) { return layer == 0 ? 0 : layer > blocks ? F - 1 : (layer - 1) % F; };
  const auto sent_after = [&](int p) { return std::max(1, static_cast<int>(1L * (p + 1) * H / F)); };
  const auto elements = [&](int layer) { return part * input.kind.times[layer].parameters; };
  const auto travel = [&](double each) {
    Seconds time;
    for (const PlanRequest& request : exchanges(input, each)) time += time_of(input, request);
    return time;
  };
  const int M = spec.outer_dtype == OuterDtype::kE3m0 ? input.costs.layout.size(Dim::kReplica) : 1;
  Seconds c, h, l, up, down;  // up and down: the copies to the host and from it
  /// Returns when it has arrived.
  const auto send = [&](double each) {
    const Touched of = touched(input, each);
    if (of.on_host) {
      up = std::max(up, c) + of.copied();
      h = std::max(h, up) + of.changed();
    } else {
      c += of.change();
    }
    return l = std::max(l, of.on_host ? h : c) + travel(each);
  };
  const auto step = [&](double each, Seconds arrived) {
    const Touched of = touched(input, each);
    if (of.on_host) {
      h = std::max({h, arrived, c}) + of.stepped(M * of.sent, spec.mixing > 0);
      down = std::max(down, h) + of.copied();
      c = std::max(c, down) + of.take_back(spec.mixing > 0);
    } else {
      c = std::max(c, arrived) + of.step(M * of.sent, spec.mixing > 0);
    }
  };
  std::vector<double> whole(F);
  for (int layer = 0; layer < layers; ++layer) whole[fragment(layer)] += elements(layer);
  const Seconds U = local_update_time(input);
  std::vector<Seconds> arrives(F), layer_arrives(layers);
  std::vector<bool> awaited(layers);
  constexpr int kRounds = 6;
  Seconds before;
  for (int update = 1; update <= kRounds * H; ++update) {
    if (update == (kRounds - 1) * H + 1) before = c;
    const int now = (update - 1) % H + 1;
    if (spec.by_layer) {
      for (int layer = 0; layer < layers; ++layer) {
        if (awaited[layer]) step(elements(layer), layer_arrives[layer]);
        awaited[layer] = false;
        c += input.kind.times[layer].forward;
      }
      // Between that and the last backward pass.
      c += (input.accumulation_steps - 1) * passes(input);
      for (int layer = layers; layer-- > 0;) {
        c += input.kind.times[layer].backward;
        if (sent_after(fragment(layer)) != now) continue;
        layer_arrives[layer] = arrives[fragment(layer)] = send(elements(layer));
        awaited[layer] = d == 0;
      }
      c += full_optimizer_time(input);
    } else {
      c += U;
    }
    for (int p = 0; p < F && d > 0; ++p)
      if ((sent_after(p) + d - 1) % H + 1 == now && update > d) step(whole[p], arrives[p]);
    for (int p = 0; p < F && !spec.by_layer; ++p) {
      if (sent_after(p) != now) continue;
      arrives[p] = send(whole[p]);
      if (d == 0) step(whole[p], arrives[p]);
    }
  }
  return 1.0 / H * (c - before);
}

}  // namespace

Seconds exchange_time(const ScheduleInput& input) {
  Seconds time;
  for (const PlanRequest& request : exchanges(input)) time += time_of(input, request);
  return time;
}

Seconds local_closed_form(const ScheduleInput& input) {
  const auto overlap_local_sgd = [](const ScheduleInput& each) { return beside_closed_form(each, true); };
  static const std::map<std::string, Seconds (*)(const ScheduleInput&)> kForms{
      {"diloco", diloco_closed_form},
      {"local_sgd", local_sgd_closed_form},
      {"slowmo", slowmo_closed_form},
      {"overlap_local_sgd", overlap_local_sgd},
      {"co2", co2_closed_form},
      {"eager_diloco", eager_diloco_closed_form},
      {"streaming_diloco", streaming_diloco_closed_form}};
  return kForms.at(input.spec.name)(input);
}

}  // namespace accosim
