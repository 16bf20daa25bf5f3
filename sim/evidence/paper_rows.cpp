// Each play in a child of its own, since SimGrid allows one simulation a process.
#include "sim/evidence/paper_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

const ScheduleSpec* acco_of(const Scenario& scenario) {
  const auto found = std::ranges::find_if(
      scenario.schedules, [](const ScheduleSpec& spec) { return traits_of(spec).lookahead == Lookahead::kHalfBatch; });
  return found == scenario.schedules.end() ? nullptr : &*found;
}

/// One prediction, of a row's baseline or of ACCO.
struct Play {
  std::string path;
  std::vector<std::string> settings;
  bool acco = false;
  bool counted = false;         ///< of kGradientsCounted, and not of the whole run
  Seconds* run = nullptr;       ///< where its time belongs
  PaperRow* details = nullptr;  ///< and, of ACCO with every mechanism, what else is told of it
};

/// Rows of instructions, padded to the longest of a micro-batch (appendix A.4), with an evaluation by rank 0.
bool has_open_questions(const std::string& name) { return name == "finetune_1x8_a100" || name == "finetune_2x4_a100"; }

std::vector<std::string> answers(double mean_length, int evaluated) {
  std::vector<std::string> settings{fmt::format(
      R"(/training/sequence_lengths={{"lognormal": {{"mean": {:g}, "cv": {:g}}}}})", mean_length, kLengthsCv)};
  if (evaluated > 0)
    settings.push_back(fmt::format(
        R"(/training/pauses=[{{"name": "evaluation", "ranks": [0], "every_gradients": 500, "sequences": {}}}])",
        evaluated));
  return settings;
}

/// A mechanism's settings for this scenario.
std::vector<std::string> settings_of(const Scenario& scenario, const Mechanism& mechanism) {
  const std::string index = std::to_string(&baseline_of(scenario) - scenario.schedules.data());
  std::vector<std::string> settings = mechanism.settings;
  for (std::string& setting : settings)
    if (const std::size_t at = setting.find("{}"); at != std::string::npos) setting.replace(at, 2, index);
  return settings;
}

/// What is played for the row; a schedule that a mechanism is not of is not played without it.
void add_plays(std::vector<Play>& plays, const std::string& path, PaperRow& row) {
  plays.push_back({path, {}, false, false, &row.all.baseline});
  plays.push_back({path, {}, true, false, &row.all.acco, &row});
  row.without.resize(mechanisms().size());
  for (std::size_t i = 0; i < mechanisms().size(); ++i) {
    const Mechanism& mechanism = mechanisms()[i];
    if (mechanism.of_baseline) plays.push_back({path, row.settings[i], false, false, &row.without[i].baseline});
    if (mechanism.of_acco) plays.push_back({path, row.settings[i], true, false, &row.without[i].acco});
  }
  if (!has_open_questions(row.name)) return;
  row.open.assign(kMeanLengths.size(), std::vector<RowTimes>(kEvaluated.size()));
  for (std::size_t i = 0; i < kMeanLengths.size(); ++i)
    for (std::size_t k = 0; k < kEvaluated.size(); ++k) {
      const std::vector<std::string> settings = answers(kMeanLengths[i], kEvaluated[k]);
      plays.push_back({path, settings, false, true, &row.open[i][k].baseline});
      plays.push_back({path, settings, true, true, &row.open[i][k].acco});
    }
}

struct Times {
  double run = 0, update = 0, exposed = 0;
};

Times played(const Play& play, NetworkKind network) {
  const Scenario scenario = load_scenario(play.path, play.settings).scenario;
  const RunResult result = run_schedule(scenario, play.acco ? *acco_of(scenario) : baseline_of(scenario), network);
  const Seconds update = result.update_time;
  return {play.counted ? kGradientsCounted / result.micro_batches_per_update * update.value : result.total_time.value,
          update.value, result.exposed_communication.value};
}

Seconds counts_time(const Scenario& scenario) {
  const ScheduleSpec& spec = *acco_of(scenario);
  const Costs costs = price(scenario, spec);
  return traits_of(spec).rounds * collective_time(CollectiveKind::kAllReduce, Bytes{4}, costs.cluster, costs.world);
}

}  // namespace

const std::vector<Mechanism>& mechanisms() {
  static const std::vector<Mechanism> kAll = {
      {"autocast's casts and kernels in fp32", {"/training/autocast=none"}, false, true},
      {"an all-reduce after every micro-batch", {"/schedules/{}/sync=last_micro_batch"}, true, false},
      {"communication beside the backward pass",
       {"/schedules/{}/overlap=none", "/schedules/{}/buckets=tensors"},
       true,
       false},
      {"buckets of 25 MiB, not one for each block", {"/schedules/{}/buckets=units"}, true, false},
      {"gradients copied back out of the buckets", {"/schedules/{}/gradient_as_bucket_view=true"}, true, false},
      {"broadcast of buffers", {"/schedules/{}/broadcast_buffers=false"}, true, false},
      {"shares of the optimizer, broadcast tensor by tensor", {"/schedules/{}/optimizer_sharding=none"}, true, false},
      {"AdamW in several passes over the memory", {"/training/optimizer_implementation=fused"}, true, true},
      {"communication that slows computation", {"/training/interference=false"}, true, true},
  };
  return kAll;
}

std::vector<PaperRow> paper_rows(const std::vector<std::string>& paths, int jobs, NetworkKind network) {
  std::vector<PaperRow> rows;
  rows.reserve(paths.size());  // the plays point into them
  std::vector<Play> plays;
  for (const std::string& path : paths) {
    const Scenario scenario = load_scenario(path, {}).scenario;
    const ScheduleSpec* const spec = acco_of(scenario);
    const auto acco = scenario.published.find(spec == nullptr ? "" : spec->label),
               baseline = scenario.published.find(scenario.baseline);
    const bool timed = acco != scenario.published.end() && baseline != scenario.published.end() && acco->second.time &&
                       baseline->second.time;
    if (!timed) continue;
    PaperRow& row = rows.emplace_back();
    row.name = scenario.name;
    row.baseline = scenario.baseline;
    row.published_baseline = baseline->second;
    row.published_acco = acco->second;
    row.counts = counts_time(scenario);
    for (const Mechanism& mechanism : mechanisms()) row.settings.push_back(settings_of(scenario, mechanism));
    add_plays(plays, path, row);
  }
  const std::vector<Times> times =
      values_in_children<Times>(jobs, plays.size(), [&](std::size_t i) { return played(plays[i], network); });
  for (std::size_t i = 0; i < plays.size(); ++i) {
    *plays[i].run = Seconds{times[i].run};
    if (PaperRow* const row = plays[i].details)
      row->update = Seconds{times[i].update}, row->exposed = Seconds{times[i].exposed};
  }
  for (PaperRow& row : rows)
    for (std::size_t i = 0; i < mechanisms().size(); ++i) {
      if (!mechanisms()[i].of_baseline) row.without[i].baseline = row.all.baseline;
      if (!mechanisms()[i].of_acco) row.without[i].acco = row.all.acco;
    }
  return rows;
}

}  // namespace accosim
