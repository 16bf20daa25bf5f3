// A line is a template whose words in braces are chosen anew each time: files with a seed's text, mostly changed, and
// values that are mostly right. Then, at times, the words themselves are changed.
#include "tests/fuzz/cli_lines.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "models/spec/shipped.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/seeds.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLines[] = {
    "accosim compare {scenario} --network reference",
    "accosim compare {scenario} --network {network} --json --set {setting}",
    "accosim compare {scenario} --schedule {schedule} --schedule {schedule} --network reference",
    "accosim compare {scenario} --convergence {convergence} --critical-batch {number} --network reference",
    "accosim compare {run} --machine {machine_file} --network reference --trace {out}",
    "accosim compare {run} --machine {machine_file} --network {network} --trace-updates {count}",
    "accosim run {scenario} --schedule {schedule} --trace {out} --trace-updates {count} --trace-ranks {ranks}",
    "accosim run {scenario} --json --network {network}",
    "accosim explain {scenario} --schedule {schedule} --network reference --set {setting}",
    "accosim explain {scenario} --graph --schedule {schedule} -o {dot} --set {setting}",
    "accosim explain {scenario} --graph --set {setting}",
    "accosim plot --kind {picture} {scenario} -o {drawing} --network reference --set {setting} --width {pixels}",
    "accosim plot --kind timeline {scenario} -o {drawing} --network reference --updates {count} --all-ranks --theme "
    "{theme}",
    "accosim plot --kind ladder {scenario} -o {drawing} --network reference --ladder {schedule} {schedule}",
    "accosim diff {recorded} {recorded}",
    "accosim diff {run} {recorded} --json",
    "accosim plot --kind convergence {convergence} -o {drawing}",
    "accosim compare {scenario} --network reference --timeline --updates {count}",
    "accosim report {scenario} --schedule {schedule} --network reference --set {setting} -o {html} --timeline-ranks "
    "{ranks}",
    "accosim report {machine_file} --measured {run} --network {network} -o {html} --timeline-updates {count}",
    "accosim advise {scenario} --network reference --schedule {schedule} --budget {count} -j 1 --set {setting} -o "
    "{out}",
    "accosim advise {scenario} --network reference --over {setting} --budget {number} --json -j 1",
    "accosim sweep {scenario} --over {axis} --over {axis} --network reference -j 1 --no-tuned --schedule {schedule} "
    "--timeout {timeout} -o {rows_out} --csv {csv}",
    "accosim sweep {scenario} --over {axis} --over {axis} --zip --network reference -j 1 --no-tuned --by {score}",
    "accosim sweep {scenario} --over {axis} --over {axis} --latin-hypercube {small} --seed {small} --network reference "
    "-j 1 --no-tuned",
    "accosim sweep {scenario} --over {axis} --network reference -j 1 --no-tuned -o {rows} --resume --retry",
    "accosim sweep {sweep} --network reference -j 1 --no-tuned --schedule {schedule} -o {rows_out}",
    "accosim merge {rows} {more_rows} -o {rows_out} --csv {csv}",
    "accosim merge {rows} -o {rows_out} --by {score}",
    "accosim report {rows} -o {html}",
    "accosim resolve {scenario} --set {setting} --set {setting}",
    "accosim resolve {part}",
    "accosim list {kind}",
    "accosim validate {cases} --network reference",
    "accosim validate {cases} --json --group {word} --case {word}",
    "accosim validate {cases} --markdown -j {count} --check",
    "accosim validate --samples {samples} --profile {profile} --case h100 --network reference --leave-out none",
    "accosim validate --live --quick --live-network {rate} {word} --group {word} --json",
    "accosim fit {kernels} -o {profile_out}",
    "accosim fit {kernels} {kernels}",
    "accosim fit {collectives} --cluster {cluster} -o {out}",
    "accosim fit {machine} -o {out}",
    "accosim fit {gpu} -o {out} --profile {profile}",
    "accosim fit {cases} --network reference",
    "accosim inspect {machine} {gpu} -o {drawing} --theme {theme}",
    "accosim inspect {collectives} --cluster {cluster} --json",
    "accosim inspect {gpu} --profile {profile} --check",
    "accosim import nccl-tests {log} -o {out} --fabric {word} --source {word}",
    "accosim import nccl-tests {log_json} --in-place --collective {collective} --ranks {count} --nodes {count}",
    "accosim import nccl-tests {log} {log_json}",
    "accocal train -n 2 --updates 2 -a {algorithm} --layers 1 --width 16 --heads 2 --context 16 --sequences 1 -o {out}",
    "accocal train -n 2 --updates 2 -a {algorithm} --compute-time {time} --parameters 1024 --slow {slow} -o {out} "
    "--trace {out} --loss {out}",
    "accocal train -n 2 --network {network_of_ranks} --rate {rank_rate} --updates 1 --micro-batches {small} -a "
    "{algorithm} --accumulate {accumulate} --compute-time {time} --parameters 1024",
    "accocal train -n {small} --updates {small} --width {small} --heads {small} --beta1 {small} --data {text}",
    "accocal train --device {device} --vocabulary {small} --storage {storage} --optimizer {word}",
    "accocal measure -n {small} --network {network_of_ranks} --bytes {bytes} --seconds {small} --timeout {small} -o "
    "{out}",
    "accocal measure --device {device} --only {word} --collective-ranks {small} -o {out}",
    "accocal converge --seeds {small} --updates {small} -n {small} --layers 1 --width 16 --heads 2 --context 16 "
    "--markdown {page} -o {out}",
    "accocal converge --seeds 1 --network {network_of_ranks} --jobs {small} --data {text} -o {out}",
};

