#include "models/launch/launch_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/base/text.hpp"
#include "models/launch/config_text.hpp"
#include "models/launch/shell_arithmetic.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

/// What a job's header says, "--nodes=4" or "-N 4", the last of equal ones.
std::map<std::string, ShellText> header_of(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"-N", "nodes"}, {"-n", "ntasks"}, {"-C", "constraint"}, {"-p", "partition"}, {"-G", "gpus"}};
  std::map<std::string, ShellText> header;
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view each = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++line;
    if (!each.starts_with("#SBATCH")) continue;
    // "--nodes=4 -C a100  # a comment"
    std::vector<std::string> words;
    for (each = each.substr(7); !(each = trimmed(each)).empty() && each.front() != '#';) {
      const std::size_t word = std::min(each.find_first_of(" \t\r"), each.size());
      words.emplace_back(each.substr(0, word));
      each = each.substr(std::min(word + 1, each.size()));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].starts_with('-')) continue;
      std::string name = words[i], value;
      const std::size_t equals = name.find('=');
      const bool shorter = name[1] != '-';
      if (equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.erase(equals);
      } else if (shorter && name.size() > 2) {  // "-N4"
        value = name.substr(2);
        name.erase(2);
      } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
        value = words[++i];
      }
      for (const auto& [letter, whole] : kShort)
        if (name == letter) name = std::string("--") + std::string(whole);
      header[name.substr(std::min<std::size_t>(2, name.size()))] = {value, "", line};
    }
  }
  return header;
}

std::optional<Stated> stated(const std::map<std::string, ShellText>& header, const std::string& name) {
  const auto found = header.find(name);
  if (found == header.end()) return {};
  const std::string& text = found->second.text;
  // "--gpus-per-node=h100:8", "--gres=gpu:8"
  const std::string first = text.substr(0, text.find(','));
  const std::optional<int> number = whole_number(first.substr(first.rfind(':') + 1));
  constexpr int kMost = 10'000;  // so that products of two fit
  return number && *number > 0 && *number <= kMost ? std::optional<Stated>({*number, found->second.line})
                                                   : std::nullopt;
}

/// Nodes and GPUs a node as the header has them, and the variables that the batch system sets by it.
void read_header(std::string_view text, LaunchLine& launch, std::map<std::string, std::string>& variables) {
  const std::map<std::string, ShellText> header = header_of(text);
  const std::optional<Stated> tasks = stated(header, "ntasks"), per_node = stated(header, "ntasks-per-node");
  launch.nodes = stated(header, "nodes");
  if (!launch.nodes && tasks && per_node && tasks->number % per_node->number == 0)
    launch.nodes = Stated{tasks->number / per_node->number, tasks->line};
  launch.gpus_per_node = stated(header, "gpus-per-node");
  if (!launch.gpus_per_node && header.contains("gres") && header.at("gres").text.find("gpu") != std::string::npos)
    launch.gpus_per_node = stated(header, "gres");
  if (const std::optional<Stated> each = stated(header, "gpus-per-task"); !launch.gpus_per_node && each)
    launch.gpus_per_node = Stated{each->number * (per_node ? per_node->number : 1), each->line};
  if (const std::optional<Stated> all = stated(header, "gpus"); !launch.gpus_per_node && all && launch.nodes)
    launch.gpus_per_node = Stated{all->number / std::max(launch.nodes->number, 1), all->line};
  for (const char* const key : {"gres", "gpus-per-node", "constraint", "partition"})
    if (const auto found = header.find(key); found != header.end() && launch.device_hint.empty())
      for (const char* const name : {"v100", "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40s", "a10g"})
        if (lower(found->second.text).find(name) != std::string::npos) launch.device_hint = name;
  const auto set = [&](const char* name, const std::optional<Stated>& value) {
    if (value) variables.emplace(name, std::to_string(value->number));
  };
  for (const char* const name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) set(name, launch.nodes);
  for (const char* const name : {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}) set(name, launch.gpus_per_node);
  set("SLURM_NTASKS_PER_NODE", per_node);
  std::optional<Stated> all = tasks;
  if (!all && per_node && launch.nodes) all = Stated{per_node->number * launch.nodes->number, per_node->line};
  for (const char* const name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, all);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Whether a list of names, of which some end in "*", has one.
bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view each = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (each.ends_with('*') ? name.starts_with(each.substr(0, each.size() - 1)) : each == name) return true;
  }
  return false;
}

