#include "reports/evidence/fit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <ostream>
#include <string>

#include "models/base/quantity.hpp"
#include "models/fit/fit_fabrics.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

void write_errors_heading(std::ostream& out) {
  out << fmt::format("  {:<40} {:>5} {:>10} {:>10} {:>10} {:>8}\n", "predicted over measured time", "n", "mean", "bias",
                     "worst", "log sd");
}

void write_errors(std::ostream& out, const std::string& name, const FitErrors& errors) {
  out << fmt::format("  {:<40} {:>5} {:>8.1f} % {:>+8.1f} % {:>+8.1f} % {:>8.3f}\n", name, errors.samples,
                     100 * errors.mean_absolute, 100 * errors.bias, 100 * errors.worst, errors.spread);
}

void write_summary(std::ostream& out, const char* what, const FitErrors& errors) {
  out << fmt::format("\n  {} {}: mean error {:.1f} %, bias {:+.1f} %, worst {:+.1f} %\n", errors.samples, what,
                     100 * errors.mean_absolute, 100 * errors.bias, 100 * errors.worst);
}

std::string in_words(const CollectiveQuery& query) {
  return fmt::format("{} {:.0f} B, {} ranks on {}", name_of(query.kind), query.bytes.value, query.ranks, query.nodes);
}

std::string constants_in_words(const Nics& nics) {
  std::string text = fmt::format("  \"efficiency\": {:.4g}, \"latency\": \"{:.4g} us\", \"message\": \"{:.4g} us\"",
                                 nics.efficiency, 1e6 * nics.latency.value, 1e6 * nics.message.value);
  if (nics.staging > BytesPerSecond{0})
    text += fmt::format(", \"staging\": \"{:.4g} GB/s\"", 1e-9 * nics.staging.value);
  return text;
}

std::string constants_in_words(const IntraLink& link) {
  std::string text = fmt::format(
      "  \"efficiency\": {:.4g}, \"latency\": \"{:.4g} us\", \"launch\": \"{:.4g} us\", \"start\": \"{:.4g} us\", "
      "\"turnaround\": {:.4g}, \"ll_factor\": {:.4g}, \"ll_rate\": {:.4g}, \"ll128_efficiency\": {:.4g}",
      link.efficiency, 1e6 * link.latency.value, 1e6 * link.launch.value, 1e6 * link.start.value, link.turnaround,
      link.ll.latency, link.ll.efficiency, link.ll.efficiency128);
  if (link.crowding > 0) text += fmt::format(", \"crowding\": {:.4g}", link.crowding);
  if (link.nvls.efficiency > 0)
    text += fmt::format(", \"nvls_efficiency\": {:.4g}, \"nvls_launch\": \"{:.4g} us\", \"nvls_fill\": {:.4g}",
                        link.nvls.efficiency, 1e6 * link.nvls.launch.value, link.nvls.fill);
  return text + fmt::format(
                    ", \"all_to_all_efficiency\": {:.4g}, \"all_to_all_launch\": \"{:.4g} us\", "
                    "\"all_to_all_chunk\": \"{:.4g} us\"",
                    link.exchange.efficiency, 1e6 * link.exchange.launch.value, 1e6 * link.exchange.chunk.value);
}

void write_constants_of(std::ostream& out, const LinkFit& fit) {
  const std::string& kind = fit.between_nodes ? fit.nics.kind : fit.intra.kind;
  out << fmt::format("\n{} {}{}, ", fit.between_nodes ? "nics" : "intra", kind,
                     fit.between_nodes || fit.intra.generation.empty() ? "" : " of " + fit.intra.generation);
  if (fit.sources.empty())
    out << fmt::format("which none of these measured: {}\n",
                       fit.between_nodes ? "the prior of all fabrics" : "what all boards share");
  else
    out << fmt::format("messages of {:.3g} to {:.3g} B{}\n", fit.least, fit.most,
                       fit.sources.size() == 1 ? ", rests on one machine" : "");
  out << (fit.between_nodes ? constants_in_words(fit.nics) : constants_in_words(fit.intra)) << "\n";
}