/// Kinds of values: those that are right.
const std::map<std::string, std::vector<std::string>>& right_values() {
  static const std::map<std::string, std::vector<std::string>> kValues = {
      {"network", {"reference", "reference", "simgrid"}},
      {"setting",
       {"/training/micro_batch_size=1", "/cluster/nodes/0/nics/bandwidth=10 Gbit/s", "/cluster/nodes/0/count=2",
        "/schedules/0={\"name\": \"ddp\"}", "/training/gradient_accumulation_steps=3", "/model/num_hidden_layers=4",
        "/cluster/nodes/0/device=A100-SXM4-80GB", "/training/precision=fp16"}},
      {"axis",
       {"/training/micro_batch_size=1,2", "/training/gradient_accumulation_steps=1..3:3",
        "/cluster/nodes/0/nics/bandwidth=10..400:3:log Gbit/s", "/cluster/nodes/0/count=1,2",
        "/cluster=dgx-a100-1x8,dgx-h100-1x8", "activation_recompute"}},
      {"score", {"time", "cost", "tokens"}},
      {"timeout", {"2 s", "500 ms"}},
      {"schedule", {"ddp", "acco", "zero1", "dpu", "DDP as released"}},
      {"number", {"1e5", "8", "1000"}},
      {"count", {"1", "2", "5"}},
      {"ranks", {"0", "0,1", "0-3"}},
      {"kind", {"device", "model", "cluster", "scenario"}},
      {"picture", {"timeline", "breakdown", "memory"}},
      {"theme", {"light", "dark", "print"}},
      {"pixels", {"480", "1000"}},
      {"word", {"h100", "training", "a", "us"}},
      {"rate", {"paced:200 Mbit/s", "netns:1 Gbit/s"}},
      {"profile", {"H100-SXM", "A100-SXM4-80GB"}},
      {"collective", {"all_reduce", "all_gather"}},
      {"algorithm", {"ddp", "zero1", "dpu", "wp", "acco", "diloco", "pipesgd", "slowmo", "streaming_diloco"}},
      {"time", {"1 ms", "200 us"}},
      {"slow", {"1=2", "0=1.5"}},
      {"network_of_ranks", {"loopback", "paced:200 Mbit/s"}},
      {"rank_rate", {"1=50 Mbit/s", "0=1 Gbit/s"}},
      {"accumulate", {"at-least", "fixed", "fixed:2"}},
      {"device", {"cuda:0", "cuda"}},
      {"storage", {"fp32", "bf16"}},
      {"bytes", {"4 KB", "4096"}},
      {"small", {"1", "2", "3"}}};
  return kValues;
}

