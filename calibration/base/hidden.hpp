// Members whose type is known to one file alone, so that the others need not include what it is made of.
#pragma once

#include <memory>
#include <utility>

namespace accocal {

/// Owns one; whoever made it says how it is destroyed. So the class that has it can be moved, and needs no destructor
/// of its own in the file that knows the type. A moved-from one is empty.
template <typename T>
using Hidden = std::unique_ptr<T, void (*)(T*)>;

template <typename T, typename... Arguments>
Hidden<T> make_hidden(Arguments&&... arguments) {
  return {new T{std::forward<Arguments>(arguments)...}, [](T* made) { delete made; }};
}

}  // namespace accocal
