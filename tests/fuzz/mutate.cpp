// A JSON document is changed without parsing it: one pass finds where its values and members lie in the text, also of a
// text that is no JSON any more, and changes are made there.
#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "models/base/text.hpp"
#include "models/spec/device.hpp"

namespace accosim {
namespace {

struct Piece {
  std::size_t begin = 0, end = 0;
};

template <class List>
const auto& any_of(const List& list, Random& random) {
  return list[static_cast<std::size_t>(random.bits() % std::size(list))];
}

std::size_t below(std::size_t limit, Random& random) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random.bits() % limit);
}

std::string piece_of(const std::string& text, Piece piece) { return text.substr(piece.begin, piece.end - piece.begin); }

std::string with(const std::string& text, Piece piece, const std::string& other) {
  std::string changed = text;
  return changed.replace(piece.begin, piece.end - piece.begin, other);
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// `first` changes places with `second`, which begins after it ends.
std::string swapped(const std::string& text, Piece first, Piece second) {
  if (second.begin < first.begin) std::swap(first, second);
  if (second.begin < first.end) return text;
  return text.substr(0, first.begin) + piece_of(text, second) + text.substr(first.end, second.begin - first.end) +
         piece_of(text, first) + text.substr(second.end);
}

constexpr const char* kNumbers[] = {"0",
                                    "-0",
                                    "-1",
                                    "1",
                                    "2",
                                    "0.5",
                                    "1e-300",
                                    "5e-324",
                                    "1e308",
                                    "1e400",
                                    "-1e308",
                                    "NaN",
                                    "nan",
                                    "inf",
                                    "-inf",
                                    "Infinity",
                                    "1e9",
                                    "1000000000",
                                    "1000000001",
                                    "1e15",
                                    "1e18",
                                    "2147483647",
                                    "2147483648",
                                    "-2147483649",
                                    "4294967296",
                                    "0x10",
                                    "1e",
                                    "9223372036854775808",
                                    "18446744073709551616",
                                    "1.0000001",
                                    "0.001",
                                    "100000",
                                    "64",
                                    "65",
                                    "00",
                                    "1,5",
                                    "+1",
                                    ".5",
                                    "1e-9",
                                    "1e5",
                                    "1e6"};
constexpr const char* kQuantities[] = {"0 s",          "-1 s",    "1 us",       "1e308 s",    "1e-320 s", "5 GB",
                                       "1 PB",         "1 bit/s", "100 Gbit/s", "1e300 TB/s", "0 GB/s",   "1 FLOP/s",
                                       "1e30 TFLOP/s", "400 W",   "1 KB",       "1 Kib",      "GiB",      "12",
                                       "1 h",          "80 GiB",  "0.1 B",      "1e-30 GB/s", "3  us",    "1 s s"};
constexpr const char* kWords[] = {"",
                                  " ",
                                  "a",
                                  "bf16",
                                  "fp32",
                                  "acco",
                                  "ddp",
                                  "zero3",
                                  "any",
                                  "null",
                                  "true",
                                  "A100-SXM4-80GB",
                                  "../clusters/dgx-a100-1x8.json",
                                  ".",
                                  "..",
                                  "/",
                                  "/dev/null",
                                  "input.json",
                                  "no such file",
                                  "\x1b[31mred",
                                  "\r",
                                  "\x7f",
                                  "\xff\xfe",
                                  "\xc3\x28",
                                  "\xed\xa0\x80",
                                  "a\nb",
                                  "a\tb",
                                  "\xe2\x80\xae",
                                  "%s%n{}",
                                  "-",
                                  "--",
                                  "/a~1b/~0",
                                  "~2"};

/// What a value of a JSON document may be replaced by.
std::string odd_json(Random& random) {
  switch (random.integer(0, 9)) {
    case 0:
      return any_of(std::array{"null", "true", "false", "[]", "{}", "[[]]", "\"\"", "[null]", "{\"\": 0}"}, random);
    case 1: return '"' + std::string(any_of(kWords, random)) + '"';
    case 2: return '"' + std::string(any_of(kQuantities, random)) + '"';
    case 3: return '"' + std::string(any_of(kNumbers, random)) + '"';
    case 4:
      return any_of(std::array{"\"\\u0000\"", "\"\\u001b[2J\"", "\"\\ud800\"", "\"\\n\"", "\"\\r\\u007f\"",
                               "\"\\u202e\"", "\"a\\/b\"", "\"\\x\"", "\"\\u009b1m\""},
                    random);
    case 5: return '"' + std::string(any_of(std::array{199UL, 200UL, 201UL, 3000UL, 70000UL}, random), 'x') + '"';
    case 6: return "[" + std::string(any_of(kNumbers, random)) + ", " + std::string(any_of(kNumbers, random)) + "]";
    default: return any_of(kNumbers, random);
  }
}

/// Where values and members lie. Of a text that is no JSON: of what still looks like some.
struct Layout {
  std::vector<Piece> values;  ///< scalars, lists and objects
  std::vector<Piece> items;   ///< members with their keys, and elements: what a comma parts
  std::vector<Piece> keys;    ///< with their quotes
};

std::size_t end_of_scalar(const std::string& text, std::size_t at) {
  if (text[at] != '"') return std::max(at + 1, std::min(text.find_first_of(",:[]{} \t\r\n\"", at), text.size()));
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

Layout layout_of(const std::string& text) {
  Layout layout;
  struct Open {
    std::size_t begin;  ///< of the list or object
    std::size_t item;   ///< where its item at hand begins
    bool at_item;       ///< whether one is at hand
  };
  std::vector<Open> open;
  const auto begin_item = [&](std::size_t at) {
    if (!open.empty() && !open.back().at_item) {
      open.back().item = at;
      open.back().at_item = true;
    }
  };
  const auto end_item = [&](std::size_t at) {
    if (!open.empty() && open.back().at_item) layout.items.push_back({open.back().item, at});
    if (!open.empty()) open.back().at_item = false;
  };
  std::size_t at = 0, last_end = 0;  // last_end: of what was last seen that is no blank
  while (at < text.size()) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      begin_item(at);
      open.push_back({at, 0, false});
      last_end = ++at;
    } else if (c == '}' || c == ']') {
      end_item(last_end);
      ++at;
      if (!open.empty()) {
        layout.values.push_back({open.back().begin, at});
        open.pop_back();
      }
      last_end = at;
    } else if (c == ',') {
      end_item(last_end);
      last_end = ++at;
    } else if (c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
    } else {
      const std::size_t end = end_of_scalar(text, at);
      begin_item(at);
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      (next != std::string::npos && text[next] == ':' ? layout.keys : layout.values).push_back({at, end});
      last_end = at = end;
    }
  }
  return layout;
}

