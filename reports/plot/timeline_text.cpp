// The timeline on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>

#include "models/draw/axes.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {
namespace {

constexpr int kNameRoom = 16;  // columns for the names of lanes

constexpr std::array<const char*, kActivities> kGlyphs = {"\u2592", "\u2588", "o", "c", "h",
                                                          "\u2500", "#",      "w", "x", "="};
constexpr const char* kLittle = "\u00b7";

/// Characters as wide as the schedule's part of the longest one's time.
struct Cells {
  int count = 0;
  double seconds = 0;  // of one
};

std::string row_of(const std::vector<TimelineSpan>& spans, const Cells& cells) {
  std::vector<std::array<double, kActivities>> parts(static_cast<std::size_t>(cells.count));
  for (const TimelineSpan& span : spans) {
    const int first = std::clamp(static_cast<int>(span.begin / cells.seconds), 0, cells.count - 1);
    const int last = std::clamp(static_cast<int>(span.end / cells.seconds), 0, cells.count - 1);
    for (int cell = first; cell <= last; ++cell)
      parts[static_cast<std::size_t>(cell)][static_cast<std::size_t>(span.activity)] +=
          std::max(0.0, std::min(span.end, (cell + 1) * cells.seconds) - std::max(span.begin, cell * cells.seconds));
  }
  std::string row;
  constexpr double kEnough = 0.3, kNothing = 1e-6;  // of a cell
  for (const auto& cell : parts) {
    double sum = 0;
    for (const double part : cell) sum += part;
    const auto most = static_cast<std::size_t>(std::max_element(cell.begin(), cell.end()) - cell.begin());
    row += sum > kEnough * cells.seconds ? kGlyphs[most] : sum > kNothing * cells.seconds ? kLittle : " ";
  }
  return row;
}

/// The critical path of all lanes of a rank, with what it goes through.
std::vector<TimelineSpan> on_path(const TimelineRank& rank) {
  std::vector<TimelineSpan> spans;
  for (const TimelineLane& lane : rank.lanes) {
    auto span = lane.spans.begin();
    for (const auto& [begin, end] : lane.critical) {
      for (; span != lane.spans.end() && span->end <= begin; ++span) {
      }
      for (auto each = span; each != lane.spans.end() && each->begin < end; ++each) {
        spans.push_back(*each);
        spans.back().begin = std::max(each->begin, begin);
        spans.back().end = std::min(each->end, end);
      }
    }
  }
  return spans;
}

std::string name_cell(const std::string& name) {
  const std::string cut = cut_to_width(name, kNameRoom - 2);
  return "  " + cut + std::string(static_cast<std::size_t>(std::max(0, kNameRoom - 2 - display_width(cut))), ' ');
}

void write_line(std::ostream& out, const std::string& name, const std::string& row) {
  std::string line = name_cell(name) + row;
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

/// "|" where an update ends or the replicas' round, ":" where a round does.
std::string marks_of(const TimelineRank& rank, const Cells& cells) {
  std::string row(static_cast<std::size_t>(cells.count), ' ');
  const auto put = [&](double time, char mark) {
    const int cell = static_cast<int>(std::ceil(time / cells.seconds - 1e-9)) - 1;
    row[static_cast<std::size_t>(std::clamp(cell, 0, cells.count - 1))] = mark;
  };
  for (const double time : rank.rounds) put(time, ':');
  for (const double time : rank.updates) put(time, '|');
  return row;
}

void write_rank(std::ostream& out, const TimelineRank& rank, const std::string& name, const Cells& cells,
                const ConsoleOptions& options) {
  out << styled("  " + cut_to_width(name, options.width - 2), Style::kDim, options.color) << '\n';
  for (const TimelineLane& lane : rank.lanes) write_line(out, lane.name, row_of(lane.spans, cells));
  const std::vector<TimelineSpan> path = on_path(rank);
  if (const std::string row = row_of(path, cells); row.find_first_not_of(' ') != std::string::npos)
    write_line(out, "critical path", row);
  write_line(out, "", marks_of(rank, cells));
}

void write_axis(std::ostream& out, Seconds longest, const Cells& whole) {
  const TimeUnit unit = time_unit(longest);
  std::string row;
  constexpr int kEach = 10;  // columns for a tick
  for (const Tick& tick : nice_ticks(0, longest / unit.size, std::max(1, whole.count / kEach))) {
    const int at = static_cast<int>(tick.value * unit.size.value / whole.seconds);
    const std::string text = tick.value == 0 ? tick.label + " " + unit.name : tick.label;
    if (at < static_cast<int>(row.size()) || at + static_cast<int>(text.size()) > whole.count) continue;
    row.resize(static_cast<std::size_t>(at), ' ');
    row += text;
  }
  write_line(out, "time", row);
}

void write_key(std::ostream& out, const TimelinePicture& picture, const ConsoleOptions& options) {
  const std::array<bool, kActivities> there = activities_in(picture);
  std::string text;
  for (std::size_t i = 0; i < kActivities; ++i)
    if (there[i]) text += fmt::format("{}\u00a0{}; ", kGlyphs[i], name_of(static_cast<Activity>(i)));
  write_wrapped(out, "  ",
                fmt::format("{}{}\u00a0less than a third of the time; |\u00a0{}; :\u00a0a round ends", text, kLittle,
                            mark_in_words(picture)),
                options.width);
}

}  // namespace

void write_timeline(std::ostream& out, const TimelinePicture& picture, const ConsoleOptions& options) {
  constexpr int kLeast = 20;
  const int columns = std::max(kLeast, options.width - kNameRoom);
  const Seconds longest = longest_in(picture);
  const Cells whole{columns, longest.value / columns};
  out << '\n';
  write_key(out, picture, options);
  for (std::size_t i = 0; i < picture.timelines.size(); ++i) {
    const ScheduleTimeline& timeline = picture.timelines[i];
    const RunResult& result = picture.results[i];
    const std::string facts = update_in_words(result);
    out << '\n';
    write_sentence(out, options, "{}: {}", cut_to_width(timeline.label, std::max(kLeast, options.width / 2)), facts);
    const Cells cells{std::clamp(static_cast<int>(std::lround(timeline.length.value / whole.seconds)), 1, columns),
                      whole.seconds};
    const int ranks = result.rank_count();
    for (const TimelineRank& rank : timeline.ranks) write_rank(out, rank, rank_in_words(rank, ranks), cells, options);
    if (const std::string note = left_out_in_words(timeline); !note.empty())
      write_wrapped(out, "  ", note, options.width);
  }
  write_axis(out, longest, whole);
}

}  // namespace accosim
