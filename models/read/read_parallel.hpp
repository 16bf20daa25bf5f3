// How a step splits its model: "parallel" of a training.
#pragma once

#include <optional>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model.hpp"
#include "models/spec/parallel.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// Reads the object, whose defaults are those of the framework; what is wrong with it leaves the model whole. `read`:
/// what has been read of the training, its framework and its sequence_length.
Parallel read_parallel(ObjectReader& training, const Training& read, const std::optional<Model>& model);

/// Reports what the cluster's nodes do not hold; whether there was nothing of it.
bool check_parallel(const Training& training, const std::optional<Model>& model, const Cluster& cluster,
                    ObjectReader& top);
/// The chunks on each stage that a schedule has for itself; 0: those of the training. Preconditions: `training` has
/// been read, and `cluster` where it is valid.
int read_own_chunks(ObjectReader& schedule, const Training& training, const std::optional<Cluster>& cluster);

/// Groups the micro-batches as the framework does and reports numbers of them that the pipeline does not take; whether
/// there was nothing of it.
bool check_pipeline_steps(Training& training, const Cluster& cluster, ObjectReader& top);

/// Whether so many ranks share a model's tensors evenly, and are neighbours in every node; and whether so many runs,
/// the chunks of all stages, share so many blocks where nobody lists them.
bool can_split_tensors(const Model& model, const Cluster& cluster, int ranks);
bool can_split_blocks(int blocks, Framework framework, long long runs);

/// Whether every island holds whole model replicas, where the cluster does.
bool holds_replicas(const Cluster& cluster, Island island, const Parallel& parallel);

/// Reports schedules under which ranks of one model replica would work on different samples. Precondition:
/// check_parallel() has found nothing.
void check_replicas(const std::vector<ScheduleSpec>& schedules, const Training& training, const Cluster& cluster,
                    ObjectReader& top);

/// Reports a schedule whose work shall be divided among model replicas that cannot differ, as every one has GPUs of all
/// kinds. Precondition: as of check_replicas().
void check_division(const std::vector<ScheduleSpec>& schedules, const Training& training, const Cluster& cluster,
                    ObjectReader& top);

}  // namespace accosim
