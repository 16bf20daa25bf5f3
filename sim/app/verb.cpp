// Chooses a verb's mode, and refuses what that mode would ignore.
#include "sim/app/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/base/each.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

const Argument& argument(const Arguments& arguments, const std::string& name) {
  const auto found = arguments.all.find(name);
  if (found == arguments.all.end()) throw std::logic_error(name + " is asked for by what does not read it");
  return found->second;
}

template <typename T>
const T& value_of(const Arguments& arguments, const std::string& name) {
  const T* const value = std::get_if<T>(&argument(arguments, name).value);
  if (value == nullptr) throw std::logic_error(name + " is asked for as what it is not");
  return *value;
}

bool says_something(const OptionValue& value) {
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag;
  if (const std::string* const text = std::get_if<std::string>(&value)) return !text->empty();
  return true;
}

const Mode& meant(const Verb& verb, const Arguments& arguments) {
  for (const Mode& mode : verb.modes)
    if (mode.is_meant == nullptr || mode.is_meant(arguments)) return mode;
  throw std::logic_error("no mode of " + verb.name + " is meant");
}

Arguments only(const Arguments& arguments, const Texts& names) {
  Arguments some;
  for (const std::string& name : names) some.all.emplace(name, argument(arguments, name));
  return some;
}

std::string refusal(const Verb& verb, const Mode& mode, const std::string& name) {
  const auto own = mode.refusals.find(name);
  if (own != mode.refusals.end()) return own->second;
  std::string owners;
  for (const Mode& other : verb.modes)
    if (contains(other.reads, name)) owners += fmt::format("{}{} {}", owners.empty() ? "" : ", ", verb.name, other.of);
  return fmt::format("{} belongs to {}; leave it out of {} {}", name, owners, verb.name, mode.of);
}

}  // namespace

Option flag_option(const std::string& names, const std::string& help, const Texts& excludes) {
  return {.names = names, .help = help, .value = false, .excludes = excludes};
}

Option text_option(const std::string& names, const std::string& help, const std::string& takes) {
  return {.names = names, .help = help, .takes = takes};
}

Option texts_option(const std::string& names, const std::string& help, const std::string& takes, bool required) {
  return {.names = names, .help = help, .value = Texts(), .required = required, .takes = takes};
}

Option number_option(const std::string& names, const std::string& help, const OptionValue& value, double least,
                     double most, const std::string& needs) {
  const int* const whole = std::get_if<int>(&value);
  const double usual = whole != nullptr ? *whole : std::get<double>(value);
  return {.names = names,
          .help = help,
          .value = value,
          .least = least,
          .most = most,
          .default_shown = usual >= least && usual <= most,
          .needs = needs};
}

Option file_option(const std::string& names, const std::string& help, bool required) {
  return {.names = names, .help = help, .empty = "names no file", .required = required, .takes = "FILE"};
}

Option json_option() { return flag_option("--json", "One JSON document instead of text"); }

bool contains(const Texts& list, const std::string& word) { return std::ranges::find(list, word) != list.end(); }

std::string name_of(const Option& option) {
  return option.names.substr(option.names.find(',') + 1);  // of one name, from its beginning
}

Texts names_of(const std::vector<Option>& options) {
  return mapped<std::string>(options, [](const Option& option) { return name_of(option); });
}

std::vector<Option> joined(std::vector<Option> first, const std::vector<Option>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

bool Arguments::given(const std::string& name) const {
  const Argument& one = argument(*this, name);
  return one.given && says_something(one.value);
}
bool Arguments::flag(const std::string& name) const { return value_of<bool>(*this, name); }
const std::string& Arguments::text(const std::string& name) const { return value_of<std::string>(*this, name); }
const Texts& Arguments::texts(const std::string& name) const { return value_of<Texts>(*this, name); }
int Arguments::whole(const std::string& name) const { return value_of<int>(*this, name); }
double Arguments::number(const std::string& name) const { return value_of<double>(*this, name); }

std::string command_of(const std::string& verb, const std::vector<Option>& options, const Texts& without,
                       const Arguments& arguments) {
  std::string command = "accosim " + verb;
  const auto add = [&](const std::string& name, const std::string& value) {
    command += (name[0] == '-' ? " " + name : "") + " " + in_shell(value);
  };
  for (const Option& option : options) {
    const std::string name = name_of(option);
    const auto argument = arguments.all.find(name);
    if (argument == arguments.all.end() || !argument->second.given || contains(without, name)) continue;
    const OptionValue& value = argument->second.value;
    if (const auto* const flag = std::get_if<bool>(&value); flag != nullptr && *flag) command += " " + name;
    if (const auto* const text = std::get_if<std::string>(&value)) add(name, *text);
    if (const auto* const number = std::get_if<int>(&value)) add(name, std::to_string(*number));
    if (const auto* const number = std::get_if<double>(&value)) add(name, shortest(*number));
    if (const auto* const texts = std::get_if<Texts>(&value))
      for (std::size_t i = 0; i < texts->size(); ++i)
        add(i % static_cast<std::size_t>(option.words) == 0 ? name : std::string(), (*texts)[i]);
  }
  return command;
}

Arguments defaults_of(const std::vector<Option>& options) {
  Arguments arguments;
  for (const Option& option : options) arguments.all.emplace(name_of(option), Argument{option.value, false});
  return arguments;
}

Mode flag_mode(const std::string& of, const std::string& flag, const Texts& others, ExitCode (*run)(const Arguments&),
               const Texts& refused, const std::string& why) {
  Mode mode{.of = fmt::format("of {} ({})", of, flag), .reads = others, .run = run};
  mode.reads.push_back(flag);
  mode.is_meant = [flag](const Arguments& arguments) { return arguments.given(flag); };
  for (const std::string& name : refused) mode.refusals.emplace(name, why);
  return mode;
}

Texts names_of(const std::vector<Verb>& verbs) { return mapped<std::string>(verbs, &Verb::name); }

std::vector<std::pair<std::string, const Verb*>> by_path(const std::vector<Verb>& verbs) {
  std::vector<std::pair<std::string, const Verb*>> all;
  for (const Verb& verb : verbs) {
    all.emplace_back(verb.name, &verb);
    for (const auto& [path, inner] : by_path(verb.verbs)) all.emplace_back(verb.name + " " + path, inner);
  }
  return all;
}

Texts flags_of(const Verb& verb) {
  Texts flags = {"--help"};
  for (const std::string& name : names_of(verb.options))
    if (name.rfind("--", 0) == 0) flags.push_back(name);
  for (const Verb& inner : verb.verbs) {
    const Texts more = flags_of(inner);
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

Texts unread(const Verb& verb, const Mode& mode, const Arguments& arguments) {
  Texts lines;
  for (const std::string& name : names_of(verb.options)) {
    if (!arguments.given(name) || contains(mode.reads, name)) continue;
    const std::string line = refusal(verb, mode, name);
    if (!contains(lines, line)) lines.push_back(line);
  }
  return lines;
}

ExitCode run(const Verb& verb, const Arguments& arguments) {
  const Mode& mode = meant(verb, arguments);
  const Texts wrong = unread(verb, mode, arguments);
  for (const std::string& line : wrong) tell("", line);
  return wrong.empty() ? mode.run(only(arguments, mode.reads)) : mode.refused;
}

}  // namespace accosim
