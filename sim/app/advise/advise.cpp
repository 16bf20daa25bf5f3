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
      {.names = "--within",
       .help = "With --objective cost: name what is done sooner too, where it costs at most so much more, in percent",
       .value = 2.0,
       .least = 0,
       .most = 100,
       .default_shown = true},
      {.names = "--over",
       .help = "Vary this, and nothing else: a knob by its name (accosim list knobs), or /json/pointer=10,100,400 "
               "Gbit/s, =0..16:17 or =10..800:20:log; may be repeated, for every combination",
       .value = Texts()},
      {.names = "--budget",
       .help = "Try at most so many points. Where there are more candidates, the search goes from the best on",
       .value = std::string("2000 points"),
       .empty = "names no number",
       .default_shown = true},
      {.names = "--batch-tolerance",
       .help = "How far the samples of an update may be from those asked for, in percent",
       .value = 100 * kEqualSamples,
       .least = 0,
       .most = 100,
       .default_shown = true},
      jobs_option(),
      {.names = "-o,--output",
       .help = "Write the winner as a scenario, with every value filled in, for compare and the others",
       .empty = "names no file",
       .takes = "FILE"},
      {.names = "--json", .help = "One JSON document instead of text", .value = false},
      force_option()};
}

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

/// Evaluations of so many things in processes of their own, in their order; what fails has a reason.
std::vector<WrittenSchedule> evaluations(int jobs, std::size_t count,
                                         const std::function<Evaluation(std::size_t)>& work, Counted* progress) {
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
        if (progress != nullptr) progress->one_more(!outcome.failure.empty());
      },
      [&] {
        if (progress != nullptr) progress->show();
      });
  return all;
}

const std::string& label_at(const Answer& answer, std::size_t index) {
  return answer.space.forms[candidate_of(answer.space, index).form].label;
}

Searched searched_of(const Answer& answer, int jobs) {
  Counted progress(std::min(size_of(answer.space), answer.budget));
  return search(
      answer.space, answer.budget,
      [&](const std::vector<std::size_t>& indices, const PlayLimit& limit) {
        const auto work = [&](std::size_t i) {
          return evaluate(answer.asked, settings_of(answer.space, candidate_of(answer.space, indices[i])),
                          label_at(answer, indices[i]), limit);
        };
        std::vector<TriedPoint> points;
        for (WrittenSchedule& each : evaluations(jobs, indices.size(), work, &progress))
          points.push_back({indices[points.size()], each.evaluation, std::move(each.refusal)});
        return points;
      },
      answer.asked.within);
}

/// The scenario's own schedules as they are written, to compare with: the baseline, and those that are searched.
std::vector<WrittenSchedule> written_schedules(const Scenario& scenario, const AdviceQuery& asked, const Texts& wanted,
                                               int jobs) {
  std::vector<std::string> labels;
  for (const ScheduleSpec& spec : scenario.schedules)
    if (wanted.empty() || spec.label == scenario.baseline || contains(wanted, spec.label) ||
        contains(wanted, spec.name))
      labels.push_back(spec.label);
  std::vector<WrittenSchedule> all = evaluations(
      jobs, labels.size(), [&](std::size_t i) { return evaluate(asked, {}, labels[i]); }, nullptr);
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

void add_takeovers(Answer& answer, const Cluster& cluster, int jobs) {
  answer.network = network_rate_of(cluster);
  answer.rivals = rivals_of(answer.space, answer.advice, kMostRivals);
  const std::vector<TriedPoint>& points = answer.advice.points;
  const bool long_to_play = std::any_of(answer.rivals.begin(), answer.rivals.end(),
                                        [&](std::size_t at) { return points[at].evaluation.passes > kManyPasses; });
  if (long_to_play) answer.rivals.clear();  // what decides would take longer than the search
  if (answer.rivals.size() < 2 || answer.network.rate <= 0) return;
  answer.takeovers = takeovers_of([&](double factor) {
    const std::vector<std::string> rate = at_network_rate(cluster, factor);
    std::vector<std::optional<double>> times;
    for (const WrittenSchedule& each : evaluations(
             jobs, answer.rivals.size(),
             [&](std::size_t i) {
               std::vector<std::string> settings = settings_at(answer, answer.rivals[i]);
               settings.insert(settings.end(), rate.begin(), rate.end());
               return evaluate(answer.asked, settings, label_at(answer, answer.advice.points[answer.rivals[i]].index));
             },
             nullptr)) {
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
  const Form& form = answer.space.forms[candidate_of(answer.space, answer.advice.points[winner].index).form];
  if (form.written) leave_alone(form.label, answer.asked.scenario, settings);
  JsonDocument document = parse_json(load_scenario(answer.asked.scenario, settings).resolved(), "");
  const Candidate candidate = candidate_of(answer.space, answer.advice.points[winner].index);
  document.root.set("description",
                    fmt::format("What {}for {}: {}, {}", kChose, answer.name, answer.space.forms[candidate.form].label,
                                options_in_words(answer.space, candidate)));
  WholeFile file(path);
  file.write(write_json(document.root) + "\n");
  file.commit();
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
  for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i) {
    const ScheduleSpec& spec = loaded.scenario.schedules[i];
    if (wanted.empty() || contains(wanted, spec.label) || contains(wanted, spec.name)) indices.push_back(i);
  }
  std::vector<Axis> axes;
  for (const auto& [axis, knob] : over) {
    if (knob == nullptr) axes.push_back(axis);
    if (knob != nullptr && !indices.empty()) axes.push_back(knob_axis(loaded, indices, knob->name));
  }
  return axes;
}

/// Where an axis has no value that the scenario takes, every point would be refused by that.
void check_axes(const std::vector<Varied>& over, const AdviceQuery& asked) {
  for (const auto& [axis, knob] : over) {
    std::optional<ScenarioError> refused;
    for (const std::string& value : axis.values) {
      std::vector<std::string> settings = asked.set;
      settings.push_back(axis.pointer + "=" + value);
      try {
        load_scenario(asked.scenario, settings);
        refused.reset();
        break;
      } catch (const ScenarioError& error) {
        if (!refused) refused = error;
      }
    }
    if (refused)
      throw ScenarioError({fmt::format("--over {}: no value is taken: {}", axis.pointer, refused->errors[0])});
  }
}

Answer answer_of(const LoadedScenario& loaded, const Arguments& arguments) {
  const Scenario& scenario = loaded.scenario;
  const int jobs = arguments.whole("--jobs");
  Answer answer;
  answer.name = scenario.name;
  answer.model = scenario.model.name;
  answer.gpus = gpus_in_words(scenario.cluster);
  answer.baseline = scenario.baseline;
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
  check_axes(over, answer.asked);
  Searchable searchable = while_shown(
      "looking for candidates", [&] { return candidates_for(loaded, arguments.texts("--schedule"), over, cost); });
  answer.space = std::move(searchable.space);
  answer.left_out = std::move(searchable.left_out);
  answer.written = written_schedules(scenario, answer.asked, arguments.texts("--schedule"), jobs);
  answer.advice = findings_of(answer.space, searched_of(answer, jobs), answer.asked.samples, answer.asked.within);
  const Progress progress("comparing the best with each other");
  add_breakdowns(answer, jobs);
  add_takeovers(answer, scenario.cluster, jobs);
  return answer;
}

ExitCode advise(const Arguments& arguments) {
  const LoadedScenario loaded = load_scenario(arguments.text("scenario"), arguments.texts("--set"));
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
  std::vector<Option> all = joined(joined(play_options(), search_options()), winner_options());
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
