// What several schedules are warned of, said once.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "models/base/text.hpp"
#include "reports/console_rows.hpp"

namespace accosim {
namespace {

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

std::vector<WarningGroup> warning_groups(const std::vector<RunResult>& results) {
  std::vector<Said> all;
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const Warning& warning : results[i].warnings) {
      Said own{warning.code, Sentence(warning.message), Sentence(warning.advice), {i}};
      // One schedule may have several of a kind too: of each stage of a pipeline.
      const auto like = std::find_if(all.begin(), all.end(), [&](const Said& each) {
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
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const WarningGroup& known) { return known.results == each.results; });
    if (group == groups.end()) group = groups.insert(groups.end(), {each.results, {}});
    group->warnings.push_back({each.code, each.message.text(), each.advice.text()});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const WarningGroup& a, const WarningGroup& b) { return a.results.size() > b.results.size(); });
  return groups;
}

}  // namespace accosim
