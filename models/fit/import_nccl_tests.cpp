#include "models/fit/import_nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "models/base/reader.hpp"
#include "models/base/text.hpp"
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

using Words = std::vector<std::string>;

/// Without the colours that a terminal is told.
std::string uncoloured(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[')
      i = std::min(line.find_first_of("ABCDHJKfhlmsu", i), line.size());
    else
      out += line[i];
  }
  return out;
}

Words words_of(const std::string& line) {
  Words words;
  constexpr const char* kBlank = " \t\r\v\f";
  for (std::size_t begin = line.find_first_not_of(kBlank); begin != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
  return words;
}

/// The digits at the end of a word, which a prefix may stand right before: "<stdout>:1048576"; empty where it is no
/// whole number.
std::string whole_at_end(const std::string& word) {
  const std::size_t before = word.find_last_not_of("0123456789");
  if (before == std::string::npos) return word;
  return std::string_view(":>|]").find(word[before]) == std::string_view::npos ? "" : word.substr(before + 1);
}

/// A time, a rate or a count of wrong values.
bool is_measured(const std::string& word) {
  return finite_number(word) || word == "N/A" || word == "nan" || word == "-nan" || word == "inf";
}

/// Of the newest versions; that of a row's time of day are two words.
const Words& usual_columns() {
  static const Words kAll = words_of("size count type redop root time algbw busbw #wrong time algbw busbw #wrong");
  return kAll;
}

constexpr const char* kTypes[] = {"int8",  "uint8",  "int32",    "uint32", "int64",  "uint64",   "half",
                                  "float", "double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};

/// What is the same of complaints about many rows.
std::string without_digits(std::string text) {
  const auto varies = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-'; };
  std::erase_if(text, varies);
  return text;
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
    const std::string text = uncoloured(written.substr(0, kLongestLine));
    note_release(text);
    note_program(text);
    const Words words = words_of(text);
    if (row(words)) return;
    if (const std::size_t sign = text.find('#'); sign != std::string::npos)
      comment(text.substr(sign));
    else if (looks_like_row(words) && alike_++ == 0)
      first_alike_ = fmt::format("{}: {}", place(), in_quotes(trimmed(text), 120));
  }

  void add(double bytes, double time_us, double algbw, double busbw, double wrong, const std::string& place) {
    if (bytes == 0) return skip(place, "moves no bytes");
    if (wrong > 0) return skip(place, "has wrong results");
    constexpr double kLeastTime = 1e-6;  // us: what no clock tells from nothing would be written as 0
    if (!(bytes >= 1) || !(time_us >= kLeastTime)) return skip(place, "has no size and time above 0");
    if (bytes > kMostBytes || time_us > kMostTime) return skip(place, "has a size above 1 PB or a time above 1e12 us");
    if (algbw > best_rate_) {
      best_rate_ = algbw;
      bus_ratio_ = busbw / algbw;
    }
    if (const std::string missing = what_is_missing(); !missing.empty()) return skip(place, missing);
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
    nodes_ = options_.nodes > 0 ? options_.nodes : split ? 0 : static_cast<int>(hosts_.size());
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
    note_all_reduce();
    if (!import_.samples.empty() && alike_ > 0) {
      import_.skipped += alike_;
      import_.notes.push_back(
          fmt::format("{}: left out: looks like a row, and not all of its numbers can be read{}", first_alike_,
                      alike_ > 1 ? fmt::format("; {} lines like this, the first here", alike_) : ""));
    }
    if (import_.samples.empty() && import_.skipped == 0 && alike_ > 0)
      throw ScenarioError({fmt::format(
          "{}: {} of nccl-tests, and none has size, count and type before what was measured; the first, {}", name_,
          alike_ == 1 ? "1 line looks like a row" : fmt::format("{} lines look like rows", alike_), first_alike_)});
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

  /// The test that a line starts: most versions do not name it themselves.
  void note_program(const std::string& text) {
    const std::size_t end = text.find("_perf");
    if (end == std::string::npos) return;
    const std::size_t begin = text.find_last_of(" \t/'\"", end);
    program_ = kind_in(text.substr(begin == std::string::npos ? 0 : begin, end - begin));
  }

  /// What the options have to say, all of it at once; empty where nothing is missing.
  std::string what_is_missing() const {
    if (ranks_ == 1 && options_.ranks == 0)
      return "ran on one rank, as where each process is a test of its own; build nccl-tests with MPI=1, and start it "
             "with mpirun or srun --mpi=pmix";
    std::vector<std::string> unknown;
    std::string write;
    const auto lacks = [&](bool missing, const char* what, const char* option) {
      if (!missing) return;
      unknown.emplace_back(what);
      write += option;
    };
    lacks(!kind_, "of which collective", " --collective all_reduce");
    lacks(ranks_ < 2, "on how many ranks", " --ranks N");
    lacks(nodes_ < 1, "on how many nodes", " --nodes N");
    if (!unknown.empty()) return fmt::format("does not say {}; write{}", in_words(unknown), write);
    if (ranks_ % nodes_ == 0) return {};
    return fmt::format("runs on {} ranks and {} hosts, which do not divide; write --ranks N --nodes N", ranks_, nodes_);
  }

  /// Where ranks are missing: only an all-reduce has more bus bandwidth than bandwidth, 2 (n - 1) / n times as much.
  void note_all_reduce() {
    const double ranks = 2 / (2 - std::min(bus_ratio_, 1.999));
    constexpr double kRounded = 0.01;  // two decimals of both rates
    if (ranks_ >= 2 || import_.skipped == 0 || bus_ratio_ <= 1 || 2 * kRounded * ranks * ranks > best_rate_ ||
        std::abs(busbw_factor(CollectiveKind::kAllReduce, static_cast<int>(std::lround(ranks))) - bus_ratio_) >
            2 * kRounded / best_rate_)
      return;
    import_.notes.push_back(
        fmt::format("{}: busbw is {:.5g} times algbw, as in an all_reduce on {:.0f} ranks", name_, bus_ratio_, ranks));
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

  void comment(const std::string& text) {
    const Words words = words_of(text);
    if (text.find("Collective test starting") != std::string::npos) return start_test(kind_in(text));
    if (text.find("nThread") != std::string::npos) {
      // The first line of a test that does not name itself; one that does has it behind its name.
      if (listed_ > 0) start_test(std::nullopt);
      return;
    }
    const auto rank = std::ranges::find(words, "Rank");
    const auto on = std::find(rank, words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) {
      const auto group = std::find(rank, words.end(), "Group");
      if (group != words.end() && group + 1 != words.end()) groups_.insert(*(group + 1));
      return list_rank(*(on + 1));
    }
    const auto size = std::ranges::find(words, "size");
    if (size != words.end() && std::find(size, words.end(), "count") != words.end()) head({size, words.end()});
  }

  void head(Words columns) {
    columns_ = std::move(columns);
    if (const auto stamp = std::ranges::find(columns_, "timestamp"); stamp != columns_.end())
      columns_.insert(stamp, "date");  // it is two words
    if (!kind_) kind_ = program_ ? program_ : named_;
    if (!options_.collective.empty()) kind_ = named_;
    end_of_ranks();
  }

  /// Whether the last eight words are what is measured, out of place and in place.
  static bool looks_like_row(const Words& words) {
    constexpr std::size_t kMeasured = 8;
    return words.size() > kMeasured && std::all_of(words.end() - kMeasured, words.end(), is_measured) &&
           std::count_if(words.end() - kMeasured, words.end(), finite_number) > 4;
  }

  /// A row is known by its columns from the right, whatever stands before size, count and type. Whether it was one.
  bool row(const Words& words) {
    const Words& columns = columns_.empty() ? usual_columns() : columns_;
    const auto type = std::ranges::find(columns, "type");
    const auto is_time = [](const std::string& column) { return column == "time" || column == "cputime"; };
    const auto first_time = std::find_if(type, columns.end(), is_time);
    if (first_time == columns.end()) return false;
    const auto after = static_cast<std::size_t>(columns.end() - type - 1);
    const auto before_times = static_cast<std::size_t>(first_time - type - 1);  // redop, root: old versions leave them
    for (std::size_t at = 2; at + 1 < words.size(); ++at) {
      const std::string size = whole_at_end(words[at - 2]);
      if (size.empty() || words[at - 1].find_first_not_of("0123456789") != std::string::npos ||
          finite_number(words[at]))
        continue;
      const std::size_t cells = words.size() - at - 1;
      if (cells > after) continue;
      if (after - cells > before_times) {
        if (std::find(std::begin(kTypes), std::end(kTypes), words[at]) == std::end(kTypes)) continue;
        skip(place(), "is cut short");
        return true;
      }
      const auto measured = words.end() - static_cast<std::ptrdiff_t>(after - before_times);
      if (!std::all_of(measured, measured + 3, is_measured)) continue;  // a sentence with as many words
      if (columns_.empty()) head(usual_columns());
      read(finite_number(size).value_or(0), Words(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()),
           Words(columns_.end() - static_cast<std::ptrdiff_t>(after), columns_.end()));
      return true;
    }
    return false;
  }

  /// `cells`, the last of `columns`.
  void read(double bytes, const Words& cells, const Words& columns) {
    std::vector<std::size_t> times;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i] == "time" || columns[i] == "cputime") times.push_back(i);
    const std::size_t which = options_.in_place ? 1 : 0, blank = columns.size() - cells.size();
    if (times.size() <= which) return skip(place(), "has no such time; its heading lacks the column");
    const auto cell = [&](std::size_t column) -> std::optional<double> {
      if (column < blank || column >= columns.size()) return std::nullopt;
      return finite_number(cells[column - blank]);
    };
    const std::size_t at = times[which];
    const std::optional<double> time = cell(at);
    if (!time) return skip(place(), "has no time that is a number");
    double wrong = 0;
    const std::size_t end = which + 1 < times.size() ? times[which + 1] : columns.size();
    for (std::size_t i = at; i < end; ++i)
      if (columns[i] == "#wrong") wrong = cell(i).value_or(0);
    add(bytes, *time, cell(at + 1).value_or(0), cell(at + 2).value_or(0), wrong, place());
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
  std::optional<CollectiveKind> named_, program_, kind_;
  Words columns_;  ///< of the heading
  int alike_ = 0;  ///< lines that look like rows, and are none
  std::string first_alike_;
  double best_rate_ = 0, bus_ratio_ = 0;  ///< of the row with the highest algbw, GB/s
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
  return found->kind == JsonKind::kText ? finite_number(found->text).value_or(0) : 0;
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

double busbw_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  if (kind == CollectiveKind::kAllReduce) return 2 * (n - 1) / n;
  return kind == CollectiveKind::kBroadcast || is_to_one(kind) ? 1 : (n - 1) / n;
}

NcclTestsImport import_nccl_tests(std::string_view text, const std::string& name, const NcclTestsOptions& options) {
  for (const std::string* word : {&options.fabric, &options.source}) {
    const bool blank = word->empty() || word->front() == ' ' || word->back() == ' ';
    if (blank || word->size() > kLongestName || printable(*word, word->size()) != *word ||
        word->find_first_of(",#\"") != std::string::npos)
      throw ScenarioError(
          {fmt::format("{} cannot stand in a table; write a name without commas, quotes and #", in_quotes(*word))});
  }
  for (const std::string_view sign : {"rccl-tests", "RCCL version", "AMD Instinct", "AMD Radeon"})
    if (text.find(sign) != std::string_view::npos)
      throw ScenarioError({fmt::format("{}: is of {} and so of AMD's GPUs, which are not modelled: only NVIDIA's are",
                                       printable(name, 300), sign)});
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
