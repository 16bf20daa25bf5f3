#include "sim/sweep/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/base/draws.hpp"
#include "models/base/errors.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

/// Splits at commas that are in no brackets and no quotes.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      items.back() += c;
      items.back() += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted)
      items.emplace_back();
    else
      items.back() += c;
  }
  for (std::string& item : items) item = trimmed(item);
  return items;
}

/// "10,25,50 Gbit/s": the unit is that of the others too.
void share_unit(std::vector<std::string>& items) {
  const std::optional<LeadingNumber> last = leading_number(items.back());
  if (!last || last->rest.empty()) return;
  const std::string unit(last->rest);
  for (std::size_t i = 0; i + 1 < items.size(); ++i)
    if (const std::optional<LeadingNumber> number = leading_number(items[i]); number && number->rest.empty())
      items[i] += unit;
}

/// A range as it is written: from..to:count, with ":log" and a unit behind the last number or at the end.
struct ValueRange {
  double from = 0, to = 0;
  std::size_t count = 0;
  bool log = false;
  std::string unit;
};

std::optional<ValueRange> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::optional<LeadingNumber> from = leading_number(trimmed(text.substr(0, dots)));
  if (!from || !from->rest.empty()) return std::nullopt;
  const std::optional<LeadingNumber> to = leading_number(trimmed(text.substr(dots + 2)));
  if (!to) return std::nullopt;
  const std::size_t colon = to->rest.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  ValueRange range{from->number, to->number, 0, false, std::string(to->rest.substr(0, colon))};
  const std::string_view behind = to->rest.substr(colon + 1);
  const std::size_t digits = std::min(behind.find_first_not_of("0123456789"), behind.size());
  range.count = static_cast<std::size_t>(whole_number(behind.substr(0, digits)).value_or(0));
  std::string_view end = behind.substr(digits);
  constexpr std::string_view kLog = ":log";
  if (end.substr(0, kLog.size()) == kLog) {
    range.log = true;
    end.remove_prefix(kLog.size());
  }
  if (!end.empty() && !range.unit.empty()) return std::nullopt;
  range.unit += end;
  if (!range.unit.empty() && range.unit.front() != ' ') range.unit.insert(0, " ");
  return range;
}

constexpr int kDigits = 9;
std::string written(double value, int digits) { return fmt::format("{:.{}g}", value, digits); }

/// Whether neighbours, written with so many digits, are further apart than half of the way between them.
bool are_apart(const std::vector<double>& values, int digits) {
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const auto read = [&](double value) { return std::strtod(written(value, digits).c_str(), nullptr); };
    const double a = read(values[i]), b = read(values[i + 1]);
    if (std::abs(b - a) < 0.5 * std::abs(values[i + 1] - values[i])) return false;
  }
  return true;
}

std::vector<std::string> values_of(const ValueRange& range, const std::string& text) {
  if (range.count < 2 || range.count > kMostValues)
    throw BadInput(
        fmt::format("--over {}: write 2 to {} values, such as 10..800:20", in_quotes(text, 200), kMostValues));
  if (range.log && (range.from <= 0 || range.to <= 0))
    throw BadInput(fmt::format("--over {}: a logarithmic range has ends above 0", in_quotes(text, 200)));
  std::vector<std::string> values;
  values.reserve(range.count);
  std::vector<double> exact;
  for (std::size_t i = 0; i < range.count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(range.count - 1);
    exact.push_back(range.log ? range.from * std::pow(range.to / range.from, share)
                              : range.from + share * (range.to - range.from));
  }
  // Nobody minds whether a value between the ends of a logarithmic range is 15.6 or 15.6147.
  int digits = kDigits;
  while (range.log && digits > 3 && are_apart(exact, digits - 1)) --digits;
  for (const double value : exact) values.push_back(written(value, digits) + range.unit);
  values.front() = written(range.from, kDigits) + range.unit;
  values.back() = written(range.to, kDigits) + range.unit;
  return values;
}

/// Place of each of n points in a permutation that the seed gives (Fisher and Yates).
std::vector<std::size_t> permutation(std::size_t n, std::uint64_t seed, std::size_t part) {
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = n; i-- > 1;) {
    const double drawn = uniform_draw(seed, Stream::kLatin, part, i);
    std::swap(places[i], places[static_cast<std::size_t>(drawn * static_cast<double>(i + 1))]);
  }
  return places;
}

}  // namespace

Axis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && text[0] != '/' && text.find('/') < equals)
    throw BadInput(fmt::format("--over {}: a pointer begins with a slash; write {}", in_quotes(text, 200),
                               in_quotes("/" + text, 200)));
  if (equals == std::string::npos || text.empty() || text[0] != '/')
    throw BadInput(
        fmt::format("--over {}: write /json/pointer=values, such as /cluster/nodes/0/nics/bandwidth=10,100,400 Gbit/s "
                    "or =0..16:17, or the name of a knob, without values (accosim list knobs)",
                    in_quotes(text, 200)));
  Axis axis{text.substr(0, equals), {}, {}};
  const std::string_view values = trimmed(std::string_view(text).substr(equals + 1));
  if (const std::optional<ValueRange> range = range_of(values)) {
    axis.values = values_of(*range, text);
  } else {
    axis.values = items_of(values);
    share_unit(axis.values);
    // "1..8" of whole numbers lacks how many.
    const std::size_t dots = values.find("..");
    const std::optional<int> from = whole_number(trimmed(values.substr(0, std::min(dots, values.size())))),
                             to = dots == std::string_view::npos ? std::nullopt
                                                                 : whole_number(trimmed(values.substr(dots + 2)));
    if (from && to && *from != *to)
      throw BadInput(fmt::format("--over {}: a range says how many values it has; write {}={}..{}:{}",
                                 in_quotes(text, 200), axis.pointer, *from, *to, std::abs(*to - *from) + 1));
  }
  if (std::ranges::any_of(axis.values, [](const std::string& value) { return value.empty(); }))
    throw BadInput(fmt::format("--over {}: a value is empty", in_quotes(text, 200)));
  return axis;
}

