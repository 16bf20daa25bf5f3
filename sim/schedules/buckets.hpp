// Which gradients are reduced together, and which parameters are gathered together.
#pragma once

#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/bodies/body.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// A bucket of gradients, of whole tensors.
struct Bucket {
  Bytes bytes;
  std::vector<double> tensors;             ///< their elements
  std::vector<std::pair<int, int>> which;  ///< set and number of each, in the order in which they become ready
  Ranks copies{};                          ///< who sums them

  bool ends_with(int set, int tensor) const { return which.back() == std::pair(set, tensor); }
};

/// Gradients in the order in which they become ready, in the buckets that the spec asks for, by their last tensor.
/// Buckets of tensors close when they reach their size, the first at first_bucket, so they exceed it by up to a tensor,
/// as those of PyTorch's DDP after its first step (torch/csrc/distributed/c10d/reducer.cpp,
/// compute_bucket_assignment_by_size). Parameters are gathered in the same buckets, the last one first. `ranks` make
/// the update together.
std::vector<Bucket> buckets_of(const std::vector<ParameterSet>& sets, Bytes gradient_element, const ScheduleSpec& spec,
                               int ranks = 1);
/// Of a rank.
std::vector<Bucket> gradient_buckets(const RuleInput& input);
/// Every gradient of the bucket read and written once, by a kernel each.
Seconds copies_time(const ScheduleInput& input, const Bucket& bucket);

}  // namespace accosim