/// "--model-name-or-path=x" as a trainer's list of signs has it.
std::string sign_of(const std::string& word) {
  if (!word.starts_with("--")) return "";
  std::string name = word.substr(2, word.find('=') - std::min<std::size_t>(2, word.find('=')));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const Trainer* trainer_by_signs(const std::vector<ShellText>& words, std::size_t from) {
  for (const Trainer& trainer : trainers())
    for (std::size_t i = from; i < words.size(); ++i)
      if (const std::string sign = sign_of(words[i].text); !sign.empty() && is_listed(trainer.signs, sign))
        return &trainer;
  return nullptr;
}

/// The configuration file among a trainer's arguments: behind no option, or behind one that says so.
ShellText config_of(const std::vector<ShellText>& arguments) {
  constexpr std::string_view kOptions = "job.config_file config config_file";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i].text;
    if (!is_config_name(word)) continue;
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && is_listed(kOptions, sign_of(word)))
      return {word.substr(equals + 1), "", arguments[i].line};
    const std::string option = i == 0 ? "" : sign_of(arguments[i - 1].text);
    if (equals == std::string::npos && (option.empty() || is_listed(kOptions, option))) return arguments[i];
  }
  return {};
}

/// Which words of a command are trainers that are known: by their names, or by what follows them.
std::vector<std::size_t> trainers_of(const std::vector<ShellText>& words) {
  constexpr std::string_view kStarts =
      "python* torchrun* deepspeed* accelerate* srun* mpirun* mpiexec* colossalai* "
      "jsrun* composer* uv poetry nohup env";
  constexpr std::string_view kPlain = "pretrain_* finetune_* run_clm* train.py pretrain.py";
  std::vector<std::size_t> found;
  bool started = true;  // "cp pretrain_gpt.py ." starts nothing
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool module = i > 0 && words[i - 1].text == "-m";
    const std::string name = module ? words[i].text : base_name(words[i].text);
    bool trains = false;
    if (module || started)
      for (const Trainer& trainer : trainers()) trains = trains || is_listed(trainer.programs, name);
    if (started && name.ends_with(".py") && !trains) {
      const std::vector<ShellText> after(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      trains = is_listed(kPlain, name) || trainer_by_signs(words, i + 1) != nullptr || !config_of(after).text.empty();
    }
    if (trains) {
      found.push_back(i);
      i = words.size();
    } else {
      started = (i > 0 && started) || is_listed(kStarts, name);
    }
  }
  return found;
}

/// Options of what starts the processes, before the trainer.
void read_launcher(const std::vector<ShellText>& words, LaunchLine& launch) {
  const std::size_t end = words.size();
  const std::string first = words.empty() ? "" : base_name(words.front().text);
  const auto value_of = [&](std::initializer_list<std::string_view> names) -> std::optional<Stated> {
    std::optional<Stated> found;
    for (std::size_t i = 0; i < end; ++i)
      for (const std::string_view name : names) {
        const std::string& word = words[i].text;
        const bool joined = word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=';
        if (word != name && !joined) continue;
        const ShellText& value = joined || i + 1 >= end ? words[i] : words[i + 1];
        std::string text = joined ? word.substr(name.size() + 1) : value.text;
        text = text.substr(0, text.find(':'));  // of "MIN:MAX" nodes the fewest
        if (const std::optional<int> number = whole_number(text); number && *number > 0 && *number <= 1'000'000)
          found = Stated{*number, value.line};
      }
    return found;
  };
  if (const auto nodes = value_of({"--nnodes", "--num_nodes", "--num_machines"})) launch.nodes = nodes;
  if (const auto each = value_of({"--nproc_per_node", "--nproc-per-node", "--num_gpus"})) launch.gpus_per_node = each;
  if (first.starts_with("composer"))
    if (const auto each = value_of({"-n", "--nproc"})) launch.gpus_per_node = each;
  if (first.starts_with("mpi")) launch.processes = value_of({"-np", "-n", "--np"});
  if (const auto all = value_of({"--num_processes"})) launch.processes = all;
}

