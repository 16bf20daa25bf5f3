#include "reports/evidence/inspection_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/base/each.hpp"
#include "models/base/text.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

std::string amount(const Verdict& one, double value) {
  return one.is_rate() ? human_rate(BytesPerSecond{value}) : human_time(Seconds{value});
}

/// "3.0".
std::string times(double factor) { return fmt::format("{:.{}f}", factor, factor < 9.95 ? 1 : 0); }

/// "Rank 2's kernels take".
std::string subject(const Verdict& one) {
  std::string where = one.where;
  if (where[0] >= 'a' && where[0] <= 'z') where[0] = static_cast<char>(where[0] - 'a' + 'A');
  switch (one.part) {
    case MachinePart::kKernels: return where + "'s kernels take";
    case MachinePart::kMemory: return where + "'s memory-bound kernels take";
    case MachinePart::kHost: return where + "'s host takes";
    case MachinePart::kLink: return "The link from " + one.where + " takes";
    case MachinePart::kBus: return where + "'s copies over PCIe take";
    case MachinePart::kCollectives: return "Collectives over " + one.where + " take";
  }
  return where;
}

/// "a step of zero1 takes 2.90 times as long, one of acco 1.80 times".
std::string steps_in_words(const std::vector<InspectedStep>& steps) {
  std::string words;
  for (const InspectedStep& step : steps)
    words += fmt::format(
        fmt::runtime(words.empty() ? "a step of {} takes {:.2f} times as long" : ", one of {} {:.2f} times"),
        step.schedule, step.measured / step.sound);
  return words;
}

std::string sentence_of(const InspectedMachine& machine, const Verdict& one, bool alone) {
  std::string text = fmt::format("{} {} times as long as {} ({}: {}, not {})", subject(one), times(one.times),
                                 one.against, one.what, amount(one, one.measured), amount(one, one.expected));
  if (one.cost)
    text += alone ? ": for it " + steps_in_words(machine.steps)
                  : fmt::format(", which costs a step of {} {}", machine.steps.front().schedule, human_time(*one.cost));
  return text + ". Look at " + one.look_at + ".";
}

void say_machine(Document& document, const InspectedMachine& machine) {
  constexpr std::size_t kMost = 12;  // sentences: the table has all
  const std::vector<Verdict> faults = faults_of(machine);
  for (std::size_t i = 0; i < std::min(faults.size(), kMost); ++i)
    document.say({sentence_of(machine, faults[i], faults.size() == 1)});
  if (faults.size() > kMost)
    document.say({fmt::format("{} more are slow; the table has them.", faults.size() - kMost)});
  if (faults.size() > 1 && !machine.steps.empty())
    document.say({fmt::format("With all of it {}.", steps_in_words(machine.steps))});
  if (faults.empty())
    document.say({machine.untold.empty() || !machine.verdicts.empty()
                      ? "Nothing is slower than noise, or what is usual of its kind, explains."
                      : "Nothing is found slow, of what these samples tell."});
  document.line(fmt::format("{}: {}", machine.name, machine.title));
}

Value number(const std::string& text) { return {Value::Kind::kNumber, text}; }

JsonValue verdict_json(const Verdict& one) {
  const std::string unit = one.is_rate() ? "bytes_per_s" : "s";
  JsonValue json = json_object({{"part", name_of(one.part)},
                                {"sample", one.sample},
                                {"what", one.what},
                                {"where", one.where},
                                {"place", one.place},
                                {"measured_" + unit, one.measured},
                                {"expected_" + unit, one.expected},
                                {"times_as_slow", one.times},
                                {"limit", one.limit},
                                {"slow", one.slow()},
                                {"against", one.against},
                                {"cost_s", one.cost ? std::optional(one.cost->value) : std::nullopt}});
  if (one.slow()) json.set("look_at", one.look_at);
  return json;
}

}  // namespace

Document inspection_document(const std::vector<InspectedMachine>& machines) {
  Document document;
  Table table({left("what"), left("where"), right("measured"), right("expected"), right("times", "as slow"),
               right("costs", "a step"), left("verdict")});
  Document::List untold;
  for (const InspectedMachine& machine : machines) {
    say_machine(document, machine);
    for (const Verdict& one : shown_verdicts(machine)) {
      const std::string where =
          machines.size() > 1 && machine.ring ? fmt::format("{}, {}", machine.name, one.where) : one.where;
      const std::string cost = one.cost ? human_time(*one.cost) : "";
      table.add({printable(one.what, 200), printable(where, 200), number(amount(one, one.measured)),
                 number(amount(one, one.expected)), number(fmt::format("{:.2f}", one.times)), number(cost),
                 one.slow() ? "slow" : "sound"},
                one.slow() ? Style::kBad : Style::kPlain);
    }
    for (const std::string& one : machine.untold) untold.items.push_back({"", {printable(one, 400)}});
  }
  document.table(std::move(table));
  if (!untold.items.empty()) document.say({"Not told:"});
  document.list(std::move(untold));
  return document;
}

JsonValue inspection_json(const std::vector<InspectedMachine>& machines) {
  return json_object({{"schema", "accosim.inspection/1"},
                      {"sound", std::ranges::none_of(machines, [](const InspectedMachine& one) { return one.slow(); })},
                      {"machines", mapped<JsonValue>(machines, [](const InspectedMachine& machine) {
                         return json_object({{"name", machine.name},
                                             {"title", machine.title},
                                             {"sound", !machine.slow()},
                                             {"steps", mapped<JsonValue>(machine.steps,
                                                                         [](const InspectedStep& step) {
                                                                           return json_object(
                                                                               {{"schedule", step.schedule},
                                                                                {"sound_s", step.sound.value},
                                                                                {"measured_s", step.measured.value}});
                                                                         })},
                                             {"verdicts", mapped<JsonValue>(shown_verdicts(machine), verdict_json)},
                                             {"not_told", machine.untold}});
                       })}});
}

}  // namespace accosim
