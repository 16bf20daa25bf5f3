// A sweep's rows on the disk: a heading line that says what was swept, then one line of JSON a point, in the order in
// which points end, so that nothing is lost whenever the sweep is stopped. Rows hold no time of day and no machine: one
// build of the program gives the same bytes for a point wherever it plays it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/result/metrics.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

inline constexpr const char* kRowsSchema = "accosim.sweep_rows/3";
/// How a file of rows begins, whichever version of the schema it has.
inline constexpr const char* kRowsBegin = R"({"schema":"accosim.sweep_rows/)";

/// What all points train, for whoever reads the rows without the scenario. What an axis varies is left out.
struct TrainedThere {
  std::string model;
  double train_tokens = 0;
  int sequence_length = 0;

  bool operator==(const TrainedThere&) const = default;
};

/// What was swept.
struct Heading {
  std::string version;   ///< of the program
  std::string scenario;  ///< its name
  TrainedThere trains{};
  std::string id;  ///< of all that decides what the points are and come to
  std::size_t points = 0;
  bool side_by_side = false;  ///< the axes go side by side (--zip): one of names may decide numbers of others
  bool grid = true;           ///< the points are all combinations of the axes' values, the last axis changing fastest
  std::vector<Axis> axes;
  std::vector<std::string> schedules;  ///< labels
  std::string baseline;                ///< the label of that one
  bool tuned = false;                  ///< the last schedule is the best synchronous one, as Row says which
  bool fair = false;                   ///< rows have Row::alone, and what is over it and over the balanced baseline
  std::string command{};               ///< that plays it, for people; empty: unknown
  /// That makes the page of a point, with the point's settings behind it; empty: unknown.
  std::string point_command{};

  bool operator==(const Heading&) const = default;
};
/// Whether two files are of one sweep: all is equal but for the commands, in which a path may be written otherwise.
bool same_sweep(const Heading& a, Heading b);
/// One line, without its end.
std::string line_of(const Heading& heading);

/// The fastest part of an unlike cluster by itself, at as many samples an update as are asked of the whole.
struct Alone {
  std::string part;          ///< "32 A100-SXM4-80GB"; empty: all GPUs, which are alike
  std::string others;        ///< "64 V100-SXM2-32GB"
  std::size_t schedule = 0;  ///< the winner there (sim/what_if/winner.hpp)
  double samples_per_update = 0;
  double tokens_per_second = 0;
};

/// The fastest way to fit that was found where no schedule does.
struct FittingWay {
  std::size_t schedule = 0;
  std::string change;     ///< "implementation fused"
  double total_time = 0;  ///< of all tokens, in s, about
};

struct Row {
  std::size_t index = 0;
  Coordinates point;
  std::string failure;                     ///< empty: it was played
  std::vector<Metrics> schedules;          ///< as in the heading; those that rows have (metric_table.hpp)
  std::optional<Alone> alone{};            ///< absent also where no part has room for the training
  std::string best_synchronous{};          ///< which schedule that is (AddedSchedule::name())
  std::string best_delayed{};              ///< likewise
  std::vector<std::string> cautions{};     ///< "code: message" of cautions_of()
  std::optional<FittingWay> way_to_fit{};  ///< absent also where a schedule fits
  std::optional<Binding> binds{};  ///< of the schedule that waits most; only on axes with numbers (flat_ranges())
  /// One a schedule: why it cannot be had at this point, where others can; its figures are then those of one that does
  /// not fit. Empty where all can be had.
  std::vector<std::string> left_out{};

  bool has(std::size_t schedule) const { return left_out.empty() || left_out[schedule].empty(); }
  bool done() const { return failure.empty(); }
};
std::string line_of(const Heading& heading, const Row& row);

/// Figures of a schedule that is left out.
Metrics no_figures();

class ObjectReader;
/// The texts of a list of at most so many.
std::vector<std::string> texts_of(ObjectReader& reader, const char* key, std::size_t most);

/// Reads them back. Throw BadInput, "FILE:line: what is wrong".
Heading read_heading(const std::string& line, const std::string& file);
Row read_row(const Heading& heading, const std::string& line, const std::string& file, std::size_t number);

/// All rows of a file, in the order of their points.
struct SweepRows {
  Heading heading;
  std::vector<Row> rows;
};
/// `check` may refuse the file by its heading, before its rows are read.
SweepRows read_rows(const std::string& path, const std::function<void(const Heading&)>& check = nullptr);

/// A file of rows that is being written, by one process at a time.
class RowFile {
 public:
  enum class Existing { kRefuse, kReplace, kResume };
  /// Opens or creates it; with kResume the rows that are there are kept, but for a last line that was cut, and with
  /// `again` also but for those of points that failed. An empty path: rows are only held.
  /// Throws BadInput where it holds something else, or another process writes it; BadEnvironment where it cannot be
  /// written.
  RowFile(const std::string& path, const Heading& heading, Existing existing, bool again);
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  ~RowFile();

  bool has(std::size_t index) const;
  /// In the order in which they came, or that of sort().
  const SweepRows& rows() const;
  /// On the disk as one write. Throws BadEnvironment, and then the file is as it was.
  void append(Row row);
  /// Puts the rows in the order of their points, those of the file too.
  void sort();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace accosim
