// A value that copies share until one of them is edited: what thousands of ranks have in common is there once.
#pragma once

#include <memory>
#include <utility>

namespace accosim {

template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor): a T is one

  const T& operator*() const { return value_ ? *value_ : none(); }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT(google-explicit-constructor): and is taken for one

  /// The value of this copy alone.
  T& edit() {
    if (!value_ || value_.use_count() > 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }
  /// Whether the two share one value, and so are equal without a look at it.
  bool is(const Shared& other) const { return &**this == &*other; }
  bool operator==(const Shared& other) const { return is(other) || **this == *other; }

 private:
  static const T& none() {
    static const T kEmpty{};
    return kEmpty;
  }

  std::shared_ptr<T> value_;
};

}  // namespace accosim
