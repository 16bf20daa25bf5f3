// Which part of a sweep a process plays, from the command line or from what a cluster's job scheduler sets.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "sim/sweep/sweep.hpp"

namespace accosim {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : whole_number(text);
}

/// Variables that say which process this is, and of how many.
struct Variables {
  const char* part;
  const char* of;
  const char* first;  ///< the least `part`; null: 0
};
constexpr Variables kSources[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},  // sbatch --array
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},                  // mpirun of Open MPI
    {"PMI_RANK", "PMI_SIZE", nullptr},                                          // mpiexec of MPICH and Intel MPI
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr},                          // srun, which alone sets the second
};

}  // namespace

Shard parse_shard(const std::string& text) {
  if (text == "auto") {
    for (const Variables& source : kSources) {
      const std::optional<int> part = number_in(source.part), of = number_in(source.of);
      if (!part || !of) continue;
      const int first = source.first == nullptr ? 0 : number_in(source.first).value_or(0);
      if (*part - first < 0 || *part - first >= *of)
        throw BadInput(fmt::format(
            "--shard auto: {} is {} and {} is {}; number the array 0 to {} without gaps, or write --shard i/n",
            source.part, *part, source.of, *of, *of - 1));
      return {static_cast<std::size_t>(*part - first), static_cast<std::size_t>(*of)};
    }
    throw BadInput(
        "--shard auto: this is no task of a Slurm array and no process of mpirun, mpiexec or srun; write --shard i/n");
  }
  const std::size_t slash = text.find('/');
  const std::optional<int> part = whole_number(text.substr(0, slash));
  const std::optional<int> of = slash == std::string::npos ? std::nullopt : whole_number(text.substr(slash + 1));
  if (!part || !of || *of < 1 || *part >= *of)
    throw BadInput(
        fmt::format("--shard {}: write i/n with i from 0 to n - 1, such as 0/8, or auto", in_quotes(text, 100)));
  return {static_cast<std::size_t>(*part), static_cast<std::size_t>(*of)};
}

std::string path_of(const std::string& path, const Shard& shard) {
  if (shard.of == 1 || path.empty()) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() /
          fmt::format("{}.{}-of-{}{}", whole.stem().string(), shard.part, shard.of, whole.extension().string()))
      .string();
}

}  // namespace accosim