std::string mutated_number(const std::string& number, Random& random) {
  switch (random.integer(0, 5)) {
    case 0: return "-" + number;
    case 1: return number + "0";
    case 2: return number + "e" + std::to_string(random.integer(-330, 330));
    case 3: return number + ".5";
    case 4: return number.substr(0, number.size() / 2 + 1);
    default: {
      std::string other = number;
      other[below(other.size(), random)] = static_cast<char>('0' + random.integer(0, 9));
      return other;
    }
  }
}

/// A value like the one that is there.
std::string related_json(const std::string& value, Random& random) {
  if (value.size() >= 2 && value[0] == '"') {
    const std::string inner = value.substr(1, value.size() - 2);
    switch (random.integer(0, 3)) {
      case 0: return '"' + mutated_number(inner.empty() ? "1" : inner, random) + '"';
      case 1: return inner.empty() ? "0" : inner;
      case 2: return '"' + inner + any_of(kWords, random) + '"';
      default: return "[" + value + ", " + value + "]";
    }
  }
  if (!value.empty() && value[0] >= '-' && value[0] <= '9') return mutated_number(value, random);
  return odd_json(random);
}

/// How deep things are nested: mostly little, at times past any limit.
std::size_t depth(Random& random) {
  constexpr std::size_t kDepths[] = {1, 1, 1, 2, 2, 3, 62, 63, 64, 65, 100, 2000};
  return random.integer(0, 200) == 0 ? 160'000 : any_of(kDepths, random);
}

std::string mutated_json(const std::string& text, Random& random) {
  const Layout layout = layout_of(text);
  if (layout.values.empty()) return odd_json(random);
  const Piece value = any_of(layout.values, random);
  switch (random.integer(0, 11)) {
    case 0: return swapped(text, value, any_of(layout.values, random));
    case 1: return with(text, value, piece_of(text, any_of(layout.values, random)));
    case 2: {
      const std::size_t levels = depth(random);
      const bool lists = random.integer(0, 1) == 0;
      return with(
          text, value,
          repeated(lists ? "[" : "{\"a\":", levels) + piece_of(text, value) + repeated(lists ? "]" : "}", levels));
    }
    case 3:
      if (!layout.items.empty()) {  // with the comma behind it, or before it
        Piece item = any_of(layout.items, random);
        const std::size_t after = text.find_first_not_of(" \t\r\n", item.end);
        const std::size_t before =
            item.begin == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", item.begin - 1);
        if (after != std::string::npos && text[after] == ',')
          item.end = after + 1;
        else if (before != std::string::npos && text[before] == ',')
          item.begin = before;
        return with(text, item, "");
      }
      return with(text, value, "");
    case 4:
      if (!layout.items.empty()) {
        const Piece item = any_of(layout.items, random);
        return with(text, {item.end, item.end}, repeated(", " + piece_of(text, item), depth(random) % 3000));
      }
      return with(text, value, odd_json(random));
    case 5:
      if (!layout.keys.empty()) {
        const Piece key = any_of(layout.keys, random);
        return with(text, key,
                    random.integer(0, 1) == 0 ? piece_of(text, any_of(layout.keys, random)) : odd_json(random));
      }
      return with(text, value, odd_json(random));
    case 6:
      if (!layout.items.empty()) return swapped(text, any_of(layout.items, random), any_of(layout.items, random));
      return with(text, value, odd_json(random));
    case 7:
    case 8: return with(text, value, related_json(piece_of(text, value), random));
    default: {  // scalars more often than whole objects
      Piece scalar = value;
      for (int i = 0; i < 4 && scalar.end - scalar.begin > 40; ++i) scalar = any_of(layout.values, random);
      return with(text, scalar, odd_json(random));
    }
  }
}

