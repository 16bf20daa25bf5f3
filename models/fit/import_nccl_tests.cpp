#include "models/fit/import_nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "models/base/reader.hpp"
#include "models/base/text.hpp"
#include "models/spec/nccl_release.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr double kMostBytes = 1e15, kMostTime = 1e12;  ///< what a table of samples may hold; B, us
constexpr std::size_t kMostSamples = 1'000'000;
constexpr std::size_t kMostNotes = 20;
constexpr std::size_t kLongestName = 200;

/// The collective of a test's name: all_reduce_perf, alltoall_perf.
std::optional<CollectiveKind> kind_in(const std::string& text) {
  static const std::pair<const char*, CollectiveKind> kTests[] = {{"all_reduce", CollectiveKind::kAllReduce},
                                                                  {"allreduce", CollectiveKind::kAllReduce},
                                                                  {"reduce_scatter", CollectiveKind::kReduceScatter},
                                                                  {"reducescatter", CollectiveKind::kReduceScatter},
                                                                  {"all_gather", CollectiveKind::kAllGather},
                                                                  {"allgather", CollectiveKind::kAllGather},
                                                                  {"broadcast", CollectiveKind::kBroadcast},
                                                                  {"alltoall", CollectiveKind::kAllToAll},
                                                                  {"all_to_all", CollectiveKind::kAllToAll},
                                                                  {"sendrecv", CollectiveKind::kSendRecv},
                                                                  {"send_recv", CollectiveKind::kSendRecv}};
  for (const auto& [name, kind] : kTests)
    if (text.find(name) != std::string::npos) return kind;
  return std::nullopt;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<double> number_of(const std::string& word) {
  try {
    std::size_t used = 0;
    const double value = std::stod(word, &used);
    if (used == word.size() && std::isfinite(value)) return value;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

/// Without what mpirun --tag-output puts before each line: "[1,0]<stdout>:".
std::string_view untagged(std::string_view line) {
  if (line.empty() || line[0] != '[') return line;
  const std::size_t stream = line.find("]<std"), end = line.find(">:");
  if (stream == std::string_view::npos || end == std::string_view::npos || end < stream) return line;
  return line.substr(end + 2);
}

/// What is the same of complaints about many rows.
std::string without_digits(std::string text) {
  const auto varies = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-'; };
  text.erase(std::remove_if(text.begin(), text.end(), varies), text.end());
  return text;
}

double busbw_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  if (kind == CollectiveKind::kAllReduce) return 2 * (n - 1) / n;
  return kind == CollectiveKind::kBroadcast || is_to_one(kind) ? 1 : (n - 1) / n;
}

class Importer {
 public:
  Importer(const std::string& name, const NcclTestsOptions& options) : name_(printable(name, 300)), options_(options) {
    named_ = options.collective.empty() ? kind_in(std::filesystem::path(name).filename().string())
                                        : kind_in(options.collective);
    if (!options.collective.empty() && !named_)
      throw ScenarioError(
          {fmt::format("--collective {} is no collective; write all_reduce, reduce_scatter, all_gather, "
                       "broadcast, all_to_all or send_recv",
                       in_quotes(options.collective))});
  }

  void line(std::string_view written, int number) {
    line_ = number;
    const std::string text(untagged(written).substr(0, kLongestLine));
    note_release(text);
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos || (text[first] != '#' && columns_.empty())) return;  // most of a log is others'
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return;  // other white space
    if (words[0][0] == '#')
      comment(text, words);
    else if (number_of(words[0]) && words.size() > 4)
      row(words);
  }

  void add(double bytes, double time_us, double algbw, double busbw, double wrong, const std::string& place) {
    if (bytes == 0) return skip(place, "moves no bytes");
    if (wrong > 0) return skip(place, "has wrong results");
    constexpr double kLeastTime = 1e-6;  // us: what no clock tells from nothing would be written as 0
    if (!(bytes >= 1) || !(time_us >= kLeastTime)) return skip(place, "has no size and time above 0");
    if (bytes > kMostBytes || time_us > kMostTime) return skip(place, "has a size above 1 PB or a time above 1e12 us");
    if (!kind_)
      return skip(
          place,
          "does not say of which collective, or of one that is not priced; write --collective all_reduce, or call the "
          "file all_reduce.log");
    if (ranks_ < 2 || nodes_ < 1 || ranks_ % nodes_ != 0)
      return skip(place, fmt::format("runs on {} ranks and {} hosts; give --ranks and --nodes", ranks_, nodes_));
    const double rate = bytes / time_us * 1e-3;
    constexpr double kPrinted = 0.03;  // what two decimals can hide of a rate above 1 GB/s
    if (algbw > 1 && std::abs(algbw / rate - 1) > kPrinted)
      return skip(place, fmt::format("prints an algbw of {} GB/s, and its size over its time is {:.2f}", algbw, rate));
    if (busbw > 1 && std::abs(busbw / (rate * busbw_factor(*kind_, ranks_)) - 1) > kPrinted)
      return contradict(place, fmt::format("prints a busbw of {} GB/s, which {} ranks and {} do not make of it", busbw,
                                           ranks_, name_of(*kind_)));
    if (import_.samples.size() >= kMostSamples) return skip(place, "is one too many");
    import_.samples.push_back(
        {options_.source, options_.fabric, *kind_, ranks_, nodes_, Bytes{bytes}, Seconds{1e-6 * time_us}, nccl_});
  }

  void start_test(std::optional<CollectiveKind> kind) {
    drop_contradicted();
    kind_ = kind;
    groups_.clear();
    columns_.clear();
    hosts_.clear();
    listed_ = 0;
  }
  void end_of_ranks() {
    // Several groups (NCCL_TESTS_SPLIT) run at once, each on its part of the ranks and of hosts that are not said.
    const bool split = groups_.size() > 1;
    ranks_ = options_.ranks > 0 ? options_.ranks : split ? 0 : listed_;
    nodes_ = options_.nodes > 0 ? options_.nodes : static_cast<int>(hosts_.size());
  }
  void list_rank(const std::string& host) {
    ++listed_;
    if (hosts_.size() < 1'000'000) hosts_.insert(host);
  }
  std::optional<CollectiveKind> named() const { return named_; }
  std::string place() const { return fmt::format("{}:{}", name_, line_); }

  NcclTestsImport done() {
    drop_contradicted();
    // NCCL's own log may come after the rows, by another stream.
    if (import_.nccl.size() == 1)
      for (CollectiveSample& sample : import_.samples) sample.nccl = *import_.nccl.begin();
    int said = 0;
    for (const Complaint& one : complaints_) {
      said += one.count;
      const std::string like = one.count > 1 ? fmt::format("; {} rows like this, the first here", one.count) : "";
      import_.notes.push_back(fmt::format("{}: left out: {}{}", one.place, one.why, like));
    }
    if (import_.skipped > said)
      import_.notes.push_back(fmt::format("{}: {} more rows left out", name_, import_.skipped - said));
    if (import_.samples.empty() && import_.skipped == 0)
      throw ScenarioError(
          {fmt::format("{}: holds no row of nccl-tests; expected its output, or the file that its -J "
                       "writes",
                       name_)});
    return std::move(import_);
  }

 private:
  void note_release(const std::string& text) {
    const auto after = [&](std::string_view words) {
      const std::size_t at = text.find(words);
      return at == std::string::npos ? std::string_view() : std::string_view(text).substr(at + words.size());
    };
    std::optional<NcclRelease> said;
    if (const std::string_view code = after("nccl-library="); !code.empty()) {
      int number = 0;
      std::from_chars(code.data(), code.data() + code.size(), number);
      said = nccl_of_code(number);
    } else if (const std::string_view release = after("NCCL version "); !release.empty()) {
      said = nccl_release(release.substr(0, release.find_first_not_of("0123456789.")));  // "2.21.5+cuda12.4"
    }
    if (!said) return;
    nccl_ = *said;
    import_.nccl.insert(*said);
  }

  /// The ranks or the collective are not what the run had: none of its rows can be trusted.
  void contradict(const std::string& place, const std::string& why) {
    skip(place, why);
    contradicted_ = true;
  }
  void drop_contradicted() {
    if (contradicted_)
      while (import_.samples.size() > test_begin_) {
        import_.samples.pop_back();
        skip(name_, "of the same run");
      }
    contradicted_ = false;
    test_begin_ = import_.samples.size();
  }

  void skip(const std::string& place, const std::string& why) {
    ++import_.skipped;
    const std::string same = without_digits(why);
    for (Complaint& one : complaints_)
      if (one.same == same) return void(++one.count);
    if (complaints_.size() < kMostNotes) complaints_.push_back({place, why, same, 1});
  }

  void comment(const std::string& text, const std::vector<std::string>& words) {
    if (text.find("Collective test starting") != std::string::npos) return start_test(kind_in(text));
    if (text.find("nThread") != std::string::npos) {
      // The first line of a test that does not name itself; one that does has it behind its name.
      if (listed_ > 0) start_test(std::nullopt);
      return;
    }
    const auto rank = std::find(words.begin(), words.end(), "Rank");
    const auto on = std::find(words.begin(), words.end(), "on");
    if (rank != words.end() && on != words.end() && on + 1 != words.end()) {
      const auto group = std::find(words.begin(), words.end(), "Group");
      if (group != words.end() && group + 1 != words.end()) groups_.insert(*(group + 1));
      return list_rank(*(on + 1));
    }
    const auto size = std::find(words.begin(), words.end(), "size");
    if (size == words.end() || std::find(words.begin(), words.end(), "count") == words.end()) return;
    columns_.assign(size, words.end());
    if (!kind_) kind_ = named_;
    if (!options_.collective.empty()) kind_ = named_;
    end_of_ranks();
  }

  void row(const std::vector<std::string>& words) {
    const std::string wanted[2] = {"time", "cputime"};
    std::vector<std::size_t> times;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == wanted[0] || columns_[i] == wanted[1]) times.push_back(i);
    const std::size_t which = options_.in_place ? 1 : 0;
    if (times.size() <= which) return skip(place(), "has no such time; its heading lacks the column");
    // Old versions leave cells blank (redop, root), so what follows them is counted from the right.
    const std::size_t blank = columns_.size() > words.size() ? columns_.size() - words.size() : 0;
    constexpr std::size_t kMayBeBlank = 2;
    if (blank > kMayBeBlank) return skip(place(), "is cut short");
    const auto cell = [&](std::size_t column) -> std::optional<double> {
      if (column < blank || column - blank >= words.size()) return std::nullopt;
      return number_of(words[column - blank]);
    };
    const std::size_t at = times[which];
    const std::optional<double> bytes = number_of(words[0]), time = cell(at);
    if (!time) return skip(place(), "has no time that is a number");
    double wrong = 0;
    const std::size_t end = which + 1 < times.size() ? times[which + 1] : columns_.size();
    for (std::size_t i = at; i < end; ++i)
      if (columns_[i] == "#wrong") wrong = cell(i).value_or(0);
    add(bytes.value_or(0), *time, cell(at + 1).value_or(0), cell(at + 2).value_or(0), wrong, place());
  }

  struct Complaint {
    std::string place, why;  ///< of the first row
    std::string same;        ///< of all of them
    int count = 0;
  };

  std::string name_;
  NcclTestsOptions options_;
  NcclTestsImport import_;
  std::vector<Complaint> complaints_;
  std::optional<CollectiveKind> named_, kind_;
  std::vector<std::string> columns_;
  std::set<std::string> hosts_, groups_;  ///< only counted
  std::size_t test_begin_ = 0;            ///< its first sample
  bool contradicted_ = false;
  int listed_ = 0, ranks_ = 0, nodes_ = 0, line_ = 0;
  std::optional<NcclRelease> nccl_;
};

