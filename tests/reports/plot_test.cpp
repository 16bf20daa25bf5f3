// Do the pictures hold the numbers they are made of, stay inside their edges, and survive any name?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/draw/looks.hpp"
#include "reports/human.hpp"
#include "reports/plot/figures_csv.hpp"
#include "reports/plot/nodes_svg.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/series.hpp"
#include "reports/plot/timeline_svg.hpp"
#include "reports/sweep/sweep_plots.hpp"
#include "tests/support/program.hpp"
#include "tests/support/xml.hpp"

namespace accosim {
namespace {

const std::string kHostile[] = {"</script><script>alert(1)</script>",
                                "\"quotes\" & 'quotes' <",
                                "\U0001F600\U0001F680",
                                std::string(10'000, 'x'),
                                "\u05E9\u05DC\u05D5\u05DD \u202Eevil",
                                "\x1B[31m\xFF",
                                ""};

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

RunResult result_of(const std::string& label, double update, int ranks) {
  RunResult result;
  result.label = label;
  result.update_time = Seconds{update};
  result.ranks.push_back({{}, {{0, ranks - 1}}, ""});
  return result;
}

/// Two schedules: one that computes 1 s and then sends 1 s, and one that sends while it computes, on two kinds of
/// ranks.
TimelinePicture example(const std::string& name = "") {
  TimelinePicture picture{.heading = {name + "example", name + "model on 4 GPUs"}};
  ScheduleTimeline serial{
      .label = name + "serial", .length = Seconds{2}, .labels = {name + "forward", name + "all-reduce"}};
  serial.ranks = {{0,
                   4,
                   name + "GPU",
                   0,
                   {{name + "compute", {{Activity::kForward, 0, 0, 1, 1}}, {{0, 1}}},
                    {name + "communication", {{Activity::kExposedCommunication, 1, 1, 2, 1}}, {{1, 2}}}},
                   {},
                   {2}}};
  ScheduleTimeline overlapped = serial;
  overlapped.label = name + "overlapped";
  overlapped.length = Seconds{1};
  overlapped.ranks[0].alike = 3;
  overlapped.ranks[0].lanes[1] = {name + "communication", {{Activity::kHiddenCommunication, 1, 0.25, 1, 1}}, {}};
  overlapped.ranks[0].rounds = {0.5};
  overlapped.ranks[0].updates = {1};
  overlapped.ranks.push_back(overlapped.ranks[0]);
  overlapped.ranks[1].rank = 3;
  overlapped.ranks[1].alike = 1;
  overlapped.ranks[1].lanes[1].spans[0] = {Activity::kWaiting, 1, 0, 1, 1};
  overlapped.left_out = 7;
  overlapped.cut = true;
  picture.timelines = {serial, overlapped};
  picture.results = {result_of(serial.label, 2, 4), result_of(overlapped.label, 1, 4)};
  picture.results[1].batch_inflation = 1.5;
  picture.results[1].speedup = 2;
  return picture;
}

std::vector<UpdateBreakdown> breakdowns(const std::string& name = "") {
  UpdateBreakdown breakdown{name + "acco", Seconds{2}, Seconds{1.5}, Seconds{2.5}, 1.25, {}};
  breakdown.parts[static_cast<std::size_t>(TimeUse::kComputation)] = Seconds{1.234};
  breakdown.parts[static_cast<std::size_t>(TimeUse::kExposedCommunication)] = Seconds{0.756};
  breakdown.parts[static_cast<std::size_t>(TimeUse::kHost)] = Seconds{0.01};
  return {breakdown, breakdown};
}

std::vector<MemoryBar> bars(const std::string& name = "") {
  MemoryBar bar;
  bar.label = name + "acco";
  bar.device = name + "GPU";
  bar.ranks = 8;
  bar.parts.parts = {{MemoryUse::kParameters, Bytes{10 * 0x1p30}, true},
                     {MemoryUse::kStateClones, Bytes{0x1p28}, true},
                     {MemoryUse::kReserved, Bytes{0x1p30}, true}};
  bar.low = Bytes{10 * 0x1p30};
  bar.high = Bytes{12 * 0x1p30};
  bar.capacity = Bytes{16 * 0x1p30};
  bar.fit.verdict = FitVerdict::kTight;
  return {bar};
}

/// From a DDP that does 1000 tokens/s to one that does 2500, by way of one that loses: 0.8x and then 3.125x per token;
/// at the same batch 0.8x and 1.4x.
Ladder example_ladder(const std::string& name = "") {
  Ladder ladder{name + "ddp", name + "acco", {}};
  Rung first, slower, last;
  first.change = name + "ddp";
  first.update_time = slower.update_time = last.update_time = Seconds{2};
  first.samples_per_update = slower.samples_per_update = 64;
  first.tokens_per_second = 1000;
  slower.change = name + "copies";
  slower.tokens_per_second = 800;
  slower.times = slower.speedup = 0.8;
  slower.times_same_batch = slower.speedup_same_batch = 0.8;
  last.change = name + "ACCO: communication hidden";
  last.samples_per_update = 96;
  last.tokens_per_second = 2500;
  last.times = 3.125;
  last.speedup = 2.5;
  last.times_same_batch = 1.4;
  last.speedup_same_batch = 1.12;
  last.most_same_batch = 1.5;
  last.most_over = 1;
  ladder.rungs = {first, slower, last};
  return ladder;
}

/// Two stages with two chunks each: a pass over each chunk of a micro-batch forward, then backward, in 10 ms each.
std::vector<PipelineChart> pipelines(const std::string& name = "") {
  PipelineChart chart{.label = name + "zero1", .length = Seconds{0.1}};
  chart.parallel.pipeline = chart.parallel.chunks = 2;
  for (int stage = 0; stage < 2; ++stage) {
    PipelineRow& row = chart.rows.emplace_back();
    row.stage = stage;
    for (int i = 0; i < 4; ++i) {
      const double begin = 0.02 * i + 0.01 * stage;
      row.passes.push_back({i < 2, i < 2 ? i : 3 - i, 0, begin, begin + 0.01});
    }
    row.others.push_back({Activity::kOptimizer, 0, 0.09, 0.1, 1});
  }
  return {chart};
}

std::string pipeline_picture(const PlotHeading& heading, const std::vector<PipelineChart>& charts,
                             const PlotStyle& style) {
  return pipeline_svg(heading, charts, std::vector<RunResult>(charts.size()), style);
}

/// Five ranks in a ring, of which the second is slow and so is the link of the third.
InspectedMachine inspected(const std::string& name) {
  InspectedMachine machine;
  machine.name = machine.title = name;
  machine.places.assign(5, name);
  machine.ring = true;
  for (std::size_t rank = 0; rank < 5; ++rank) {
    machine.verdicts.push_back(
        {MachinePart::kKernels, "micro_batch", name, name, rank, 1, 1, rank == 1 ? 3.0 : 1, 1.5});
    machine.verdicts.push_back({MachinePart::kLink, "link", name, name, rank, 25e6, 25e6, rank == 2 ? 2.0 : 1, 1.5});
  }
  return machine;
}

std::vector<std::string> all_pictures(const std::string& name, const PlotStyle& style) {
  const PlotHeading heading{name, name};
  return {timeline_svg(example(name), style),
          breakdown_svg(heading, breakdowns(name), style),
          memory_svg(heading, bars(name), style),
          ladder_svg(heading, example_ladder(name), style),
          pipeline_picture(heading, pipelines(name), style),
          nodes_svg(heading, {inspected(name)}, style)};
}

/// Where a text would run over the picture's edges or into the next column, by the widths of the wider fonts.
void expect_inside(const std::string& svg, double width) {
  for (std::size_t at = svg.find("<text "); at != std::string::npos; at = svg.find("<text ", at + 1)) {
    const std::string element = svg.substr(at, svg.find("</text>", at) + 7 - at);
    const auto number = [&](const std::string& name, double otherwise) {
      const std::size_t found = element.find(" " + name + "=\"");
      return found == std::string::npos ? otherwise : std::strtod(element.c_str() + found + name.size() + 3, nullptr);
    };
    const bool bold = element.find("bold") != std::string::npos;
    const double wide = text_width(texts_in_svg(element)[0], number("font-size", 12), bold);
    const double x = number("x", 0);
    const double left = element.find("\"middle\"") != std::string::npos ? x - wide / 2
                        : element.find("\"end\"") != std::string::npos  ? x - wide
                                                                        : x;
    EXPECT_GE(number("font-size", 12), kLeastLetters) << element;
    EXPECT_GE(left, 0) << element;
    EXPECT_LE(left + wide, width + 1e-6) << element;
  }
}

TEST(Pictures, AreXmlInsideTheirEdgesWhateverTheNames) {
  for (const std::string& name : kHostile)
    for (const double width : {kLeastPlotWidth, 312.0, 480.0, 800.0, 1600.0})
      for (const Theme theme : {Theme::kLight, Theme::kDark, Theme::kPrint})
        for (const std::string& svg : all_pictures(name, {theme, width})) {
          EXPECT_EQ(wrong_in_xml(svg), "");
          EXPECT_LT(svg.size(), 40'000U);  // nothing of 10,000 characters is in there
          EXPECT_EQ(svg.find("<script"), std::string::npos);
          expect_inside(svg, width);
        }
}

TEST(Pictures, NodesSayWhatIsSlow) {
  const std::vector<std::string> texts = texts_in_svg(nodes_svg({"a", "b"}, {inspected("rank")}, {Theme::kLight, 800}));
  EXPECT_EQ(std::ranges::count(texts, "rank"), 6);   // the machine's name, and five boxes
  EXPECT_EQ(std::ranges::count(texts, "sound"), 5);  // four boxes and the legend
  EXPECT_EQ(std::ranges::count(texts, "kernels 3.00x"), 1);
  EXPECT_EQ(std::ranges::count(texts, "25.0 MB/s"), 4);
  EXPECT_EQ(std::ranges::count(texts, "25.0 MB/s, 2.00x"), 1);
}

TEST(Pictures, ThePipelineHasARowAStageAndTheNumbersOfItsMicroBatches) {
  const std::vector<std::string> texts = texts_in_svg(pipeline_picture({"a", "b"}, pipelines(), {Theme::kLight, 800}));
  EXPECT_TRUE(has(texts, "stage 0") && has(texts, "stage 1") && !has(texts, "stage 2"));
  EXPECT_TRUE(has(texts, "optimizer"));
  // Four passes on each of two stages, all of the first micro-batch, each 60 pixels wide or more.
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "1"), 8);
  // A thousand passes in a row are too many to be told apart, so that its begin and its end stand below it.
  std::vector<PipelineChart> many = pipelines();
  many[0].length = Seconds{0.09};
  for (PipelineRow& row : many[0].rows) {
    row.passes.clear();
    for (int i = 0; i < 1000; ++i) row.passes.push_back({i % 2 == 0, 0, i / 2, 9e-5 * i, 9e-5 * (i + 1)});
  }
  const std::vector<std::string> both = texts_in_svg(pipeline_picture({"a", "b"}, many, {Theme::kLight, 800}));
  EXPECT_TRUE(has(both, "Their begin") && has(both, "Their end"));
  EXPECT_EQ(std::count(both.begin(), both.end(), "stage 1"), 3);
  EXPECT_TRUE(has(both, "500"));
  // 714 pixels hold 35.7 passes of 20: what the edge leaves of the last one has room for its number.
  EXPECT_EQ(std::count(both.begin(), both.end(), "18"), 4);
}

/// 1 s of 2 s is the bubble; a third micro-batch has a number that its pass has no room for.
TEST(Pictures, APipelineNumbersAllItsMicroBatchesOrNoneAndNamesItsBubble) {
  std::vector<PipelineChart> charts = pipelines();
  charts[0].bubble = 0.5;
  const std::vector<std::string> texts = texts_in_svg(pipeline_picture({"a", "b"}, charts, {Theme::kLight, 800}));
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(),
                          [](const std::string& text) { return text.find("; bubble 50.0 %") != std::string::npos; }));
  charts[0].rows[0].passes.push_back({true, 0, 2, 0.08, 0.0801});
  const std::vector<std::string> none = texts_in_svg(pipeline_picture({"a", "b"}, charts, {Theme::kLight, 800}));
  EXPECT_EQ(std::count(none.begin(), none.end(), "1"), 0);
  // Of 32 equal stages eight are shown: the first and last two, and some between.
  while (charts[0].rows.size() < 32) {
    charts[0].rows.push_back(charts[0].rows[1]);
    charts[0].rows.back().stage = static_cast<int>(charts[0].rows.size()) - 1;
  }
  const std::vector<std::string> some = texts_in_svg(pipeline_picture({"a", "b"}, charts, {Theme::kLight, 800}));
  EXPECT_EQ(std::count_if(some.begin(), some.end(), [](const auto& text) { return text.rfind("stage ", 0) == 0; }), 8);
  for (const char* const stage : {"stage 0", "stage 1", "stage 30", "stage 31"}) EXPECT_TRUE(has(some, stage)) << stage;
}

