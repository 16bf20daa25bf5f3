// An interpreter that walks through the text once. A part that is not taken is walked through as well, without effect.
#include "models/launch/shell.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "models/base/each.hpp"
#include "models/base/text.hpp"
#include "models/launch/marked_text.hpp"
#include "models/launch/shell_words.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostText = 1'000'000;
constexpr int kMostCommands = 20'000;
constexpr int kMostDepth = 20;  // of functions and quoted commands

enum class Status : std::uint8_t { kTrue, kFalse, kUnknown };

Status status_of(bool holds) { return holds ? Status::kTrue : Status::kFalse; }
Status negated(Status status) { return status == Status::kUnknown ? status : status_of(status == Status::kFalse); }

/// What all texts of one script share: its variables, and what it has done so far.
struct State {
  const std::string& source;
  const ShellGround& ground;
  ShellVariables variables{};
  std::map<std::string, std::string> functions{};
  ShellScript script{};
  MadeText made{source};
  int commands = 0;
};

/// `text` as it is written, or marked where a variable gave it to `bash -c`.
class Interpreter {
 public:
  Interpreter(State& state, std::string_view text, int line, int depth, std::vector<ShellText> prefix = {})
      : state_(state),
        words_(state.variables, state.made, state.source),
        lines_(text, line),
        text_(lines_.text()),
        depth_(depth),
        prefix_(std::move(prefix)) {
    if (depth > kMostDepth)
      throw ScenarioError({fmt::format("{}:{}: functions or quoted commands are nested more than {} deep", state.source,
                                       line, kMostDepth)});
  }

  void run() {
    while (at_ < text_.size()) {
      const std::size_t before = at_;
      list(true);
      if (at_ == before) take();  // a word that closes nothing
    }
  }