/// How many numbers the fit of links inside or between nodes has found, and which: boards by those that they have.
void write_numbers(std::ostream& out, const std::vector<LinkFit>& fits, bool between) {
  std::size_t kinds = 0, own = 0;
  std::string each;
  std::map<std::string, std::size_t> boards;
  for (const LinkFit& fit : fits) {
    if (fit.between_nodes != between || fit.sources.empty()) continue;
    const auto keys = between ? own_fabric_numbers(fit.nics.kind) : board_numbers(fit.intra.kind).own;
    ++kinds;
    own += keys.size();
    const std::string said = fmt::format("{} of its own ({})", keys.size(), fmt::join(keys, ", "));
    if (between)
      each += fmt::format("  {}: {}\n", fit.nics.kind, said);
    else
      ++boards[said];
  }
  if (kinds == 0) return;
  for (const auto& [said, count] : boards)
    each += fmt::format("  {} {}: {}\n", count, count == 1 ? "board" : "boards", said);
  const auto shared = between ? shared_fabric_numbers() : board_numbers("").shared;
  const std::string noun = between ? "kind" : "board";
  out << fmt::format("\nnumbers of links {} nodes: {} of {} and {} that all share, {} together\n{}  shared: {}\n",
                     between ? "between" : "inside", own,
                     kinds == 1 ? "one " + noun : fmt::format("{} {}s", kinds, noun), shared.size(),
                     own + shared.size(), each, fmt::join(shared, ", "));
}

}  // namespace

void write_fits(std::ostream& out, const std::vector<KernelFit>& fits) {
  write_errors_heading(out);
  for (const KernelFit& fit : fits) {
    const FitQuality& quality = fit.dtypes.empty() ? fit.attention.quality : fit.gemm.quality;
    out << fmt::format("\n{} {}, kernels of {:.2g} to {:.2g} FLOP\n", fit.architecture, fit.what, quality.least,
                       quality.most);
    if (const std::string warning = too_few(fit); !warning.empty()) out << "  " << warning << "\n";
    if (fit.framework != 1)
      out << fmt::format("  the framework's own product takes {:.3f} times as long as the library's\n", fit.framework);
    write_errors(out, "all samples in", fit.in);
    if (fit.out.samples > 0) write_errors(out, fmt::format("each left out, in {} parts", kFolds), fit.out);
    if (fit.half.samples > 0) write_errors(out, "every second one left out", fit.half);
    for (const auto& [name, errors] : fit.by) write_errors(out, name, errors);
  }
}

void write_doubts(std::ostream& out, const std::vector<NetworkDoubt>& doubts) {
  for (const NetworkDoubt& doubt : doubts) {
    out << fmt::format("! these samples are not of links that work as {} usually does: {}\n", doubt.kind,
                       doubt.in_short);
    out << fmt::format("  {:<40} {:>12} {:>12} {:>7}  {}\n", "collective", "measured", "usual", "times",
                       "bus bandwidth");
    for (const SlowCollective& each : doubt.slow)
      out << fmt::format("  {:<40} {:>9.1f} us {:>9.1f} us {:>7.1f}  {}\n", in_words(each.measured.query),
                         1e6 * each.measured.time.value, 1e6 * each.usual.value, each.measured.time / each.usual,
                         each.bus > BytesPerSecond{0}
                             ? fmt::format("{:.3g} of {:.3g} GB/s", 1e-9 * each.bus.value, 1e-9 * each.of.value)
                             : "");
    out << fmt::format("  look at: {}\n\n", doubt.look_at);
  }
}

void write_predictions(std::ostream& out, const std::vector<MeasuredCollective>& samples) {
  out << fmt::format("  {:<40} {:>12} {:>12} {:>9}\n", "collective", "measured", "predicted", "error");
  std::vector<double> ratios;
  for (const MeasuredCollective& sample : samples) {
    const CollectiveQuery& query = sample.query;
    const Seconds time = collective_time(query);
    ratios.push_back(std::log(time / sample.time));
    out << fmt::format("  {:<40} {:>9.1f} us {:>9.1f} us {:>+7.1f} %\n", in_words(query), 1e6 * sample.time.value,
                       1e6 * time.value, 100 * (time / sample.time - 1));
  }
  write_summary(out, "collectives", errors_of(ratios));
}

void write_fits(std::ostream& out, const std::vector<LinkFit>& fits) {
  if (fits.empty()) return;
  write_errors_heading(out);
  for (const LinkFit& fit : fits) {
    write_constants_of(out, fit);
    if (fit.large.samples > 0) write_errors(out, "from 1 MiB, all samples in", fit.large);
    if (fit.small.samples > 0) write_errors(out, "below 1 MiB, all samples in", fit.small);
    for (const auto& [what, errors] : fit.out) write_errors(out, "every 2nd out, " + what, errors);
    for (const std::string& line : fit.at_ends) out << "  " << line << "\n";
  }
  for (const bool between : {false, true}) write_numbers(out, fits, between);
}

