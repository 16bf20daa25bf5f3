// What each rank does under `accocal measure`, and the times that it notes down.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "calibration/measure/measure_plan.hpp"
#include "calibration/ranks/report.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// Seconds of CLOCK_MONOTONIC, which all ranks of a machine share.
double monotonic_seconds();

/// Seconds that the calling thread has been ready to run and did not; 0 where the kernel does not count them.
double waited_for_processor();

struct RankPlan {
  std::vector<Cell> cells;
  int hand_offs = 0;
  std::vector<std::int64_t> elements;  ///< sizes of the optimizer's steps and copies
  int element_runs = 0;
  TrainingOptions training;  ///< of the micro-batches
  int micro_batches = 0;
  std::vector<int> lengths;      ///< of sequences, at which micro-batches are measured too
  std::int64_t theft_bytes = 0;  ///< size of the collectives that run while the rank computes; 0: not measured
  int theft_runs = 0;
  std::int64_t link_bytes = 0;  ///< that go over each edge of the ring, one edge after the other; 0: not measured
  int link_runs = 0;            ///< in a row, over each edge, in each round
};

/// When each run of a cell began and ended on this rank. The first entry is the last run of the warm-up, since the
/// first counted run begins where that ends.
struct CellTimes {
  std::vector<double> begin;
  std::vector<double> end;
  /// Total seconds that the rank had waited for a processor by each `end`, because others used all of them.
  std::vector<double> waited;

  static constexpr auto kReported = std::tuple(&CellTimes::begin, &CellTimes::end, &CellTimes::waited);
};

struct ElementTimes {
  std::int64_t elements = 0;
  std::vector<double> adamw{};  ///< seconds a step
  std::vector<double> copy{};   ///< seconds a copy
  /// Of these, seconds for a processor.
  std::vector<double> adamw_waited{}, copy_waited{};

  static constexpr auto kReported = std::tuple(&ElementTimes::elements, &ElementTimes::adamw, &ElementTimes::copy,
                                               &ElementTimes::adamw_waited, &ElementTimes::copy_waited);
};

/// Computation and collectives, each alone and both at the same time; seconds of each run.
struct TheftTimes {
  std::vector<double> compute_alone;
  std::vector<double> compute_beside;
  std::vector<double> collective_alone;
  std::vector<double> collective_beside;

  static constexpr auto kReported = std::tuple(&TheftTimes::compute_alone, &TheftTimes::compute_beside,
                                               &TheftTimes::collective_alone, &TheftTimes::collective_beside);
};

struct RankTimes {
  std::vector<CellTimes> cells;
  std::vector<double> hand_off_start;  ///< from submit() to the job's first instruction
  std::vector<double> hand_off_end;    ///< from the job's last instruction to the return of wait()
  std::vector<ElementTimes> elements;
  std::vector<double> micro_batch;           ///< seconds of forward and backward
  std::vector<std::vector<double>> shorter;  ///< the same at each of the plan's lengths
  std::int64_t parameters = 0;               ///< of its model
  std::int64_t tokens = 0;                   ///< in a micro-batch
  TheftTimes theft;
  std::vector<double> link;                ///< seconds in which the rank before it sent it so many bytes
  std::vector<double> micro_batch_waited;  ///< of each micro-batch, seconds for a processor

  static constexpr auto kReported =
      std::tuple(&RankTimes::cells, &RankTimes::hand_off_start, &RankTimes::hand_off_end, &RankTimes::elements,
                 &RankTimes::micro_batch, &RankTimes::shorter, &RankTimes::parameters, &RankTimes::tokens,
                 &RankTimes::theft, &RankTimes::link, &RankTimes::micro_batch_waited);
};

/// Every rank with the same plan. Rank 0 tells on the standard error what it is at.
RankTimes measure_on_rank(const RankPlan& plan, Transport& transport);

}  // namespace accocal
