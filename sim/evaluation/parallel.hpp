// Work of many parts in forked children: SimGrid allows one simulation a process, and a machine has several cores.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "models/base/each.hpp"
#include "sim/processes/child.hpp"

namespace accosim {

/// work(0), ..., work(count - 1), each in one of `jobs` children, in order of their index. An exception of `work` is
/// thrown again here as std::logic_error with its text, that of the least index; a child that dies is a
/// std::runtime_error.
std::vector<std::string> in_children(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work);

/// The same for values that are copied byte by byte.
template <class T>
std::vector<T> values_in_children(int jobs, std::size_t count, const std::function<T(std::size_t)>& work) {
  return mapped<T>(in_children(jobs, count, [&](std::size_t i) { return std::string(as_bytes(work(i))); }),
                   [](const std::string& bytes) { return from_bytes<T>(bytes); });
}

}  // namespace accosim
