#include "reports/console_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "models/spec/parallel_words.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

/// The device of ranks as the scenario describes it; the result's own name where the scenario has no such rank.
std::string device_name(const Scenario& scenario, const std::vector<Place>& places, const RankResult& alike) {
  const int rank = alike.ranks.front().first;
  if (rank < 0 || static_cast<std::size_t>(rank) >= places.size()) return alike.device;
  const Place& place = places[rank];
  const NodeGroup& group = scenario.cluster.nodes.at(place.group);
  return device_name(scenario.cluster, group.devices.at(place.gpu));
}

/// The rank's stage, where it is one of a pipeline.
std::vector<int> stages_of(const RunResult& result, int rank) {
  if (rank >= result.costs->ranks()) return {};  // of a result without costs
  const ModelShare& share = result.costs->kinds[result.costs->kind_of[rank]].share;
  return share.stages > 1 ? std::vector<int>{share.stage} : std::vector<int>{};
}

/// "4 micro-batches a GPU", "7 micro-batches a GPU of a100 and 3 of v100", "96 micro-batches a replica of 128 GPUs".
std::string micro_batches_in_words(const Scenario& scenario) {
  const std::string owner = micro_batch_owner(scenario.training.parallel);
  std::vector<std::string> texts;
  std::vector<int> all;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    std::vector<std::string> own;
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      all.push_back(accumulation_steps_of(group, gpu, scenario.training));
      std::string number = std::to_string(all.back());
      if (std::ranges::find(own, number) == own.end()) own.push_back(std::move(number));
    }
    texts.push_back(
        fmt::format("{}{} of {}", in_words(own), texts.empty() ? " micro-batches " + owner : "", group.name));
  }
  const bool equal = std::ranges::all_of(all, [&](int each) { return each == all.front(); });
  const int first = all.empty() ? scenario.training.gradient_accumulation_steps : all.front();
  return equal ? fmt::format("{} micro-batch{} {}", first, first == 1 ? "" : "es", owner) : in_words(texts);
}

/// A word of a sentence: a figure with what stands around it, such as "(52" and "54,", or any other.
struct Word {
  std::string before, text, after;
  std::optional<double> figure;
};

Word word_of(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of("(~"), text.size());
  const std::size_t end = text.find_last_not_of(".,;:)") + 1;
  if (begin >= end) return {"", text, "", {}};
  Word word{text.substr(0, begin), text.substr(begin, end - begin), text.substr(end), {}};
  const std::optional<LeadingNumber> number = leading_number(word.text);
  if (number && number->rest.empty()) word.figure = number->number;
  return word;
}

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(word_of(text.substr(at, end - at)));
    at = end + 1;
  }
  return words;
}

/// One sentence of several results: of each word the least and the greatest.
struct Sentence {
  explicit Sentence(const std::string& text) : least(words_of(text)), most(least) {}

  /// Whether the other one differs in figures alone.
  bool is_like(const Sentence& other) const {
    const auto same = [](const Word& a, const Word& b) {
      return a.before == b.before && a.after == b.after && (a.figure && b.figure ? true : a.text == b.text);
    };
    return std::equal(least.begin(), least.end(), other.least.begin(), other.least.end(), same);
  }

  void add(const Sentence& other) {
    for (std::size_t i = 0; i < least.size(); ++i) {
      if (!least[i].figure) continue;
      if (*other.least[i].figure < *least[i].figure) least[i] = other.least[i];
      if (*other.most[i].figure > *most[i].figure) most[i] = other.most[i];
    }
  }

  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < least.size(); ++i) {
      const bool range = least[i].text != most[i].text;
      all +=
          (i == 0 ? "" : " ") + least[i].before + least[i].text + (range ? " to " + most[i].text : "") + least[i].after;
    }
    return all;
  }

  std::vector<Word> least, most;
};

struct Said {
  std::string code;
  Sentence message, advice;
  std::vector<std::size_t> results;
};

}  // namespace

