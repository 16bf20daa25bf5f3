#include "sim/sweep/knob_axis.hpp"

#include <fmt/format.h>

#include <set>

#include "models/base/errors.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {
namespace {

/// The pointers that an axis sets.
std::set<std::string> pointers_of(const Axis& axis) {
  std::set<std::string> pointers;
  if (axis.set.empty()) pointers.insert(axis.pointer);
  for (const std::vector<std::string>& value : axis.set)
    for (const std::string& set : value) pointers.insert(set.substr(0, set.find('=')));
  return pointers;
}

/// Whether the second place is in the first.
bool holds(const std::string& outer, const std::string& inner) { return inner.rfind(outer + "/", 0) == 0; }

}  // namespace

Axis knob_axis(const LoadedScenario& loaded, const std::vector<std::size_t>& indices, const std::string& name) {
  const KnobRow& row = knob_named(name);
  const Knob knob = knob_in_settings(loaded, row, indices);
  if (knob.alternatives.size() < 2)
    throw BadInput(fmt::format("--over {}: there is nothing to choose {}; leave it out", name,
                               row.of_scenario != nullptr ? "here" : "in these schedules"));
  Axis axis{name, {}, {}};
  for (const Alternative& each : knob.alternatives) {
    const bool named = each.text.rfind(name + " ", 0) == 0;
    axis.values.push_back(each.text.empty() ? "as written" : named ? each.text.substr(name.size() + 1) : each.text);
    axis.set.push_back(each.set);
  }
  return axis;
}

void check_apart(const std::vector<Axis>& axes) {
  for (std::size_t j = 0; j < axes.size(); ++j)
    for (std::size_t i = 0; i < j; ++i) {
      const bool plain = axes[i].set.empty() && axes[j].set.empty();
      for (const std::string& first : pointers_of(axes[i]))
        for (const std::string& second : pointers_of(axes[j])) {
          if (first == second && plain) throw BadInput(fmt::format("{} is varied by two axes; write one", first));
          if (first == second)
            throw BadInput(
                fmt::format("--over {} and --over {} both set {}; write one", axes[i].pointer, axes[j].pointer, first));
          if (holds(second, first) || (holds(first, second) && !plain))
            throw BadInput(fmt::format("--over {} and --over {}: the one replaces {}, and the other sets {}; {}",
                                       axes[i].pointer, axes[j].pointer, holds(second, first) ? second : first,
                                       holds(second, first) ? first : second,
                                       plain ? "write the part that holds the other first" : "write one"));
        }
    }
}

}  // namespace accosim
