// The verb `plot`: a picture of what `compare` predicts, a kind of picture a mode.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/read/load.hpp"
#include "models/recorded/convergence_curves.hpp"
#include "models/spec/scenario.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/sweep/sweep_plots.hpp"
#include "sim/app/draw/picture_file.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/sweep/rows_output.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/timeline.hpp"
#include "sim/app/verbs.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

std::vector<Option> picture_options() {
  return {{.names = "--kind",
           .help = "timeline: what each lane of each rank does; breakdown: where an update's time goes; memory: by "
                   "part against the capacity; pipeline: what the stages of a split model do, micro-batch by "
                   "micro-batch; ladder: which change from one schedule to another brings how much "
                   "(--ladder); convergence: the curves of a document of accocal converge, which stands in place of "
                   "the scenario; curve: the speedup along an axis of a sweep, and map: the fastest schedule over two, "
                   "of the rows of accosim sweep in place of the scenario",
           .choices = {"timeline", "breakdown", "memory", "pipeline", "ladder", "convergence", "curve", "map"},
           .required = true,
           .takes = "KIND"},
          file_option("-o,--output", "File to write: .svg, or with the package librsvg2-bin .png or .pdf", true),
          {.names = "--theme",
           .help = "Colours: light, dark, or print (greys and patterns)",
           .value = std::string("light"),
           .choices = {"light", "dark", "print"},
           .default_shown = true},
          number_option("--width", "Width in pixels", 1000, kLeastPlotWidth, kMostPlotWidth)};
}

PlotStyle style_of(const Arguments& arguments) {
  const std::string& theme = arguments.text("--theme");
  return {theme == "light"  ? Theme::kLight
          : theme == "dark" ? Theme::kDark
                            : Theme::kPrint,
          static_cast<double>(arguments.whole("--width"))};
}

/// The scenario, the schedules to play and what they come to.
struct Compared {
  Evaluations evaluations;
  Scenario scenario;
  std::vector<int> indices;
  std::vector<RunResult> results;
};

Compared compared(const Arguments& arguments) {
  LoadedScenario loaded = load_asked(arguments, arguments.texts("--schedule"));
  check_picture(arguments.text("--output"), loaded.files, arguments.flag("--force"));
  std::vector<int> indices = chosen_schedules(loaded.scenario, arguments.texts("--schedule"));
  const Evaluations evaluations(network_of(arguments));
  const Progress progress("playing schedules");
  std::vector<RunResult> results = compare(loaded.scenario, indices, evaluations);
  return {evaluations, std::move(loaded.scenario), std::move(indices), std::move(results)};
}

std::string picture_of(const Compared& all, const Arguments& arguments) {
  const auto& [evaluations, scenario, indices, results] = all;
  const std::string& kind = arguments.text("--kind");
  const PlotStyle style = style_of(arguments);
  if (kind == "timeline")
    return timeline_svg(timeline_picture(scenario, indices, results, evaluations, arguments), style);
  const PlotHeading heading = heading_of(scenario);
  if (kind == "breakdown") return breakdown_svg(heading, breakdowns_of(scenario, indices, results, evaluations), style);
  if (kind == "pipeline") return pipeline_svg(heading, pipeline_charts(scenario, indices, evaluations), results, style);
  return memory_svg(heading, memory_bars(results), style);
}

ExitCode plot_compared(const Arguments& arguments) {
  const Compared all = compared(arguments);
  write_picture(arguments.text("--output"), picture_of(all, arguments),
                fmt::format("{} of {}", arguments.text("--kind"), so_many(all.indices.size(), "schedule")));
  return ExitCode::kDone;
}

ExitCode plot_ladder(const Arguments& arguments) {
  if (!arguments.given("--ladder"))
    throw BadInput("--kind ladder draws the way from one schedule to another; name them: --ladder ddp acco");
  const LoadedScenario loaded = load_asked(arguments);
  check_picture(arguments.text("--output"), loaded.files, arguments.flag("--force"));
  const Ladder ladder = ladder_asked_for(loaded.scenario, network_of(arguments), arguments);
  write_picture(
      arguments.text("--output"), ladder_svg(heading_of(loaded.scenario), ladder, style_of(arguments)),
      fmt::format("ladder from {} to {}, {}", ladder.from, ladder.to, so_many(ladder.rungs.size() - 1, "change")));
  return ExitCode::kDone;
}