TEST(Pictures, NothingIsCutWhereAnotherLineHasRoom) {
  const std::string longest = "best synchronous: zero3, HSDP, no reshard, one gradient sync, micro-batch 8";
  const PlotHeading heading{"finetune_2x4_a100", "gpt-neo-2.7b on 8 GPUs: jean-zay-a100-2x4 (2 x 4 A100-SXM4-80GB)"};
  TimelinePicture timeline = example();
  timeline.heading = heading;
  std::vector<UpdateBreakdown> parts = breakdowns();
  std::vector<MemoryBar> memory = bars();
  std::vector<PipelineChart> charts = pipelines();
  Ladder ladder = example_ladder();
  const SweepRows rows = read_rows(std::string(kSourceFolder) + "/tests/fuzz/corpus/rows/part_0_of_2.jsonl");
  const DrawnRows drawn = drawn_rows(rows, {}, {"acco=" + longest});
  const Cut along = cut_of(rows, 1, {}, {}), over = cut_of(rows, 2, {}, {});
  timeline.timelines[0].label = parts[0].label = memory[0].label = charts[0].label = ladder.rungs[1].change = longest;
  for (const double width : {kLeastPlotWidth, 312.0, 480.0, 680.0, 800.0, 1400.0}) {
    const PlotStyle style{Theme::kLight, width};
    for (const std::string& svg :
         {timeline_svg(timeline, style), breakdown_svg(heading, parts, style), memory_svg(heading, memory, style),
          ladder_svg(heading, ladder, style), pipeline_picture(heading, charts, style),
          draw_curve(drawn, along, {}, style).svg, draw_map(drawn, over, {}, style).svg,
          draw_value_map(drawn, over, {.of = 1}, {}, style).svg})
      for (const std::string& text : texts_in_svg(svg))
        EXPECT_EQ(text.find("\u2026"), std::string::npos) << width << ": " << text;
  }
}

