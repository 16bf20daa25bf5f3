// The training algorithms as rows of data: what each shards, what its lanes do beside each other, which options it
// takes. Everything that is not an algorithm's own code asks its row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accocal {

enum class Algorithm : std::uint8_t {
  kDdp,              ///< gradients all-reduced, the whole optimizer on every rank
  kZero1,            ///< reduce-scatter, sharded optimizer, all-gather, one after the other
  kDpu,              ///< the same beside the next gradients, which are therefore one update late
  kWp,               ///< DPU on parameters predicted by a second step along the same gradient
  kAcco,             ///< an estimate from half of the batch, the update from all of it, both beside computation
  kDiloco,           ///< inner steps by every rank alone, then an outer step along the mean of what they moved
  kPipeSgd,          ///< DDP whose gradients are reduced beside later ones and applied some updates late
  kSlowMo,           ///< averages now and then, and more seldom a slow momentum step instead
  kOverlapLocalSgd,  ///< ranks are pulled towards an average that is formed beside their steps
  kCo2,              ///< an outer step along a mean that is one round late, beside inner steps
  kStreamingDiloco,  ///< DiLoCo fragment by fragment, each beside inner steps
  kEagerDiloco       ///< DiLoCo along the own change of now and the others' of the round before
};

/// What Streaming DiLoCo's ranks send of their changes.
enum class Payload : std::uint8_t {
  kFloat32,
  kE3m0  ///< 4 bits: calibration/train/e3m0.hpp
};

/// Options of which algorithms have values of their own where they are not given.
struct UsualOptions {
  int inner_updates = 10;            ///< that a rank makes alone between two meetings
  double outer_learning_rate = 0.7;  ///< SlowMo's and CO2's is times the inner one
  double outer_momentum = 0.9;       ///< Nesterov's in the DiLoCo family
  double mixing = 0.5;  ///< share of the anchor (Overlap-Local-SGD), of the own parameters (Streaming DiLoCo)
};

struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::kDdp;
  const char* name = "";
  const char* title = "";    ///< in a sentence
  bool synchronous = false;  ///< its updates are DDP's, up to rounding: their convergence need not be measured
  bool sharded = false;      ///< a rank has the optimizer's states of its shard alone
  bool looks_ahead = false;  ///< it takes an extra optimizer step, before which the states are saved
  bool predicts = false;     ///< and sends that step's result, while it keeps the real one
  bool outer_step = false;   ///< where ranks meet, an outer optimizer steps along the change that they made
  int copies = 0;            ///< of all parameters that a rank keeps besides, in fp32
  int rounds = 1;            ///< of an update
  bool on_devices = true;
  std::vector<std::string_view> options = {};  ///< options of `accocal train` that not every algorithm takes
  UsualOptions usual = {};

  bool takes(std::string_view option) const;
};

/// One row an algorithm, in the order in which messages list them.
const std::vector<AlgorithmTraits>& algorithms();
const AlgorithmTraits& traits_of(Algorithm algorithm);
/// nullptr: none has this name.
const AlgorithmTraits* find_algorithm(std::string_view name);

/// "acco" and so on.
std::string name_of(Algorithm algorithm);
/// "ddp, zero1, ... or eager_diloco".
std::string algorithm_names();

}  // namespace accocal
