// A trainer is a table: what starts it, and what each of its arguments, or of the keys of its configuration file, is.
// Two readers know what values mean, one in Megatron-LM's names and one in those of Hugging Face's Trainer; the rows of
// all others say which of those names a key is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace accosim {

enum class KeyUse : std::uint8_t {
  kTaken,        ///< a reader takes it
  kNoEffect,     ///< on the time of a step
  kNotModelled,  ///< it changes that time in a way that is not modelled
  kRefused,      ///< it makes another model or another training
};

/// Names of arguments and keys. "-" and "_" are the same; one that ends in "-" or "." is all that begin so, and "=a|b"
/// behind a name is this row where the value is one of those. Where nothing is taken, keys below a name are meant too.
/// The first row that fits a name is its row.
struct TrainerRow {
  std::string_view names;  ///< with blanks between them
  KeyUse use = KeyUse::kTaken;
  /// kTaken: the reader's names, "bf16 torch-dtype=bfloat16", of which those without "=" have its value; empty: its
  /// own. kNotModelled: what it would change. kRefused: why, and what to write, or one of not_modelled.hpp.
  std::string_view what = "";
  std::string_view off = "";  ///< a value that switches it off, beside those that do so everywhere (false, none, 0)
  std::string_view but = "";  ///< kTaken: what of it is not modelled
};

enum class TrainerReader : std::uint8_t { kMegatron, kTorch };

struct Trainer {
  std::string_view name;
  TrainerReader reader;
  /// Programs that start it, with blanks between them; "*" at an end is any end.
  std::string_view programs;
  /// Keys or arguments that no other trainer has: a file with one of them, and so a script's line, is its.
  std::string_view signs;
  bool overrides = false;  ///< "key=value" on its command line is a key of its file
  std::array<std::span<const TrainerRow>, 3> rows;
  /// What it takes where nothing is said, as its keys: "stage=sft packing=false".
  std::string_view defaults = "";
  /// Beginnings of keys that become others before rows are looked up.
  std::span<const std::pair<std::string_view, std::string_view>> beginnings{};
  std::string_view assumed = "";  ///< what is told of every launch line of it
};

/// In the order in which a launch line is held against them.
std::span<const Trainer> trainers();

/// What stands before the keys of a DeepSpeed configuration, "ds.zero-optimization.stage".
inline constexpr const char* kDeepspeedKeys = "ds.";

// The rows of trainers.

std::span<const TrainerRow> megatron_rows();
std::span<const TrainerRow> nemo_rows();
std::span<const TrainerRow> bridge_rows();
/// Hugging Face's Trainer, and accelerate's configuration below it.
std::span<const TrainerRow> hugging_face_rows();
std::span<const TrainerRow> llama_factory_rows();
std::span<const TrainerRow> axolotl_rows();
std::span<const TrainerRow> foundry_rows();
std::span<const TrainerRow> titan_rows();
std::span<const TrainerRow> deepspeed_rows();

}  // namespace accosim