TEST(Pictures, ACurveSaysWhatFitsNowhere) {
  SweepRows rows = read_rows(std::string(kSourceFolder) + "/tests/fuzz/corpus/rows/part_0_of_2.jsonl");
  const Cut along = cut_of(rows, 1, {}, {});
  const std::string last = rows.heading.schedules.back();
  const auto said = [&] {
    const std::vector<std::string> texts = texts_in_svg(draw_curve(drawn_rows(rows, {}, {}), along, {}, {}).svg);
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return text.find(last + " fits nowhere") != std::string::npos; });
  };
  EXPECT_FALSE(said());
  for (Row& row : rows.rows)
    if (row.done()) row.schedules.back().fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_TRUE(said());
}

TEST(Pictures, AHeadingIsReplacedOrLeftOut) {
  PlotStyle style{Theme::kLight, 480, "Mine"};
  const std::vector<std::string> mine = texts_in_svg(memory_svg({"a title", "a subtitle"}, bars(), style));
  EXPECT_TRUE(has(mine, "Mine") && !has(mine, "a title") && !has(mine, "a subtitle"));
  style.title = "";
  EXPECT_FALSE(has(texts_in_svg(memory_svg({"a title", "a subtitle"}, bars(), style)), "a title"));
  style.intervals = false;
  const std::vector<std::string> bare = texts_in_svg(breakdown_svg({"a", "b"}, breakdowns(), style));
  EXPECT_TRUE(has(bare, "1.60 s") && !has(bare, "80 % interval"));
}

