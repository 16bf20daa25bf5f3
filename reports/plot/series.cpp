#include "reports/plot/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/base/errors.hpp"
#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/draw/looks.hpp"

namespace accosim {

std::vector<std::size_t> series_named(const std::string& option, const std::vector<std::string>& names,
                                      const std::vector<std::string>& wanted) {
  std::vector<std::size_t> places;
  if (wanted.empty()) {
    places.resize(names.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
  }
  for (const std::string& want : wanted) {
    const auto matches = [&](bool by_schedule) {
      bool any = false;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const ScheduleTraits* const schedule = by_schedule ? schedule_in(names[i]) : nullptr;
        if (by_schedule ? schedule == nullptr || schedule->name != want : names[i] != want) continue;
        any = true;
        if (std::ranges::find(places, i) == places.end()) places.push_back(i);
      }
      return any;
    };
    if (!matches(false) && !matches(true))
      throw BadInput(fmt::format("{} {}: is none of those that are drawn here{}", option, printable(want, 200),
                                 hint(want, names)));
  }
  return places;
}

std::vector<std::string> renamed(std::vector<std::string> names, const std::vector<std::string>& labels) {
  std::vector<std::string> texts = names;
  for (const std::string& label : labels) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals + 1 == label.size())
      throw BadInput(fmt::format("--label {}: write SCHEDULE=TEXT", in_quotes(label)));
    const std::vector<std::size_t> places = series_named("--label", names, {label.substr(0, equals)});
    if (places.size() > 1)
      throw BadInput(fmt::format("--label {}: {} schedules are forms of this one; write the label of one",
                                 in_quotes(label), places.size()));
    texts[places.front()] = label.substr(equals + 1);
  }
  return texts;
}

}  // namespace accosim