 private:
  // Of the text.
  char peek(std::size_t more = 0) const { return at_ + more < text_.size() ? text_[at_ + more] : '\0'; }
  char take() {
    const char c = text_[at_++];
    if (c == '\n')
      if (const auto body = bodies_.find(at_ - 1); body != bodies_.end()) at_ = body->second;
    return c;
  }
  bool follows(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void skip_blanks() {
    for (;;) {
      if (peek() == '\\' && peek(1) == '\n') {
        take();
        take();
      } else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n') {
        at_ += 2;
        take();
      } else if (at_ < text_.size() && is_blank(peek())) {
        take();
      } else if (peek() == '#' &&
                 (at_ == 0 || is_space(text_[at_ - 1]) || text_[at_ - 1] == ';' || text_[at_ - 1] == '(')) {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  void skip_to_command() {
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size()) return;
      const bool separates = peek() == '\n' || (peek() == ';' && peek(1) != ';') || (peek() == '&' && peek(1) != '&');
      if (!separates) return;
      take();
    }
  }

  /// The word at this place, which begins with no blank. May be empty: at an operator. No element of an array is one.
  RawWord word(bool element = false) {
    RawWord raw{"", lines_.line_at(at_)};
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = peek();
      std::size_t end = at_ + 1;
      if (is_space(c) || c == ';' || c == '|' || c == '&' || c == '<' || c == '>' || c == ')') break;
      if (c == '(') {
        if (element || at_ == begin || text_[at_ - 1] != '=') break;
        return array(raw, begin);
      }
      if (c == '\\') {
        end = std::min(at_ + 2, text_.size());
      } else if (c == '\'' || c == '"' || c == '`') {
        end = end_of_quoted(text_, at_);
      } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
        end = end_of_group(text_, at_ + 1);
      }
      while (at_ < end) {
        raw.text += text_[at_];
        take();
      }
    }
    return raw;
  }
  RawWord array(RawWord raw, std::size_t begin) {
    raw.array = true;
    raw.text = std::string(text_.substr(begin, at_ - begin));
    take();
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size()) return raw;
      if (peek() == '\n') {
        take();
        continue;
      }
      if (peek() == ')') {
        take();
        return raw;
      }
      raw.elements.push_back(word(true));
      if (raw.elements.back().text.empty()) take();
    }
  }
  /// The word at this place, which is not taken.
  std::string next_word() {
    std::size_t end = at_;
    while (end < text_.size() && !is_space(text_[end]) && text_[end] != ';' && text_[end] != '(' && text_[end] != ')' &&
           text_[end] != '&' && text_[end] != '|')
      ++end;
    return std::string(text_.substr(at_, end - at_));
  }

  void note(int line, const std::string& what) {
    state_.script.notes.push_back(fmt::format("{}:{}: {}", state_.source, line, printable(what, 300)));
  }

  // Of commands.

  /// Commands up to a word that closes them, which is taken and returned: "fi", ")", ";;", or "" at the end.
  std::string list(bool live) {
    for (;;) {
      skip_to_command();
      if (at_ >= text_.size()) return "";
      for (const char* const closing : {";;", ")"})
        if (follows(closing)) {
          at_ += std::string_view(closing).size();
          return closing;
        }
      std::string next = next_word();
      for (const char* const closing : {"then", "elif", "else", "fi", "do", "done", "esac", "}"})
        if (next == closing) {
          at_ += next.size();
          return next;
        }
      and_or(live);
    }
  }

  /// Commands that && and || join.
  void and_or(bool live) {
    live = live && !stopped_;
    status_ = pipeline(live);
    for (;;) {
      skip_blanks();
      const bool both = follows("&&"), either = follows("||");
      if (!both && !either) return;
      at_ += 2;
      skip_to_command();
      const int line = lines_.line_at(at_);
      const bool undecided = live && status_ == Status::kUnknown;
      if (undecided) note(line, fmt::format("whether this is done cannot be known ({}); it is passed over", why_));
      const bool done = live && status_ == (both ? Status::kTrue : Status::kFalse);
      const Status last = pipeline(done);
      if (done) status_ = last;
    }
  }

  Status pipeline(bool live) {
    const bool inverse = peek() == '!' && is_space(peek(1));
    if (inverse) {
      take();
      skip_blanks();
    }
    Status status = command(live);
    for (skip_blanks(); peek() == '|' && peek(1) != '|'; skip_blanks()) {
      take();
      if (peek() == '&') take();
      skip_to_command();
      status = command(live);
    }
    return inverse ? negated(status) : status;
  }

  Status command(bool live) {
    const Deeper deeper(nested_, state_.source, lines_.line_at(at_));
    if (live && ++state_.commands > kMostCommands)
      throw ScenarioError(
          {fmt::format("{}: runs more than {} commands; leave out what repeats them", state_.source, kMostCommands)});
    const int line = lines_.line_at(at_);
    const std::string next = next_word();
    if (follows("((")) return arithmetic(live);
    if (peek() == '(') {  // whose variables end with it
      take();
      const ShellVariables before = live ? state_.variables : ShellVariables();
      state_.made.count(before);
      list(live);
      if (live) state_.variables = before;
      return finish(Status::kTrue);
    }
    if (next == "{") {
      take();
      list(live);
      return finish(Status::kTrue);
    }
    if (next == "[[") return finish(double_brackets(live));
    if (next == "if") return finish(conditional(live));
    if (next == "case") return finish(choice(live));
    if (next == "for" || next == "while" || next == "until" || next == "select") {
      if (live) note(line, "a loop is not followed");
      while (at_ < text_.size() && peek() != '\n' && !follows(";")) take();
      if (list(false) == "do") list(false);
      return finish(Status::kTrue);
    }
    if (next == "function") {
      at_ += next.size();
      skip_blanks();
      const std::string name = word().text;
      return function(name, live);
    }
    const std::size_t end = at_ + next.size();
    if (!next.empty() && name_end(next, 0) == next.size() && text_.substr(end, 2) == "()") {
      at_ = end;
      return function(next, live);
    }
    return simple(live, line);
  }
  /// Redirections behind a group.
  Status finish(Status status) {
    skip_blanks();
    while (peek() == '>' || peek() == '<' ||
           (std::isdigit(static_cast<unsigned char>(peek())) != 0 && peek(1) == '>')) {
      while (peek() == '>' || peek() == '<' || peek() == '&' || std::isdigit(static_cast<unsigned char>(peek())) != 0)
        take();
      skip_blanks();
      word();
      skip_blanks();
    }
    return status;
  }

  Status function(const std::string& name, bool live) {
    if (follows("()")) at_ += 2;
    while (at_ < text_.size() && is_space(peek())) take();
    if (peek() != '{' && peek() != '(') return Status::kTrue;
    const std::size_t end = end_of_group(text_, at_);
    const std::string body(text_.substr(at_ + 1, end - at_ - 2));
    while (at_ < end) take();
    if (live) state_.functions[name] = body;
    return Status::kTrue;
  }

  Status conditional(bool live) {
    at_ += 2;
    bool decided = !live;
    for (std::string closed = "if"; closed == "if" || closed == "elif";) {
      const int line = lines_.line_at(at_);
      why_.clear();
      list(!decided);
      const Status holds = decided ? Status::kFalse : status_;
      if (holds == Status::kUnknown) {
        note(line, fmt::format("this condition cannot be known ({}); neither branch is taken", why_));
        decided = true;
      }
      closed = list(holds == Status::kTrue);
      decided = decided || holds == Status::kTrue;
      if (closed == "else") list(!decided);
    }
    return Status::kTrue;
  }

  Status choice(bool live) {
    at_ += 4;
    skip_blanks();
    const int line = lines_.line_at(at_);
    const RawWord written = word();
    const std::string chosen = live ? without_lines(words_.text_of(written)) : "";
    const std::string unknown = unknown_of(chosen);
    bool decided = !live || !unknown.empty();
    if (live && decided) note(line, fmt::format("this choice cannot be known ({}); no branch is taken", unknown));
    skip_to_command();
    if (next_word() == "in") at_ += 2;
    for (;;) {
      skip_to_command();
      if (at_ >= text_.size()) return Status::kTrue;
      if (next_word() == "esac") {
        at_ += 4;
        return Status::kTrue;
      }
      if (peek() == '(') take();
      bool matches = false;
      for (;;) {
        skip_blanks();
        const RawWord pattern = word();
        if (!decided && fnmatch(plain(words_.text_of(pattern)).c_str(), chosen.c_str(), 0) == 0) matches = true;
        skip_blanks();
        if (peek() != '|') break;
        take();
      }
      if (peek() == ')') take();
      const std::string closed = list(matches && !decided);
      decided = decided || matches;
      if (closed == "esac" || closed.empty()) return Status::kTrue;
    }
  }

  Status arithmetic(bool live) {
    const std::size_t end = end_of_group(text_, at_);
    const std::string inside(text_.substr(at_ + 2, end - at_ - 4));
    while (at_ < end) take();
    if (!live) return Status::kTrue;
    if (inside.find('=') != std::string::npos && inside.find("==") == std::string::npos &&
        inside.find("<=") == std::string::npos && inside.find(">=") == std::string::npos &&
        inside.find("!=") == std::string::npos) {
      note(lines_.line_at(at_), fmt::format("is not followed: (({}))", printable(inside)));
      return Status::kTrue;
    }
    const std::string value = words_.calculated(inside, lines_.line_at(at_));
    why_ = unknown_of(value);
    return why_.empty() ? status_of(value != "0") : Status::kUnknown;
  }

  Status double_brackets(bool live) {
    at_ += 2;
    std::vector<RawWord> raw;
    for (;;) {
      while (at_ < text_.size() && is_space(peek())) take();
      skip_blanks();
      if (at_ >= text_.size()) break;
      const int line = lines_.line_at(at_);
      RawWord each{"", line};
      for (const char* const mark : {"&&", "||", "(", ")", "<", ">"})
        if (each.text.empty() && follows(mark)) each.text = mark;
      if (each.text.empty()) {
        each = word();
        if (each.text.empty()) take();
      } else {
        at_ += each.text.size();
      }
      if (each.text == "]]") break;
      raw.push_back(each);
    }
    if (!live) return Status::kTrue;
    return tested(mapped<std::string>(raw, [&](const RawWord& each) { return without_lines(words_.text_of(each)); }));
  }

  /// Whether what stands between [ and ] holds: "or" binds least, then "and", then "not"; brackets hold together.
  Status tested(const std::vector<std::string>& words) {
    std::size_t at = 0;
    return either(words, at);
  }
  Status either(const std::vector<std::string>& words, std::size_t& at) {
    const Deeper deeper(nested_, state_.source, lines_.line_at(at_));
    Status all = both(words, at);
    while (at < words.size() && (words[at] == "-o" || words[at] == "||")) {
      const Status one = both(words, ++at);
      if (all != Status::kTrue && one != Status::kFalse) all = one;
    }
    return all;
  }
  Status both(const std::vector<std::string>& words, std::size_t& at) {
    Status all = one_test(words, at);
    while (at < words.size() && (words[at] == "-a" || words[at] == "&&")) {
      const Status one = one_test(words, ++at);
      if (all != Status::kFalse && one != Status::kTrue) all = one;
    }
    return all;
  }
  Status one_test(const std::vector<std::string>& words, std::size_t& at) {
    bool inverse = false;
    for (; at < words.size() && words[at] == "!"; ++at) inverse = !inverse;
    Status status = Status::kFalse;
    if (at < words.size() && words[at] == "(") {
      status = either(words, ++at);
      if (at < words.size() && words[at] == ")") ++at;
    } else {
      const std::size_t begin = at;
      const auto ends = [](const std::string& word) {
        return word == "-a" || word == "-o" || word == "&&" || word == "||" || word == ")";
      };
      while (at < words.size() && (!ends(words[at]) || at == begin)) ++at;
      status = compared(
          {words.begin() + static_cast<std::ptrdiff_t>(begin), words.begin() + static_cast<std::ptrdiff_t>(at)});
    }
    return inverse ? negated(status) : status;
  }

  Status compared(const std::vector<std::string>& words) {
    for (const std::string& each : words)
      if (why_ = unknown_of(each); !why_.empty()) return Status::kUnknown;
    if (words.size() < 2) return status_of(!words.empty() && !words[0].empty());
    const std::string& what = words[words.size() == 2 ? 0 : 1];
    if (words.size() == 2) {
      if (what == "-z") return status_of(words[1].empty());
      if (what == "-n") return status_of(!words[1].empty());
      if (what == "-f" && state_.script.files.contains(words[1])) return Status::kTrue;
      why_ = what + " " + printable(words[1]);
      return Status::kUnknown;
    }
    const std::string &left = words[0], &right = words[2];
    if (what == "=" || what == "==") return status_of(fnmatch(right.c_str(), left.c_str(), 0) == 0);
    if (what == "!=") return status_of(fnmatch(right.c_str(), left.c_str(), 0) != 0);
    const std::optional<double> a = finite_number(left), b = finite_number(right);
    if (a && b) {
      if (what == "-eq") return status_of(*a == *b);
      if (what == "-ne") return status_of(*a != *b);
      if (what == "-lt" || what == "<") return status_of(*a < *b);
      if (what == "-le") return status_of(*a <= *b);
      if (what == "-gt" || what == ">") return status_of(*a > *b);
      if (what == "-ge") return status_of(*a >= *b);
    }
    why_ = printable(left) + " " + what + " " + printable(right);
    return Status::kUnknown;
  }

  struct Redirection {
    bool appends = false;
    std::string path{};
  };

  Status simple(bool live, int line) {
    std::vector<RawWord> raw;
    std::optional<Redirection> output;
    std::optional<ShellFile> input;
    for (;;) {
      skip_blanks();
      const char c = peek();
      if (at_ >= text_.size() || c == '\n' || c == ';' || c == ')' || c == '|') break;
      if (c == '&' && peek(1) != '>') break;
      if (c == '(') {  // what no command has
        at_ = end_of_group(text_, at_);
        continue;
      }
      if (c == '<' || c == '>' || c == '&') {
        redirect(live, output, input);
        continue;
      }
      RawWord each = word();
      if ((peek() == '>' || peek() == '<') && !each.text.empty() &&
          std::ranges::all_of(each.text, [](char d) { return d >= '0' && d <= '9'; })) {
        redirect(false, output, input);  // "2>&1"
        continue;
      }
      raw.push_back(std::move(each));
    }
    return live ? done(raw, output, input, line) : Status::kTrue;
  }

  void redirect(bool live, std::optional<Redirection>& output, std::optional<ShellFile>& input) {
    std::string mark;
    while (peek() == '<' || peek() == '>' || peek() == '&' || (mark == "<<" && peek() == '-')) mark += take();
    if (mark == "<<" || mark == "<<-") {
      skip_blanks();
      here_document(live, mark == "<<-", input);
      return;
    }
    skip_blanks();
    const RawWord target = word();
    if (!live) return;
    if (mark == "<<<")
      input = ShellFile{plain(words_.text_of(target)), target.line};
    else if (mark == ">" || mark == ">>" || mark == "&>" || mark == "&>>")
      output = Redirection{mark.size() > 1 && mark.back() == '>' && mark[mark.size() - 2] == '>',
                           plain(words_.text_of(target))};
  }

  void here_document(bool live, bool tabs, std::optional<ShellFile>& input) {
    const RawWord written = word();
    std::string end;
    for (const char c : written.text)
      if (c != '\'' && c != '"' && c != '\\') end += c;
    const bool as_it_is = end != written.text;
    const std::size_t newline = text_.find('\n', at_);
    if (newline == std::string_view::npos) return;
    std::size_t at = bodies_.contains(newline) ? bodies_[newline] : newline + 1;
    const int line = lines_.line_at(newline + 1);
    std::string body;
    while (at < text_.size()) {
      const std::size_t stop = std::min(text_.find('\n', at), text_.size());
      std::string_view each = text_.substr(at, stop - at);
      at = std::min(stop + 1, text_.size());
      if (each.ends_with('\r')) each.remove_suffix(1);
      if (tabs) each.remove_prefix(std::min(each.find_first_not_of('\t'), each.size()));
      if (each == end) break;
      body.append(each).append("\n");
    }
    bodies_[newline] = at;
    if (live) input = ShellFile{as_it_is ? body : plain(words_.quoted_text(body, line)), line};
  }

  std::vector<ShellText> fields(const std::vector<RawWord>& raw, std::size_t from, std::size_t to) {
    std::vector<ShellText> all;  // marked
    for (std::size_t i = from; i < to; ++i)
      for (ShellText& field : words_.fields_of(raw[i])) {
        state_.made.count(field.text.size());
        all.push_back(std::move(field));
      }
    return all;
  }
  /// A command of these words, with what it reads and where it writes.
  Status done(const std::vector<RawWord>& raw, const std::optional<Redirection>& output,
              const std::optional<ShellFile>& input, int line) {
    std::size_t first = 0;
    while (first < raw.size() && assigned_by(raw[first]) > 0) ++first;
    const std::string name = first < raw.size() ? raw[first].text : "";
    if (name == "export" || name == "declare" || name == "local" || name == "readonly" || name == "typeset") {
      for (const RawWord& each : raw) assign(each);
      return Status::kTrue;
    }
    const std::vector<ShellText> words = fields(raw, first, raw.size());
    before_ = fields(raw, 0, words.empty() ? 0 : first);
    if (words.empty()) {  // before a command they are that command's alone
      for (std::size_t i = 0; i < first; ++i) assign(raw[i]);
      return Status::kTrue;
    }
    const std::string program = plain(words.front().text);
    if (program == ":" || program == "true") return Status::kTrue;
    if (program == "false") return Status::kFalse;
    if (program == "[" || program == "test") {
      std::vector<std::string> texts;
      for (std::size_t i = 1; i < words.size(); ++i) texts.push_back(without_lines(words[i].text));
      if (!texts.empty() && texts.back() == "]") texts.pop_back();
      return tested(texts);
    }
    if (program == "exit" || program == "return") {
      stopped_ = true;
      return Status::kTrue;
    }
    if (program == "unset") {
      for (const ShellText& each : words) state_.variables.erase(plain(each.text));
      return Status::kTrue;
    }
    if (const auto body = state_.functions.find(program); body != state_.functions.end()) {
      const std::string text = body->second;
      const ShellVariables before = state_.variables;
      state_.made.count(before);
      for (std::size_t i = 1; i < words.size() && i < 10; ++i) state_.variables[std::to_string(i)] = {words[i].text};
      Interpreter(state_, text, line, depth_ + 1, prefix_).run();
      for (std::size_t i = 1; i < 10; ++i) {  // its own arguments end with it
        const std::string place = std::to_string(i);
        state_.variables.erase(place);
        if (before.contains(place)) state_.variables[place] = before.at(place);
      }
      return Status::kTrue;
    }
    const bool into_a_variable = program == "printf" && words.size() > 1 && words[1].text == "-v";
    if (program == "cat" || program == "echo" || program == "tee" || (program == "printf" && !into_a_variable))
      return written(words, output, input);
    if (input && program == "sbatch") state_.script.files["/dev/stdin"] = *input;
    const bool sources = program == "source" || program == ".";
    if (sources && words.size() > 1 && followed(plain(words[1].text), line)) return Status::kTrue;
    if (sources || program == "eval" || program == "let" || program == "read" || into_a_variable)
      note(line,
           fmt::format("{} is not followed: {}", program, words.size() > 1 ? printable(plain(words[1].text)) : ""));
    list_command(words);
    return Status::kTrue;
  }

  /// Reads a sourced file as if it stood there, all on the line that sources it.
  bool followed(const std::string& path, int line) {
    const auto file = state_.ground.opened ? state_.ground.opened(path) : std::nullopt;
    std::string text = line_mark(line);
    for (const char c : unmarked_file(file.value_or(""))) text += c == '\n' ? c + line_mark(line) : std::string(1, c);
    state_.made.count(text.size());
    Interpreter(state_, text, line, depth_ + 1, prefix_).run();
    return file.has_value();
  }

  /// What `cat <<EOF > FILE` and `echo TEXT > FILE` leave in the file.
  Status written(const std::vector<ShellText>& words, const std::optional<Redirection>& output,
                 const std::optional<ShellFile>& input) {
    const std::string program = plain(words.front().text);
    std::string path = output ? output->path : "";
    if (program == "tee" && words.size() > 1) path = plain(words.back().text);
    if (path.empty() || (!input && program != "echo" && program != "printf")) return Status::kTrue;
    ShellFile text = input ? *input : ShellFile{"", words.front().line};
    if (!input)
      for (std::size_t i = 1; i < words.size(); ++i) text.text += (i > 1 ? " " : "") + plain(words[i].text);
    ShellFile& file = state_.script.files[path];
    if (!output || !output->appends) file = {"", text.line};
    file.text += text.text + (input ? "" : "\n");
    state_.made.count(text.text.size());
    return Status::kTrue;
  }

  /// Lists a command; what `bash -c` is given is read as commands, behind what starts it.
  void list_command(const std::vector<ShellText>& words) {
    const auto is_shell = [](const std::string& word) {
      return word == "bash" || word == "sh" || word.ends_with("/bash") || word.ends_with("/sh");
    };
    const auto gives_text = [](const std::string& word) { return word.starts_with('-') && word.ends_with('c'); };
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_shell(words[i].text)) continue;
      std::size_t option = i + 1;
      while (option < words.size() && words[option].text.starts_with('-') && !gives_text(words[option].text)) ++option;
      if (option + 1 >= words.size() || !gives_text(words[option].text)) continue;
      std::vector<ShellText> prefix = prefix_;
      prefix.insert(prefix.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
      Interpreter(state_, words[option + 1].text, words[option + 1].line, depth_ + 1, prefix).run();
      return;
    }
    ShellCommand command{prefix_, before_};
    command.words.insert(command.words.end(), words.begin(), words.end());
    state_.script.commands.push_back(std::move(command));
  }

  void assign(const RawWord& raw) {
    const std::size_t end = assigned_by(raw);
    const std::string name = raw.text.substr(0, end);
    if (end == 0 || state_.ground.fixed.contains(name)) return;
    const bool more = raw.text[end] == '+';
    std::vector<std::string> made;
    if (raw.array) {
      for (const RawWord& element : raw.elements)
        for (const ShellText& field : words_.fields_of(element)) {
          made.push_back(line_mark(field.line) + field.text);
          state_.made.count(made.back().size());
        }
      std::vector<std::string>& variable = state_.variables[name];
      if (!more) variable.clear();
      variable.insert(variable.end(), made.begin(), made.end());
      return;
    }
    const std::string value = line_mark(raw.line) + words_.text_of({raw.text.substr(end + (more ? 2 : 1)), raw.line});
    std::vector<std::string>& variable = state_.variables[name];  // the value may have made others
    if (variable.empty()) variable.emplace_back();
    variable[0] = more ? variable[0] + value : value;
    state_.made.count(variable[0].size());
  }

  State& state_;
  ShellWords words_;
  ShellLines lines_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_;
  int nested_ = 0;
  std::vector<ShellText> prefix_;                ///< words before `bash -c`
  std::vector<ShellText> before_{};              ///< NAME=VALUE before the last command
  std::map<std::size_t, std::size_t> bodies_{};  ///< of here-documents: the end of the line before, where they end
  Status status_ = Status::kTrue;                ///< of the last command
  std::string why_;                              ///< it is unknown
  bool stopped_ = false;                         ///< by `exit`
};

}  // namespace

ShellScript read_shell(std::string_view text, const std::string& source, const ShellGround& ground) {
  if (text.size() > kMostText)
    throw ScenarioError(
        {fmt::format("{}: a launch script of more than 1 MB; give the part that starts the training", source)});
  State state{source, ground};
  for (const auto& [name, value] : ground.given) state.variables[name] = {unmarked_file(value)};
  Interpreter(state, unmarked_file(text), 1, 0).run();
  ShellScript& script = state.script;
  for (ShellCommand& command : script.commands)
    for (std::vector<ShellText>* const words : {&command.words, &command.environment})
      for (ShellText& word : *words) word = seen(word);
  for (const auto& [name, values] : state.variables)
    if (!values.empty()) script.variables[name] = {plain(values.front()), unknown_of(values.front()), 0};
  return std::move(script);
}

}  // namespace accosim
