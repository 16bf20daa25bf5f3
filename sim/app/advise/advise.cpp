// The verb `advise`: of all schedules and options the one of least time or cost that fits, at the batch that was asked
// for.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
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
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "reports/advise/advice_report.hpp"
#include "reports/console_rows.hpp"
#include "sim/advise/advice.hpp"
#include "sim/app/launch.hpp"
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
      form_option("Vary only what this framework has, and print the winner as it is typed there, behind the answer"),
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

/// Who is told of points as they come, in any order; each has its place among the choices as its index.
struct Watcher {
  std::function<void(const TriedPoint&)> seen = [](const TriedPoint&) {};
  std::function<void()> tick{};
};

/// Tries choices in processes of their own. The points are in their order; what fails has a reason.
std::vector<TriedPoint> points_of(const AdviceQuery& asked, int jobs, const std::vector<Choice>& choices,
                                  const PlayLimit& limit = {}, const Watcher& watcher = {}) {
  std::vector<TriedPoint> points(choices.size());
  std::size_t at = 0;
  in_workers(
      {.jobs = jobs}, [&] { return at < choices.size() ? std::optional(at++) : std::nullopt; },
      [&](std::size_t i) {
        try {
          return std::string(as_bytes(evaluate(asked, choices[i], limit)));
        } catch (const ScenarioError& error) {
          throw std::runtime_error(error.errors.front());
        }
      },
      [&](std::size_t i, const Outcome& outcome) {
        points[i] = {.index = i, .refusal = outcome.failure, .label = choices[i].label};
        if (outcome.failure.empty()) points[i].evaluation = from_bytes<Evaluation>(outcome.text);
        watcher.seen(points[i]);
      },
      watcher.tick);
  return points;
}

/// `tried`: all that has been found out so far, for whoever is stopped.
std::vector<TriedPoint> searched(const Answer& answer, int jobs, std::vector<TriedPoint>& tried) {
  Counted progress(std::min(size_of(answer.space), answer.budget));
  const auto play = [&](const std::vector<std::size_t>& indices, const PlayLimit& limit) {
    progress.go_on(!limit.postponed, limit.postponed ? 0 : limit.waiting + indices.size());
    std::vector<Choice> choices;
    for (const std::size_t index : indices) choices.push_back(choice_of(answer.space, index));
    const auto seen = [&](const TriedPoint& point) {
      const bool waits = point.evaluation.state == PointState::kPostponed;
      progress.one_more(!point.refusal.empty(), waits);
      if (waits) return;
      tried.push_back(point);
      tried.back().index = indices[point.index];
    };
    std::vector<TriedPoint> points = points_of(answer.asked, jobs, choices, limit, {seen, [&] { progress.show(); }});
    for (TriedPoint& point : points) point.index = indices[point.index];
    return points;
  };
  return search(answer.space, answer.budget, play, answer.asked.within);
}

bool is_wanted(const Texts& wanted, const ScheduleSpec& spec) {
  return wanted.empty() || contains(wanted, spec.label) || contains(wanted, spec.name);
}

/// The scenario's own schedules as they are written, to compare with: the baseline, and those that are searched.
std::vector<TriedPoint> written_schedules(const Scenario& scenario, const AdviceQuery& asked, const Texts& wanted,
                                          int jobs) {
  std::vector<Choice> choices;
  for (const ScheduleSpec& spec : scenario.schedules)
    if (spec.label == scenario.baseline || is_wanted(wanted, spec)) choices.push_back({spec.label});
  return points_of(asked, jobs, choices);
}

void add_time_parts(Answer& answer, int jobs) {
  if (!answer.advice.second) return;
  answer.time_parts = values_in_children<TimeParts>(jobs, 2, [&](std::size_t i) {
    return time_parts_at(answer.asked, choice_at(answer, i == 0 ? *answer.advice.winner : *answer.advice.second));
  });
}

