// One table of all verdicts, then for each that does not surely fit what would help.
#include <fmt/format.h>

#include <ostream>

#include "models/base/text.hpp"
#include "reports/evidence/validation_report.hpp"

namespace accosim {
namespace {

std::string in_words(FitVerdict verdict) {
  return verdict == FitVerdict::kDoesNotFit ? "does not fit" : name_of(verdict);
}

std::string options_of(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text += fmt::format(" --set '{}'", setting);
  return text;
}

std::string gib(double bytes) { return fmt::format("{:.1f}", bytes / 0x1p30); }

void write_verdict(std::ostream& out, const VerdictRow& row) {
  const Interval interval = resident_interval(row.kind.parts);
  out << fmt::format("| {} | {} | {} to {} | {} | {} | {} | {} | {} |\n", in_markdown(row.of.what),
                     gib(row.kind.parts.total().value), gib(interval.low), gib(interval.high),
                     gib(row.kind.capacity.value), in_words(row.kind.fit.verdict), in_percent(row.kind.fit.probability),
                     row.ways.largest_micro_batch > 0 ? std::to_string(row.ways.largest_micro_batch) : "-",
                     row.of.published.empty() ? ""
                     : row.reserved           ? gib(row.reserved->value) + " reserved"
                                              : "it ran");
}

void write_way(std::ostream& out, const WayToFit& way, const char* before) {
  out << fmt::format("| {}{} | {} | {} | {:.2f} x | {} | {} | {} |\n", before, in_markdown(way.change),
                     gib(way.memory.value), gib(way.saves.value), way.time_ratio, in_words(way.fit.verdict),
                     in_percent(way.fit.probability), in_code(options_of(way.set).substr(1)));
}

void write_ways(std::ostream& out, const VerdictRow& row) {
  if (row.kind.fit.verdict == FitVerdict::kFits) return;
  out << "\n## " << in_markdown(row.of.what) << "\n\n";
  if (row.of.published.empty())
    out << in_code(fmt::format(
               "accosim run {}{} --schedule {}", row.of.scenario, options_of(row.of.settings),
               row.of.schedule.find(' ') == std::string::npos ? row.of.schedule : "'" + row.of.schedule + "'"))
        << '\n';
  else
    out << "Published as " << in_code(row.of.published) << ".\n";
  if (row.ways.alone.empty()) {
    out << "\nNothing that was tried saves memory.\n";
    return;
  }
  out << "\n| what is changed | GiB then | GiB less | time | verdict | probability | the same as |\n"
         "|---|---|---|---|---|---|---|\n";
  for (const WayToFit& way : row.ways.alone) write_way(out, way, "");
  for (const WayToFit& way : row.ways.together) write_way(out, way, "one after the other: ");
}

}  // namespace

void write_memory_verdicts(std::ostream& out, const std::vector<VerdictRow>& rows) {
  out << R"(# Verdicts on memory near the capacity

Written by `accosim validate --memory-verdicts`. GiB resident at the peak of a step with their 80 % interval, on the
rank that is least likely to fit. It is tight where the interval holds the capacity, and does not fit where all of it is
above; the probability is that of what is resident being at most the capacity. The largest micro-batch is that which fits
with nothing else changed. The last column says of published runs that they ran, so that they fitted.

| run | GiB | 80 % interval | of | verdict | probability | largest micro-batch | in truth |
|---|---|---|---|---|---|---|---|
)";
  for (const VerdictRow& row : rows) write_verdict(out, row);
  out << "\nBelow, what would help, each way tried on the same scenario: the GiB that it leaves and saves, and the "
         "time a sample as a\nmultiple of that before (the schedule's closed form, without interference).\n";
  for (const VerdictRow& row : rows) write_ways(out, row);
}

}  // namespace accosim
