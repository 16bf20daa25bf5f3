// The verb `advise`: of all schedules and options the one of least time or cost that fits, at the batch that was asked
// for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/base/names.hpp"
#include "models/base/outputs.hpp"
#include "models/base/stops.hpp"
#include "models/base/text.hpp"
#include "models/base/whole_file.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "reports/advise/advice_report.hpp"
#include "reports/console_rows.hpp"
#include "sim/advise/answer.hpp"
#include "sim/advise/searchable.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/sweep/counted.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/knobs/knob_table.hpp"
#include "sim/processes/workers.hpp"
#include "sim/sweep/knob_axis.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {
namespace {

constexpr const char* kChose = "accosim advise chose ";  // by which a file is known again
constexpr std::size_t kMostRivals = 6;
constexpr int kMostBudget = 1'000'000;

std::vector<Option> search_options() {
  return {
      {.names = "--objective",
       .help = "What is made least: the time, or the cost at the cluster's price_per_gpu_hour, where fewer nodes "
               "are tried too",
       .value = std::string(name_of(Objective::kTime)),
       .choices = {name_of(Objective::kTime), name_of(Objective::kCost)},
       .default_shown = true},
      number_option(
          "--within",
          "With --objective cost: name what is done sooner too, where it costs at most so much more, in percent", 2.0,
          0, 100),
      {.names = "--over",
       .help = "Vary this, and nothing else: a knob by its name (accosim list knobs), or /json/pointer=10,100,400 "
               "Gbit/s, =0..16:17 or =10..800:20:log; may be repeated, for every combination",
       .value = Texts()},
      {.names = "--budget",
       .help =
           "Simulate at most so many points. Those that are refused, do not fit or are pruned do not count, but at "
           "most ten times as many are looked at. Where there are more candidates, the search goes from the best on",
       .value = std::string("2000 points"),
       .empty = "names no number",
       .default_shown = true},
      number_option("--batch-tolerance", "How far the samples of an update may be from those asked for, in percent",
                    100 * kEqualSamples, 0, 100),
      jobs_option(),
      file_option("-o,--output",
                  "Write the winner as a scenario, with every value filled in, for compare and the others"),
      json_option(),
      force_option()};
}

std::vector<Option> advise_options() { return joined(joined(play_options(), search_options()), winner_options()); }

std::size_t budget_of(const Arguments& arguments) {
  std::string text = arguments.text("--budget");
  for (const char* const unit : {" points", " point"})
    if (text.size() > std::strlen(unit) && text.ends_with(unit)) text.resize(text.size() - std::strlen(unit));
  const std::optional<int> number = whole_number(text);
  if (!number || *number < 1 || *number > kMostBudget)
    throw BadInput(fmt::format("--budget {}: is no number of points; write one from 1 to {}, such as \"2000 points\"",
                               in_quotes(arguments.text("--budget")), kMostBudget));
  return static_cast<std::size_t>(*number);
}

/// Who is told of evaluations as they come, in any order.
struct Watcher {
  std::function<void(std::size_t, const WrittenSchedule&)> seen = [](std::size_t, const WrittenSchedule&) {};
  std::function<void()> tick{};
};

/// Evaluations of so many things in processes of their own, in their order; what fails has a reason.
std::vector<WrittenSchedule> evaluations(int jobs, std::size_t count,
                                         const std::function<Evaluation(std::size_t)>& work,
                                         const Watcher& watcher = {}) {
  std::vector<WrittenSchedule> all(count);
  std::size_t at = 0;
  in_workers(
      {.jobs = jobs}, [&] { return at < count ? std::optional(at++) : std::nullopt; },
      [&](std::size_t i) {
        try {
          return std::string(as_bytes(work(i)));
        } catch (const ScenarioError& error) {
          throw std::runtime_error(error.errors.front());
        }
      },
      [&](std::size_t i, const Outcome& outcome) {
        all[i].refusal = outcome.failure;
        if (outcome.failure.empty()) all[i].evaluation = from_bytes<Evaluation>(outcome.text);
        watcher.seen(i, all[i]);
      },
      watcher.tick);
  return all;
}

const std::string& label_at(const Answer& answer, std::size_t index) {
  return answer.space.forms[candidate_of(answer.space, index).form].label;
}

/// `tried`: all that has been found out so far, for whoever is stopped.
Searched searched_of(const Answer& answer, int jobs, std::vector<TriedPoint>& tried) {
  Counted progress(std::min(size_of(answer.space), answer.budget));
  return search(
      answer.space, answer.budget,
      [&](const std::vector<std::size_t>& indices, const PlayLimit& limit) {
        const auto work = [&](std::size_t i) {
          return evaluate(answer.asked, settings_of(answer.space, candidate_of(answer.space, indices[i])),
                          label_at(answer, indices[i]), limit);
        };
        progress.go_on(!limit.postponed, limit.postponed ? 0 : limit.waiting + indices.size());
        const auto seen = [&](std::size_t i, const WrittenSchedule& each) {
          const bool waits = each.evaluation.state == PointState::kPostponed;
          progress.one_more(!each.refusal.empty(), waits);
          if (!waits) tried.push_back({indices[i], each.evaluation, each.refusal});
        };
        std::vector<TriedPoint> points;
        for (WrittenSchedule& each : evaluations(jobs, indices.size(), work, {seen, [&] { progress.show(); }}))
          points.push_back({indices[points.size()], each.evaluation, std::move(each.refusal)});
        return points;
      },
      answer.asked.within);
}

bool is_wanted(const Texts& wanted, const ScheduleSpec& spec) {
  return wanted.empty() || contains(wanted, spec.label) || contains(wanted, spec.name);
}

/// The scenario's own schedules as they are written, to compare with: the baseline, and those that are searched.
std::vector<WrittenSchedule> written_schedules(const Scenario& scenario, const AdviceQuery& asked, const Texts& wanted,
                                               int jobs) {
  std::vector<std::string> labels;
  for (const ScheduleSpec& spec : scenario.schedules)
    if (spec.label == scenario.baseline || is_wanted(wanted, spec)) labels.push_back(spec.label);
  std::vector<WrittenSchedule> all =
      evaluations(jobs, labels.size(), [&](std::size_t i) { return evaluate(asked, {}, labels[i]); });
  for (std::size_t i = 0; i < all.size(); ++i) all[i].label = labels[i];
  return all;
}

std::vector<std::string> settings_at(const Answer& answer, std::size_t point) {
  return settings_of(answer.space, candidate_of(answer.space, answer.advice.points[point].index));
}

void add_breakdowns(Answer& answer, int jobs) {
  const Findings& advice = answer.advice;
  if (!advice.second) return;
  using Parts = std::array<Seconds, kTimeUses>;
  const std::vector<Parts> parts = values_in_children<Parts>(jobs, 2, [&](std::size_t i) {
    const std::size_t point = i == 0 ? *advice.winner : *advice.second;
    return breakdown_at(answer.asked, settings_at(answer, point), label_at(answer, advice.points[point].index)).parts;
  });
  for (const std::size_t i : {0, 1}) {
    const std::size_t point = i == 0 ? *advice.winner : *advice.second;
    const Evaluation& each = advice.points[point].evaluation;
    UpdateBreakdown use{label_at(answer, advice.points[point].index),
                        Seconds{each.update_time},
                        Seconds{each.low},
                        Seconds{each.high},
                        each.samples / answer.asked.samples,
                        parts[i]};
    (i == 0 ? answer.winner_use : answer.second_use) = std::move(use);
  }
}

void add_adding(Answer& answer) {
  const Findings& advice = answer.advice;
  if (!advice.winner) return;
  const bool own = advice.points[*advice.winner].evaluation.synchronous;
  const std::optional<std::size_t> best = own ? advice.winner : advice.synchronous;
  if (best)
    answer.adding = adding_at(answer.asked, settings_at(answer, *best), label_at(answer, advice.points[*best].index));
}

void add_takeovers(Answer& answer, const Cluster& cluster, int jobs) {
  answer.network = network_rate_of(cluster);
  answer.rivals = rivals_of(answer.space, answer.advice, kMostRivals);
  const std::vector<TriedPoint>& points = answer.advice.points;
  const bool long_to_play =
      std::ranges::any_of(answer.rivals, [&](std::size_t at) { return points[at].evaluation.passes > kManyPasses; });
  if (long_to_play) answer.rivals.clear();  // what decides would take longer than the search
  if (answer.rivals.size() < 2 || answer.network.rate <= 0) return;
  answer.takeovers = takeovers_of([&](double factor) {
    const std::vector<std::string> rate = at_network_rate(cluster, factor);
    std::vector<std::optional<double>> times;
    for (const WrittenSchedule& each : evaluations(jobs, answer.rivals.size(), [&](std::size_t i) {
           std::vector<std::string> settings = settings_at(answer, answer.rivals[i]);
           settings.insert(settings.end(), rate.begin(), rate.end());
           return evaluate(answer.asked, settings, label_at(answer, answer.advice.points[answer.rivals[i]].index));
         })) {
      const bool may_win = each.refusal.empty() && each.evaluation.state == PointState::kPlayed;
      times.push_back(may_win ? std::optional(each.evaluation.spent_per_sample()) : std::nullopt);
    }
    return times;
  });
}

OutputKind winner_kind() {
  OutputKind kind = document_kind("accosim.scenario/1");
  kind.holds = kChose;
  return kind;
}

/// What leaves one schedule in a scenario that is loaded with these settings.
void leave_alone(const std::string& label, const std::string& scenario, std::vector<std::string>& settings) {
  const JsonDocument resolved = parse_json(load_scenario(scenario, settings).resolved(), "");
  for (const JsonValue& entry : resolved.root.find("schedules")->elements)
    if (entry.find("label")->text == label) settings.push_back("/schedules=[" + dump_json(entry) + "]");
  settings.push_back("/baseline=" + quoted_json(label));
  settings.emplace_back("/published={}");
}

void write_winner(const Answer& answer, const std::string& path) {
  const std::size_t winner = *answer.advice.winner;
  std::vector<std::string> settings = answer.asked.set;
  for (std::string& each : settings_at(answer, winner)) settings.push_back(std::move(each));
  const Candidate candidate = candidate_of(answer.space, answer.advice.points[winner].index);
  const Form& form = answer.space.forms[candidate.form];
  if (form.written) leave_alone(form.label, answer.asked.scenario, settings);
  JsonDocument document = parse_json(load_scenario(answer.asked.scenario, settings).resolved(), "");
  document.root.set("description", fmt::format("What {}for {}: {}, {}", kChose, answer.name, form.label,
                                               options_in_words(answer.space, candidate)));
  write_whole(path, write_json(document.root) + "\n");
  tell_written(path, "scenario of " + form.label);
}

std::vector<Varied> over_of(const Arguments& arguments) {
  std::vector<Varied> over;
  for (const std::string& text : arguments.texts("--over")) {
    over.push_back(is_knob_name(text) ? Varied{{}, &knob_named(text)} : Varied{parse_axis(text)});
    check_distinct(over.back().axis);
  }
  return over;
}

/// As axes of those of the scenario's schedules that are asked for.
std::vector<Axis> axes_of(const LoadedScenario& loaded, const std::vector<Varied>& over, const Texts& wanted) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i)
    if (is_wanted(wanted, loaded.scenario.schedules[i])) indices.push_back(i);
  std::vector<Axis> axes;
  for (const auto& [axis, knob] : over) {
    if (knob == nullptr) axes.push_back(axis);
    if (knob != nullptr && !indices.empty()) axes.push_back(knob_axis(loaded, indices, knob->name));
  }
  return axes;
}

