// The trace of the verbs compare and run: its options, and the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/outputs.hpp"
#include "models/base/whole_file.hpp"
#include "sim/app/gzip.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/verb.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// --trace and the options that need it.
std::vector<Option> trace_options();

/// What `option`, --trace-ranks or another of its kind, chooses of the scenario's ranks, in order; empty: all. Throws
/// ScenarioError.
std::vector<int> chosen_ranks(const Scenario& scenario, const Arguments& arguments, const std::string& option);

/// As a file of this name is known again: one that ends in .gz is compressed.
OutputKind trace_kind_of(const std::string& path);

/// A trace's file, compressed where its name ends in .gz. Errors are those of WholeFile.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);
  std::ostream& stream() { return packed_ ? packed_->stream() : file_.stream(); }
  void commit();

 private:
  WholeFile file_;
  std::optional<GzipWriter> packed_;
};

/// Writes the trace, where --trace asks for one. `results` are those of `chosen`: each schedule is simulated again
/// at their prices, one for all ranks that do the same where there are many.
void write_trace(const ChosenSchedules& chosen, const std::vector<RunResult>& results, const Arguments& arguments);

}  // namespace accosim
