// Work of many parts in forked children: SimGrid allows one simulation a process, and a machine has several cores.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace accosim {

/// work(0), ..., work(count - 1), each in one of `jobs` children, in order of their index. An exception of `work` is
/// thrown again here as std::logic_error with its text, that of the least index; a child that dies is a
/// std::runtime_error.
std::vector<std::string> in_children(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work);

}  // namespace accosim
