// The table of metrics: of each single figure of a result what it is called, how it is written and where it is shown.
// What writes figures, or reads them back, loops over it: documents, rows of a sweep and their CSV, the columns of
// `compare`, the lines of `run`, the page. So a new metric is a member of Metrics and a row here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// The unit of a metric in documents, and with it how people read it (reports/metric_text.hpp).
enum class Format : std::uint8_t {
  kTime,     ///< s
  kClock,    ///< s, of whole runs
  kCount,    ///< of things
  kFactor,   ///< a ratio
  kPercent,  ///< a fraction
  kError,    ///< a fraction, signed
  kBytes,    ///< B, decimal for people
  kMemory,   ///< B, binary for people
  kFlops,    ///< FLOP/s
  kYesNo,    ///< true or false, as a number 1 or 0
};
/// Functions of the page's src/format.js.
template <>
inline constexpr const char* kNames<Format>[] = {"time",  "clock", "count",  "factor", "percent",
                                                 "error", "bytes", "memory", "flops",  "yes_no"};

/// Where a metric is kept; nothing where it is not known.
struct Figure {
  std::optional<double> (*of)(const Metrics&);
  void (*set)(Metrics&, double) = nullptr;  ///< none: it follows from others
  bool always = true;                       ///< it is always known, so that a row of a sweep must have it
};
/// Its 80 % interval, KEY_low and KEY_high in documents.
struct FigureInterval {
  std::optional<Interval> (*of)(const Metrics&) = nullptr;  ///< none: it has no interval
  void (*set)(Metrics&, const Interval&) = nullptr;         ///< none: the rows of a sweep do not have it
};

/// How people are shown it in one place: where it stands there (the least first), its name and a few words. 0: nowhere.
struct ShownAs {
  int place = 0;
  const char* name = "";
  const char* says = "";
};

/// What else is said of a metric, and where.
struct Places {
  FigureInterval interval{};
  double least = 0, most = 1e300;  ///< what a row of a sweep may say
  bool in_json = true;             ///< in the results of `run` and `compare`, which go by the order of the table
  int in_rows = 0;                 ///< where it stands in the rows of a sweep and in their CSV; 0: nowhere
  ShownAs run{};                   ///< a line: its name, and what it means
  const char* run_interval = "";   ///< what the line with its interval says that it comes from; "": no line
  ShownAs column{};                ///< of `compare`: both lines of the head, with "{}" for the unit that all share
  ShownAs page{};                  ///< a row of the page's table: its name, and what it means
};

struct Metric : Places {
  const char* key;  ///< in documents
  Format format;
  Figure figure;

  bool interval_in_rows() const { return interval.set != nullptr; }
};

/// All, in the order of documents.
std::span<const Metric> metrics();
/// Throws std::logic_error where there is none.
const Metric& metric_named(std::string_view key);
/// Those that have a place in rows of a sweep, or where people are shown them, in the order of their places.
std::vector<const Metric*> metrics_by(int Metric::*place);
std::vector<const Metric*> metrics_by(ShownAs Metric::*shown);

}  // namespace accosim