ExitCode plot_convergence(const Arguments& arguments) {
  const std::string& path = arguments.text("scenario");
  const MeasuredCurves curves = read_curves(read_file(path), path);
  check_picture(arguments.text("--output"), {path}, arguments.flag("--force"));
  const PlotStyle style = style_of(arguments);
  write_picture(arguments.text("--output"), convergence_svg(curves, style.theme, style.width),
                "curves of " + so_many(curves.algorithms.size(), "algorithm"));
  return ExitCode::kDone;
}

/// The rows, and the part of them that --axis and --at say.
template <class Draw>
ExitCode plot_sweep(const Arguments& arguments, std::size_t axes, const char* what, const Draw& draw) {
  const std::string& path = arguments.text("scenario");
  const SweepRows rows = read_rows(path);
  if (rows.rows.empty())
    throw BadInput(fmt::format("{}: there are no rows yet; play the sweep first", printable(path, 300)));
  check_score(rows, score_of(arguments));
  check_picture(arguments.text("--output"), {path}, arguments.flag("--force"));
  const Cut cut = cut_of(rows, axes, arguments.texts("--axis"), arguments.texts("--at"));
  // Those with the values of the other axes.
  const auto shown = static_cast<std::size_t>(std::ranges::count_if(rows.rows, [&](const Row& row) {
    for (std::size_t i = 0; i < row.point.size(); ++i)
      if (row.point[i] != cut.at[i] && std::ranges::find(cut.axes, i) == cut.axes.end()) return false;
    return true;
  }));
  write_picture(arguments.text("--output"), draw(rows, cut),
                fmt::format("{}, {}", what, so_many(shown, "configuration")));
  return ExitCode::kDone;
}

ExitCode plot_curve(const Arguments& arguments) {
  return plot_sweep(arguments, 1, "curves of a sweep", [&](const SweepRows& rows, const Cut& cut) {
    return curve_svg(rows, cut, score_of(arguments), style_of(arguments));
  });
}

ExitCode plot_map(const Arguments& arguments) {
  return plot_sweep(arguments, 2, "map of winners", [&](const SweepRows& rows, const Cut& cut) {
    return map_svg(rows, cut, merit_of(arguments), style_of(arguments));
  });
}

std::vector<Option> cut_options() {
  return {by_option(),
          {.names = "--axis",
           .help = "Of a sweep: the axis across, and for a map a second one upward, by pointer or last keys; default: "
                   "those with the most values",
           .value = Texts()},
          {.names = "--at",
           .help = "Of a sweep: the value of another axis, axis=value; default: its first; may be repeated",
           .value = Texts()}};
}

Mode of_kind(const char* what, const char* kind, const Texts& reads, ExitCode (*run)(const Arguments&)) {
  return {.of = fmt::format("of {} (--kind {})", what, kind),
          .reads = reads,
          .run = run,
          .is_meant = [kind](const Arguments& given) { return given.text("--kind") == kind; }};
}

}  // namespace

Verb plot_verb() {
  const std::vector<Option> always = joined(picture_options(), {force_option()});
  const std::vector<Option> played = joined(play_options(), always), timed = joined(played, timeline_options(""));
  Texts of_a_ladder = names_of(joined(always, scenario_options()));
  of_a_ladder.insert(of_a_ladder.end(), {"--network", "--ladder", "--no-tuned"});
  Texts of_a_document = names_of(always);
  of_a_document.emplace_back("scenario");
  Texts of_rows = names_of(joined(always, cut_options()));
  of_rows.emplace_back("scenario");
  Texts of_a_map = of_rows;
  for (const Option& option : winner_options()) of_a_map.push_back(option.names);
  return {
      .name = "plot",
      .help = "Draw a timeline, where the time goes, memory, a pipeline, a ladder, convergence or a sweep as a picture",
      .options = joined(joined(timed, winner_options()), joined({ladder_option(), tuned_option()}, cut_options())),
      .modes = {of_kind("a timeline", "timeline", names_of(timed), plot_compared),
                of_kind("a breakdown", "breakdown", names_of(played), plot_compared),
                of_kind("a pipeline", "pipeline", names_of(played), plot_compared),
                of_kind("a ladder", "ladder", of_a_ladder, plot_ladder),
                of_kind("convergence", "convergence", of_a_document, plot_convergence),
                of_kind("a sweep", "curve", of_rows, plot_curve),
                of_kind("a sweep", "map", of_a_map, plot_map),
                {.of = "of memory (--kind memory)", .reads = names_of(played), .run = plot_compared}}};
}

}  // namespace accosim