void check_distinct(const Axis& axis) {
  std::set<std::string_view> seen;
  for (const std::string& value : axis.values)
    if (!seen.insert(value).second)
      throw BadInput(fmt::format("--over {}: {} is there twice; write it once, or another axis beside it (--zip)",
                                 in_quotes(axis.pointer, 200), in_quotes(value)));
}

void check_distinct(const Space& space) {
  if (space.kind == Space::Kind::kAxis) return check_distinct(space.axis);
  for (const Space& part : space.parts) check_distinct(part);
}

Space zip(std::vector<Space> parts) {
  Space space{.kind = Space::Kind::kZip, .parts = std::move(parts)};
  if (space.parts.size() < 2) return space;
  for (const Space& part : space.parts)
    if (size_of(part) != size_of(space.parts.front()))
      throw BadInput(fmt::format("axes that go side by side have {} and {} values; write as many for each",
                                 size_of(space.parts.front()), size_of(part)));
  for (Space& part : space.parts) {
    std::vector<std::size_t> places(size_of(part));
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (part.kind == Space::Kind::kAxis && part.axis.set.empty()) {
      std::map<std::string, std::size_t> known;
      std::vector<std::string> once;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const auto [at, is_new] = known.emplace(part.axis.values[i], once.size());
        places[i] = at->second;
        if (is_new) once.push_back(part.axis.values[i]);
      }
      part.axis.values = std::move(once);
    }
    space.places.push_back(std::move(places));
  }
  std::set<Coordinates> known;
  for (std::size_t i = 0; i < size_of(space); ++i) {
    Coordinates point;
    for (const std::vector<std::size_t>& places : space.places) point.push_back(places[i]);
    if (!known.insert(point).second)
      throw BadInput(fmt::format("--zip: point {} is one that was there before; leave it out", i + 1));
  }
  return space;
}

bool is_knob_name(const std::string& text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
}

Axis parse_axis(const std::string& text, const KnobAxis& knob) {
  return is_knob_name(text) ? knob(text) : parse_axis(text);
}

Space latin_hypercube(std::vector<Space> parts, std::size_t points, std::uint64_t seed) {
  if (points < 1 || points > kMostValues)
    throw BadInput(fmt::format("a Latin hypercube of {} points; write 1 to {}", points, kMostValues));
  Space space{.kind = Space::Kind::kLatin, .parts = std::move(parts)};
  for (std::size_t i = 0; i < space.parts.size(); ++i) {
    const std::size_t size = size_of(space.parts[i]);
    space.places.push_back(permutation(points, seed, i));
    for (std::size_t& place : space.places.back()) place = place * size / points;
  }
  return space;
}

std::size_t size_of(const Space& space) {
  if (space.kind == Space::Kind::kAxis) return space.axis.values.size();
  if (!space.places.empty()) return space.places.front().size();
  std::size_t size = 1;
  for (const Space& part : space.parts) {
    size *= size_of(part);
    if (size > kMostPoints)
      throw BadInput(fmt::format("the sweep has more than {} points; write fewer values", kMostPoints));
  }
  return size;
}

std::vector<Axis> axes_of(const Space& space) {
  if (space.kind == Space::Kind::kAxis) return {space.axis};
  std::vector<Axis> axes;
  for (const Space& part : space.parts)
    for (Axis& axis : axes_of(part)) axes.push_back(std::move(axis));
  return axes;
}

std::vector<std::size_t> longest_first(const std::vector<Axis>& axes) {
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return axes[a].values.size() > axes[b].values.size(); });
  return order;
}

Coordinates point_of(const Space& space, std::size_t index) {
  if (space.kind == Space::Kind::kAxis) return {index};
  std::vector<std::size_t> places(space.parts.size());  // the point of each part
  for (std::size_t i = places.size(); i-- > 0;) {
    if (!space.places.empty()) {
      places[i] = space.places[i][index];
      continue;
    }
    const std::size_t size = size_of(space.parts[i]);
    places[i] = index % size;
    index /= size;
  }
  Coordinates point;
  for (std::size_t i = 0; i < places.size(); ++i)
    for (const std::size_t at : point_of(space.parts[i], places[i])) point.push_back(at);
  return point;
}

std::vector<std::string> settings_of(const std::vector<Axis>& axes, const Coordinates& point) {
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.set.empty())
      settings.push_back(axis.pointer + "=" + axis.values[point[i]]);
    else
      settings.insert(settings.end(), axis.set[point[i]].begin(), axis.set[point[i]].end());
  }
  return settings;
}

}  // namespace accosim
