// What each kind of rank holds at its worst moment, and whether that fits.
#pragma once

#include <string>
#include <vector>

#include "models/price/fit_verdict.hpp"
#include "models/price/memory.hpp"
#include "models/price/price.hpp"

namespace accosim {

struct KindMemory {
  std::string device;
  int ranks = 0;
  MemoryParts parts;
  Bytes capacity;
  Fit fit;
  std::vector<int> stages{};  ///< of a pipeline, ascending: those of which it is a rank; empty: there is one
};

MemoryParts memory_of(const RankKind& kind, const ScheduleSpec& spec, int accumulation_steps);

/// Of each kind of rank, in the order of their first ranks. Kinds of one device that hold as much are one: a slowed GPU
/// is filled like any other, and so are stages of a pipeline that are alike.
std::vector<KindMemory> memory_by_kind(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps);

/// The kind that is least likely to fit. There is at least one.
const KindMemory& least_likely(const std::vector<KindMemory>& kinds);

}  // namespace accosim
