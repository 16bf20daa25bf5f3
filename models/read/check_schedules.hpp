// What a schedule cannot do with the model and the node groups that a scenario has.
#pragma once

#include <optional>
#include <vector>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// Reports schedules that wait for other ranks in every micro-batch where ranks do different numbers of them: they
/// would wait for ever.
void check_equal_steps(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, ObjectReader& top);

/// Node groups have inner_updates of their own only where replicas read them; with fragments so many that each is
/// applied before it is sent again.
void check_own_inner_updates(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                             const std::optional<Model>& model, ObjectReader& top);
/// Whether it passes check_equal_steps() and check_collectives(): of a schedule that no file writes.
bool can_be_played(const ScheduleSpec& spec, const Cluster& cluster, const Training& training, const Model& model);

/// How many collectives a schedule makes in an update of so many micro-batches a GPU; where it has replicas of several
/// ranks, in an update of one of them. Of a schedule that is not known, none.
double collectives_of(const ScheduleSpec& spec, double steps, const Model& model);

/// Reports schedules that make more collectives, or passes through the stages of a pipeline, than can be played in an
/// update or, where the updates between two meetings of replicas differ, in all of these.
void check_collectives(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                       const Training& training, const Model& model, ObjectReader& top);

/// Reports the schedule that draws the most micro-batches of a rank in an update, where they are more than can be
/// played one by one.
void check_drawn(const std::vector<ScheduleSpec>& schedules, const std::optional<Cluster>& cluster,
                 const Training& training, ObjectReader& top);

}  // namespace accosim
