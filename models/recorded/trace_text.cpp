#include "models/recorded/trace_text.hpp"

#include <algorithm>

namespace accosim {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Goes through the structure of a text: brackets, commas, colons, and texts as one.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The next of []{},: or ' for a text, which string() is then; 0 at the end. Other characters are passed over.
  char next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return read_string();
      if (c == '[' || c == ']' || c == '{' || c == '}' || c == ',' || c == ':') {
        ++at_;
        return c;
      }
    }
    return 0;
  }
  std::string_view string() const { return string_; }
  std::size_t at() const { return at_; }  ///< behind what next() gave

 private:
  char read_string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return 0;
    string_ = text_.substr(begin, at_ - begin);
    ++at_;
    return '\'';
  }

  std::string_view text_, string_;
  std::size_t at_ = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// As many lines as `text` has, and blanks as long as its last: what follows keeps its place.
std::string blanks_for(std::string_view text) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  const std::size_t last = text.rfind('\n');
  return std::string(lines, '\n') + std::string(text.size() - (last == std::string_view::npos ? 0 : last + 1), ' ');
}

/// Behind the '[' of the events: false where the list does not end.
bool read_events(std::string_view text, Scanner& scanner, std::vector<std::string_view>& events) {
  std::size_t begin = scanner.at();
  for (int depth = 0; const char c = scanner.next();) {
    if ((c == ',' || c == ']') && depth == 0) {
      const std::string_view event = trimmed(text.substr(begin, scanner.at() - 1 - begin));
      if (c == ',' || !event.empty() || !events.empty()) events.push_back(event);
      if (c == ']') return true;
      begin = scanner.at();
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<TraceText> trace_text(std::string_view text) {
  Scanner scanner(text);
  if (scanner.next() != '{') return std::nullopt;
  char before = '{';
  std::string_view key;
  for (int depth = 1; const char c = scanner.next(); before = c) {
    if (c == '\'' && depth == 1 && (before == '{' || before == ',')) key = scanner.string();
    if (c == '[' && depth == 1 && before == ':' && key == "traceEvents") {
      TraceText trace;
      const std::size_t begin = scanner.at();
      if (!read_events(text, scanner, trace.events)) return std::nullopt;
      const std::string_view list = text.substr(begin, scanner.at() - 1 - begin);
      trace.frame = std::string(text.substr(0, begin)) + blanks_for(list) + std::string(text.substr(scanner.at() - 1));
      return trace;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
  }
  return std::nullopt;
}

std::string in_its_place(std::string_view text, std::string_view event) {
  return blanks_for(text.substr(0, static_cast<std::size_t>(event.data() - text.data()))) + std::string(event);
}

}  // namespace accosim
