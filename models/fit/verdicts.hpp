// What is slow among places that should be alike, such as the ranks of a machine, their links, or GPUs of one kind:
// each is held against the others, and against what its kind should do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/fit/link_samples.hpp"
#include "models/fit/machine_samples.hpp"

namespace accosim {

/// What of a machine may be slow by itself. kMemory: kernels that its bandwidth binds; kBus: copies to and from a host.
enum class MachinePart : std::uint8_t { kKernels, kMemory, kHost, kLink, kBus, kCollectives };
template <>
inline constexpr const char* kNames<MachinePart>[] = {"kernels", "memory", "host", "link", "bus", "collectives"};

/// One measured thing beside what it should be.
struct Verdict {
  MachinePart part = MachinePart::kKernels;
  std::string sample;                 ///< its kind in the document: "micro_batch", "adamw", "link", "gemm"...
  std::string what;                   ///< "AdamW, 4.2M", "GEMMs in bf16, as ..."
  std::string where;                  ///< "rank 2", "rank 2 to 3", "GPU h200"
  std::size_t place = 0;              ///< rank, or which of the documents
  double measured = 0, expected = 0;  ///< s; of a link and of a bus B/s
  double times = 1;                   ///< as slow as expected
  double limit = 1;                   ///< noise explains up to so many times
  std::string against{};              ///< behind "as long as": "the other ranks'", "the profile H200-SXM says"
  std::string look_at{};              ///< where it is slow
  std::optional<Seconds> cost{};      ///< what it adds to a synchronous step, where that is known

  bool slow() const { return times > limit; }
  bool is_rate() const { return part == MachinePart::kLink || part == MachinePart::kBus; }
};

/// What is known of sound places before any is measured. Ranks of a machine differ by a few per cent; by more what
/// waits for a scheduler, hand-offs and launches, and copies, twice as fast where a core's other hyperthread rests.
/// GPUs of one kind differ by 8 % from the best to the worst (Sinha et al., SC 2022).
struct UsualNoise {
  double spread = 0.05;  ///< standard deviation of the log of what one takes
  double least = 1.25;   ///< fewer times as slow is no fault, however sure: what nobody would look for
};
inline constexpr UsualNoise kUsualOfHosts{0.12, 1.5}, kUsualOfGpus{0.02, 1.1};

/// Of a place whose median errs by `error` (of its log): how many times as slow as the median of the `others` noise may
/// make it. Of 10,000 sound places none in three documents of a thousand is slower:
///   max(least, exp(5 s sqrt(1 + pi / 2n))), s^2 = error^2 + (4 spread^2 + n own^2) / (4 + n)
/// with n others and `own` their spread, 1.48 times the median distance of their logs from their median, which a slow
/// one among them does not move; the usual spread counts as four places.
double peer_limit(const std::vector<double>& others, double error, const UsualNoise& usual);

/// Between a group and the shape of it that is told.
inline constexpr const char* kAsShape = ", as ";

/// The same thing measured at several places.
struct Alike {
  MachinePart part = MachinePart::kKernels;
  std::string sample, group;       ///< as Verdict has them, `group` its `what`
  std::string shape{};             ///< of several in a group
  std::vector<double> times{};     ///< s, by place; 0: not measured there
  std::vector<double> expected{};  ///< s, what the place's kind should take; 0: not known
  double spread = 0;               ///< of the log of that
  std::vector<double> errors{};    ///< of the log of each time
  double bytes = 0;                ///< of a link or a bus
  UsualNoise usual{};
};
/// Of each group and place the shape in the middle by measured over expected time: against the median of the other
/// places where they measured that shape, at most peer_limit() times, and against its kind, at most
/// exp(3 sqrt(error^2 + spread^2)) times. The one that is nearer to its limit, or further beyond, is told.
std::vector<Verdict> judged(const std::vector<Alike>& all, std::size_t places);

/// Each rank's kernels, hand-offs and link; a link also against the payload of the rate that was set for it. A median
/// errs by 1.25 s / sqrt(runs), s being the spread of the rank's own runs, ln(p90 / p10) / 2.56. Kernels are without
/// what they waited for a processor; micro-batches with their waits are told of beside them, and err by the share that
/// the ranks in the middle wait, over sqrt(runs). Where that is above a tenth, hand-offs say nothing and have no
/// verdict; nor have documents without times of single ranks.
std::vector<Verdict> verdicts_of(const MachineSamples& samples);
/// What the document does not tell, a sentence each.
std::vector<std::string> untold_by(const MachineSamples& samples);
/// The samples as the ranks that are not slow have them.
MachineSamples without_slow(MachineSamples samples, const std::vector<Verdict>& verdicts);

/// A GPU's document by the name of its file, and the profile of its kind where that is known.
struct InspectedGpu {
  std::string name;
  GpuSamples samples;
  std::optional<Device> kind{};
};
/// GPUs of one kind: products by dtype, memory-bound kernels whose operands exceed the L2 eight times, launches, and
/// large copies to and from the host, which should reach what NCCL counts for a slot of that generation.
std::vector<Verdict> verdicts_of(const std::vector<InspectedGpu>& gpus);

/// What doubts_of() says of collectives: of each kind of links the slowest one.
std::vector<Verdict> verdicts_of(const std::vector<MeasuredCollective>& samples);

}  // namespace accosim
