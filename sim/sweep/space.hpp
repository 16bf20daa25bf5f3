// What a sweep varies: axes, and how they are combined into points. A point is a pure function of the space and its
// index, so that any machine can play any of them, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace accosim {

/// One value of the scenario, and what it is set to; or a knob, and its alternatives.
struct Axis {
  std::string pointer;                          ///< "/cluster/nodes/0/nics/bandwidth", or the name of a knob: "overlap"
  std::vector<std::string> values;              ///< each as --set takes it: "100 Gbit/s", "8"; of a knob in words
  std::vector<std::vector<std::string>> set{};  ///< of a knob: the settings of each value
  std::string label{};                          ///< what it is called in words and pictures: "V100 nodes"

  bool operator==(const Axis&) const = default;
};

inline constexpr std::size_t kMostValues = 1'000'000;  ///< of an axis
inline constexpr std::size_t kMostPoints = 1'000'000'000;

/// An axis from text: "/pointer=10,25,50 Gbit/s", a list whose last unit is that of all numbers without one;
/// "/pointer=0..16:17", so many values from the first to the last, evenly; "/pointer=10..800:20:log Gbit/s", evenly in
/// the logarithm. Commas inside brackets and quotes are part of a value. Throws BadInput.
Axis parse_axis(const std::string& text);

/// Whether a text is meant as the name of a knob, rather than as a pointer with values.
bool is_knob_name(const std::string& text);
/// The axis of a knob by its name.
using KnobAxis = std::function<Axis(const std::string&)>;
/// The same from text that may be the name of a knob: "overlap".
Axis parse_axis(const std::string& text, const KnobAxis& knob);

/// Axes combined.
struct Space {
  enum class Kind : std::uint8_t {
    kAxis,     ///< the values of `axis`
    kProduct,  ///< every combination of a point of each part
    kZip,      ///< zip()
    kLatin,    ///< latin_hypercube()
  };
  Kind kind = Kind::kProduct;
  Axis axis{};
  std::vector<Space> parts{};
  /// Of a zip of several parts and of a Latin hypercube: by part, its point at each of the space's points.
  std::vector<std::vector<std::size_t>> places{};
};

/// `points` points, at least one, in which every value of each part occurs equally often, or once more: value
/// floor(p m / n) of a part with m values, where p is the point's place in a permutation of the n points that the seed
/// and the part's number give (McKay et al. 1979).
Space latin_hypercube(std::vector<Space> parts, std::size_t points, std::uint64_t seed);

/// The first points of all parts, the second ones, ... Beside another part an axis may have a value several times: two
/// clusters at one price. It then holds the value once. Throws BadInput where parts differ in length.
Space zip(std::vector<Space> parts);

/// Throws BadInput where an axis has a value twice.
void check_distinct(const Axis& axis);
void check_distinct(const Space& space);

/// The number of points. Throws BadInput where it is above kMostPoints.
std::size_t size_of(const Space& space);

/// In the order in which they are written.
std::vector<Axis> axes_of(const Space& space);

/// Indices of the axes, those with most values first.
std::vector<std::size_t> longest_first(const std::vector<Axis>& axes);

/// Index of a value of each axis.
using Coordinates = std::vector<std::size_t>;

/// Point `index` of a space, below its size: in a product the last part changes fastest.
Coordinates point_of(const Space& space, std::size_t index);

/// "/pointer=value" of each axis, as --set takes them; of a knob its settings.
std::vector<std::string> settings_of(const std::vector<Axis>& axes, const Coordinates& point);

}  // namespace accosim