/// Whether a place is not inside another entry of "schedules".
bool concerns(const std::string& pointer, const Form& form, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (pointer.rfind("/schedules" + pointer_part(i) + "/", 0) == 0) return form.label == scenario.schedules[i].label;
  return true;
}

/// Why none of the schedules that it concerns can be had with this set; nothing where one can.
std::optional<ScenarioError> refusal_of(const CandidateSpace& space, const Scenario& scenario, const std::string& set,
                                        const AdviceQuery& asked) {
  std::optional<ScenarioError> refused;
  for (const Form& form : space.forms) {
    if (!concerns(set.substr(0, set.find('=')), form, scenario)) continue;
    std::vector<std::string> settings = asked.set;
    for (std::string& each : settings_of(space, form, {set}, form.keys)) settings.push_back(std::move(each));
    try {
      load_scenario(asked.scenario, settings);
      return std::nullopt;
    } catch (const ScenarioError& error) {
      if (!refused) refused = error;
    }
  }
  return refused;
}

/// Where an axis has no value that any schedule takes, every point would be refused by that.
void check_axes(const CandidateSpace& space, const Scenario& scenario, const std::vector<Varied>& over,
                const AdviceQuery& asked) {
  for (const auto& [axis, knob] : over) {
    std::optional<ScenarioError> refused;
    for (const std::string& value : axis.values) {
      const std::optional<ScenarioError> own = refusal_of(space, scenario, axis.pointer + "=" + value, asked);
      if (!own) refused.reset();
      if (!own) break;
      if (!refused) refused = own;
    }
    if (refused)
      throw ScenarioError({fmt::format("--over {}: no value is taken: {}", axis.pointer, refused->errors[0])});
  }
}