void add_adding(Answer& answer) {
  const Findings& advice = answer.advice;
  if (!advice.winner) return;
  const bool own = advice.points[*advice.winner].evaluation.synchronous;
  const std::optional<std::size_t> best = own ? advice.winner : advice.synchronous;
  if (best) answer.adding = adding_at(answer.asked, choice_at(answer, *best));
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
    const std::vector<std::string> rate = at_network_rate(answer.network, factor);
    std::vector<Choice> choices;
    for (const std::size_t rival : answer.rivals) {
      choices.push_back(choice_at(answer, rival));
      choices.back().set.insert(choices.back().set.end(), rate.begin(), rate.end());
    }
    std::vector<std::optional<double>> times;
    for (const TriedPoint& each : points_of(answer.asked, jobs, choices)) {
      const bool may_win = each.evaluation.state == PointState::kPlayed;
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

void write_winner(const Answer& answer, const std::string& path) {
  Choice choice = choice_at(answer, *answer.advice.winner);
  const auto resolved = [&] { return parse_json(loaded_with(answer.asked, choice.set).resolved(), "").root; };
  JsonValue scenario = resolved();
  if (choice.written) {  // the other entries may be there
    for (const JsonValue& entry : scenario.find("schedules")->elements)
      if (entry.find("label")->text == choice.label) choice.set.push_back("/schedules=[" + dump_json(entry) + "]");
    choice.set.push_back("/baseline=" + quoted_json(choice.label));
    choice.set.emplace_back("/published={}");
    scenario = resolved();
  }
  scenario.set("description", fmt::format("What {}for {}: {}, {}", kChose, answer.name, choice.label, choice.options));
  write_whole(path, write_json(scenario) + "\n");
  tell_written(path, "scenario of " + choice.label);
}

/// Knobs by their names alone, and places with values.
std::vector<Axis> over_of(const Arguments& arguments) {
  std::vector<Axis> over;
  for (const std::string& text : arguments.texts("--over")) {
    over.push_back(parse_axis(text, [](const std::string& name) { return Axis{knob_named(name).name, {}}; }));
    check_distinct(over.back());
  }
  return over;
}

/// As axes of those of the scenario's schedules that are asked for.
std::vector<Axis> axes_of(const LoadedScenario& loaded, const std::vector<Axis>& over, const Texts& wanted) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i)
    if (is_wanted(wanted, loaded.scenario.schedules[i])) indices.push_back(i);
  std::vector<Axis> axes;
  for (const Axis& axis : over) {
    if (!is_knob_name(axis.pointer))
      axes.push_back(axis);
    else if (!indices.empty())
      axes.push_back(knob_axis(loaded, indices, axis.pointer));
  }
  return axes;
}

/// Whether a place is not inside another entry of "schedules".
bool concerns(const std::string& pointer, const Form& form, const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i)
    if (pointer.rfind("/schedules" + pointer_part(i) + "/", 0) == 0) return form.label == scenario.schedules[i].label;
  return true;
}

/// Where an axis has no value that any schedule takes, every point would be refused by that.
void check_axis(const Axis& axis, const CandidateSpace& space, const Scenario& scenario, const AdviceQuery& asked) {
  std::string refusal;
  for (const std::string& value : axis.values)
    for (const Form& form : space.forms) {
      if (!concerns(axis.pointer, form, scenario)) continue;
      try {
        loaded_with(asked, settings_of(form, {axis.pointer + "=" + value}, form.keys));
        return;
      } catch (const ScenarioError& error) {
        if (refusal.empty()) refusal = error.errors.front();
      }
    }
  if (!refusal.empty()) throw ScenarioError({fmt::format("--over {}: no value is taken: {}", axis.pointer, refusal)});
}

/// What a search that was stopped has found, and how to have its answer.
std::string kept_in_words(Answer answer, std::vector<TriedPoint> tried, const Arguments& arguments) {
  std::ranges::sort(tried, {}, &TriedPoint::index);
  answer.advice = findings_of(answer.space, std::move(tried), answer.asked.samples, answer.asked.within);
  if (answer.advice.simulated == 0) return best_so_far_in_words(answer);
  const std::string command = command_of("advise", advise_options(), {"--budget"}, arguments);
  return best_so_far_in_words(answer) +
         fmt::format("\nfor a whole answer from about as many simulations: {} --budget {}", command,
                     std::max<std::size_t>(1, answer.advice.simulated));
}