TEST(Pictures, ShortNamesStandWhereThereIsNoRoom) {
  std::set<std::string> shortened;
  EXPECT_EQ(label_for("reduce-scatter", 200, 10, shortened), "reduce-scatter");
  EXPECT_TRUE(shortened.empty());
  EXPECT_EQ(label_for("reduce-scatter of the shard", 24, 10, shortened), "RS");
  EXPECT_EQ(label_for("all-gather", 2, 10, shortened), "");
  EXPECT_EQ(shortened_in_words(shortened), "RS: reduce-scatter");
}

TEST(Pictures, TheirNumbersAreTables) {
  EXPECT_EQ(in_csv("=1+1, \"x\""), "\"'=1+1, \"\"x\"\"\"");
  EXPECT_EQ(in_csv("-1.5"), "-1.5");
  EXPECT_NE(breakdown_csv(breakdowns()).find("acco,1.25,2,1.5,2.5,forward and backward,1.234\n"), std::string::npos);
  EXPECT_NE(ladder_csv(example_ladder()).find("copies,2,64,0.8,0.8,0.8,0.8,0\n"), std::string::npos);
  EXPECT_NE(pipeline_csv(pipelines()).find("zero1,,0,forward,1,1,0,0.01\n"), std::string::npos);
  for (const std::string& csv : {timeline_csv(example()), memory_csv(bars()), pipeline_csv(pipelines())})
    EXPECT_EQ(csv.rfind("schedule", 0), 0U);
}