/// What a search that was stopped has found, and how to have its answer.
std::string kept_in_words(Answer answer, std::vector<TriedPoint> tried, const Arguments& arguments) {
  std::ranges::sort(tried, {}, &TriedPoint::index);
  answer.advice = findings_of(answer.space, {std::move(tried), false}, answer.asked.samples, answer.asked.within);
  if (answer.advice.simulated == 0) return best_so_far_in_words(answer);
  const std::string command = command_of("advise", advise_options(), {"--budget"}, arguments);
  return best_so_far_in_words(answer) +
         fmt::format("\nfor a whole answer from about as many simulations: {} --budget {}", command,
                     std::max<std::size_t>(1, answer.advice.simulated));
}

Answer answer_of(const LoadedScenario& loaded, const Arguments& arguments) {
  const Scenario& scenario = loaded.scenario;
  const int jobs = arguments.whole("--jobs");
  Answer answer;
  answer.name = scenario.name;
  answer.model = scenario.model.name;
  answer.gpus = gpus_in_words(scenario.cluster);
  answer.baseline = scenario.baseline;
  if (const std::optional<Warning> caution = seldom_measured(scenario.cluster)) answer.cautions.push_back(*caution);
  answer.asked = {.scenario = arguments.text("scenario"),
                  .set = arguments.texts("--set"),
                  .samples = samples_asked(scenario),
                  .tolerance = arguments.number("--batch-tolerance") / 100,
                  .sequence = scenario.training.sequence_length,
                  .network = network_of(arguments),
                  .rule = winner_rule_of(arguments)};
  answer.asked.objective = *value_named<Objective>(arguments.text("--objective"));
  const bool cost = answer.asked.objective == Objective::kCost;
  if (cost) answer.asked.within = arguments.number("--within") / 100;
  if (cost && price_per_hour(scenario.cluster).value_or(0) == 0)
    throw BadInput(
        "--objective cost: the cluster has no price; write its node groups' \"price_per_gpu_hour\", such as --set "
        "'/cluster/nodes/*/price_per_gpu_hour=2.5'");
  answer.budget = budget_of(arguments);
  const std::vector<Varied> over = over_of(arguments);
  check_apart(axes_of(loaded, over, arguments.texts("--schedule")));
  std::vector<TriedPoint> tried;
  try {
    const StopsNoted stops;
    answer.written = while_shown("playing the schedules as they are written", [&] {
      return written_schedules(scenario, answer.asked, arguments.texts("--schedule"), jobs);
    });
    const bool fits = std::ranges::any_of(answer.written, [](const WrittenSchedule& each) {
      return each.refusal.empty() && each.evaluation.state != PointState::kDoesNotFit;
    });
    Searchable searchable = while_shown("looking for candidates", [&] {
      return candidates_for(loaded, arguments.texts("--schedule"), over, cost, fits);
    });
    answer.space = std::move(searchable.space);
    check_axes(answer.space, scenario, over, answer.asked);
    answer.left_out = std::move(searchable.left_out);
    answer.advice =
        findings_of(answer.space, searched_of(answer, jobs, tried), answer.asked.samples, answer.asked.within);
    const Progress progress("comparing the best with each other");
    add_breakdowns(answer, jobs);
    add_adding(answer);
    add_takeovers(answer, scenario.cluster, jobs);
  } catch (const Stopped& stop) {
    throw Stopped(stop.signal, kept_in_words(std::move(answer), std::move(tried), arguments));
  }
  return answer;
}