/// What is wrong for accocal whatever option it stands behind: something that is merely large would be computed.
constexpr const char* kWrong[] = {"0",  "-1",  "nan",    "-inf", "1e400", "x", "", "99999999999999999999",
                                  "0x", "1 s", "\x1b[1m"};

struct FileKind {
  const char* parser;
  InputForm form;
  const char* name;
};

const std::map<std::string, FileKind>& file_kinds() {
  static const std::map<std::string, FileKind> kKinds = {
      {"scenario", {"scenario", InputForm::kJson, "scenario.json"}},
      {"part", {"cluster", InputForm::kJson, "part.json"}},
      {"run", {"run", InputForm::kJson, "run.json"}},
      {"recorded", {"recorded", InputForm::kJson, "recorded.json"}},
      {"machine", {"machine", InputForm::kJson, "samples.json"}},
      {"machine_file", {"scenario", InputForm::kJson, "machine.json"}},
      {"gpu", {"gpu", InputForm::kJson, "gpu.json"}},
      {"convergence", {"convergence", InputForm::kJson, "convergence.json"}},
      {"kernels", {"kernels", InputForm::kTable, "kernels.csv"}},
      {"collectives", {"collectives", InputForm::kTable, "collectives.csv"}},
      {"cluster", {"cluster", InputForm::kJson, "cluster.json"}},
      {"profile_out", {"device", InputForm::kJson, "profile.json"}},
      {"log", {"nccl-tests", InputForm::kText, "all_reduce.log"}},
      {"log_json", {"nccl-tests-json", InputForm::kJson, "run-log.json"}},
      {"text", {"text-to-learn", InputForm::kText, "text.txt"}},
      {"cases", {"published", InputForm::kJson, "cases/cases.json"}},
      {"samples", {"gpu", InputForm::kJson, "samples/gpu.json"}},
      {"rows", {"rows", InputForm::kText, "rows.jsonl"}},
      {"more_rows", {"rows", InputForm::kText, "more_rows.jsonl"}},
      {"sweep", {"sweep", InputForm::kJson, "sweep.json"}}};
  return kKinds;
}

template <class List>
const auto& any_of(const List& list, Random& random) {
  return list[static_cast<std::size_t>(random.bits() % std::size(list))];
}

/// Those that are quick to work with and need no other file.
std::vector<Seed> quick_seeds(const FileKind& kind) {
  std::vector<Seed> seeds = seeds_of({kind.parser, kind.form, nullptr});
  const std::string parser = kind.parser;
  const auto unwanted = [&](const Seed& seed) {
    const bool whole = seed.name.rfind("resolved", 0) == 0 || seed.text.size() < 1000;
    return seed.text.size() > 60'000 || (parser == "scenario" && !whole);
  };
  seeds.erase(std::remove_if(seeds.begin(), seeds.end(), unwanted), seeds.end());
  require(!seeds.empty(), "no small seed of " + parser);
  return seeds;
}

const std::vector<Seed>& kept_seeds(const std::string& kind) {
  static std::map<std::string, std::vector<Seed>> kept;
  const auto [seeds, is_new] = kept.emplace(kind, std::vector<Seed>());
  if (is_new) seeds->second = quick_seeds(file_kinds().at(kind));
  return seeds->second;
}

