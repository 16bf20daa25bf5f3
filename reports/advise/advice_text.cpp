// An advice in words and tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "reports/advise/advice_report.hpp"
#include "reports/answer.hpp"
#include "reports/fair_text.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostFront = 8;
constexpr std::size_t kMostReasons = 5;
constexpr int kMostName = 42;  ///< columns of a name in a table

std::string points_of(std::size_t count) { return count == 1 ? "1 point" : fmt::format("{} points", count); }

/// "; 3 do not fit"; empty where there are none.
std::string also(std::size_t count, const char* what) { return count == 0 ? "" : fmt::format("; {} {}", count, what); }

std::string label_of(const Answer& answer, std::size_t at) { return answer.advice.points[at].label; }

/// "zero1 with micro_batch_size 8, gradient_accumulation_steps 4"
std::string name_of(const Answer& answer, std::size_t at) {
  const Choice choice = choice_at(answer, at);
  return choice.options.empty() ? choice.label : choice.label + " with " + choice.options;
}

const Evaluation& at(const Answer& answer, std::size_t point) { return answer.advice.points[point].evaluation; }

bool is_cost(const Answer& answer) { return answer.asked.objective == Objective::kCost; }

/// "1.63 s per update", or "41.2 for all tokens" of what is to be cheap.
std::string spent_of(const Answer& answer, const Evaluation& each) {
  return is_cost(answer) ? fmt::format("{} for all tokens", human_money(each.cost, answer.currency))
                         : fmt::format("{} per update", human_time(Seconds{each.update_time}));
}

/// "1.63 s per update (80 %: 1.32 s to 2.02 s), 0:46:40 for all tokens"
std::string spent_with_interval(const Answer& answer, const Evaluation& each) {
  const std::string all = human_clock(Seconds{each.total_time});
  if (!is_cost(answer))
    return fmt::format("{} (80 %: {}), {} for all tokens", spent_of(answer, each),
                       human_range(human_time(Seconds{each.low}), human_time(Seconds{each.high})), all);
  return fmt::format("{} (80 %: {}), in {}, {} per update", spent_of(answer, each),
                     human_range(human_money(each.cost * each.low / each.update_time, answer.currency),
                                 human_money(each.cost * each.high / each.update_time, answer.currency)),
                     all, human_time(Seconds{each.update_time}));
}

/// " (gradients reduced in fp32, not in bf16)"; empty where the winner reduces in the same type.
std::string type_beside(const Evaluation& winner, const Evaluation& each) {
  return each.reduced == winner.reduced
             ? ""
             : fmt::format(" (gradients reduced in {}, not in {})", name_of(each.reduced), name_of(winner.reduced));
}

/// ", 2.6 % less than zero1": what is spent, as a ratio of that one's.
std::string beside(double ratio, const std::string& whose) {
  return fmt::format(", {} {} than {}", human_percent(std::abs(1 - ratio)), ratio < 1 ? "less" : "more", whose);
}

std::string beside_synchronous(const Answer& answer, const Evaluation& winner) {
  const std::optional<std::size_t>& synchronous = answer.advice.synchronous;
  if (!synchronous) return "";
  const Evaluation& best = at(answer, *synchronous);
  return beside(winner.spent_per_sample() / best.spent_per_sample(),
                "the best synchronous schedule, " + label_of(answer, *synchronous) + type_beside(winner, best));
}

/// ", 12 % less than ddp as written"; empty where it took no part.
std::string beside_written(const Answer& answer, const Evaluation& winner, const TriedPoint& written) {
  const Evaluation& each = written.evaluation;
  if (each.state == PointState::kDoesNotFit) return fmt::format(", where {} as written does not fit", written.label);
  if (!each.has_time) return "";
  const double ratio = winner.spent_per_sample() / each.spent_per_sample();
  std::string whose = written.label + " as written" + type_beside(winner, each);
  if (std::abs(ratio - 1) < 5e-4) return (is_cost(answer) ? ", as much as " : ", as long as ") + whose;
  if (std::abs(each.samples / answer.asked.samples - 1) > answer.asked.tolerance)
    whose += fmt::format(" takes for as many samples (its updates have {})", human_count(each.samples));
  return beside(ratio, whose);
}