ExitCode advise(const Arguments& arguments) {
  const LoadedScenario loaded = load_asked(arguments);
  const std::string& output = arguments.text("--output");
  check_outputs({{"--output", output, winner_kind()}}, loaded.files, arguments.flag("--force"));
  const Answer answer = answer_of(loaded, arguments);
  if (!output.empty() && answer.advice.winner) write_winner(answer, output);  // also for who reads but the first lines
  if (arguments.flag("--json"))
    write_advice_json(std::cout, answer);
  else
    write_advice(std::cout, answer, console_options());
  if (!answer.advice.winner)
    throw BadInput(fmt::format("none of {} points fits at the batch that was asked for{}", answer.advice.points.size(),
                               output.empty() ? "" : ", so nothing is written"));
  return ExitCode::kDone;
}

}  // namespace

Verb advise_verb() {
  std::vector<Option> all = advise_options();
  for (Option& option : all)
    if (option.names == "--schedule")
      option.help =
          "Only this schedule: a label or name of the scenario, or any that the program knows; may be repeated";
  return {
      .name = "advise",
      .help =
          "Find the schedule and options of least time or cost that fit, at the batch that was asked for, and say why",
      .options = all,
      .modes = {{.reads = names_of(all), .run = advise}}};
}

}  // namespace accosim
