// GPU memory by part, as bars.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/spec/parallel_words.hpp"
#include "reports/human.hpp"
#include "reports/plot/bar_chart.hpp"
#include "reports/plot/pictures.hpp"

namespace accosim {
namespace {

/// Parts of one colour.
struct Use {
  const char* name;
  Fill fill;
};
constexpr std::array<Use, 7> kUses = {{{"parameters", {Hue::kBlue}},
                                       {"gradients", {Hue::kOrange, Pattern::kDots}},
                                       {"optimizer states", {Hue::kGreen, Pattern::kVertical}},
                                       {"communication buffers", {Hue::kVermillion, Pattern::kRising}},
                                       {"activations", {Hue::kSky}},
                                       {"logits and loss", {Hue::kPurple, Pattern::kHorizontal}},
                                       {"allocator and context", {Hue::kGrey}}}};

std::size_t use_of(MemoryUse part) {
  switch (part) {
    case MemoryUse::kParameters:
    case MemoryUse::kParameterShard:
    case MemoryUse::kPredictedParameters:
    case MemoryUse::kOlderParameters:
    case MemoryUse::kGatheredParameters: return 0;
    case MemoryUse::kGradients:
    case MemoryUse::kGradientShard:
    case MemoryUse::kPartialGradientShard:
    case MemoryUse::kNarrowGradients:
    case MemoryUse::kFp32GradientShard: return 1;
    case MemoryUse::kOptimizerStates:
    case MemoryUse::kStateClones:
    case MemoryUse::kOuterStates:
    case MemoryUse::kEstimate: return 2;
    case MemoryUse::kGradientBuckets:
    case MemoryUse::kReductionBuffers:
    case MemoryUse::kStageBuffers:
    case MemoryUse::kCommunicationBuffer: return 3;
    case MemoryUse::kActivations: return 4;
    case MemoryUse::kLogitsAndLoss: return 5;
    case MemoryUse::kAllocatorSlack:
    case MemoryUse::kReserved: break;
  }
  return 6;
}

const char* in_words(FitVerdict verdict) {
  return verdict == FitVerdict::kFits ? "fits" : verdict == FitVerdict::kTight ? "tight" : "does not fit";
}

/// In the order of kUses, so that equal colours stand together.
std::vector<BarPart> parts_of(const MemoryParts& parts, double unit) {
  std::vector<BarPart> result;
  for (std::size_t use = 0; use < kUses.size(); ++use)
    for (const MemoryPart& part : parts.parts)
      if (use_of(part.use) == use)
        result.push_back({name_of(part.use), part.bytes.value, human_memory(part.bytes),
                          fmt::format("{:.{}f}", part.bytes.value / unit, part.bytes.value < 9.95 * unit ? 1 : 0),
                          kUses[use].fill});
  return result;
}

}  // namespace

std::string memory_svg(const PlotHeading& heading, const std::vector<MemoryBar>& bars, const PlotStyle& style) {
  BarChart chart;
  chart.heading = heading;
  std::array<bool, kUses.size()> there{};
  double most = 0;
  for (const MemoryBar& memory : bars) most = std::max({most, memory.high.value, memory.capacity.value});
  constexpr double kGiB = 0x1p30, kMiB = 0x1p20;
  chart.unit = most >= 2 * kGiB ? kGiB : kMiB;
  chart.axis = fmt::format("memory of a GPU ({})", chart.unit == kGiB ? "GiB" : "MiB");
  for (const MemoryBar& memory : bars) {
    Bar bar;
    bar.name = memory.label;
    if (!memory.stages.empty()) bar.name += ", " + stages_in_words(memory.stages);
    bar.detail = fmt::format("{} x {}", memory.ranks, memory.device);
    bar.parts = parts_of(memory.parts, chart.unit);
    bar.low = memory.low.value;
    bar.high = memory.high.value;
    bar.limit = memory.capacity.value;
    bar.total = fmt::format("{} of {}: {}", human_memory(memory.parts.total()), human_memory(memory.capacity),
                            in_words(memory.fit.verdict));
    chart.bars.push_back(bar);
    for (const MemoryPart& part : memory.parts.parts)
      if (part.bytes > Bytes{0}) there[use_of(part.use)] = true;
  }
  for (std::size_t use = 0; use < kUses.size(); ++use)
    if (there[use]) chart.legend.push_back({kUses[use].name, kUses[use].fill, LegendEntry::Shape::kBox});
  chart.legend.push_back({"80 % interval", {}, LegendEntry::Shape::kWhisker});
  chart.legend.push_back({"capacity", {}, LegendEntry::Shape::kLine});
  return bar_chart_svg(chart, style);
}

}  // namespace accosim
