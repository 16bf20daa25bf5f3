// Work of many parts in forked children: SimGrid allows one simulation a process, and a machine has several cores.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace accosim {

/// work(0), ..., work(count - 1), each in one of `jobs` children, in order of their index. An exception of `work` is
/// thrown again here as std::logic_error with its text, that of the least index; a child that dies is a
/// std::runtime_error.
std::vector<std::string> in_children(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work);

/// The same for values that are copied byte by byte.
template <class T>
std::vector<T> values_in_children(int jobs, std::size_t count, const std::function<T(std::size_t)>& work) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::vector<std::string> texts = in_children(jobs, count, [&](std::size_t i) {
    const T value = work(i);
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  });
  std::vector<T> values(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) std::memcpy(&values[i], texts[i].data(), sizeof(T));
  return values;
}

}  // namespace accosim
