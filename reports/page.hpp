// The report: one HTML file that shows a comparison to somebody who has nothing but a browser. Style, scripts and the
// charts' library are part of the program (reports/page/); the figures are one JSON document in the file.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "models/base/outputs.hpp"
#include "reports/answer.hpp"
#include "sim/evidence/known_errors.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/explain/pipeline_chart.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

/// Ranks of a timeline's graph that are drawn, a group of lanes each.
struct PageRow {
  int rank = 0;      ///< in the graph
  std::string name;  ///< "rank 0 and 7 like it"
};
struct PageTimeline {
  std::string label;
  Timeline timeline;
  std::vector<PageRow> rows;
  bool measured = false;  ///< lies over the timeline before it
};

/// A run that accocal made, beside its prediction.
struct PageRun {
  std::string file;
  Seconds measured, predicted;  ///< of an update
  double measured_micro_batches = 0, predicted_micro_batches = 0;
  std::vector<TimelinePart> parts;
};

struct Page : Comparison {
  std::string command;  ///< that makes the page again
  std::string network;
  std::vector<UpdateBreakdown> breakdowns;  ///< one a result
  std::vector<PageTimeline> timelines;
  std::vector<PipelineChart> pipelines;  ///< one a result where the model is split into stages
  std::vector<KnownError> errors;
  std::optional<PageRun> run;
  std::optional<Ladder> ladder;
};

void write_page(std::ostream& out, const Scenario& scenario, const Page& page);

/// A page with a document of JSON, which is made safe inside a <script>.
void write_page_around(std::ostream& out, const std::string& document);

/// The page's document, schema accosim.page/1; its member "result" is what write_results_json() writes. Safe inside a
/// <script>: nothing in it opens or closes a tag, or ends a line of JavaScript.
void write_page_json(std::ostream& out, const Scenario& scenario, const Page& page);

/// The member "timelines": whole nanoseconds; of each lane [from the end of the last span or, of the first,
/// from 0; its own; label; ...].
void write_page_timelines(std::ostream& out, const std::vector<PageTimeline>& timelines);

/// The member "pipelines": the same with a row a stage. Labels of passes have a "text" that is drawn in them, the
/// number of the micro-batch, and a "shade" from 1, of the first chunk, down. Of more passes than anybody looks at the
/// last are left out.
void write_page_pipelines(std::ostream& out, const std::vector<PipelineChart>& charts);

OutputKind page_kind();

}  // namespace accosim