/// Of the scenario's own schedules the baseline and then, where that is another one, the best of those that may win.
std::vector<const TriedPoint*> written_to_name(const Answer& answer) {
  std::vector<const TriedPoint*> named;
  const auto baseline = std::ranges::find(answer.written, answer.baseline, &TriedPoint::label);
  if (baseline != answer.written.end()) named.push_back(&*baseline);
  const TriedPoint* best = nullptr;
  for (const TriedPoint& each : answer.written) {
    const Evaluation& here = each.evaluation;
    if (here.state != PointState::kPlayed || !here.caveats.none()) continue;
    if (best == nullptr || here.spent_per_sample() < best->evaluation.spent_per_sample()) best = &each;
  }
  if (best != nullptr && best->label != answer.baseline) named.push_back(best);
  return named;
}

std::string memory_of(const Evaluation& each) {
  return fmt::format("{} of {} a GPU", human_memory(Bytes{each.memory}), human_memory(Bytes{each.capacity}));
}

std::string no_winner_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  const std::size_t refused = advice.tried - advice.do_not_fit - advice.other_batch;
  const std::size_t untried = advice.candidates - advice.tried;
  return fmt::format(
      "None of {} can be had at {} samples an update: {} do not fit into memory, {} have updates of another size{}.{}",
      points_of(advice.tried), human_count(answer.asked.samples), advice.do_not_fit, advice.other_batch,
      refused > 0 ? fmt::format(", {} are refused", refused) : "",
      untried > 0             ? fmt::format(" {} more were not tried: raise --budget.", untried)
      : advice.do_not_fit > 0 ? " Take more GPUs, or GPUs with more memory, or a smaller model."
                              : "");
}

/// "Faster at a price: dpu with ...: 1.42 s per update, 1.08 times as fast, with gradients one update late."
std::string faster_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  const double winner = at(answer, *advice.winner).spent_per_sample();
  std::string text;
  for (const std::size_t i : advice.faster) {
    const Evaluation& each = at(answer, i);
    const double times = winner / each.spent_per_sample();
    const std::string better =
        is_cost(answer) ? human_percent(1 - 1 / times) + " less" : fmt::format("{:.2f} times as fast", times);
    text += fmt::format("{}{}: {}, {}, {}{}",
                        !text.empty()     ? "; "
                        : is_cost(answer) ? "Cheaper with a caveat: "
                                          : "Faster at a price: ",
                        name_of(answer, i), spent_of(answer, each), better, in_words(each.caveats),
                        type_beside(at(answer, *advice.winner), each));
  }
  return text.empty() ? "" : text + ".";
}

/// Of the winner itself, where nothing is without one.
std::string caveats_in_words(const Answer& answer) {
  const Caveats& caveats = at(answer, *answer.advice.winner).caveats;
  return caveats.none() ? ""
                        : fmt::format("Nothing here is without a caveat; this is the nearest, {}.", in_words(caveats));
}