/// A number, or a text that is one; 0 where there is none.
double number_at(const JsonValue& object, const char* key) {
  const JsonValue* found = object.find(key);
  if (found == nullptr) return 0;
  if (found->kind == JsonKind::kNumber) return found->number;
  return found->kind == JsonKind::kText ? number_of(found->text).value_or(0) : 0;
}

/// What a program's path says that it measures: the folder says nothing.
std::optional<CollectiveKind> kind_of_program(const std::vector<JsonValue*>& args) {
  if (args.empty() || args[0]->kind != JsonKind::kText) return std::nullopt;
  return kind_in(std::filesystem::path(args[0]->text).filename().string());
}

void list_devices(ObjectReader& top, Importer& importer) {
  JsonValue* config = top.find("config");
  if (config == nullptr) return;
  ObjectReader reader(*config, top.pointer("config"), top.diagnostics());
  for (const JsonValue* device : reader.list("devices", 0, kMostSamples))
    if (const JsonValue* host = device->find("hostname"); host != nullptr)
      importer.list_rank(fmt::format("{} {}", noun_of(host->kind), host->text));
}

/// Its other keys (args, the environment, versions) are none of our business.
void import_json(std::string_view text, const std::string& name, bool in_place, Importer& importer) {
  if (text.size() > kMaxMeasuredBytes)
    throw ScenarioError({fmt::format("{}: is larger than {} MiB; split it", name, kMaxMeasuredBytes >> 20)});
  JsonDocument document = parse_json(text, name, kMaxMeasuredValues);
  if (!document.errors.empty()) throw ScenarioError(document.errors);
  Diagnostics diagnostics;
  ObjectReader top(document.root, "", diagnostics);
  const std::vector<JsonValue*> results = top.list("results", 1, kMostSamples);
  const std::optional<CollectiveKind> said = kind_of_program(top.list("args", 0, kMostSamples));
  importer.start_test(said ? said : importer.named());
  list_devices(top, importer);
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  importer.end_of_ranks();
  std::size_t index = 0;
  for (const JsonValue* result : results) {
    const std::string place = fmt::format("{} /results/{}", text_of(result->origin), index++);
    const JsonValue* measured = result->find(in_place ? "in_place" : "out_of_place");
    const bool good = measured != nullptr && measured->kind == JsonKind::kObject;
    const double time = good ? std::max(number_at(*measured, "time"), number_at(*measured, "cpu_time")) : 0;
    const JsonValue& from = good ? *measured : *result;
    importer.add(number_at(*result, "size"), time, number_at(from, "alg_bw"), number_at(from, "bus_bw"),
                 number_at(from, "nwrong"), place);
  }
}

}  // namespace

NcclTestsImport import_nccl_tests(std::string_view text, const std::string& name, const NcclTestsOptions& options) {
  for (const std::string* word : {&options.fabric, &options.source}) {
    const bool blank = word->empty() || word->front() == ' ' || word->back() == ' ';
    if (blank || word->size() > kLongestName || printable(*word, word->size()) != *word ||
        word->find_first_of(",#\"") != std::string::npos)
      throw ScenarioError(
          {fmt::format("{} cannot stand in a table; write a name without commas, quotes and #", in_quotes(*word))});
  }
  Importer importer(name, options);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    import_json(text, name, options.in_place, importer);
    return importer.done();
  }
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    importer.line(text.substr(begin, end - begin), ++number);
    begin = end + 1;
  }
  return importer.done();
}

}  // namespace accosim