std::vector<ScenarioFact> scenario_facts(const Scenario& scenario) {
  const Training& training = scenario.training;
  const double samples = samples_asked(scenario);
  std::vector<ScenarioFact> facts;
  const auto line = [&](const char* name, std::string text) { facts.push_back({name, std::move(text)}); };
  if (!scenario.name.empty()) line("scenario", scenario.name);
  const auto count = [](std::int64_t parameters) { return human_count(static_cast<double>(parameters)); };
  const bool experts = scenario.model.experts.count > 0;
  const std::string active = experts ? fmt::format(" ({} active)", count(active_parameters(scenario.model))) : "";
  line("model", fmt::format("{}, {} parameters{}, {}", scenario.model.name, count(parameter_count(scenario.model)),
                            active, name_of(training.precision)));
  if (const Lora& lora = training.lora; lora.on()) {
    std::vector<std::string> targets;
    for (const LoraTarget target : lora.targets) targets.emplace_back(name_of(target));
    line("trained", fmt::format("LoRA of rank {} beside {}, the base frozen{}", lora.rank, fmt::join(targets, ", "),
                                lora.base == LoraBase::kNf4 ? " in nf4" : ""));
  }
  line("cluster", fmt::format("{}: {}", scenario.cluster.name, gpus_in_words(scenario.cluster)));
  const int ranks = static_cast<int>(gpu_count(scenario.cluster));
  if (const std::string split = in_words(training.parallel, ranks); !split.empty()) line("parallel", split);
  if (training.parallel.experts > 1)
    line("routing", training.expert_imbalance == 1
                        ? "forced balance, as in a benchmark (expert_imbalance 1)"
                        : fmt::format("the fullest rank has {:g} times the mean of rows", training.expert_imbalance));
  // How many tokens the sequences of an update hold is drawn.
  if (training.unsteady.lengths.full())
    line("update", fmt::format("{} tokens asked for: {} samples of {} tokens, {}",
                               human_count(samples * training.sequence_length), human_count(samples),
                               training.sequence_length, micro_batches_in_words(scenario)));
  else
    line("update", fmt::format("{} samples asked for, of at most {} tokens, {}", human_count(samples),
                               training.sequence_length, micro_batches_in_words(scenario)));
  line("training", human_count(training.train_tokens) + " tokens");
  if (!scenario.baseline.empty()) line("baseline", scenario.baseline);
  return facts;
}

void add_fact(Document& document, const std::string& name, const std::string& text, Above above) {
  document.add(Document::Paragraph{{text}, fmt::format("{:<11}", name)}, above);
}

Document beginning_of(const Scenario& scenario, const Comparison& comparison) {
  Document document;
  document.say({Value(answer_in_words(scenario, comparison), Style::kBold)});
  Above above = Above::kEmptyLine;
  for (const ScenarioFact& fact : scenario_facts(scenario)) {
    add_fact(document, fact.name, fact.text, above);
    above = Above::kNothing;
  }
  return document;
}

void add_warnings(Document& document, const std::vector<Warning>& warnings, const std::string& indent, Above above) {
  for (const Warning& warning : warnings) {
    document.add(Document::Paragraph{{fmt::format("{} [{}]", warning.message, warning.code)}, indent + "! "}, above);
    if (!warning.advice.empty()) document.go_on({warning.advice}, indent + "  -> ");
    above = Above::kNothing;
  }
}

std::vector<WarningGroup> warning_groups(const std::vector<RunResult>& results) {
  std::vector<Said> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const Warning& warning : results[i].warnings) {
      Said own{warning.code, Sentence(warning.message), Sentence(warning.advice), {i}};
      // One schedule may have several of a kind too: of each stage of a pipeline.
      const auto like = std::ranges::find_if(all, [&](const Said& each) {
        return each.code == own.code && each.message.is_like(own.message) && each.advice.is_like(own.advice);
      });
      if (like == all.end()) {
        all.push_back(std::move(own));
        continue;
      }
      like->message.add(own.message);
      like->advice.add(own.advice);
      if (like->results.back() != i) like->results.push_back(i);
    }
  std::vector<WarningGroup> groups;
  for (const Said& each : all) {
    auto group = std::ranges::find_if(groups, [&](const WarningGroup& known) { return known.results == each.results; });
    if (group == groups.end()) group = groups.insert(groups.end(), {each.results, {}});
    group->warnings.push_back({each.code, each.message.text(), each.advice.text()});
  }
  std::ranges::stable_sort(
      groups, [](const WarningGroup& a, const WarningGroup& b) { return a.results.size() > b.results.size(); });
  return groups;
}

std::string verdict_mark(FitVerdict verdict) {
  return verdict == FitVerdict::kFits ? "" : verdict == FitVerdict::kTight ? " tight" : " OOM";
}