void write_searched(std::ostream& out, const Answer& answer, const ConsoleOptions& options) {
  const Findings& advice = answer.advice;
  write_wrapped(
      out, "asked for  ",
      fmt::format("{} samples an update of {}, on {}", human_count(answer.asked.samples), answer.model, answer.gpus),
      options.width);
  const std::size_t grown = advice.simulated - advice.played;
  const std::size_t asked =
      advice.simulated + advice.do_not_fit + advice.other_batch - grown + advice.cannot_win + advice.refused;
  std::string text =
      advice.exhaustive
          ? fmt::format("all {} of the space", points_of(advice.candidates))
          : fmt::format(
                "{} of {}{} candidates (--budget {} simulations): every micro-batch and recomputation, then one "
                "option at a time and two around the best of each schedule",
                points_of(asked), advice.candidates >= kMostCandidates ? "more than " : "",
                human_count(static_cast<double>(advice.candidates)), answer.budget);
  text += fmt::format(". {} were simulated", advice.simulated);
  if (advice.tight > 0) text += fmt::format(", {} of them tight", advice.tight);
  if (grown > 0) text += fmt::format(", {} of them with updates of another size", grown);
  text += fmt::format("; {} do not fit", advice.do_not_fit);
  text += also(advice.other_batch - grown, "have updates of another size");
  if (advice.cannot_win > 0)
    text += fmt::format(
        "; {} were pruned, since what they take at least is beyond the best ({} % beyond it for those of many "
        "collectives)",
        advice.cannot_win, std::lround(100 * (kHopeful - 1)));
  text += also(advice.refused, "are refused");
  if (!advice.exhaustive)
    text += fmt::format("; {} were not looked at{}", human_count(static_cast<double>(advice.candidates - asked)),
                        advice.simulated >= answer.budget ? ": raise --budget" : "");
  write_wrapped(out, "searched   ", text + ".", options.width);
  std::vector<std::string> knobs;
  for (const Form& form : answer.space.forms)
    for (const Knob& knob : form.knobs) {
      const bool later = !advice.exhaustive && knob.later < knob.alternatives.size();
      const std::string name =
          knob.name + (later ? " (the model split only around the best point; --over parallel tries more)" : "");
      if (knob.alternatives.size() > 1 && std::ranges::find(knobs, name) == knobs.end()) knobs.push_back(name);
    }
  const std::size_t forms = answer.space.forms.size();
  knobs.insert(knobs.begin(), fmt::format("{} schedule{}", forms, forms == 1 ? "" : "s"));
  write_wrapped(out, "varied     ", fmt::format("{}", fmt::join(knobs, ", ")), options.width);
}

/// What is spent beyond the winner, in percent.
double over_winner(const Answer& answer, std::size_t point) {
  return at(answer, point).spent_per_sample() / at(answer, *answer.advice.winner).spent_per_sample() - 1;
}
std::string over_in_words(const Answer& answer, std::size_t point) { return human_error(over_winner(answer, point)); }

/// Figures of points, and below them what each is.
void write_points(std::ostream& out, const Answer& answer, const char* title, const std::vector<std::size_t>& points,
                  const ConsoleOptions& options) {
  if (points.empty()) return;
  const Evaluation& winner = at(answer, *answer.advice.winner);
  std::vector<Column> columns{
      left(title),  right("update"), right("80 %", "interval"), right("over the", "best"), right("memory"),
      left("fits"), right("sent"),   right("exposed", "comm.")};
  if (winner.price > 0) columns.push_back(right("cost"));
  Table table(columns);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Evaluation& each = at(answer, points[i]);
    const bool tight = each.verdict == FitVerdict::kTight;
    table.add(
        Style::kPlain,
        {fmt::format("{} {}", i + 1, label_of(answer, points[i])), human_time(Seconds{each.update_time}),
         human_range(human_time(Seconds{each.low}), human_time(Seconds{each.high}), " - "),
         over_in_words(answer, points[i]), human_memory(Bytes{each.memory}),
         tight ? fmt::format("tight ({})", in_percent(each.fit_probability)) : "yes", human_bytes(Bytes{each.sent}),
         human_time(Seconds{each.exposed}), human_money(each.cost, answer.currency)});
  }
  write_table_below(out, "", table.columns(), options);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string what = choice_at(answer, points[i]).options;
    write_wrapped(out, fmt::format("{:>3} ", i + 1), what.empty() ? "as written" : what, options.width);
  }
}