/// Words of `--with`: a variable or a key, or arguments.
void read_more(const std::vector<std::string>& more, LaunchLine& launch,
               std::map<std::string, std::string>& variables) {
  for (const std::string& each : more) {
    const std::size_t equals = each.find('=');
    if (!each.starts_with('-') && equals != std::string::npos) {
      variables[each.substr(0, equals)] = each.substr(equals + 1);
      launch.keys.push_back({each, "", 0});
      continue;
    }
    const ShellScript listed = read_shell("with " + each, "--with");
    for (const ShellCommand& command : listed.commands)
      launch.more.insert(launch.more.end(), command.words.begin() + 1, command.words.end());
  }
  for (ShellText& each : launch.more) each.line = 0;
}

bool has_key(const JsonValue& config, std::string_view key) {
  const JsonValue* value = &config;
  while (value != nullptr && !key.empty()) {
    const std::size_t end = std::min(key.find('.'), key.size());
    value = value->find(key.substr(0, end));
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return value != nullptr;
}

/// torchtitan's run_train.sh takes its file and the GPUs of a node from its environment.
void read_environment(const ShellCommand& command, LaunchLine& launch) {
  const auto given = [&](const std::string& name) {
    for (const ShellText& each : command.environment)
      if (each.text.starts_with(name + "="))
        return ShellText{each.text.substr(name.size() + 1), each.unknown, each.line};
    const auto variable = launch.script.variables.find(name);
    return variable == launch.script.variables.end() ? ShellText{} : variable->second;
  };
  const ShellText gpus = given("NGPU");
  if (launch.config.text.empty()) launch.config = given("CONFIG_FILE");
  if (const std::optional<int> each = whole_number(gpus.text); each && !launch.gpus_per_node)
    launch.gpus_per_node = Stated{*each, gpus.line};
}

/// Of a file beside the script, with its path; nothing where it is not there.
std::optional<std::string> text_near(const std::string& source, const std::string& path, std::string& near) {
  near = found_near(source, path.starts_with('/') ? path.substr(1) : path);
  std::string found;
  const bool read = !near.empty() && read_text_file(near, found, kMostConfigBytes).empty();
  return read ? std::optional(found) : std::nullopt;
}

LaunchLine launch_line_in(std::string_view text, const std::string& source, const std::vector<std::string>& more,
                          const std::map<std::string, ShellText>* outer);

/// The job that a script submits, if it does. sbatch's options win over the header of the script that it is given.
std::optional<LaunchLine> submitted(const ShellScript& script, const std::string& source,
                                    const std::vector<std::string>& more) {
  std::string options, near;
  for (const ShellCommand& command : script.commands) {
    if (base_name(command.words.front().text) != "sbatch") continue;
    for (const ShellText& word : command.words) {
      options += options.empty() ? "\n#SBATCH" : " " + word.text;
      if (const std::optional<std::string> job = text_near(source, word.text, near))
        return launch_line_in(*job + options, near, more, &script.variables);
    }
    if (const auto job = script.files.find("/dev/stdin"); job != script.files.end())
      return launch_line_in(
          std::string(static_cast<std::size_t>(job->second.line) - 1, '\n') + job->second.text + options, source, more,
          &script.variables);
  }
  return std::nullopt;
}

/// Below a script that submits it: `outer` is the variables of that one.
LaunchLine launch_line_in(std::string_view text, const std::string& source, const std::vector<std::string>& more,
                          const std::map<std::string, ShellText>* outer) {
  LaunchLine launch{.source = source};
  ShellGround ground;
  std::string all(text);  // with what it sources
  ground.opened = [&](const std::string& path) {
    std::string near;
    std::optional<std::string> sourced = text_near(source, path, near);
    all += sourced.value_or("");
    return sourced;
  };
  read_more(more, launch, ground.fixed);
  for (const auto& [name, value] : outer != nullptr ? *outer : std::map<std::string, ShellText>())
    ground.given[name] = value.text;
  read_header(text, launch, ground.given);
  for (const auto& [name, value] : ground.fixed) ground.given[name] = value;
  launch.script = read_shell(text, source, ground);
  for (const auto& [name, value] : ground.fixed)
    if (outer == nullptr && all.find(name) == std::string::npos) launch.unused.push_back(name);
  if (const auto header = header_of(text); header.contains("nodes") && !launch.nodes)  // "2-4"
    launch.script.notes.push_back(
        fmt::format("{}:{}: --nodes={} is no one number: add --nodes N, or the cluster's are taken", source,
                    header.at("nodes").line, printable(header.at("nodes").text)));
  const ShellCommand* starts = nullptr;
  std::size_t place = 0;
  for (const ShellCommand& command : launch.script.commands)
    for (const std::size_t i : trainers_of(command.words)) {
      if (starts != nullptr && starts != &command)
        throw ScenarioError(
            {fmt::format("{}:{}: a second line starts a training (the first is {}); give a script with one", source,
                         command.words[i].line, starts->words[place].line)});
      if (starts == nullptr) place = i;
      starts = &command;
    }
  if (starts == nullptr && outer == nullptr)
    if (std::optional<LaunchLine> job = submitted(launch.script, source, more)) return std::move(*job);
  if (starts == nullptr) {
    std::string why = fmt::format(
        "{}: no line starts a trainer that is known (pretrain_*.py, train.py, run_clm.py, -m torchtitan.train, "
        "llamafactory-cli, axolotl, composer)",
        source);
    if (!launch.script.notes.empty()) why += "; " + launch.script.notes.front();
    throw ScenarioError({why});
  }
  const auto behind = starts->words.begin() + static_cast<std::ptrdiff_t>(place);
  launch.program = base_name(behind->text);
  launch.line = behind->line;
  launch.launcher.assign(starts->words.begin(), behind);
  launch.arguments.assign(behind + 1, starts->words.end());
  launch.config = config_of(launch.arguments);
  read_launcher(starts->words, launch);
  if (launch.program == "run_train.sh") read_environment(*starts, launch);
  return launch;
}

}  // namespace

