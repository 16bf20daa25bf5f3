#include "models/launch/shell_arithmetic.hpp"

#include <cctype>
#include <charconv>

#include "models/base/text.hpp"

namespace accosim {
namespace {

using Number = std::optional<std::int64_t>;
constexpr int kMostDepth = 50;

/// By precedence, the weakest first; of one row from left to right.
constexpr std::string_view kOperators[][4] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"**", "*", "/", "%"}};

Number applied(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "**") {
    if (b < 0 || b > 64) return {};
    result = 1;
    for (std::int64_t i = 0; i < b; ++i)
      if (__builtin_mul_overflow(result, a, &result)) return {};
    return result;
  }
  if (op == "/" || op == "%")
    return b == 0 || b == -1 ? (b == 0 ? Number() : Number(op == "/" ? -a : 0)) : Number(op == "/" ? a / b : a % b);
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return op == "&&" ? a != 0 && b != 0 : a != 0 || b != 0;
}

class Calculator {
 public:
  Calculator(std::string_view text, const std::function<Number(const std::string&)>& number_of)
      : text_(text), number_of_(number_of) {}

  Number all() {
    const Number value = level(0, 0);
    skip();
    return at_ == text_.size() ? value : Number();
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  Number level(std::size_t row, int depth) {
    if (depth > kMostDepth) return {};
    if (row == std::size(kOperators)) return one(depth);
    Number left = level(row + 1, depth);
    for (;;) {
      skip();
      std::string_view found;
      for (const std::string_view op : kOperators[row])
        if (found.empty() && !op.empty() && text_.substr(at_).starts_with(op)) found = op;
      if (found.empty() || !left) return left;
      at_ += found.size();
      const Number right = level(row + 1, depth);
      if (!right) return {};
      left = applied(found, *left, *right);
    }
  }

  Number one(int depth) {
    skip();
    if (at_ >= text_.size()) return {};
    const char c = text_[at_];
    if (c == '-' || c == '+') {
      ++at_;
      const Number value = depth < kMostDepth ? one(depth + 1) : Number();
      return value && c == '-' ? applied("-", 0, *value) : value;
    }
    if (c == '(') {
      ++at_;
      const Number value = level(0, depth + 1);
      skip();
      if (at_ >= text_.size() || text_[at_] != ')') return {};
      ++at_;
      return value;
    }
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    const std::string word(text_.substr(at_, end - at_));
    at_ = end;
    if (word.empty()) return {};
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? whole(word) : number_of_(word);
  }

  std::string_view text_;
  const std::function<Number(const std::string&)>& number_of_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> whole(std::string_view text) {
  std::string digits;
  for (const char c : trimmed(text))
    if (c != '_') digits += c;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return {};
  return value;
}

Number calculate(std::string_view expression, const std::function<Number(const std::string&)>& number_of) {
  return Calculator(expression, number_of).all();
}

}  // namespace accosim