/// "zero1, 16 x 2": the schedule and what decides most, without the nodes.
std::string short_name_of(const Answer& answer, std::size_t point) {
  const Choice choice = choice_at(answer, point);
  std::string text = choice.label;
  if (!choice.coarse_options.empty()) text += ", " + choice.coarse_options;
  const int nodes = at(answer, point).nodes;
  for (const auto& [written, brief] : {std::pair(fmt::format(", {} node{}, ", nodes, nodes == 1 ? "" : "s"), ", "),
                                       std::pair(std::string("micro_batch_size "), ""),
                                       std::pair(std::string(", gradient_accumulation_steps "), " x ")})
    if (const std::size_t found = text.find(written); found != std::string::npos)
      text.replace(found, written.size(), brief);
  return cut_to_width(text, kMostName);
}

/// What fewer nodes cost and take: the first that whoever pays looks at.
void write_by_nodes(std::ostream& out, const Answer& answer, const ConsoleOptions& options) {
  const std::vector<std::size_t>& all = answer.advice.by_nodes;
  if (!is_cost(answer) || all.size() < 2) return;
  Table table({right("nodes"), right("cost"), right("over the", "cheapest"), right("all tokens", "h:mm:ss"),
               left("cheapest schedule")});
  for (const std::size_t i : all) {
    const Evaluation& each = at(answer, i);
    table.add(Style::kPlain,
              {std::to_string(each.nodes), human_money(each.cost, answer.currency), over_in_words(answer, i),
               human_clock(Seconds{each.total_time}), short_name_of(answer, i)});
  }
  write_table_below(out, "", table.columns(), options);
}

/// Schedules of which nothing may win.
void write_without(std::ostream& out, const Answer& answer, const ConsoleOptions& options) {
  for (const FormResult& form : answer.advice.forms) {
    if (form.best) continue;
    std::string why = fmt::format("{}: none of {}", answer.space.forms[form.form].label, points_of(form.tried));
    why += also(form.cannot_win, "take at least longer than the best") + also(form.do_not_fit, "do not fit") +
           also(form.other_batch, "have updates of another size");
    if (form.nearest_samples)
      why += fmt::format(" (the nearest {} samples, {:.2f} times what was asked for)",
                         human_count(*form.nearest_samples), *form.nearest_samples / answer.asked.samples);
    write_wrapped(out, "  - ", why + also(form.refused, "are refused"), options.width);
  }
}

void write_front(std::ostream& out, const Answer& answer, const ConsoleOptions& options) {
  const std::vector<std::size_t>& front = answer.advice.front;
  std::vector<std::size_t> points;
  const std::size_t shown = std::min(front.size(), kMostFront);
  for (std::size_t i = 0; i < shown; ++i)
    points.push_back(front[shown == 1 ? 0 : i * (front.size() - 1) / (shown - 1)]);
  write_points(out, answer, "front", points, options);
  std::string text =
      fmt::format("The front: nothing else is as good in {}, memory and bytes sent, and better in one of them.",
                  name_of(answer.asked.objective));
  if (shown < front.size()) text += fmt::format(" {} of {} points are shown; --json has all.", shown, front.size());
  write_sentence(out, options, text);
}

std::string why_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  if (!advice.second)
    return advice.cannot_win > 0 ? "Nothing comes second: no other point was worth simulating."
                                 : "Nothing comes second: no other point takes longer.";
  std::string text =
      fmt::format("Second is {}: {}, {} more{}.", name_of(answer, *advice.second),
                  spent_of(answer, at(answer, *advice.second)), human_percent(over_winner(answer, *advice.second)),
                  type_beside(at(answer, *advice.winner), at(answer, *advice.second)));
  const std::vector<std::pair<TimeUse, Seconds>> differences = differences_of(answer);
  std::vector<std::string> parts;
  for (const auto& [use, more] : differences)
    parts.push_back(fmt::format(" {} {} on {}", human_time(Seconds{std::abs(more.value)}),
                                more > Seconds{0} ? "less" : "more", name_of(use)));
  text += parts.empty() ? " No part of the update differs by a hundredth of it."
                        : fmt::format(" For as many samples {} spends{}.", label_of(answer, *advice.winner),
                                      fmt::join(parts, ","));
  if (advice.next && advice.next != advice.second) {
    text += fmt::format(" Of {} itself the next is with {}: {} more.", label_of(answer, *advice.winner),
                        choice_at(answer, *advice.next).options, human_percent(over_winner(answer, *advice.next)));
  }
  return text;
}