/// `asked`: what is made of its file; `like`: whose types schedules are compared in, where that is none of it.
Answer answer_of(const LoadedScenario& loaded, AdviceQuery asked, const ScheduleSpec* like,
                 const Arguments& arguments) {
  const Scenario& scenario = loaded.scenario;
  const int jobs = arguments.whole("--jobs");
  Answer answer{.name = scenario.name,
                .model = scenario.model.name,
                .gpus = gpus_in_words(scenario.cluster),
                .currency = scenario.cluster.currency,
                .baseline = scenario.baseline};
  if (const std::optional<Warning> caution = seldom_measured(scenario.cluster)) answer.cautions.push_back(*caution);
  asked.samples = samples_asked(scenario);
  asked.tolerance = arguments.number("--batch-tolerance") / 100;
  asked.sequence = scenario.training.sequence_length;
  asked.network = network_of(arguments);
  asked.rule = winner_rule_of(arguments);
  answer.asked = std::move(asked);
  answer.asked.objective = *value_named<Objective>(arguments.text("--objective"));
  const bool cost = answer.asked.objective == Objective::kCost;
  if (cost) answer.asked.within = arguments.number("--within") / 100;
  if (cost && price_per_hour(scenario.cluster).value_or(0) == 0)
    throw BadInput(
        "--objective cost: the cluster has no price; write its node groups' \"price_per_gpu_hour\", such as --set "
        "'/cluster/nodes/*/price_per_gpu_hour=2.5'");
  answer.budget = budget_of(arguments);
  const std::vector<Axis> over = over_of(arguments);
  check_apart(axes_of(loaded, over, arguments.texts("--schedule")));
  std::vector<TriedPoint> tried;
  try {
    const StopsNoted stops;
    answer.written = while_shown("playing the schedules as they are written", [&] {
      return written_schedules(scenario, answer.asked, arguments.texts("--schedule"), jobs);
    });
    const bool fits = std::ranges::any_of(answer.written, [](const TriedPoint& each) {
      return each.refusal.empty() && each.evaluation.state != PointState::kDoesNotFit;
    });
    answer.space = while_shown("looking for candidates", [&] {
      return candidates_for(loaded, arguments.texts("--schedule"), over, cost, fits, answer.asked.form, like);
    });
    if (answer.space.forms.empty() && !answer.space.left_out.empty()) throw BadInput(answer.space.left_out.front());
    for (const Axis& axis : over) check_axis(axis, answer.space, scenario, answer.asked);
    answer.advice = findings_of(answer.space, searched(answer, jobs, tried), answer.asked.samples, answer.asked.within);
    const Progress progress("comparing the best with each other");
    add_time_parts(answer, jobs);
    add_adding(answer);
    add_takeovers(answer, scenario.cluster, jobs);
  } catch (const Stopped& stop) {
    throw Stopped(stop.signal, kept_in_words(std::move(answer), std::move(tried), arguments));
  }
  return answer;
}

/// The winner as it is typed. `script`: what it is held against, or nothing; `said`: of its training.
std::string typed_winner(const Answer& answer, const LoadedScenario* script, std::vector<std::string> said,
                         const Arguments& arguments) {
  if (!answer.asked.form || !answer.advice.winner) return "";
  const Choice choice = choice_at(answer, *answer.advice.winner);
  TypedAnswer typed = typed_answer(*answer.asked.form, loaded_with(answer.asked, choice.set).scenario, script,
                                   command_of("advise", advise_options(), {}, arguments));
  typed.said = std::move(said);
  return typed_text(typed);
}

ExitCode advise(const Arguments& arguments) {
  const LoadedScenario own = load_asked(arguments);
  LoadedScenario loaded = own;
  const bool script = is_launch_script(arguments.text("scenario"));
  AdviceQuery asked{
      .scenario = arguments.text("scenario"), .set = arguments.texts("--set"), .form = form_asked(arguments)};
  asked.launch = command_of("", launch_options(), {}, arguments).substr(std::strlen("accosim "));
  const ScheduleSpec* like = nullptr;
  std::vector<std::string> said;
  if (asked.form) {
    const auto& all = own.scenario.schedules;
    const auto synchronous = std::ranges::find_if(all, is_synchronous),
               other = std::ranges::find_if_not(all, is_synchronous);
    if (other != all.end()) like = &*other;  // which gives the types, and is in no framework
    const Nearest nearest =
        nearest_to(*asked.form, own, resolved_entry(own, synchronous == all.end() ? "" : synchronous->label));
    for (const Replaced& each : nearest.replaced)
      if (each.schedule.empty()) said.push_back(in_words(each));
    loaded = load_again(own, nearest.set);
    asked.set.insert(asked.set.end(), nearest.set.begin(), nearest.set.end());
  }
  if (script || asked.form) asked.made = std::make_shared<const LoadedScenario>(loaded);
  const std::string& output = arguments.text("--output");
  check_outputs({{"--output", output, winner_kind()}}, loaded.files, arguments.flag("--force"));
  const Answer answer = answer_of(loaded, std::move(asked), like, arguments);
  if (!output.empty() && answer.advice.winner) write_winner(answer, output);  // also for who reads but the first lines
  const std::string typed = typed_winner(answer, script ? &own : nullptr, std::move(said), arguments);
  if (arguments.flag("--json"))
    write_advice_json(std::cout, answer, typed);
  else
    write_advice(std::cout, answer, console_options(), typed);
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
