// The verb `plot`: a picture of what `compare` predicts, a kind of picture a mode.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/read/load.hpp"
#include "models/recorded/convergence_curves.hpp"
#include "reports/plot/figures_csv.hpp"
#include "reports/plot/series.hpp"
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

/// Widths of columns and pages, in mm, as the publishers' templates have them.
struct PaperWidth {
  const char* name;
  double millimetres;
};
constexpr PaperWidth kPaperWidths[] = {{"icml", 82.5}, {"icml-page", 171.5}, {"ieee", 88.9},    {"ieee-page", 181.9},
                                       {"acm", 84.7},  {"acm-page", 177.8},  {"neurips", 139.7}};

std::string columns_in_words() {
  std::string words;
  for (const PaperWidth& each : kPaperWidths)
    words += fmt::format("{}{} ({:g}mm)", words.empty() ? "" : ", ", each.name, each.millimetres);
  return words;
}

/// In pixels, and whether it was said in millimetres.
std::pair<double, bool> width_of(const std::string& text) {
  double pixels = 0;
  bool printed = true;
  const std::optional<LeadingNumber> number = leading_number(text);
  if (number && (number->rest.empty() || number->rest == "px")) {
    pixels = number->number;
    printed = false;
  } else if (number && number->rest == "mm") {
    pixels = number->number * kPixelsPerMillimetre;
  }
  for (const PaperWidth& each : kPaperWidths)
    if (text == each.name) pixels = each.millimetres * kPixelsPerMillimetre;
  if (pixels == 0)
    throw BadInput(fmt::format("--width {}: write pixels (800), millimetres (82.5mm) or a width by name: {}",
                               in_quotes(text), columns_in_words()));
  constexpr double kRounding = 1e-9;
  if (pixels < kLeastPlotWidth * (1 - kRounding) || pixels > kMostPlotWidth)
    throw BadInput(
        fmt::format("--width {}: a picture is 60mm (227 pixels) to {:g} pixels wide", in_quotes(text), kMostPlotWidth));
  return {pixels, printed};
}

std::vector<Option> picture_options() {
  return {
      {.names = "--kind",
       .help = "timeline: what each lane of each rank does; breakdown: where an update's time goes; memory: by "
               "part against the capacity; pipeline: what the stages of a split model do, micro-batch by "
               "micro-batch; ladder: which change from one schedule to another brings how much "
               "(--ladder); convergence: the curves of a document of accocal converge, which stands in place of "
               "the scenario; curve: the speedup along an axis of a sweep, and map: the fastest schedule over two, "
               "of the rows of accosim sweep in place of the scenario",
       .choices = {"timeline", "breakdown", "memory", "pipeline", "ladder", "convergence", "curve", "map"},
       .required = true,
       .takes = "KIND"},
      file_option("-o,--output",
                  "File to write: .svg, or with the package librsvg2-bin .png or .pdf; .csv for its "
                  "numbers",
                  true),
      file_option("--csv", "Write the numbers of the picture too"),
      theme_option(),
      {.names = "--width",
       .help = fmt::format("Pixels, or millimetres in print (82.5mm), or the name of a journal's width: {}. Letters "
                           "are 7 points or more there; a .png of millimetres has 300 dots an inch",
                           columns_in_words()),
       .value = std::string("1000"),
       .default_shown = true,
       .takes = "WIDTH"},
      {.names = "--title", .help = "In place of the heading; \"\" leaves it out", .empty = ""}};
}

/// Which schedules are drawn, and how.
std::vector<Option> series_options() {
  return {texts_option("--label", "What a schedule is called, SCHEDULE=TEXT; may be repeated", "SCHEDULE=TEXT")};
}
Option intervals_option() {
  return flag_option("--no-intervals", "Leave out the 80 % intervals (90 % of convergence)");
}

PlotStyle style_of(const Arguments& arguments) {
  PlotStyle style{theme_of(arguments), width_of(arguments.text("--width")).first};
  const Argument& title = arguments.all.at("--title");
  if (title.given) style.title = arguments.text("--title");
  const auto intervals = arguments.all.find("--no-intervals");
  style.intervals = intervals == arguments.all.end() || !arguments.flag("--no-intervals");
  return style;
}