TEST(Series, AreChosenInTheOrderOfTheWordsAndCalledByLabels) {
  const std::vector<std::string> names = {"DDP as released", "zero1", "zero1 overlapped", "acco"};
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(series_named("--schedule", names, {}), (Places{0, 1, 2, 3}));
  EXPECT_EQ(series_named("--schedule", names, {"acco", "zero1"}), (Places{3, 1}));
  EXPECT_EQ(series_named("--schedule", names, {"ddp"}), Places{0});  // by the schedule's name
  EXPECT_THROW(series_named("--schedule", names, {"aco"}), BadInput);
  EXPECT_EQ(renamed(names, {"ddp=DDP, fp32", "acco=ours"})[0], "DDP, fp32");
  EXPECT_THROW(renamed(names, {"acco"}), BadInput);
  EXPECT_THROW(renamed(names, {"acco="}), BadInput);
}

TEST(Series, AScheduleHasOneLookInEveryPictureThatIsShipped) {
  // In whatever company, and in all of its forms.
  for (const auto& labels : {std::vector<std::string>{"acco"}, {"zero1", "dpu", "acco"}, {"acco", "acco, drained"}})
    EXPECT_EQ(looks_of(labels).back().hue, Hue::kVermillion) << labels.size();
  std::map<std::string, std::string> colours;  // by name, of lines and areas; a shade is the area of ink
  const std::regex named(
      "<line [^>]*stroke=\"#([0-9a-f]+)\" stroke-width=\"1.7\"[^>]*/>\n<text [^>]*>([^<]*)<|"
      "<path d=\"[^\"]{1,60}\" fill=\"(?:#|url\\(#fill-[0-9]+-)([0-9a-f]{6})[^>]*/>\n<text [^>]*>([^<]*)<");
  int lines = 0, areas = 0;
  for (const char* const folder : {"scenarios/mixes", "reports/published"})
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kSourceFolder) / folder)) {
      if (entry.path().extension() != ".svg") continue;
      const std::string svg = text_of(entry.path());
      for (auto it = std::sregex_iterator(svg.begin(), svg.end(), named); it != std::sregex_iterator(); ++it) {
        const bool area = (*it)[1].length() == 0;
        const std::string colour = (*it)[area ? 3 : 1], name = (*it)[area ? 4 : 2];
        const auto known = colours.emplace(name, colour == "222222" ? "c3c8d0" : colour).first;
        EXPECT_EQ(known->second, colour == "222222" && !area ? "c3c8d0" : colour) << entry.path() << name;
        ++(area ? areas : lines);
      }
    }
  EXPECT_GE(lines, 50);
  EXPECT_GE(areas, 5);
  EXPECT_TRUE(colours.contains("acco") && colours.contains("best synchronous"));
}

