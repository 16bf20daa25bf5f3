// A table of units made from prefixes, one number scanner, and the error texts. A unit that is a power of ten moves the
// exponent of the written number instead of multiplying it, so that "2.7 us" is exactly the double 2.7e-6.
#include "models/base/quantity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

struct Unit {
  std::string name;
  Dimension dimension;
  int exponent;            ///< power of ten
  double factor;           ///< on top of it: 1/8 for bits, 1024^k, 60 or 3600
  bool canonical = false;  ///< what print_quantity() may choose
};

std::vector<Unit> make_units() {
  std::vector<Unit> units;
  const auto add = [&](const std::string& name, Dimension dimension, int exponent, double factor, bool canonical) {
    units.push_back(Unit{name, dimension, exponent, factor, canonical});
  };
  add("h", Dimension::kTime, 0, 3600, false);
  add("min", Dimension::kTime, 0, 60, false);
  add("s", Dimension::kTime, 0, 1, true);
  add("ms", Dimension::kTime, -3, 1, true);
  add("us", Dimension::kTime, -6, 1, true);
  add("\u00B5s", Dimension::kTime, -6, 1, false);  // the micro sign
  add("\u03BCs", Dimension::kTime, -6, 1, false);  // the Greek letter
  add("ns", Dimension::kTime, -9, 1, true);

  add("W", Dimension::kPower, 0, 1, true);
  add("kW", Dimension::kPower, 3, 1, false);
  const auto add_data = [&](const std::string& prefix, int exponent, double factor, bool canonical) {
    add(prefix + "B", Dimension::kData, exponent, factor, canonical);
    add(prefix + "B/s", Dimension::kBandwidth, exponent, factor, canonical);
    add(prefix + "Bps", Dimension::kBandwidth, exponent, factor, false);
    for (const char* bit : {"bit", "b"}) add(prefix + bit, Dimension::kData, exponent, factor / 8, false);
    for (const char* bit : {"bit/s", "b/s", "bps"}) {
      add(prefix + bit, Dimension::kBandwidth, exponent, factor / 8, false);
    }
  };
  struct Prefix {
    const char* name;
    int exponent;
  };
  for (const Prefix& p : {Prefix{"", 0}, Prefix{"k", 3}, Prefix{"M", 6}, Prefix{"G", 9}, Prefix{"T", 12},
                          Prefix{"P", 15}, Prefix{"E", 18}}) {
    add_data(p.name, p.exponent, 1, true);
    for (const char* flop : {"FLOP/s", "FLOPS", "flop/s"}) {
      add(std::string(p.name) + flop, Dimension::kCompute, p.exponent, 1, std::string_view(flop) == "FLOP/s");
    }
  }
  double binary = 1;
  for (const char* prefix : {"Ki", "Mi", "Gi", "Ti", "Pi"}) add_data(prefix, 0, binary *= 1024, true);
  return units;
}

const std::vector<Unit>& units() {
  static const std::vector<Unit> kUnits = make_units();
  return kUnits;
}

const char* noun_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime: return "a time";
    case Dimension::kData: return "an amount of data";
    case Dimension::kBandwidth: return "a bandwidth";
    case Dimension::kCompute: return "a rate of computation";
    case Dimension::kPower: return "a power";
  }
  return "";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The length of the number that `text` begins with: digits, a fraction, an exponent. 0 when there is none.
struct Number {
  std::size_t mantissa = 0;  ///< length without the exponent
  std::size_t length = 0;
  long exponent = 0;
};
Number scan_number(std::string_view text) {
  std::size_t at = 0, digits = 0;
  while (at < text.size() && is_digit(text[at])) ++at, ++digits;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) ++at, ++digits;
  }
  if (digits == 0) return {};
  Number number{at, at, 0};
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t from = at + 1;
    const bool negative = from < text.size() && text[from] == '-';
    if (from < text.size() && (text[from] == '-' || text[from] == '+')) ++from;
    std::size_t to = from;
    while (to < text.size() && is_digit(text[to])) {
      if (number.exponent < 100000) number.exponent = number.exponent * 10 + (text[to] - '0');
      ++to;
    }
    if (to > from) {
      number.length = to;
      if (negative) number.exponent = -number.exponent;
    }
  }
  return number;
}

/// The value of a scanned number in `unit`; not finite when it does not fit a double.
double value_of(std::string_view mantissa, long exponent, const Unit& unit) {
  const std::string text = std::string(mantissa) + "e" + std::to_string(exponent + unit.exponent);
  double value = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc()) return HUGE_VAL;
  const double scaled = value * unit.factor;
  if (value != 0 && !std::isnormal(scaled)) return HUGE_VAL;
  return scaled;
}

/// "3 h 46 min", in seconds: whole hours, and minutes below 60.
std::optional<double> hours_and_minutes(std::string_view text) {
  constexpr std::size_t kMostDigits = 6;
  const auto whole = [&](std::string_view unit) -> std::optional<double> {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    if (digits == 0 || digits > kMostDigits) return std::nullopt;
    const double value = std::stod(std::string(text.substr(0, digits)));
    text = trimmed(text.substr(digits));
    if (text.substr(0, unit.size()) != unit) return std::nullopt;
    text = trimmed(text.substr(unit.size()));
    return value;
  };
  const std::optional<double> hours = whole("h");
  const std::optional<double> minutes = hours ? whole("min") : std::nullopt;
  if (!minutes || *minutes >= 60 || !text.empty()) return std::nullopt;
  return 3600 * *hours + 60 * *minutes;
}