Style style_of(FitVerdict verdict) { return verdict == FitVerdict::kFits ? Style::kPlain : Style::kBad; }

void add_memory_by_kind(Document& document, const RunResult& result) {
  if (result.memory_by_kind.size() < 2) return;
  TableOf<KindMemory> table(result.memory_by_kind);
  const bool stages = !result.memory_by_kind.front().stages.empty();
  if (stages) table.add("stage", "", [](const KindMemory& kind) { return stage_numbers(kind.stages); });
  table.add("ranks", "", [](const KindMemory& kind) { return human_count(kind.ranks); });
  table.add(
      "device", "", [](const KindMemory& kind) { return kind.device; }, true);
  if (stages)
    table.add("activations", "",
              [](const KindMemory& kind) { return human_memory(kind.parts.part(MemoryUse::kActivations)); });
  table.add("memory", "", [](const KindMemory& kind) { return human_memory(kind.parts.total()); });
  table.add("of", "", [](const KindMemory& kind) { return human_memory(kind.capacity); });
  table.add("fits with", "probability",
            [](const KindMemory& kind) { return Value(in_percent(kind.fit.probability), style_of(kind.fit.verdict)); });
  document.say({result.label, stages ? ": memory of each stage" : ": memory of each kind of rank"});
  document.table(table);
}

std::vector<RankRow> merge_ranks(const Scenario& scenario, const RunResult& result, std::size_t reach,
                                 const std::function<bool(const RankRow&, const RankRow&)>& same) {
  const std::vector<Place> places = places_of(scenario.cluster);
  std::vector<RankRow> ranges;  // in the order of the ranks
  for (const RankResult& alike : result.ranks) {
    const std::string device = device_name(scenario, places, alike);
    const std::vector<int> stages = stages_of(result, alike.ranks.front().first);
    for (const RankRange& range : alike.ranks)
      ranges.push_back({device, range.count(), range.first, range.last, range.count() * alike.micro_batches_per_round,
                        range.count() * alike.micro_batches_per_update, range.count() * alike.idle_fraction,
                        alike.micro_batches_per_round_min, alike.micro_batches_per_round_max, stages});
  }
  std::ranges::sort(ranges, [](const RankRow& a, const RankRow& b) { return a.first < b.first; });
  std::vector<RankRow> rows;
  for (RankRow& one : ranges) {
    const std::size_t from = rows.size() > reach ? rows.size() - reach : 0;
    const auto row =
        std::find_if(rows.begin() + from, rows.end(), [&](const RankRow& other) { return same(other, one); });
    if (row == rows.end()) {
      rows.push_back(std::move(one));
      continue;
    }
    row->ranks += one.ranks;
    row->last = one.last;
    row->per_round += one.per_round;
    row->per_update += one.per_update;
    row->idle += one.idle;
    row->least = std::min(row->least, one.least);
    row->most = std::max(row->most, one.most);
    std::vector<int> both;
    std::set_union(row->stages.begin(), row->stages.end(), one.stages.begin(), one.stages.end(),
                   std::back_inserter(both));
    row->stages = std::move(both);
  }
  return rows;
}

std::string mean_of(double sum, int count) {
  const std::string text = fmt::format("{:.2f}", sum / count);
  return text.size() > 3 && text.substr(text.size() - 3) == ".00" ? text.substr(0, text.size() - 3) : text;
}

Table rank_table(const char* head, const std::vector<RankRow>& rows,
                 const std::function<std::string(const RankRow&)>& name_of) {
  TableOf<RankRow> table(rows);
  table.add(head, "", name_of);
  if (!rows.empty() && !rows.front().stages.empty())
    table.add("stage", "", [](const RankRow& row) { return stage_numbers(row.stages); });
  table.add(
      "device", "", [](const RankRow& row) { return row.device; }, true);
  table.add("micro-batches", "per round", [](const RankRow& row) {
    const std::string mean = mean_of(row.per_round, row.ranks);
    return row.least == row.most ? mean : fmt::format("{} ({} to {})", mean, row.least, row.most);
  });
  table.add("per", "update", [](const RankRow& row) { return mean_of(row.per_update, row.ranks); });
  table.add("GPU", "idle", [](const RankRow& row) { return human_percent(row.idle / row.ranks); });
  return table;
}

}  // namespace accosim