void check_asked(const Arguments& arguments, const std::vector<std::string>& inputs) {
  width_of(arguments.text("--width"));
  check_picture(arguments.text("--output"), arguments.text("--csv"), inputs, arguments.flag("--force"));
}

void write(const Arguments& arguments, Drawing figure, const std::string& what) {
  constexpr double kDotsAnInch = 300, kPixelsAnInch = 96;
  if (width_of(arguments.text("--width")).second) figure.dots = kDotsAnInch / kPixelsAnInch;
  write_picture(arguments.text("--output"), arguments.text("--csv"), figure, what);
}

/// The scenario, the schedules to play and what they come to.
struct Compared {
  Evaluations evaluations;
  Scenario scenario;
  std::vector<int> indices;
  std::vector<RunResult> results;
};

Compared compared(const Arguments& arguments) {
  const Texts& asked = arguments.texts("--schedule");
  LoadedScenario loaded = load_asked(arguments, asked);
  Scenario& scenario = loaded.scenario;
  check_asked(arguments, loaded.files);
  std::vector<std::string> labels = mapped<std::string>(scenario.schedules, &ScheduleSpec::label);
  labels = renamed(labels, arguments.texts("--label"));
  std::vector<int> indices = chosen_schedules(scenario, {});
  if (!asked.empty()) indices.clear();
  for (const std::string& each : asked)  // in the order in which they are asked for
    for (const int index : chosen_schedules(scenario, {each}))
      if (std::ranges::find(indices, index) == indices.end()) indices.push_back(index);
  const Evaluations evaluations(network_of(arguments));
  const Progress progress("playing schedules");
  std::vector<RunResult> results = compare(scenario, indices, evaluations);
  for (std::size_t i = 0; i < results.size(); ++i) results[i].label = labels[static_cast<std::size_t>(indices[i])];
  return {evaluations, std::move(loaded.scenario), std::move(indices), std::move(results)};
}

/// What is drawn of schedules, called as the results are.
template <class Drawn>
std::vector<Drawn> called_as(std::vector<Drawn> drawn, const std::vector<RunResult>& results) {
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i].label = results[i].label;
  return drawn;
}

Drawing drawing_of(const Compared& all, const Arguments& arguments) {
  const auto& [evaluations, scenario, indices, results] = all;
  const std::string& kind = arguments.text("--kind");
  const PlotStyle style = style_of(arguments);
  const PlotHeading heading = heading_of(scenario);
  if (kind == "timeline") {
    TimelinePicture picture = timeline_picture(scenario, indices, results, evaluations, arguments);
    picture.timelines = called_as(picture.timelines, results);
    return {[=] { return timeline_svg(picture, style); }, [=] { return timeline_csv(picture); }};
  }
  if (kind == "breakdown") {
    const auto parts = called_as(breakdowns_of(scenario, indices, results, evaluations), results);
    return {[=] { return breakdown_svg(heading, parts, style); }, [=] { return breakdown_csv(parts); }};
  }
  if (kind == "pipeline") {
    const auto charts = called_as(pipeline_charts(scenario, indices, evaluations), results);
    return {[=, &results = all.results] { return pipeline_svg(heading, charts, results, style); },
            [=] { return pipeline_csv(charts); }};
  }
  const std::vector<MemoryBar> bars = memory_bars(results);
  return {[=] { return memory_svg(heading, bars, style); }, [=] { return memory_csv(bars); }};
}

ExitCode plot_compared(const Arguments& arguments) {
  const Compared all = compared(arguments);
  write(arguments, drawing_of(all, arguments),
        fmt::format("{} of {}", arguments.text("--kind"), so_many(all.indices.size(), "schedule")));
  return ExitCode::kDone;
}

ExitCode plot_ladder(const Arguments& arguments) {
  if (!arguments.given("--ladder"))
    throw BadInput("--kind ladder draws the way from one schedule to another; name them: --ladder ddp acco");
  const LoadedScenario loaded = load_asked(arguments);
  check_asked(arguments, loaded.files);
  const Ladder ladder = ladder_asked_for(loaded.scenario, network_of(arguments), arguments);
  const PlotStyle style = style_of(arguments);
  write(arguments,
        {[&] { return ladder_svg(heading_of(loaded.scenario), ladder, style); }, [&] { return ladder_csv(ladder); }},
        fmt::format("ladder from {} to {}, {}", ladder.from, ladder.to, so_many(ladder.rungs.size() - 1, "change")));
  return ExitCode::kDone;
}

