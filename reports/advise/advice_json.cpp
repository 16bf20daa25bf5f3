// An advice as JSON.
#include <ostream>

#include "build_info/project.hpp"
#include "reports/advise/advice_report.hpp"
#include "reports/answer.hpp"
#include "reports/fair_text.hpp"

namespace accosim {
namespace {

JsonValue figures_json(const Evaluation& each, JsonValue json) {
  const auto known = [&](double value) { return each.has_time ? JsonValue(value) : JsonValue(); };
  const bool priced = each.capacity > 0;
  json.set("update_time_s", known(each.update_time));
  json.set("update_time_s_low", known(each.low));
  json.set("update_time_s_high", known(each.high));
  json.set("time_per_sample_s", known(each.time_per_sample()));
  json.set("samples_per_update", each.samples);
  json.set("nodes", each.nodes > 0 ? JsonValue(each.nodes) : JsonValue());
  json.set("reduced_in", each.nodes > 0 ? JsonValue(name_of(each.reduced)) : JsonValue());
  json.set("memory_resident_bytes", priced ? JsonValue(each.memory) : JsonValue());
  json.set("memory_capacity_bytes", priced ? JsonValue(each.capacity) : JsonValue());
  json.set("fit_verdict", priced ? JsonValue(name_of(each.verdict)) : JsonValue());
  json.set("fit_probability", priced ? JsonValue(each.fit_probability) : JsonValue());
  json.set("caveats", each.has_time ? caveats_json(each.caveats) : JsonValue());
  json.set("bytes_sent_per_rank_per_update", known(each.sent));
  json.set("exposed_communication_s", known(each.exposed));
  json.set("mfu", known(each.mfu));
  json.set("gpu_idle_fraction", known(each.idle));
  json.set("total_time_s", known(each.total_time));
  json.set("cost", each.price > 0 ? known(each.cost) : JsonValue());
  return json;
}

JsonValue point_json(const Answer& answer, std::size_t at) {
  const Choice choice = choice_at(answer, at);
  return figures_json(
      answer.advice.points[at].evaluation,
      json_object(
          {{"label", choice.label}, {"schedule", choice.schedule}, {"options", choice.options}, {"set", choice.set}}));
}

JsonValue point_json(const Answer& answer, const std::optional<std::size_t>& at) {
  return at ? point_json(answer, *at) : JsonValue();
}

JsonValue points_json(const Answer& answer, const std::vector<std::size_t>& points) {
  return mapped<JsonValue>(points, [&](std::size_t at) { return point_json(answer, at); });
}

JsonValue schedules_json(const Answer& answer) {
  return mapped<JsonValue>(answer.advice.forms, [&](const FormResult& each) {
    const Form& form = answer.space.forms[each.form];
    return json_object({{"label", form.label},
                        {"schedule", form.schedule},
                        {"points", each.tried},
                        {"cannot_win", each.cannot_win},
                        {"does_not_fit", each.do_not_fit},
                        {"other_batch", each.other_batch},
                        {"refused", each.refused},
                        {"nearest_samples_per_update", each.nearest_samples},
                        {"best", point_json(answer, each.best)}});
  });
}

JsonValue parts_json(const Answer& answer) {
  std::vector<JsonValue> all;
  for (std::size_t use = 0; use < kTimeUses && !answer.time_parts.empty(); ++use)
    all.push_back(json_object({{"what", name_of(static_cast<TimeUse>(use))},
                               {"winner_s", answer.time_parts[0][use].value},
                               {"second_s", answer.time_parts[1][use].value}}));
  return all;
}

JsonValue takeover_json(const Answer& answer, const std::optional<Takeover>& takeover) {
  if (!takeover) return {};
  return json_object({{"rate_bytes_per_s", takeover->factor * answer.network.rate},
                      {"factor", takeover->factor},
                      {"by", point_json(answer, answer.rivals[takeover->by])}});
}

}  // namespace

void write_advice_json(std::ostream& out, const Answer& answer, const std::string& typed) {
  const Findings& advice = answer.advice;
  JsonValue document =
      json_object({{"schema", "accosim.advice/2"},
                   {"version", kVersion},
                   {"scenario", answer.name},
                   {"sets", answer.asked.set},
                   {"network", answer.asked.network == NetworkKind::kSimgrid ? "simgrid" : "reference"},
                   {"objective", name_of(answer.asked.objective)},
                   {"samples_per_update", answer.asked.samples},
                   {"batch_tolerance", answer.asked.tolerance},
                   {"budget", answer.budget},
                   {"candidates", advice.candidates},
                   {"exhaustive", advice.exhaustive},
                   {"points", advice.tried},
                   {"simulated", advice.simulated},
                   {"played", advice.played},
                   {"tight", advice.tight},
                   {"cannot_win", advice.cannot_win},
                   {"does_not_fit", advice.do_not_fit},
                   {"other_batch", advice.other_batch},
                   {"refused", advice.refused}});
  if (!answer.currency.empty()) document.set("currency", answer.currency);
  document.set("refusals", mapped<JsonValue>(advice.refusals, [](const Refusal& each) {
                 return json_object({{"why", each.why}, {"points", each.points}});
               }));
  document.set("left_out", answer.space.left_out);
  document.set("cautions", mapped<JsonValue>(answer.cautions, [](const Warning& each) {
                 return json_object({{"code", each.code}, {"message", each.message}, {"advice", each.advice}});
               }));
  document.set("winner", point_json(answer, advice.winner));
  if (advice.sooner) document.set("sooner", point_json(answer, advice.sooner));
  if (answer.asked.objective == Objective::kCost) document.set("by_nodes", points_json(answer, advice.by_nodes));
  document.set("best_synchronous", point_json(answer, advice.synchronous));
  document.set("adding", adding_json(answer.adding));
  document.set("second", point_json(answer, advice.second));
  document.set("next", point_json(answer, advice.next));
  document.set("faster", points_json(answer, advice.faster));
  document.set("time_parts", parts_json(answer));
  document.set("schedules", schedules_json(answer));
  document.set("front", points_json(answer, advice.front));
  document.set("cannot_be_told_apart", points_json(answer, advice.open));
  document.set("points_that_cannot_be_told_apart", advice.open_points);
  document.set("as_written", mapped<JsonValue>(answer.written, [](const TriedPoint& each) {
                 return figures_json(each.evaluation, json_object({{"label", each.label}}));
               }));
  document.set("bandwidth", json_object({{"of", answer.network.what},
                                         {"rate_bytes_per_s", answer.network.rate},
                                         {"least_factor", answer.takeovers.least},
                                         {"most_factor", answer.takeovers.most},
                                         {"below", takeover_json(answer, answer.takeovers.below)},
                                         {"above", takeover_json(answer, answer.takeovers.above)}}));
  if (answer.asked.form && !typed.empty())
    document.set("typed", json_object({{"for", name_of(*answer.asked.form)}, {"text", typed}}));
  out << dump_json(document, 2) << '\n';
}

}  // namespace accosim
