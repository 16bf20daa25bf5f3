// The training algorithms as rows of data: what each shards, what its lanes do beside each other, which options it
// takes. Everything that is not an algorithm's own code asks its row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accocal {

enum class Algorithm : std::uint8_t {
  kDdp,    ///< gradients all-reduced, the whole optimizer on every rank
  kZero1,  ///< reduce-scatter, sharded optimizer, all-gather, one after the other
  kDpu,    ///< the same beside the next gradients, which are therefore one update late
  kWp,     ///< DPU on parameters predicted by a second step along the same gradient
  kAcco,   ///< an estimate from half of the batch, the update from all of it, both beside computation
  kDiloco  ///< inner steps by every rank alone, then an outer step along the mean of what they moved
};

struct AlgorithmTraits {
  Algorithm algorithm = Algorithm::kDdp;
  const char* name = "";
  const char* title = "";    ///< in a sentence
  bool synchronous = false;  ///< its updates are DDP's, up to rounding: their convergence need not be measured
  bool sharded = false;      ///< a rank has the optimizer's states of its shard alone
  bool looks_ahead = false;  ///< it takes an extra optimizer step, before which the states are saved
  bool predicts = false;     ///< and sends that step's result, while it keeps the real one
  bool outer_step = false;   ///< each rank holds the whole parameters from before the inner steps, and a momentum
  int rounds = 1;            ///< of an update
  bool on_devices = true;
  std::vector<std::string_view> options = {};  ///< options of `accocal train` that not every algorithm takes

  bool takes(std::string_view option) const;
};

/// One row an algorithm, in the order in which messages list them.
const std::vector<AlgorithmTraits>& algorithms();
const AlgorithmTraits& traits_of(Algorithm algorithm);
/// nullptr: none has this name.
const AlgorithmTraits* find_algorithm(std::string_view name);

/// "acco" and so on.
std::string name_of(Algorithm algorithm);

}  // namespace accocal
