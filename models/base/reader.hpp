// Reads an object of a JSON tree key by key into typed values, and keeps all that is wrong with it instead of stopping
// at the first mistake. A default is written into the tree too, so that the tree always shows the whole truth.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/names.hpp"
#include "models/base/quantity.hpp"
#include "models/base/units.hpp"

namespace accosim {

/// Everything found wrong so far, one line each: "file:line:col /pointer: what is wrong; what would be right".
struct Diagnostics {
  std::vector<std::string> errors;
  /// Of the errors those that say that an entry of a list, by its pointer, is well written but cannot be had with the
  /// rest of the file, and why.
  std::vector<std::pair<std::string, std::string>> not_here{};
  /// The pointer of each error that has one, and what is wrong there.
  std::vector<std::pair<std::string, std::string>> places{};
  /// A line that is already there is not added again.
  void add(const JsonOrigin& origin, const std::string& pointer, const std::string& what);
  /// So many errors that nobody reads more: reading a long list can stop here.
  bool enough() const;
};

/// The values a number may have: least to most, `least` itself only when not `above`.
struct Range {
  double least = 0;
  double most = 0;
  bool above = false;

  bool holds(double value) const { return value <= most && (above ? value > least : value >= least); }
};
inline constexpr Range kFraction{0.001, 1};        ///< of a peak; nothing real achieves less than a thousandth of it
inline constexpr int kMaxInteger = 1'000'000'000;  ///< the most that any count may be

const JsonOrigin& default_origin();

/// Read a nested object to its end before the next key of the object around it: writing a default into the tree moves
/// the members beside it, so pointers to them become invalid.
class ObjectReader {
 public:
  /// Anything but an object is an error, and then every read fails in silence.
  ObjectReader(JsonValue& value, std::string pointer, Diagnostics& diagnostics);

  /// The member, nullptr when absent. The key counts as known from now on.
  JsonValue* find(std::string_view key);
  bool has(std::string_view key) { return find(key) != nullptr; }
  /// False when the key was read and something was wrong with it.
  bool good(std::string_view key) const;
  /// No error in this object so far.
  bool good() const { return bad_.empty() && object_; }

  // Each of these reads a member; one that is absent takes the fallback, or is an error without one. After an error
  // they return the fallback or the least value, so that reading goes on.
  /// One line of text of at most `most` bytes, not empty.
  std::string text(std::string_view key, const std::optional<std::string>& fallback = {}, std::size_t most = 200);
  double number(std::string_view key, Range range, std::optional<double> fallback = {});
  int integer(std::string_view key, int least, int most, std::optional<int> fallback = {});
  /// A whole number that may be larger than an int.
  double whole(std::string_view key, double least, double most, std::optional<double> fallback = {});
  bool boolean(std::string_view key, std::optional<bool> fallback = {});
  /// The elements of a list of `least` to `most`; the list may be absent where `least` is 0.
  std::vector<JsonValue*> list(std::string_view key, std::size_t least, std::size_t most);
  /// A list of numbers, which may be absent.
  std::vector<double> numbers(std::string_view key, Range range, std::size_t most);
  Seconds seconds(std::string_view key, std::optional<Seconds> fallback = {});
  Bytes bytes(std::string_view key, std::optional<Bytes> fallback = {});
  BytesPerSecond bandwidth(std::string_view key, std::optional<BytesPerSecond> fallback = {});
  /// A power in W.
  double watts(std::string_view key, std::optional<double> fallback = {});
  FlopsPerSecond compute(std::string_view key, std::optional<FlopsPerSecond> fallback = {});
  /// What to say about a text that is none of the names; ends in "; " or "? ", or is empty.
  using Advice = std::function<std::string(const std::string& written)>;
  /// One of `choices`, by their name_of().
  template <class E>
  E choice(std::string_view key, const std::vector<E>& choices, std::optional<E> fallback = {},
           const Advice& advice = {}) {
    const std::string chosen = one_of(key, mapped<std::string>(choices, [](E each) { return name_of(each); }),
                                      fallback ? std::string(name_of(*fallback)) : std::string(), advice);
    for (E each : choices) {
      if (chosen == name_of(each)) return each;
    }
    return choices.front();
  }
  template <class E>
  E choice(std::string_view key, const std::vector<E>& choices, E fallback) {
    return choice(key, choices, std::optional<E>(fallback));
  }
  /// One of all values that have a name.
  template <Named E>
  E choice(std::string_view key, E fallback, const Advice& advice = {}) {
    return choice(key, values_of<E>(), std::optional<E>(fallback), advice);
  }
  /// One of `names`; an empty fallback means that the key is required. Without `advice` an error suggests the nearest
  /// name.
  std::string one_of(std::string_view key, const std::vector<std::string>& names, const std::string& fallback,
                     const Advice& advice = {});
  /// "schema": the only value it may have. Absent is fine.
  void schema(const std::string& name);

  /// Reports an error at a member that only the caller can notice. If the member is absent: at the object, or at a key
  /// that looks like a misspelling of it.
  void fail(std::string_view key, const std::string& what);
  /// Whether there is a key that was never asked for.
  bool has_unknown() const;
  /// Every such key is an error, with the nearest known one or the note for that key; those that `passes` lets through
  /// are none.
  void finish(const std::map<std::string, std::string>& notes = {},
              const std::function<bool(const JsonMember&)>& passes = {});
  /// Drops such keys instead of reporting them, for files that hold other keys for other programs.
  void drop_unknown();

  std::string pointer(std::string_view key) const { return pointer_ + pointer_part(key); }
  const std::string& pointer() const { return pointer_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  JsonValue& value() { return value_; }

 private:
  // Defaults and forms are made where they are needed: most keys are there, and right.
  template <class Fallback, class Form>
  JsonValue* take(std::string_view key, bool optional, const Fallback& fallback, const Form& form);
  double quantity(std::string_view key, Dimension dimension, Range range, std::optional<double> fallback);
  template <class Form>
  bool wrong_kind(std::string_view key, const JsonValue& value, JsonKind kind, const Form& form);

  JsonValue& value_;
  std::string pointer_;
  Diagnostics& diagnostics_;
  bool object_;
  std::vector<std::string> known_;
  std::vector<std::string> bad_;
};

}  // namespace accosim