void write_own_fabrics(std::ostream& out, const std::vector<OwnFabric>& fabrics) {
  for (const OwnFabric& own : fabrics) {
    const bool between = own.fit.between_nodes;
    const LinkQuality& quality = between ? own.fit.nics.quality : own.fit.intra.quality;
    out << fmt::format("\n{} {}, collectives of {} to {} on up to {} {}\n", between ? "nics" : "intra",
                       between ? own.fit.nics.kind : own.fit.intra.kind, to_text(Bytes{own.fit.least}),
                       to_text(Bytes{own.fit.most}), quality.nodes, between ? "nodes" : "GPUs");
    std::size_t width = 14;
    for (const FittedNumber& number : own.numbers) width = std::max(width, number.key.size());
    out << fmt::format("  {:<{}} {:>12} {:>28} {:>22}\n", "", width, "fitted", "80 % interval",
                       "told by these samples");
    for (const FittedNumber& number : own.numbers)
      out << fmt::format("  {:<{}} {:>12} {:>28} {:>20.0f} %\n", number.key, width,
                         fmt::format("{:.4g} {}", number.value, number.unit),
                         fmt::format("{:.3g} to {:.3g} {}", number.low, number.high, number.unit), 100 * number.told);
    for (const std::string& line : own.untold) out << "  " << line << "\n";
    write_errors_heading(out);
    if (own.fit.large.samples > 0) write_errors(out, "from 1 MiB", own.fit.large);
    if (own.fit.small.samples > 0) write_errors(out, "below 1 MiB", own.fit.small);
    if (own.beyond.empty()) continue;
    out << fmt::format("\n  {:<40} {:>12} {:>28}\n", "on more nodes", "predicted", "80 % interval");
    for (const Extrapolated& each : own.beyond)
      out << fmt::format("  {:<40} {:>12} {:>28}\n",
                         fmt::format("{} {}, {} nodes", name_of(each.kind), to_text(each.bytes), each.nodes),
                         human_time(each.time), human_range(human_time(each.low), human_time(each.high)));
  }
}

void write_machine_fit(std::ostream& out, const MachineSamples& samples, const MachineFit& fit) {
  out << fmt::format("{} ({} cores), {} ranks over {}, measured {}\n", samples.cpu, samples.cores, samples.ranks,
                     samples.network, samples.date);
  constexpr double kBusy = 0.5;
  if (std::min(samples.idle_before, samples.idle_after) < kBusy)
    out << fmt::format("  others used {:.0f} % of the machine while it was measured: measure again when it is idle\n",
                       100 * (1 - std::min(samples.idle_before, samples.idle_after)));
  out << fmt::format("  a step of a ring {:.1f} us, payload {:.2f} % of the rate, {:.4g} MB/s a rank at most\n",
                     1e6 * fit.hop.value, 100 * fit.efficiency, 1e-6 * fit.unlimited.value);
  out << fmt::format("  AdamW {:.3f} ns a parameter, copies {:.3g} GB/s, a hand-off {:.1f} us\n",
                     1e9 * fit.adamw_per_parameter.value, 1e-9 * fit.copy.value, 1e6 * fit.hand_off.value);
  if (fit.micro_batch > Seconds{0})
    out << fmt::format("  a micro-batch of {:.0f} tokens through {:.0f} parameters {:.3g} ms\n", fit.tokens,
                       fit.parameters, 1e3 * fit.micro_batch.value);
  if (fit.residuals.empty()) return;
  out << fmt::format("\n  {:<30} {:>10} {:>12} {:>23} {:>12} {:>9}\n", "collective", "bytes", "measured", "p10 to p90",
                     "predicted", "error");
  std::vector<double> large;
  for (const MachineResidual& each : fit.residuals) {
    const MachineSample& sample = each.sample;
    const double error = each.predicted / sample.median - 1;
    constexpr double kLarge = 262144;
    if (sample.amount >= kLarge) large.push_back(std::log1p(error));
    out << fmt::format("  {:<30} {:>10.0f} {:>9.3f} ms {:>9.3f} to {:>7.3f} ms {:>9.3f} ms {:>+7.1f} %\n",
                       sample.what + (sample.after_idle ? ", after a pause" : ""), sample.amount,
                       1e3 * sample.median.value, 1e3 * sample.p10.value, 1e3 * sample.p90.value,
                       1e3 * each.predicted.value, 100 * error);
  }
  write_summary(out, "collectives from 256 KiB", errors_of(large));
}

