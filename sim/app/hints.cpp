// Hints come from the verbs' names and flags: the nearest of them, or whose a flag is.
#include "sim/app/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

/// Of a flag that the verb does not have: whose it is, else the nearest that it has.
std::string flag_hint(const std::string& flag, const Verb& verb, const std::vector<Verb>& verbs) {
  std::string owners;
  for (const Verb& other : verbs)
    if (contains(flags_of(other), flag)) owners += (owners.empty() ? "" : ", ") + other.name;
  if (!owners.empty())
    return fmt::format("accosim: {} has no {}, which belongs to {}; leave it out\n", verb.name, flag, owners);
  const std::string near = nearest(flag, flags_of(verb));
  return fmt::format("accosim: {} has no {}; {}\n", verb.name, printable(flag),
                     near.empty() ? fmt::format("accosim help {} lists what it has", verb.name)
                                  : fmt::format("did you mean {}?", near));
}

}  // namespace

std::string verb_hint(const std::string& word, const std::vector<Verb>& verbs) {
  const std::string near = nearest(word, names_of(verbs));
  return fmt::format("accosim: no verb {}; {}\n", in_quotes(word),
                     near.empty() ? "accosim help lists them" : "did you mean " + in_quotes(near) + "?");
}

std::string command_line_hint(const Texts& words, const std::vector<Verb>& verbs) {
  const auto first =
      std::ranges::find_if(words, [](const std::string& word) { return !word.empty() && word[0] != '-'; });
  if (first == words.end()) return {};
  const auto verb = std::ranges::find(verbs, *first, &Verb::name);
  if (verb == verbs.end()) return verb_hint(*first, verbs);
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    if (flag.size() > 2 && flag.rfind("--", 0) == 0 && !contains(flags_of(*verb), flag))
      return flag_hint(flag, *verb, verbs);
  }
  return {};
}

std::string required_hint(const std::string& wrong, const Texts& words, const std::vector<Verb>& verbs) {
  const auto verb =
      std::ranges::find_if(verbs, [&](const Verb& each) { return !words.empty() && each.name == words.front(); });
  if (verb == verbs.end()) return {};
  if (!verb->verbs.empty() && wrong == "A subcommand is required") {
    const Texts names = names_of(verb->verbs);
    const std::string file = words.size() > 1 && words[1].rfind('-', 0) != 0 ? words[1] : "FILE";
    return fmt::format("accosim: say what it is, one of {}: accosim {} {} {}\n", fmt::join(names, ", "), verb->name,
                       names.front(), printable(file, 200));
  }
  std::string call = "accosim " + verb->name;
  const Option* missing = nullptr;
  for (const Option& option : verb->options) {
    const std::string name = name_of(option);
    if (wrong == name + " is required") missing = &option;
    if (name.rfind('-', 0) != 0 && option.required) call += " " + (option.takes.empty() ? name : option.takes);
  }
  if (missing == nullptr || name_of(*missing) == "scenario") return {};
  const std::string name = name_of(*missing);
  if (name.rfind('-', 0) != 0) return fmt::format("accosim: {} is missing; write {}\n", name, call);
  return fmt::format("accosim: {} is missing: {}{}\n", name, missing->help,
                     missing->choices.empty() ? "" : fmt::format("; one of {}", fmt::join(missing->choices, ", ")));
}

std::string scenario_hint(const std::string& verb) {
  return fmt::format(
      "accosim: name a scenario, by its file or as accosim list scenarios shows it: accosim {} finetune_2x4_a100\n",
      verb);
}

std::string wrong_choice(const std::string& text, const Texts& choices) {
  if (contains(choices, text)) return {};
  return fmt::format("{} is none of its values; {}write one of {}", in_quotes(text), did_you_mean(text, choices),
                     fmt::join(choices, ", "));
}

std::string wrong_number(const std::string& text, double least, double most, bool whole) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read =
      std::from_chars(text.data(), end, value, whole ? std::chars_format::fixed : std::chars_format::general);
  const bool number = read.ec == std::errc() && read.ptr == end && !(whole && text.find('.') != std::string::npos);
  if (number && value >= least && value <= most) return {};
  const auto shown = [whole](double limit) { return whole ? fmt::format("{:.0f}", limit) : shortest(limit); };
  const char* const what = whole ? "whole number" : "number";
  return fmt::format("{} is {}; write a {} from {} to {}", in_quotes(text),
                     number ? "out of range" : fmt::format("no {}", what), what, shown(least), shown(most));
}

}  // namespace accosim
