// Names of the files that come with accosim: what lies in one of these folders can be named from anywhere without its
// path, and whoever puts a file there has named it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"

namespace accosim {

enum class FileKind : std::uint8_t { kDevice, kModel, kCluster, kScenario };
template <>
inline constexpr const char* kNames<FileKind>[] = {"device", "model", "cluster", "scenario"};
inline constexpr FileKind kFileKinds[] = {FileKind::kDevice, FileKind::kModel, FileKind::kCluster, FileKind::kScenario};

struct ShippedFile {
  std::string name;  ///< without ".json"; with its folder where two files of the kind would have the same name
  std::string path;  ///< relative to data_dir()
};

/// Sorted by folder and name. Lists the folders at every call.
std::vector<ShippedFile> shipped_files(FileKind kind);
/// The files that a name can mean: by the file's name, or by the end of its path ("paper/finetune_2x4_a100"). Of models
/// also as the hub has it, in any case: "Qwen/Qwen3-8B" and "meta-llama/Llama-2-7b-hf".
std::vector<ShippedFile> shipped_as(FileKind kind, std::string_view name);

/// What to write instead, where a file of another kind has the name that was meant for one of `kind`: "is a model; a
/// scenario names it, as README.md shows under \"Your own run\""; empty where none has.
std::string other_kind_in_words(FileKind kind, std::string_view name);

/// Where the program that runs is: "/usr/bin" of an installed one.
std::string program_folder();
/// Where shipped files are: the environment's ACCOSIM_DATA_DIR, else what was installed with the program, else the
/// source tree.
std::string data_dir();

}  // namespace accosim
