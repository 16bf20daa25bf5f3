// Everything that a schedule needs to know in seconds and bytes, for one scenario under one schedule's dtypes: what a
// micro-batch costs on each kind of rank, the optimizer, copies, and collectives on request.
#pragma once

#include <optional>
#include <vector>

#include "models/base/shared.hpp"
#include "models/base/units.hpp"
#include "models/collectives/collectives.hpp"
#include "models/price/bill.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/layers.hpp"
#include "models/price/pace.hpp"
#include "models/price/tensor_waits.hpp"
#include "models/price/work.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

/// Ranks with the same device, precision, attention, micro-batch size and accumulation, in islands of one size, that
/// hold the same part of the model: they cost the same and share a program.
struct RankKind {
  Device device{};
  Workload workload{};
  ModelShare share{};                         ///< of the model; what follows is of it alone
  Shared<Layers> layers{};                    ///< of one chunk after the other
  std::vector<int> chunk_layers{};            ///< how many of them each chunk has
  Bytes message{};                            ///< a micro-batch's activations, as a rank sends them to the next stage
  Bytes gathered{};                           ///< what they are gathered into where they arrive; 0: they are whole
  Seconds forward_waits{}, backward_waits{};  ///< of a micro-batch's passes, for collectives over split tensors
  double parameters = 0;                      ///< elements of its layers that are trained, whole
  double expert_parameters = 0;               ///< of these, of its own experts
  Bytes frozen{};                             ///< of those that are not
  Shared<Bill> bill{};                     ///< of one micro-batch, without the slowdown; times and works are sums of it
  std::vector<LayerTime> times{};          ///< one a layer
  Seconds forward{}, backward{};           ///< of one micro-batch
  Shared<std::vector<LayerWork>> works{};  ///< one a layer
  LayerWork work{};                        ///< of one micro-batch
  Flops model_flops{};                     ///< of one micro-batch, what the model needs
  Flops hardware_flops{};                  ///< of one micro-batch, what is computed, recomputation included
  bool tied_embeddings = false;            ///< the head's matrix is the embedding's
  double shared_table = 0;                 ///< elements of that matrix, where another stage has a copy
  std::optional<int> own_steps{};          ///< micro-batches an update, of its node group; absent: the training's
  std::optional<int> own_inner_updates{};  ///< between two meetings; absent: the schedule's
  int shards = 1;  ///< ranks of its island, which share one copy of what the schedule shards, or make updates together
  int ranks = 1;   ///< that make an update together and sum their gradients
  int replicas = 1;    ///< of the model state: those that make updates by themselves, or have a copy of what is sharded
  int first_rank = 0;  ///< of those that are of this kind
  /// Its gradients are summed in a wider type, and those of a micro-batch, in the parameters' type, stay too.
  bool narrow_gradients = false;
  BytesPerSecond pcie{}, host_memory{};  ///< to or from its host, each way; its share of what an optimizer there moves
  // Its 16-bit type is not the one in which the ranks of an update communicate: it casts its gradients before they are
  // reduced, and parameters (or whole gradients) when they are back.
  bool casts_gradients = false, casts_parameters = false;

  /// Micro-batches an update, `asked` being the training's.
  int steps(int asked) const { return own_steps.value_or(asked); }
};

struct Costs {
  Cluster cluster{};
  std::vector<Place> places{};  ///< one a rank
  std::vector<int> kind_of{};   ///< one a rank
  std::vector<RankKind> kinds{};
  Parallel parallel{};       ///< how a step splits its model
  Layout layout{}, sites{};  ///< the ranks' grid; and where they meet by sites the one with a site for an island
  Ring world{};              ///< all ranks
  bool interference = true;
  int micro_batches = 1;  ///< of a flight: of an update, or the least of a round
  Bytes buffers{};        ///< of the model's modules
  Dtype parameter_dtype = Dtype::kBf16;
  Dtype gradient_dtype = Dtype::kBf16;
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::kFused;
  bool gradient_clipping = false;
  Implementation implementation = Implementation::kEager;
  Pace pace{};  ///< how micro-batches differ from the priced ones

  int ranks() const { return static_cast<int>(places.size()); }
  /// Of all that such a rank holds, whole.
  Bytes parameter_bytes(const RankKind& kind) const { return kind.parameters * bytes_of(parameter_dtype); }
  Bytes gradient_bytes(const RankKind& kind) const { return kind.parameters * bytes_of(gradient_dtype); }
};

Costs price(const Scenario& scenario, const ScheduleSpec& spec);

/// Elements that a rank steps where those that sum a gradient share its parameter evenly: P / n, and of experts, which
/// e ranks have between them, P_e / (n / e).
double shard_elements(const RankKind& kind);
/// Whether its experts' gradients are summed by fewer ranks than the others.
inline bool has_own_experts(const RankKind& kind) { return kind.share.experts > 1; }

/// The ranks that a layer's collective goes over, alone on what joins them.
Ring ring_of_message(const Costs& costs, const TensorMessage& message, int rank);
/// Over that ring, alone on the fabric; with the wait for counts, where there is one.
CollectivePrice price_of_message(const Costs& costs, const TensorMessage& message, const Ring& ring);
/// From the moment at which the GPU has counted until it runs what the host launches then: copies to the host, waking
/// it, a launch. Not measured.
inline constexpr Seconds kCountWait{50e-6};

/// One optimizer step on `parameters` elements, with gradient clipping where it is asked for. For accocal by the
/// device's table of its optimizer kernel, where there is one. Types: those of the costs, unless others are named.
Seconds optimizer_time(const Costs& costs, double parameters, const Device& device);
Seconds optimizer_time(const Costs& costs, double parameters, const Device& device, Dtype parameter_dtype,
                       Dtype gradient_dtype);

/// accocal's optimizer as one kernel, which the device may have a table of.
Kernel own_optimizer(double parameters, Dtype storage);

/// GEMMs run in autocast's dtype or, without it, in the parameters' dtype. Where that is not fp32, a node group's own
/// precision of at most 16 bits replaces it, under autocast where it is not the training's; fp32 becomes tf32 where the
/// group asks for that.
Dtype compute_dtype(const NodeGroup& group, const ScheduleSpec& spec, const Training& training);

}  // namespace accosim