ExitCode plot_convergence(const Arguments& arguments) {
  const std::string& path = arguments.text("scenario");
  const MeasuredCurves curves = read_curves(read_file(path), path);
  check_asked(arguments, {path});
  const PlotStyle style = style_of(arguments);
  const std::vector<std::string> names = mapped<std::string>(curves.algorithms, &MeasuredCurves::Algorithm::name);
  const std::vector<std::size_t> places = series_named("--schedule", names, arguments.texts("--schedule"));
  const std::vector<std::string> labels = renamed(names, arguments.texts("--label"));
  std::vector<CurvePanel> panels = convergence_panels(curves);
  if (style.title) panels.front().title = *style.title;
  for (CurvePanel& panel : panels) {
    std::vector<ChartCurve> chosen;
    for (const std::size_t place : places)
      for (ChartCurve& curve : panel.curves) {
        if (curve.name != names[place]) continue;
        chosen.push_back(curve);
        chosen.back().name = labels[place];
        if (!style.intervals) chosen.back().low = chosen.back().high = {};
      }
    panel.curves = std::move(chosen);
  }
  write(arguments,
        {[&] { return curves_svg(kConvergenceFigure, panels, style.theme, style.width); },
         [&] { return curves_csv(panels); }},
        "curves of " + so_many(places.size(), "algorithm"));
  return ExitCode::kDone;
}

/// A --value: the speedup over the fastest part alone.
constexpr const char* kWorth = "worth";

/// A sweep's rows, the part of them that --axis and --at say, and what is drawn of it.
struct Swept {
  DrawnRows drawn;
  Cut cut;
  ValueAsked asked;
  std::size_t shown = 0;  ///< points with the values of the other axes
};

Swept swept(const Arguments& arguments, std::size_t axes) {
  const std::string& path = arguments.text("scenario");
  SweepRows rows = read_rows(path);
  if (rows.rows.empty())
    throw BadInput(fmt::format("{}: there are no rows yet; play the sweep first", printable(path, 300)));
  ValueAsked asked{.by = score_of(arguments)};
  const std::string& value = arguments.text("--value");
  if (arguments.given("--over") && arguments.given("--value") && value != name_of(PlotValue::kSpeedup))
    throw BadInput("--over: is what a speedup is over; leave it out, or write --value speedup");
  if (value == kWorth && arguments.given("--by") && asked.by != Score::kAlone)
    throw BadInput("--by: worth is the speedup over the fastest part alone; leave --by out");
  if (value == kWorth) {
    asked.by = Score::kAlone;
  } else if (arguments.given("--value")) {
    asked.value = *value_named<PlotValue>(value);
  } else if (!arguments.given("--over")) {
    asked.value = asked.by == Score::kTime     ? PlotValue::kTime
                  : asked.by == Score::kCost   ? PlotValue::kCost
                  : asked.by == Score::kTokens ? PlotValue::kTokens
                                               : PlotValue::kSpeedup;
  }
  check_score(rows, asked.value == PlotValue::kCost ? Score::kCost : asked.by);
  check_asked(arguments, {path});
  const std::vector<std::string>& names = rows.heading.schedules;
  const Texts &chosen = arguments.texts("--schedule"), &labels = arguments.texts("--label");
  const auto place_of = [&](const char* option, const std::vector<std::string>& among) -> std::optional<std::size_t> {
    const auto found = arguments.all.find(option);
    if (found == arguments.all.end() || !found->second.given) return std::nullopt;
    return series_named(option, among, {arguments.text(option)}).front();
  };
  if (const std::optional<std::size_t> over = place_of("--over", names))
    asked.over = over_of(rows, *over, renamed(names, labels)[*over]);
  asked.of = place_of("--of", picked(names, series_named("--schedule", names, chosen)));
  const Cut cut = cut_of(rows, axes, arguments.texts("--axis"), arguments.texts("--at"));
  const auto shown = static_cast<std::size_t>(std::ranges::count_if(rows.rows, [&](const Row& row) {
    for (std::size_t i = 0; i < row.point.size(); ++i)
      if (row.point[i] != cut.at[i] && std::ranges::find(cut.axes, i) == cut.axes.end()) return false;
    return true;
  }));
  return {drawn_rows(std::move(rows), chosen, labels), cut, asked, shown};
}