/// A file of rows has a document a line: one of them is changed, is missing or is there twice.
std::string changed_rows(const std::string& text, Random& random) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const auto at = static_cast<std::ptrdiff_t>(random.bits() % lines.size());
  std::string& line = lines[static_cast<std::size_t>(at)];
  switch (random.integer(0, 5)) {
    case 0: lines.erase(lines.begin() + at); break;
    case 1: lines.insert(lines.begin() + at, std::string(line)); break;
    default: line = mutated(line, InputForm::kJson, random);
  }
  std::string all;
  for (const std::string& each : lines) all += each + "\n";
  return all;
}

/// Writes the file of that kind, and gives the name that the line is to have: mostly the file's.
std::string input(const std::string& kind, const std::string& folder, Random& random) {
  const FileKind& file = file_kinds().at(kind);
  std::string text = any_of(kept_seeds(kind), random).text;
  if (kind == "sweep") input("scenario", folder, random);  // which it names
  if (random.integer(0, 9) < 6)
    text = std::string(file.parser) == "rows" ? changed_rows(text, random) : mutated(text, file.form, random);
  std::string name = file.name;
  if (random.integer(0, 40) == 0 && name.find('/') == std::string::npos) name.insert(2, "\x1b[31m\n");
  const fs::path path = fs::path(folder) / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  if (random.integer(0, 30) == 0)
    return any_of(std::array{"missing.json", "missing/x", ".", "", "/dev/null", "/dev/zero", "fifo", "scenario.json/x",
                             "-", "dangling", "\xff.json"},
                  random);
  return name.find('/') == std::string::npos ? name : name.substr(0, name.find('/'));
}

std::string output(const std::string& extension, Random& random) {
  if (random.integer(0, 8) > 0) return "out" + extension;
  return any_of(
      std::array{"missing/out.json", ".", "", "/dev/null", "/dev/full", "old.json", "scenario.json", "run.json",
                 "samples.json", "gpu.json", "out\x1b[1m.json", "dangling", "out.json/x", "samples"},
      random);
}

std::string value(const std::string& kind, const std::string& program, Random& random) {
  std::string right = any_of(right_values().at(kind), random);
  if (random.integer(0, 3) > 0) return right;
  if (program == "accocal") return any_of(kWrong, random);
  if ((kind != "setting" && kind != "axis") || random.integer(0, 1) == 0) return odd_value(random);
  return right.substr(0, right.find('=') + 1) + odd_value(random);
}

/// Options of any verb, where they do not belong.
constexpr const char* kOptions[] = {"--json",           "--set",    "--trace",    "--schedule", "--machine",
                                    "--network",        "--output", "-o",         "--cluster",  "--profile",
                                    "--group",          "--check",  "--markdown", "--live",     "--leave-out",
                                    "--critical-batch", "--help",   "--version",  "-n",         "--only",
                                    "--bytes",          "--",       "-",          "--force",    "--trace-ranks=0-",
                                    "--jobs=0",         "-j-1",     "--outptu",   "-oout.json", "--json=1"};

void change_words(CommandLine& line, Random& random) {
  std::vector<std::string>& words = line.words;
  for (int changes = random.integer(1, 2); changes > 0 && !words.empty(); --changes) {
    const auto at = static_cast<std::ptrdiff_t>(random.bits() % words.size());
    switch (random.integer(0, 4)) {
      case 0: words.erase(words.begin() + at); break;
      case 1: words.insert(words.begin() + at, std::string(words[static_cast<std::size_t>(at)])); break;
      case 2: words.insert(words.begin() + at, any_of(kOptions, random)); break;
      case 3: std::swap(words[static_cast<std::size_t>(at)], words[random.bits() % words.size()]); break;
      default: {
        std::string& word = words[static_cast<std::size_t>(at)];
        if (word.size() < 2 || line.program == "accocal")  // whose numbers must not become larger ones
          word = any_of(kWrong, random);
        else
          word[random.bits() % word.size()] = static_cast<char>(1 + random.bits() % 255);
      }
    }
  }
}

