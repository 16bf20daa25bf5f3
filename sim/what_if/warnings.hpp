// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Adds to a result of run_schedule() its warnings and, where it may not fit, ways to fit. Each way is tried, which
/// takes as long as the play.
void add_advice(RunResult& result, const WhatIf& what_if, std::size_t schedule);
/// The same to results of a loaded scenario's schedules.
void add_advice(std::vector<RunResult>& results, const WhatIf& what_if);

/// The warnings that need no play, for whoever plays many settings: what the cluster says that no hardware has, and
/// constants that were not measured on what they price. `costs`: of any of the scenario's schedules.
std::vector<Warning> cautions_of(const Scenario& scenario, const Costs& costs);

/// That GPUs of several kinds in one job were seldom measured; nothing where they are of one.
std::optional<Warning> seldom_measured(const Cluster& cluster);

/// By how much the halves of a mean differ: "0.23 %", "less than 0.01 %".
std::string difference_in_words(double fraction);

// What a cluster says that no hardware has: asked about once, with the place, and never refused, for parts that are not
// for sale yet are a good question. And what speaks against the measurements that its links were fitted to.

/// Of each node group, as warnings "looks_wrong": links inside a node that are faster than any of their generation, as
/// where both directions were added up, or join GPUs as no board does; adapters faster than any of their kind, as where
/// bytes were meant as bits; peaks above those of the generation, as where sparsity is counted. Of the whole,
/// "doubtful_network".
std::vector<Warning> looks_wrong(const Cluster& cluster);

// Ranks of unequal speed make each other wait where they meet. Which rank waits cannot be told from the GPUs alone: a
// slow one with a small micro-batch waits for a fast one with a large one. So it is read off the simulation, and advice
// is simulated before it is given.

/// The warning "ranks_wait", where some ranks are idle for much of an update and others for clearly less. Its advice
/// holds a --set where another micro-batch of a node group raises tokens per second and fits.
std::optional<Warning> ranks_wait(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play);

}  // namespace accosim