void write_gpu_fit(std::ostream& out, const GpuSamples& samples, const GpuFit& fit) {
  out << fmt::format("{}, measured {}, from the profile {}\n", samples.device, samples.date, fit.base);
  for (const std::string& note : fit.notes) out << "  " << note << "\n";
  out << fmt::format("\n  {:<32} {:>18} {:>6} {:>9} {:>9} {:>9}  {}\n", "predicted over measured time", "constant", "n",
                     "mean", "worst", "left out", "(mean)");
  for (const GpuFitRow& row : fit.rows) {
    out << fmt::format("  {:<32} {:>18} {:>6}", (row.part ? "  " : "") + row.what, row.constant, row.in.samples);
    if (row.in.samples > 0)
      out << fmt::format(" {:>7.1f} % {:>+7.1f} %", 100 * row.in.mean_absolute, 100 * row.in.worst);
    if (row.out.samples > 0) out << fmt::format(" {:>7.1f} %", 100 * row.out.mean_absolute);
    out << "\n";
  }
  if (!fit.rates.empty())
    out << fmt::format("\n  {:<32} {:>14} {:>14} {:>7}  {}\n", "achieved", "best", "limit", "share", "of");
  for (const GpuRate& rate : fit.rates) {
    const double unit = rate.bytes ? 1e9 : 1e12;
    const char* const name = rate.bytes ? "GB/s" : "TFLOP/s";
    out << fmt::format("  {:<32} {:>14}", rate.what, fmt::format("{:.1f} {}", rate.achieved / unit, name));
    if (rate.limit > 0)
      out << fmt::format(" {:>14} {:>5.1f} %", fmt::format("{:.1f} {}", rate.limit / unit, name),
                         100 * rate.achieved / rate.limit);
    else
      out << fmt::format(" {:>14} {:>7}", "", "");
    out << "  " << rate.of << "\n";
  }
  if (!fit.interference.empty())
    out << fmt::format("\n  {:<64} {:>9} {:>9} {:>9}\n", "times as long", "measured", "predicted", "the other");
  for (const GpuInterferenceRow& row : fit.interference)
    out << fmt::format("  {:<64} {:>9.3f} {:>9} {:>9}\n", row.what, row.measured,
                       row.predicted ? fmt::format("{:.3f}", *row.predicted) : "-",
                       row.other ? fmt::format("{:.3f}", *row.other) : "-");
}

void write_step_fit(std::ostream& out, const StepFit& fit) {
  const Overheads& overheads = fit.overheads;
  out << fmt::format("\ntraining steps: memory-bound kernels PyTorch {:.4g}, fused {:.4g}; flash_1 {:.4g}\n",
                     overheads.pytorch, overheads.fused, overheads.flash_1);
  out << fmt::format("  GEMMs on tensor cores 1 + {:.4g} ln(x / {:.4g}), x: dense peak in 16 bits, TFLOP/s a W\n",
                     overheads.product_slope, kHeldBackFrom);
  write_errors(out, "all samples in", fit.errors);
  write_errors(out, "with all of these 1", fit.without);
}

namespace {

/// "1.06 (80 %: 1.04 to 1.09)".
std::string in_words(const OwnFactor& factor) {
  constexpr double k80 = 1.2816;
  return fmt::format("{:.3g} (80 %: {:.3g} to {:.3g})", factor.factor, factor.factor * std::exp(-k80 * factor.spread),
                     factor.factor * std::exp(k80 * factor.spread));
}

}  // namespace

Document own_steps_document(const OwnStepFit& fit) {
  Document document;
  const std::string steps = fit.rows.size() == 1 ? "this step" : "these steps";
  document.say(
      {fit.computation.told()
           ? fmt::format("Kernels take {} times as long in {} as the profile says.", in_words(fit.computation), steps)
           : fmt::format("How fast kernels are is not told by {}, so that stays as it is; one of large "
                         "micro-batches would tell.",
                         steps)});
  document.go_on({fit.host.told()
                      ? fmt::format("The host takes {} times as long between two launches.", in_words(fit.host))
                      : std::string("How fast the host launches kernels is not told, so that stays as it is; a step "
                                    "with small micro-batches would tell.")});
  if (fit.contradicts())
    document.go_on(
        {"Much is left that neither explains: look whether times are in seconds, at the network, at what feeds "
         "the data, and whether the settings are those of the runs."});
  using Row = OwnStepFit::Row;
  const auto part = [](Seconds to, Seconds from, Seconds measured) { return relative_error((to - from) / measured); };
  TableOf<Row> table(fit.rows);
  table.add("step", "", [](const Row& row) { return Value(row.label); });
  table.add("measured", "", [](const Row& row) { return duration(row.measured); });
  table.add("predicted", "", [](const Row& row) { return duration(row.before); });
  table.add("error", "", [&](const Row& row) { return part(row.before, row.measured, row.measured); });
  table.add("of it", "the host", [&](const Row& row) { return part(row.before, row.host, row.measured); });
  table.add("", "kernels", [&](const Row& row) { return part(row.host, row.after, row.measured); });
  table.add("left", "", [&](const Row& row) { return part(row.after, row.measured, row.measured); });
  document.table(std::move(table));
  return document;
}

void write_step_spreads(std::ostream& out, const std::vector<FittedSpread>& spreads) {
  for (const auto& [spread, source] : spreads)
    out << fmt::format("  intervals of {} lack a spread of {:.2g}: {}\n",
                       spread.name == kSplitSteps   ? "split models"
                       : spread.name == kMixedSteps ? "mixed GPUs"
                                                    : "a mix with " + spread.name,
                       spread.spread, source);
}

}  // namespace accosim
