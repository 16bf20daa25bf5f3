#include "sim/evaluation/parallel.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "sim/processes/workers.hpp"

namespace accosim {

std::vector<std::string> in_children(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work) {
  // An error of the work is a result too, told by its first byte, so that what fails is a process that ended.
  constexpr char kDone = '+', kError = '-';
  const auto marked = [&](std::size_t i) {
    try {
      return kDone + work(i);
    } catch (const std::exception& error) {
      return kError + std::string(error.what());
    }
  };
  std::vector<std::string> results(count);
  std::size_t at = 0;
  in_workers(
      {.jobs = jobs}, [&] { return at < count ? std::optional(at++) : std::nullopt; }, marked,
      [&](std::size_t i, Outcome outcome) {
        if (!outcome.failure.empty())
          throw std::runtime_error(
              fmt::format("a process ended without the result of part {}: {}", i, outcome.failure));
        results[i] = std::move(outcome.text);
      },
      {});
  for (std::string& result : results) {
    const char mark = result.front();
    result.erase(0, 1);
    if (mark == kError) throw std::logic_error(result);
  }
  return results;
}

}  // namespace accosim