TEST(Pictures, TheTimelineByHand) {
  const std::string svg = timeline_svg(example(), {Theme::kLight, 624});
  const std::vector<std::string> texts = texts_in_svg(svg);
  for (const char* const text :
       {"example", "model on 4 GPUs", "serial", "2.00 s an update", "overlapped",
        "1.00 s an update, of 1.50x the batch; 2.00x per token", "4 ranks, all alike: GPU",
        "rank 0 (x3 alike), node 0: GPU", "rank 3, node 0: GPU", "time (s)", "0.0", "0.5", "2.0", "waiting",
        "exposed communication", "hidden communication", "critical path", "an update ends", "a round ends"})
    EXPECT_TRUE(has(texts, text)) << text;
  EXPECT_NE(svg.find("7 more ranks look different"), std::string::npos);
  // 624 pixels less 14 + 104 left and 20 right are 486 for 2 s: 243 a second, from 118 on. Serial forward is 118 to
  // 361, its all-reduce 361 to 604; the overlapped one's is hidden from 118 + 60.75 on for 182.25.
  EXPECT_NE(svg.find("<path d=\"M118 "), std::string::npos);
  EXPECT_NE(svg.find("<path d=\"M361 "), std::string::npos);
  EXPECT_NE(svg.find("M178.75 "), std::string::npos);
  EXPECT_NE(svg.find("h182.25v18h-182.25z"), std::string::npos);
  EXPECT_NE(svg.find("H604\""), std::string::npos);  // the critical path's end
  // The exposed part is told by colour and by pattern.
  const std::size_t exposed = svg.find("<path d=\"M361 ");
  EXPECT_NE(svg.substr(exposed, 120).find("url(#fill-"), std::string::npos);
}

TEST(Pictures, BreakdownAndMemoryShowEveryNumber) {
  const std::string time = breakdown_svg({"a", "b"}, breakdowns(), {Theme::kLight, 800});
  const std::vector<std::string> texts = texts_in_svg(time);
  // Of 1.25 times the batch: for the samples that are asked for it needs 2 s / 1.25 (1.5 to 2.5 s).
  EXPECT_TRUE(has(texts, human_time(Seconds{1.234 / 1.25})));
  EXPECT_TRUE(has(texts, human_time(Seconds{0.756 / 1.25})));
  EXPECT_TRUE(has(texts, "host 8.00 ms"));  // 10 / 1.25, too narrow for its number
  EXPECT_TRUE(has(texts, "1.60 s (1.20 s to 2.00 s)"));
  EXPECT_TRUE(has(texts, "1.25x the batch"));
  EXPECT_NE(time.find("time for the samples that are asked of an update"), std::string::npos);
  const std::vector<std::string> memory = texts_in_svg(memory_svg({"a", "b"}, bars(), {Theme::kLight, 800}));
  EXPECT_TRUE(has(memory, "10.0 GiB"));
  EXPECT_TRUE(has(memory, "clones of optimizer states 256 MiB"));
  EXPECT_TRUE(has(memory, "11.2 GiB of 16.0 GiB: tight") || has(memory, "11.3 GiB of 16.0 GiB: tight"));
  EXPECT_TRUE(has(memory, "8 x GPU"));
}

