#include "models/draw/looks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace accosim {
namespace {

constexpr int kTurns = 8;

/// In the order of schedules(). A hue is shared by those that papers seldom draw together; in print the first turns of
/// dark lines differ, and those of grey ones.
constexpr SeriesLook kLooks[] = {
    {Hue::kGrey, 2},   {Hue::kBlue, 1},   {Hue::kSky, 1},        {Hue::kGreen, 2},  // synchronous
    {Hue::kPurple, 0}, {Hue::kPurple, 2}, {Hue::kVermillion, 0},                    // delayed, in rounds
    {Hue::kGrey, 4},   {Hue::kGrey, 6},                                             // otherwise late
    {Hue::kOrange, 5}, {Hue::kSky, 3},    {Hue::kGreen, 4},      {Hue::kBlue, 3},   // local
    {Hue::kPurple, 4}, {Hue::kOrange, 7}, {Hue::kOrange, 1}};
constexpr SeriesLook kBestSynchronous = {Hue::kInk, 4}, kBestDelayed = {Hue::kOrange, 3};
constexpr Hue kOthers[] = {Hue::kGreen, Hue::kSky, Hue::kPurple, Hue::kGrey};

/// As a line of a print.
bool is_dark(Hue hue) { return hue == Hue::kInk || hue == Hue::kVermillion || hue == Hue::kBlue || hue == Hue::kGreen; }

/// Letters and digits in runs, small.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty()) words.pop_back();
  return words;
}

/// A schedule as a label speaks of it.
struct Mention {
  const ScheduleTraits* schedule = nullptr;
  std::size_t at = 0, words = 0;
  bool whole = false;  ///< the label is nothing else
};

Mention mention_in(std::string_view label) {
  const std::vector<std::string> said = words_of(label);
  Mention first;
  for (const ScheduleTraits& row : schedules())
    for (const char* const called : {row.name, row.title}) {
      const std::vector<std::string> name = words_of(called);
      const auto found = std::search(said.begin(), said.end(), name.begin(), name.end());
      if (name.empty() || found == said.end()) continue;
      const auto at = static_cast<std::size_t>(found - said.begin());
      // The earliest, and of these the longest: a streaming DiLoCo is no DiLoCo.
      if (first.schedule == nullptr || at < first.at || (at == first.at && name.size() > first.words))
        first = {&row, at, name.size(), name.size() == said.size()};
    }
  return first;
}

SeriesLook look_of(const std::string& label) {
  if (label.rfind(kBestSynchronousRow, 0) == 0) return kBestSynchronous;
  if (label.rfind(kBestDelayedRow, 0) == 0) return kBestDelayed;
  const Mention mention = mention_in(label);
  if (mention.schedule != nullptr) {
    SeriesLook look = kLooks[static_cast<std::size_t>(mention.schedule - schedules().data()) % std::size(kLooks)];
    if (!mention.whole) ++look.turn;
    return look;
  }
  unsigned sum = 0;
  for (const char c : label) sum = sum * 31 + static_cast<unsigned char>(c);
  return {kOthers[sum % std::size(kOthers)], static_cast<int>(sum / 4 % kTurns)};
}

}  // namespace

const ScheduleTraits* schedule_in(std::string_view label) { return mention_in(label).schedule; }

std::vector<SeriesLook> looks_of(const std::vector<std::string>& labels) {
  std::vector<SeriesLook> looks;
  for (const std::string& label : labels) {
    SeriesLook look = look_of(label);
    const auto taken = [&](const SeriesLook& other) {
      return is_dark(other.hue) == is_dark(look.hue) && other.turn % kTurns == look.turn % kTurns;
    };
    for (int tried = 0; tried < kTurns && std::ranges::any_of(looks, taken); ++tried) ++look.turn;
    look.again = std::ranges::any_of(looks, [&](const auto& other) { return other.hue == look.hue; });
    looks.push_back(look);
  }
  return looks;
}

Stroke stroke_of(const SeriesLook& look, Theme theme) {
  constexpr std::array<const char*, kTurns> kDashes = {"",     "7 3",       "2 2",         "9 3 2 3",
                                                       "14 4", "4 2 1.5 2", "9 2 2 2 2 2", "1 3"};
  // In print the fills' greys would be too light for lines: dark and middle grey, beside the dashes.
  const Hue hue = theme != Theme::kPrint ? look.hue : is_dark(look.hue) ? Hue::kInk : Hue::kBlue;
  return {colour_of(hue, theme), 1.7, kDashes[static_cast<std::size_t>(look.turn % kTurns)]};
}

Fill fill_of(const SeriesLook& look, Theme theme) {
  constexpr std::array<Pattern, kTurns> kPatterns = {Pattern::kPlain,      Pattern::kRising, Pattern::kDots,
                                                     Pattern::kVertical,   Pattern::kCross,  Pattern::kFalling,
                                                     Pattern::kHorizontal, Pattern::kRising};
  const Pattern pattern = kPatterns[static_cast<std::size_t>(look.turn % kTurns)];
  const Hue hue = look.hue == Hue::kInk ? Hue::kShade : look.hue;  // ink would hide what is written on it
  if (theme == Theme::kPrint) return {hue, pattern};
  return {hue, !look.again ? Pattern::kPlain : pattern == Pattern::kPlain ? Pattern::kFalling : pattern};
}

}  // namespace accosim