std::string rate_in_words(const Answer& answer, double factor) {
  const double rate = answer.network.rate * factor * 8 / 1e9;
  return rate < 999.5 ? fmt::format("{:.3g} Gbit/s", rate) : fmt::format("{:.0f} Gbit/s", rate);
}

std::string bandwidth_in_words(const Answer& answer) {
  const Takeovers& takeovers = answer.takeovers;
  const std::string of = answer.network.what + " of " + rate_in_words(answer, 1);
  if (answer.rivals.size() < 2) return "";
  if (!takeovers.below && !takeovers.above)
    return fmt::format(
        "Between {} and {} none of the others that are near now is better (now {}; {} candidates were tried).",
        rate_in_words(answer, takeovers.least), rate_in_words(answer, takeovers.most), of, answer.rivals.size());
  std::string text = fmt::format("The answer is for {}; of {} candidates that are near now:", of, answer.rivals.size());
  const auto add = [&](const std::optional<Takeover>& takeover, const char* where, double end) {
    if (takeover)
      text += fmt::format(" {} {} {} is better.", where, rate_in_words(answer, takeover->factor),
                          name_of(answer, answer.rivals[takeover->by]));
    else
      text += fmt::format(" It stays as far as {}.", rate_in_words(answer, end));
  };
  add(takeovers.below, "Below", takeovers.least);
  add(takeovers.above, "Above", takeovers.most);
  return text;
}

std::string open_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  if (advice.open_points == 0) return "The 80 % interval leaves no other point open as the best.";
  if (advice.open.empty())
    return fmt::format(
        "Of other schedules none can be the best by the 80 % interval; {} of the same one cannot be told apart from "
        "it.",
        points_of(advice.open_points));
  std::string text = label_of(answer, *advice.winner);
  for (const std::size_t i : advice.open)
    text += fmt::format("{}{} ({})", i == advice.open.back() ? " and " : ", ", label_of(answer, i),
                        over_in_words(answer, i));
  return fmt::format("These {} cannot be told apart by the 80 % interval: {}; with their other options {} in all.",
                     advice.open.size() + 1, text, points_of(advice.open_points + 1));
}

void write_refusals(std::ostream& out, const Answer& answer, const ConsoleOptions& options) {
  const std::vector<Refusal>& refusals = answer.advice.refusals;
  for (std::size_t i = 0; i < std::min(refusals.size(), kMostReasons); ++i)
    write_wrapped(out, "  - ", fmt::format("refused, {}: {}", points_of(refusals[i].points), refusals[i].why),
                  options.width);
  if (refusals.size() > kMostReasons)
    write_wrapped(out, "  - ", fmt::format("... and {} more reasons", refusals.size() - kMostReasons), options.width);
  for (const std::string& each : answer.space.left_out) write_wrapped(out, "  - ", "left out, " + each, options.width);
}

/// What repeats the winner; `between` stands before each --set.
std::string command_of(const Answer& answer, const char* between) {
  const Choice choice = choice_at(answer, *answer.advice.winner);
  std::string command = "accosim compare " + in_shell(answer.asked.scenario) + answer.asked.launch;
  if (choice.written) command += " --schedule " + in_shell(choice.label);
  std::vector<std::string> sets = answer.asked.set;
  sets.insert(sets.end(), choice.set.begin(), choice.set.end());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string place = sets[i].substr(0, sets[i].find('=') + 1);
    const bool later = std::any_of(sets.begin() + static_cast<std::ptrdiff_t>(i) + 1, sets.end(),
                                   [&](const std::string& set) { return set.starts_with(place); });
    if (!later) command += between + ("--set " + in_shell(sets[i]));
  }
  return command;
}

