// Each play in a child of its own, since SimGrid allows one simulation a process.
#include "sim/evidence/paper_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

template <class Is>
const ScheduleSpec* first(const Scenario& scenario, Is is) {
  const auto found = std::ranges::find_if(scenario.schedules, is);
  return found == scenario.schedules.end() ? nullptr : &*found;
}

const ScheduleSpec* acco_of(const Scenario& scenario) {
  return first(scenario, [](const ScheduleSpec& spec) { return traits_of(spec).lookahead == Lookahead::kHalfBatch; });
}

/// One prediction: a row's baseline or ACCO, with a mechanism left out or none (-1), or with one of the answers to its
/// open questions.
struct Play {
  std::size_t row = 0;
  int mechanism = -1;
  bool acco = false;
  int length = -1, evaluated = -1;  ///< indices of kMeanLengths and kEvaluated
};

/// Rows of instructions, padded to the longest of a micro-batch (appendix A.4), with an evaluation by rank 0.
bool has_open_questions(const std::string& name) { return name == "finetune_1x8_a100" || name == "finetune_2x4_a100"; }

std::vector<std::string> answers(const Play& play) {
  std::vector<std::string> settings{
      fmt::format(R"(/training/sequence_lengths={{"lognormal": {{"mean": {:g}, "cv": {:g}}}}})",
                  kMeanLengths[play.length], kLengthsCv)};
  if (const int sequences = kEvaluated[play.evaluated]; sequences > 0)
    settings.push_back(fmt::format(
        R"(/training/pauses=[{{"name": "evaluation", "ranks": [0], "every_gradients": 500, "sequences": {}}}])",
        sequences));
  return settings;
}

struct Times {
  double run = 0, update = 0, exposed = 0;
};

/// A mechanism's settings for this scenario.
std::vector<std::string> settings_of(const Scenario& scenario, const Mechanism& mechanism) {
  const std::string index = std::to_string(&baseline_of(scenario) - scenario.schedules.data());
  std::vector<std::string> settings = mechanism.settings;
  for (std::string& setting : settings)
    if (const std::size_t at = setting.find("{}"); at != std::string::npos) setting.replace(at, 2, index);
  return settings;
}

/// Adds what is played anew; a schedule that the mechanism is not of takes as long as before.
void add_plays(std::vector<Play>& plays, std::size_t row) {
  plays.push_back({row, -1, false});
  plays.push_back({row, -1, true});
  for (std::size_t i = 0; i < mechanisms().size(); ++i) {
    if (mechanisms()[i].of_baseline) plays.push_back({row, static_cast<int>(i), false});
    if (mechanisms()[i].of_acco) plays.push_back({row, static_cast<int>(i), true});
  }
}

void add_open_questions(std::vector<Play>& plays, std::size_t row) {
  for (int length = 0; length < static_cast<int>(kMeanLengths.size()); ++length)
    for (int evaluated = 0; evaluated < static_cast<int>(kEvaluated.size()); ++evaluated)
      for (const bool acco : {false, true}) plays.push_back({row, -1, acco, length, evaluated});
}

Times played(const std::string& path, const Play& play, NetworkKind network) {
  Scenario scenario = load_scenario(path, {}).scenario;
  if (play.mechanism >= 0) scenario = load_scenario(path, settings_of(scenario, mechanisms()[play.mechanism])).scenario;
  if (play.length >= 0) scenario = load_scenario(path, answers(play)).scenario;
  const ScheduleSpec& spec = play.acco ? *acco_of(scenario) : baseline_of(scenario);
  const RunResult result = run_schedule(scenario, spec, network);
  if (play.length >= 0) return {kGradientsCounted / result.micro_batches_per_update * result.update_time.value, 0, 0};
  return {result.total_time.value, result.update_time.value, result.exposed_communication.value};
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
  std::vector<std::string> kept;
  std::vector<Play> plays;
  for (const std::string& path : paths) {
    const Scenario scenario = load_scenario(path, {}).scenario;
    const ScheduleSpec* const spec = acco_of(scenario);
    const auto acco = scenario.published.find(spec == nullptr ? "" : spec->label),
               baseline = scenario.published.find(scenario.baseline);
    const bool timed = acco != scenario.published.end() && baseline != scenario.published.end() && acco->second.time &&
                       baseline->second.time;
    if (!timed) continue;
    PaperRow row;
    row.name = scenario.name;
    row.baseline = scenario.baseline;
    row.published_baseline = baseline->second;
    row.published_acco = acco->second;
    row.counts = counts_time(scenario);
    for (const Mechanism& mechanism : mechanisms()) row.settings.push_back(settings_of(scenario, mechanism));
    add_plays(plays, rows.size());
    if (has_open_questions(row.name)) {
      add_open_questions(plays, rows.size());
      row.open.emplace().at.assign(kMeanLengths.size(), std::vector<RowTimes>(kEvaluated.size()));
    }
    rows.push_back(row);
    kept.push_back(path);
  }
  const std::vector<Times> all = values_in_children<Times>(
      jobs, plays.size(), [&](std::size_t i) { return played(kept[plays[i].row], plays[i], network); });
  for (std::size_t i = 0; i < plays.size(); ++i) {
    const Play& play = plays[i];
    PaperRow& row = rows[play.row];
    const Times& times = all[i];
    if (play.length >= 0) {
      RowTimes& at = row.open->at[play.length][play.evaluated];
      (play.acco ? at.acco : at.baseline) = Seconds{times.run};
      continue;
    }
    if (play.mechanism < 0 && play.acco) row.update = Seconds{times.update}, row.exposed = Seconds{times.exposed};
    if (play.mechanism >= 0 && row.without.empty()) row.without.assign(mechanisms().size(), row.all);
    RowTimes& to = play.mechanism < 0 ? row.all : row.without[play.mechanism];
    (play.acco ? to.acco : to.baseline) = Seconds{times.run};
  }
  return rows;
}

}  // namespace accosim