std::string found_near(const std::string& script, std::string path) {
  std::error_code none;
  std::filesystem::path folder = std::filesystem::path(script).parent_path();
  if (path.starts_with('$') || path.starts_with('`')) {
    const std::size_t end = path.find(path.front() == '`' ? '`' : ')', 1);
    path.erase(0, path.find('/', end == std::string::npos ? 0 : end) + 1);
  }
  for (int above = 0; above < 10; ++above, folder = folder.parent_path()) {
    const std::filesystem::path each = folder / path;
    if (std::filesystem::is_regular_file(each, none)) return each.string();
    if (folder.empty() || folder == folder.root_path()) break;
  }
  const std::filesystem::path beside =
      std::filesystem::path(script).parent_path() / std::filesystem::path(path).filename();
  return std::filesystem::is_regular_file(beside, none) ? beside.string() : "";
}

LaunchLine read_launch_line(std::string_view text, const std::string& source, const std::vector<std::string>& more) {
  return launch_line_in(text, source, more, nullptr);
}

LaunchLine launch_line_of(const std::vector<std::string>& more) {
  LaunchLine launch;
  std::map<std::string, std::string> none;
  read_more(more, launch, none);
  return launch;
}

const Trainer* trainer_of(const LaunchLine& launch, const JsonValue& config) {
  for (const Trainer& trainer : trainers())
    if (is_listed(trainer.programs, launch.program)) return &trainer;
  if (const Trainer* const trainer = trainer_by_signs(launch.arguments, 0)) return trainer;
  for (const Trainer& trainer : trainers())
    for (std::string_view signs = trainer.signs; !signs.empty();) {
      const std::size_t end = std::min(signs.find(' '), signs.size());
      if (has_key(config, signs.substr(0, end))) return &trainer;
      signs.remove_prefix(std::min(end + 1, signs.size()));
    }
  return nullptr;
}

}  // namespace accosim