ExitCode write_swept(const Arguments& arguments, const SweepPicture& picture, const Swept& all, const char* what) {
  write(arguments, {[&] { return picture.svg; }, [&] { return picture.csv; }},
        fmt::format("{}, {}", what, so_many(all.shown, "configuration")));
  return ExitCode::kDone;
}

ExitCode plot_curve(const Arguments& arguments) {
  const Swept all = swept(arguments, 1);
  return write_swept(arguments, draw_curve(all.drawn, all.cut, all.asked, style_of(arguments)), all,
                     "curves of a sweep");
}

ExitCode plot_map(const Arguments& arguments) {
  const Swept all = swept(arguments, 2);
  const PlotStyle style = style_of(arguments);
  Merit merit = merit_of(arguments);
  merit.by = all.asked.by;
  // Over the part alone all schedules rank as without it: what is asked for is by how much.
  if (!arguments.given("--value") && !arguments.given("--of") && !arguments.given("--over") &&
      merit.by != Score::kAlone)
    return write_swept(arguments, draw_map(all.drawn, all.cut, merit, style), all, "map of winners");
  return write_swept(arguments, draw_value_map(all.drawn, all.cut, all.asked, merit, style), all, "map of values");
}

std::vector<Option> cut_options() {
  return {
      by_option(),
      {.names = "--axis",
       .help = "Of a sweep: the axis across, and for a map a second one upward, by pointer or last keys; default: "
               "those with the most values",
       .value = Texts()},
      {.names = "--at",
       .help =
           "Of a sweep: the value of another axis, axis=value; default: the middle one, or the nearest to it that was "
           "simulated; may be repeated",
       .value = Texts()},
      {.names = "--value",
       .help = "What a curve or a map of a sweep shows: speedup (over the baseline, or what --by says), time (h) or "
               "cost of all tokens, tokens (per second), worth (speedup over the fastest part alone, rows of --fair); "
               "a map without it, --of and --over names the best schedule",
       .choices = {"speedup", "time", "cost", "tokens", kWorth}},
      text_option("--of", "Of a map: the schedule whose value is shown; default: the best at each point", "LABEL"),
      text_option("--over", "Of a sweep: the schedule that a speedup is over, per token", "LABEL")};
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
  const std::vector<Option> named = joined(always, series_options());
  const std::vector<Option> played = joined(play_options(), named), timed = joined(played, timeline_options(""));
  const Texts measured = names_of(joined(played, {intervals_option()}));
  Texts of_a_ladder = names_of(joined(always, scenario_options()));
  of_a_ladder.insert(of_a_ladder.end(), {"--network", "--ladder", "--no-tuned"});
  Texts of_a_document = names_of(joined(named, {intervals_option()}));
  of_a_document.insert(of_a_document.end(), {"scenario", "--schedule"});
  Texts of_rows = of_a_document;
  for (const Option& option : cut_options())
    if (option.names != "--of") of_rows.push_back(name_of(option));
  Texts of_a_map = of_rows;
  std::erase(of_a_map, "--no-intervals");
  of_a_map.emplace_back("--of");
  for (const Option& option : winner_options()) of_a_map.push_back(option.names);
  return {
      .name = "plot",
      .help = "Draw a timeline, where the time goes, memory, a pipeline, a ladder, convergence or a sweep as a picture",
      .options = joined(joined(joined(timed, {intervals_option()}), winner_options()),
                        joined({ladder_option(), tuned_option()}, cut_options())),
      .modes = {of_kind("a timeline", "timeline", names_of(timed), plot_compared),
                of_kind("a breakdown", "breakdown", measured, plot_compared),
                of_kind("a pipeline", "pipeline", names_of(played), plot_compared),
                of_kind("a ladder", "ladder", of_a_ladder, plot_ladder),
                of_kind("convergence", "convergence", of_a_document, plot_convergence),
                of_kind("a sweep", "curve", of_rows, plot_curve),
                of_kind("a sweep", "map", of_a_map, plot_map),
                {.of = "of memory (--kind memory)", .reads = measured, .run = plot_compared}}};
}

}  // namespace accosim