TEST(Pictures, TheNarrowestSayAllTheSame) {
  // What decides stands at the end of a line: "fits", an interval's end, a speedup's bound.
  const PlotStyle narrow{Theme::kLight, 480};
  const std::vector<std::string> memory = texts_in_svg(memory_svg({"a", "b"}, bars(), narrow));
  EXPECT_TRUE(has(memory, "11.2 GiB of 16.0 GiB: tight") || has(memory, "11.3 GiB of 16.0 GiB: tight"));
  EXPECT_TRUE(has(texts_in_svg(breakdown_svg({"a", "b"}, breakdowns(), narrow)), "1.60 s (1.20 s to 2.00 s)"));
  const std::vector<std::string> ladder = texts_in_svg(ladder_svg({"a", "b"}, example_ladder(), narrow));
  EXPECT_TRUE(has(ladder, "2.00 s an update, 96 samples, at most 1.20x"));
  EXPECT_TRUE(has(ladder, "1.12x"));
}

TEST(Pictures, TheLadderByHand) {
  const std::string svg = ladder_svg({"a", "b"}, example_ladder(), {Theme::kLight, 800});
  const std::vector<std::string> texts = texts_in_svg(svg);
  // The last change can bring 1.5x at most: 0.8 x 1.5 = 1.20 of the first. At its 96 samples it takes 2 s, the one
  // before 2 s x 1.4 and the first 2 s x 1.12.
  for (const char* const text :
       {"0.80x", "1.40x", "1.12x", "2.24 s an update, 96 samples", "2.80 s an update, 96 samples",
        "2.00 s an update, 96 samples, at most 1.20x", "a change that gains", "a change that loses",
        "its bound at the same batch, over serial ZeRO-1", "speedup over ddp at the same batch (logarithmic)", "1x"})
    EXPECT_TRUE(has(texts, text)) << text << svg;
  // Equal factors are equally long: the loss of 1 / 0.8 reaches from 1 to 0.8, the gain of 1.4 log(1.4) / log(1.25)
  // = 1.508 times as far.
  const auto width_after = [&](const std::string& fill) {
    const std::size_t rect = svg.rfind("<rect", svg.find(fill, svg.find("1x</text>")));
    const std::size_t width = svg.find(" width=\"", rect) + 8;
    return std::strtod(svg.c_str() + width, nullptr);
  };
  EXPECT_NEAR(width_after("fill=\"#009e73\"") / width_after("fill=\"url(#fill-"), std::log(1.4) / std::log(1.25), 1e-3);
}

TEST(Pictures, ALadderThatIsNotKnownAtTheSameBatchIsPerTokenAndHasNoBound) {
  Ladder ladder = example_ladder();
  ladder.rungs[1].times_same_batch = ladder.rungs[1].speedup_same_batch = std::nullopt;
  ladder.rungs[2].times_same_batch = std::nullopt;
  const std::vector<std::string> texts = texts_in_svg(ladder_svg({"a", "b"}, ladder, {}));
  for (const char* const text :
       {"0.80x", "3.12x", "2.50x", "2.00 s an update, 96 samples", "speedup over ddp per token (logarithmic)"})
    EXPECT_TRUE(has(texts, text) || has(texts, "3.13x")) << text;
  EXPECT_FALSE(has(texts, "its bound at the same batch, over serial ZeRO-1"));
}