/// The pieces between separators, empty ones too.
std::vector<Piece> pieces_of(const std::string& text, Piece within, const char* separators) {
  std::vector<Piece> pieces;
  std::size_t begin = within.begin;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), within.end);
    pieces.push_back({begin, end});
    if (end >= within.end) return pieces;
    begin = end + 1;
  }
}

std::string odd_cell(const std::string& cell, Random& random) {
  switch (random.integer(0, 4)) {
    case 0: return any_of(kNumbers, random);
    case 1: return any_of(kWords, random);
    case 2: return mutated_number(cell.empty() ? "1" : cell, random);
    case 3: return random.integer(0, 9) == 0 ? std::string(70'000, 'x') : cell + cell;
    default: return any_of(kQuantities, random);
  }
}

/// Of lines of cells; cells are parted by commas, or in a text by blanks.
std::string mutated_lines(const std::string& text, const char* separators, Random& random) {
  const std::vector<Piece> lines = pieces_of(text, {0, text.size()}, "\n");
  const Piece line = any_of(lines, random);
  const std::vector<Piece> cells = pieces_of(text, line, separators);
  const Piece cell = any_of(cells, random);
  switch (random.integer(0, 9)) {
    case 0: return swapped(text, cell, any_of(cells, random));
    case 1: return swapped(text, line, any_of(lines, random));
    case 2: return with(text, {line.begin, std::min(line.end + 1, text.size())}, "");
    case 3: return with(text, {line.end, line.end}, repeated("\n" + piece_of(text, line), 1 + below(20, random)));
    case 4: return with(text, {cell.begin, std::min(cell.end + 1, line.end)}, "");
    case 5: return with(text, {cell.end, cell.end}, std::string(1, separators[0]) + piece_of(text, cell));
    case 6: {  // the same cell of another line
      const std::vector<Piece> others = pieces_of(text, any_of(lines, random), separators);
      return with(text, cell, piece_of(text, any_of(others, random)));
    }
    default: return with(text, cell, odd_cell(piece_of(text, cell), random));
  }
}

std::string mutated_bytes(const std::string& text, Random& random) {
  std::string changed = text;
  const std::size_t at = below(text.size() + 1, random);
  const std::size_t most = std::min<std::size_t>(text.size() - at, 64);
  const auto any_byte = [&] { return static_cast<char>(random.bits()); };
  switch (random.integer(0, 6)) {
    case 0: return changed.insert(at, 1, any_byte());
    case 1: return changed.erase(at, 1 + below(most, random));
    case 2: return changed.insert(at, text.substr(below(text.size() + 1, random), 1 + below(64, random)));
    case 3: return changed.substr(0, at);
    case 4: return changed.insert(at, any_of(kNumbers, random));
    case 5:
      if (at < changed.size()) changed[at] = static_cast<char>(changed[at] ^ (1 << random.integer(0, 7)));
      return changed;
    default:
      if (at < changed.size()) changed[at] = any_byte();
      return changed;
  }
}

std::string shortened(std::string text) {
  if (text.size() > kMostMutatedBytes) text.resize(kMostMutatedBytes);
  return text;
}

}  // namespace

std::string odd_value(Random& random) {
  switch (random.integer(0, 3)) {
    case 0: return any_of(kWords, random);
    case 1: return any_of(kQuantities, random);
    default: return any_of(kNumbers, random);
  }
}

std::string mutated_by_form(const std::string& text, InputForm form, Random& random) {
  switch (form) {
    case InputForm::kJson: return shortened(mutated_json(text, random));
    case InputForm::kTable: return shortened(mutated_lines(text, ",", random));
    case InputForm::kText: break;
  }
  return shortened(mutated_lines(text, " \t=", random));
}

std::string mutated(const std::string& text, InputForm form, Random& random) {
  std::string changed = text;
  for (int changes = random.integer(1, 4); changes > 0; --changes)
    changed =
        random.integer(0, 9) < 7 ? mutated_by_form(changed, form, random) : shortened(mutated_bytes(changed, random));
  return changed;
}

std::string not_for_terminals(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    const bool c1 = byte == 0xC2 && next < 0xA0;
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F || c1) return "a control character";
  }
  return first_invalid_utf8(text) == text.size() ? "" : "bytes that are no UTF-8";
}

}  // namespace accosim