/// What a sweep plays stays a few points, whatever became of its words: counts (a..b:COUNT, --latin-hypercube COUNT)
/// keep one digit.
void keep_few_points(CommandLine& line) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto keep_one = [&](std::string& word, std::size_t at) {
    std::size_t end = at;
    while (end < word.size() && is_digit(word[end])) ++end;
    if (end > at + 1) word.erase(at + 1, end - at - 1);
  };
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    std::string& word = line.words[i];
    if (i > 0 && line.words[i - 1] == "--latin-hypercube") keep_one(word, 0);
    if (word.find("..") == std::string::npos) continue;
    for (std::size_t at = 0; at < word.size(); ++at)
      if (word[at] == ':') keep_one(word, std::min(word.find_first_not_of(" +", at + 1), word.size()));
  }
}

/// A line's files stay in its folder, whatever became of its words.
void keep_inside(CommandLine& line) {
  for (std::string& word : line.words) {
    const bool pointer = word.find('=') != std::string::npos;
    const bool device = word.rfind("/dev/", 0) == 0;
    if (!word.empty() && word[0] == '/' && !pointer && !device) word[0] = 'x';
    if (word.find("..") != std::string::npos && !pointer) word = "dots";
    if (word.find('\0') != std::string::npos) word = "nul";
  }
  for (std::string& name : line.words)  // a setting behind -o
    if (const std::vector<std::string> named = outputs_of(line);
        name.rfind("/dev/", 0) != 0 && !name.empty() && name[0] == '/' && std::ranges::find(named, name) != named.end())
      name[0] = 'x';
}

}  // namespace

std::vector<std::string> outputs_of(const CommandLine& line) {
  std::vector<std::string> outputs;
  const auto add = [&](const std::string& option, const std::string& name) {
    outputs.push_back(name);
    if (name == "dangling") outputs.push_back("nowhere");  // which that link leads to
    if (option == "--markdown") outputs.push_back(fs::path(name).replace_extension(".svg").string());
  };
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    for (const std::string option : {"-o", "--output", "--trace", "--loss", "--markdown", "--csv"}) {
      if (word == option && i + 1 < line.words.size()) add(option, line.words[i + 1]);
      if (word.rfind(option + "=", 0) == 0) add(option, word.substr(option.size() + 1));
    }
    if (word.rfind("-o", 0) == 0 && word.size() > 2) add("-o", word.substr(2));
  }
  return outputs;
}

CommandLine command_line(const std::string& folder, Random& random) {
  std::ofstream(folder + "/old.json") << "{\"what\": \"was here before\"}\n";
  fs::create_symlink("nowhere", folder + "/dangling");
  mkfifo((folder + "/fifo").c_str(), 0600);
  CommandLine line;
  static const std::map<std::string, std::string> kExtensions = {
      {"out", ".json"}, {"page", ".md"},        {"html", ".html"}, {"drawing", ".svg"},
      {"dot", ".dot"},  {"rows_out", ".jsonl"}, {"csv", ".csv"}};
  std::istringstream words(any_of(kLines, random));
  words >> line.program >> line.verb;
  line.words.push_back(line.verb);
  for (std::string word; words >> word;) {
    if (word[0] != '{') {
      line.words.push_back(word);
      continue;
    }
    const std::string kind = word.substr(1, word.size() - 2);
    if (kExtensions.count(kind) > 0)
      line.words.push_back(output(kExtensions.at(kind), random));
    else if (file_kinds().count(kind) > 0)
      line.words.push_back(input(kind, folder, random));
    else
      line.words.push_back(value(kind, line.program, random));
  }
  if (random.integer(0, 9) < 4) change_words(line, random);
  keep_few_points(line);
  keep_inside(line);
  line.verb = line.program + " " + line.verb;
  return line;
}

}  // namespace accosim