TEST(Pictures, NothingIsTooMuchToDraw) {
  // A hundred thousand spans of two kinds: the file stays small, and every pixel has something.
  TimelinePicture picture = example();
  TimelineLane& lane = picture.timelines[0].ranks[0].lanes[0];
  lane.spans.clear();
  lane.critical.clear();
  for (int i = 0; i < 100'000; ++i) {
    lane.spans.push_back({i % 2 == 0 ? Activity::kForward : Activity::kBackward, 0, 2e-5 * i, 2e-5 * (i + 1), 1});
    if (i % 3 == 0) lane.critical.emplace_back(2e-5 * i, 2e-5 * (i + 1));
  }
  EXPECT_LT(timeline_svg(picture, {Theme::kLight, 1600}).size(), 200'000U);
  // Of no length at all: no schedule, or times of 0.
  EXPECT_EQ(wrong_in_xml(timeline_svg({}, {})), "");
  EXPECT_EQ(wrong_in_xml(breakdown_svg({}, {}, {})), "");
  EXPECT_EQ(wrong_in_xml(memory_svg({}, {}, {})), "");
  Ladder steep = example_ladder();
  steep.rungs[1].speedup_same_batch = steep.rungs[1].times_same_batch = 1e-9;
  steep.rungs[2].speedup_same_batch = 1e9;
  steep.rungs[2].times_same_batch = 1e18;
  for (Rung& rung : steep.rungs) rung.update_time = Seconds{0};
  const std::string ladder = ladder_svg({}, steep, {Theme::kPrint, 480});
  EXPECT_EQ(wrong_in_xml(ladder), "");
  EXPECT_LT(ladder.size(), 20'000U);
  TimelinePicture nothing = example();
  for (ScheduleTimeline& timeline : nothing.timelines) timeline.length = Seconds{0};
  const std::string svg = timeline_svg(nothing, {});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Pictures, GoldenTimeline) {
  const std::string file = std::string(kSourceFolder) + "/tests/golden/timeline.svg";
  const std::string svg = timeline_svg(example(), {Theme::kLight, 624});
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file, std::ios::binary) << svg;
    ADD_FAILURE() << file << " written; run again without UPDATE_GOLDEN";
  }
  EXPECT_EQ(text_of(file), svg);
}

std::string on_terminal(const TimelinePicture& picture, int width) {
  std::ostringstream out;
  write_timeline(out, picture, {.color = false, .width = width});
  return out.str();
}

TEST(TimelineText, ByHand) {
  // 36 columns, 16 for names, so 20 for 2 s: serial computes in the first 10 and sends in the others; the overlapped
  // one takes 10, and its communication begins after 0.25 s, in the middle of the third, which it fills by half. The
  // other rank waits.
  const std::string text = on_terminal(example(), 36);
  EXPECT_NE(text.find("serial: 2.00 s an update\n"
                      "  4 ranks, all alike: GPU\n"
                      "  compute       \u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592\n"
                      "  communication           ##########\n"
                      "  critical path \u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592\u2592##########\n"
                      "                                   |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  communication   \u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("                    :    |\n"), std::string::npos) << text;  // half-way and at the end of 10
  EXPECT_NE(text.find("\n  time          0 s       1"), std::string::npos) << text;
}

TEST(TimelineText, AMarkOfReplicasByThemselvesEndsARound) {
  TimelinePicture picture = example();
  EXPECT_EQ(mark_in_words(picture), "an update ends");
  picture.timelines[0].updates_per_mark = 50;
  EXPECT_EQ(mark_in_words(picture), "an update ends, or a round of 50 updates");
  EXPECT_TRUE(has(texts_in_svg(timeline_svg(picture, {Theme::kLight, 800})), mark_in_words(picture)));
  picture.timelines[1].updates_per_mark = 8;
  EXPECT_EQ(mark_in_words(picture), "a round of 8 to 50 updates ends");
  EXPECT_NE(on_terminal(picture, 200).find("|\u00a0a round of 8 to 50 updates ends"), std::string::npos);
}

TEST(TimelineText, StaysInsideTheTerminal) {
  for (const std::string& name : kHostile)
    for (const int width : {20, 40, 80, 200}) {
      std::istringstream lines(on_terminal(example(name), width));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(display_width(line), std::max(width, 36)) << name.substr(0, 20) << " " << width << ": " << line;
    }
}

}  // namespace
}  // namespace accosim
