// What a rank tells the launcher or another rank, as one text and back: numbers, quantities, enums, texts, lists, and
// structs that name the members of theirs that do in `kReported`, in one order for both ways.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace accocal {

template <typename Value>
concept Travels = requires {
  Value::kReported;
};
/// Seconds and the like.
template <typename Value>
concept HasValue = requires(Value quantity) {
  quantity.value;
};

class ReportWriter {
 public:
  template <typename Value>
  void put(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
      std::array<char, 32> digits;  // the fewest that read back the same
      text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr) += ' ';
    } else if constexpr (Travels<Value>) {
      std::apply([&](const auto... member) { (put(value.*member), ...); }, Value::kReported);
    } else if constexpr (HasValue<Value>) {
      put(value.value);
    } else if constexpr (std::is_enum_v<Value>) {
      put(static_cast<int>(value));
    } else {
      put(value.size());
      if constexpr (std::is_same_v<Value, std::string>)
        text += value;
      else
        for (const auto& item : value) put(item);
    }
  }

  std::string text;
};

class ReportReader {
 public:
  explicit ReportReader(std::string_view text) : left_(text) {}

  template <typename Value>
  void take(Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
      const auto size = static_cast<std::size_t>(end - left_.data());
      check(error == std::errc() && size < left_.size() && *end == ' ');
      left_.remove_prefix(size + 1);
    } else if constexpr (Travels<Value>) {
      std::apply([&](const auto... member) { (take(value.*member), ...); }, Value::kReported);
    } else if constexpr (HasValue<Value>) {
      take(value.value);
    } else if constexpr (std::is_enum_v<Value>) {
      int number = 0;
      take(number);
      value = static_cast<Value>(number);
    } else {
      std::size_t size = 0;
      take(size);
      check(size <= left_.size());  // nothing takes less than a byte
      if constexpr (std::is_same_v<Value, std::string>) {
        value = left_.substr(0, size);
        left_.remove_prefix(size);
      } else {
        value.resize(size);
        for (auto& item : value) take(item);
      }
    }
  }
  void end() const { check(left_.empty()); }

 private:
  static void check(bool holds) {
    if (!holds) throw std::logic_error("a rank's report is not what ranks write");
  }

  std::string_view left_;
};

template <typename Value>
std::string report_of(const Value& value) {
  ReportWriter writer;
  writer.put(value);
  return writer.text;
}

/// What report_of() had. Throws std::logic_error where `report` is of something else.
template <typename Value>
Value read_report(std::string_view report) {
  Value value;
  ReportReader reader(report);
  reader.take(value);
  reader.end();
  return value;
}

}  // namespace accocal