/// "zero1 with micro_batch_size 8, ...: 1.23 s per update, 12 % less than ddp as written."
std::string advice_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  if (!advice.winner) return no_winner_in_words(answer);
  const Evaluation& winner = at(answer, *advice.winner);
  std::string text =
      name_of(answer, *advice.winner) + ": " + spent_with_interval(answer, winner) + beside_synchronous(answer, winner);
  for (const TriedPoint* const written : written_to_name(answer)) {
    const std::string other = beside_written(answer, winner, *written);
    const bool first = other.empty() || written->label == answer.baseline;
    text += first ? other : " and" + other.substr(1);
  }
  if (advice.sooner) {
    const Evaluation& sooner = at(answer, *advice.sooner);
    text += fmt::format(". For {} more ({}), {} is done in {}", human_percent(over_winner(answer, *advice.sooner)),
                        human_money(sooner.cost, answer.currency), name_of(answer, *advice.sooner),
                        human_clock(Seconds{sooner.total_time}));
  }
  text += winner.verdict == FitVerdict::kTight ? fmt::format(". Whether it fits is not sure ({}): {}.",
                                                             in_percent(winner.fit_probability), memory_of(winner))
                                               : fmt::format(". It fits: {}.", memory_of(winner));
  if (advice.open.empty()) return text;
  // Of the other side, where that is near: what a schedule gains over another of its own is no answer.
  const auto synchronous = std::ranges::find(advice.open, advice.synchronous);
  const std::size_t near = synchronous == advice.open.end() ? advice.open.front() : *synchronous;
  return text + fmt::format(" {} ({}) is too near to tell the two apart.", label_of(answer, near),
                            over_in_words(answer, near));
}

}  // namespace

void write_advice(std::ostream& out, const Answer& answer, const ConsoleOptions& options, const std::string& typed) {
  const auto write_all = [&](const std::vector<std::string>& sentences) {
    for (const std::string& text : sentences)
      if (!text.empty()) write_sentence(out, options, text);
  };
  write_sentence(out, options, advice_in_words(answer));
  const bool any = answer.advice.winner.has_value();
  if (answer.adding) write_sentence(out, options, in_words(*answer.adding));
  if (any) write_all({caveats_in_words(answer), faster_in_words(answer)});
  write_by_nodes(out, answer, options);
  for (const Warning& each : answer.cautions)
    write_sentence(out, options, "Caution: {} ({}).", each.message, each.code);
  out << '\n';
  write_searched(out, answer, options);
  if (any) {
    std::vector<std::size_t> best;
    for (const FormResult& form : answer.advice.forms)
      if (form.best) best.push_back(*form.best);
    write_points(out, answer, "schedule", best, options);
  } else {
    out << '\n';
  }
  write_without(out, answer, options);
  if (any) {
    write_front(out, answer, options);
    out << '\n';
    write_all({why_in_words(answer), bandwidth_in_words(answer), open_in_words(answer)});
  }
  write_refusals(out, answer, options);
  if (any) out << "\nTo repeat it:\n\n    " << command_of(answer, " \\\n        ") << '\n';
  if (!typed.empty()) out << '\n' << typed;
}

std::string best_so_far_in_words(const Answer& answer) {
  const Findings& advice = answer.advice;
  if (advice.simulated == 0) return "no configuration had been simulated; nothing is kept on the disk";
  std::string text =
      fmt::format("of {}{} configurations {} were looked at and {} of them simulated; nothing is kept on the disk",
                  advice.candidates >= kMostCandidates ? "more than " : "",
                  human_count(static_cast<double>(advice.candidates)), advice.tried, advice.simulated);
  if (!advice.winner) return text + ", and none of them fits at the batch that was asked for";
  const Evaluation& winner = at(answer, *advice.winner);
  text +=
      fmt::format("\nthe best so far is {}: {}", name_of(answer, *advice.winner), spent_with_interval(answer, winner));
  if (!winner.caveats.none()) text += ", " + in_words(winner.caveats);
  return text + "\nto repeat that: " + command_of(answer, " ");
}

}  // namespace accosim