/// Spelling without case, slash and the "p" of "per", to find what a wrong spelling may have meant.
std::string loose(std::string_view unit) {
  std::string out;
  for (const char c : lower(unit))
    if (c != '/' && !is_blank(c)) out += c;
  if (out.size() > 2 && out.compare(out.size() - 2, 2, "ps") == 0 && out.find("flop") == std::string::npos) {
    out.erase(out.size() - 2, 1);
  }
  return out;
}

std::string unknown_unit(std::string_view unit, std::string_view number, Dimension dimension) {
  std::vector<std::string> meant, names;
  std::vector<double> factors;
  for (const Unit& known : units()) {
    if (known.dimension != dimension) continue;
    names.push_back(known.name);
    if (loose(known.name) != loose(unit)) continue;
    bool new_meaning = true;
    for (double factor : factors) new_meaning = new_meaning && factor != known.factor;
    if (!new_meaning) continue;
    factors.push_back(known.factor);
    meant.push_back(fmt::format("\"{} {}\"", number, known.name));
    if (known.factor == 0.125) meant.back() += " (bits)";
    if (known.factor == 1 && (dimension == Dimension::kData || dimension == Dimension::kBandwidth)) {
      meant.back() += " (bytes)";
    }
  }
  std::string out = fmt::format("no unit is spelled {}; ", in_quotes(unit, 20));
  if (!meant.empty()) {
    out += "write " + meant[0];
    for (std::size_t i = 1; i < meant.size(); ++i) out += " or " + meant[i];
    if (unit.front() == 'K') out += "; 1000 is k, 1024 is Ki";
    return out;
  }
  const std::string near = nearest(unit, names);
  if (!near.empty()) return out + fmt::format("did you mean \"{} {}\"?", number, near);
  return out + how_to_write(dimension);
}

}  // namespace

std::string how_to_write(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime: return "a time is written \"3 us\", \"1.5 ms\", \"2 s\" or \"3 h 46 min\"";
    case Dimension::kData: return "an amount of data is written \"80 GB\" (decimal) or \"80 GiB\" (binary)";
    case Dimension::kBandwidth: return "a bandwidth is written \"100 GB/s\" (bytes) or \"100 Gbit/s\" (bits)";
    case Dimension::kCompute: return "a rate of computation is written \"312 TFLOP/s\"";
    case Dimension::kPower: return "a power is written \"400 W\"";
  }
  return "";
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  const auto fail = [](std::string error) { return ParsedQuantity{0, std::move(error)}; };
  const std::string_view whole = text;
  text = trimmed(text);
  if (text.empty()) return fail("empty; " + how_to_write(dimension));
  if (text.front() == '-' && scan_number(text.substr(1)).length > 0) {
    return fail(fmt::format("{} is negative; {} is zero or more", in_quotes(whole), noun_of(dimension)));
  }
  const Number number = scan_number(text);
  if (number.length == 0) return fail(fmt::format("{} has no number; {}", in_quotes(whole), how_to_write(dimension)));
  const std::string shown = printable(text.substr(0, number.length), 20);
  const std::string_view unit = trimmed(text.substr(number.length));
  if (unit.empty()) return fail(fmt::format("{} has no unit; {}", in_quotes(whole), how_to_write(dimension)));

  const Unit* other = nullptr;
  for (const Unit& known : units()) {
    if (known.name != unit) continue;
    if (known.dimension != dimension) {
      other = &known;
      continue;
    }
    const double value = value_of(text.substr(0, number.mantissa), number.exponent, known);
    if (!std::isfinite(value))
      return fail(fmt::format("{} is out of range; write a value that exists", in_quotes(whole)));
    return ParsedQuantity{value, {}};
  }
  if (const auto time = hours_and_minutes(text); time && dimension == Dimension::kTime)
    return ParsedQuantity{*time, {}};
  if (other != nullptr) {
    return fail(fmt::format("{} is {}; {}", in_quotes(whole), noun_of(other->dimension), how_to_write(dimension)));
  }
  if (unit.front() == ',' || unit.front() == '_' || unit.front() == '\'') {
    return fail(
        fmt::format("{} has a separator in its number; write the digits together, with a point for the "
                    "fraction",
                    in_quotes(whole)));
  }
  return fail(fmt::format("{}: {}", in_quotes(whole), unknown_unit(unit, shown, dimension)));
}

std::string print_quantity(double value, Dimension dimension) {
  std::string best;
  for (const Unit& unit : units()) {
    if (unit.dimension != dimension || !unit.canonical) continue;
    const double scaled = value / unit.factor * std::pow(10.0, -unit.exponent);
    const bool base = unit.exponent == 0 && unit.factor == 1;
    if (!base && (!std::isfinite(scaled) || scaled < 1 || scaled >= 10000)) continue;
    // The scaled value may be an ulp off, so fewer digits are tried first: the first text that reads back wins.
    for (int digits = 0; digits <= 17; ++digits) {
      const std::string text =
          base ? shortest(value) + " " + unit.name : fmt::format("{:.{}f} {}", scaled, digits, unit.name);
      const bool exact = parse_quantity(text, dimension).value == value;
      if (exact && (best.empty() || text.size() < best.size())) best = text;
      if (exact || base) break;
    }
  }
  return best;
}

}  // namespace accosim
