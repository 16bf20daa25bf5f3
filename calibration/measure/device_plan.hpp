// Which samples `accocal measure` takes on a GPU and in which order, so that what is left out for want of time is what
// matters least. Pure: no device is needed to make a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/measure/measure_cases.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

enum class CopyDirection : std::uint8_t { kToDevice, kToHost, kOnDevice, kBoth };
struct CopyCase {
  CopyDirection direction = CopyDirection::kToDevice;
  bool pinned = true;  ///< the host's side
  std::size_t bytes = 0;
};

/// What a kernel's time is taken beside.
enum class Beside : std::uint8_t { kHoldMultiprocessors, kStreamMemory, kCopyToDevice, kCopyToHost, kAdamW };
struct BesideCase {
  Beside what = Beside::kHoldMultiprocessors;
  int blocks = 0;          ///< number of blocks, for kHoldMultiprocessors and kStreamMemory
  std::size_t amount = 0;  ///< bytes of a copy or of the buffer that is streamed, elements of AdamW
};

/// One kernel, of either sort, beside something.
struct InterferenceCase {
  bool is_product = false;
  ProductCase product;
  KernelCase kernel;
  BesideCase beside;
};

struct StepCase {
  ModelShape model;
  int sequences = 1;
};

/// An update of a rank alone under an algorithm.
struct UpdateCase {
  StepCase step;
  Algorithm algorithm = Algorithm::kAcco;
  int micro_batches = 4;
};

/// What a plan is made from; tests take a tiny one.
struct PlanSizes {
  std::vector<ModelShape> first;         ///< all their products come first, in bf16
  std::vector<ModelShape> then{};        ///< after them
  std::vector<int> sequences;            ///< micro-batches of either
  std::vector<int> update_sequences;     ///< of the updates of `first`
  std::vector<int> step_sequences;       ///< of the steps of `first`
  std::vector<std::size_t> sweep{};      ///< bytes that memory-bound kernels move
  std::vector<std::size_t> optimizer{};  ///< elements
  std::vector<std::size_t> copies{};     ///< bytes
  std::vector<int> hold_blocks{}, stream_blocks{};
  std::size_t beside_bytes = 0;     ///< a copy's, or what is streamed
  std::size_t beside_elements = 0;  ///< AdamW's
  bool other_types = true;          ///< than bf16
  bool off_tile = true;             ///< also shapes that differ by a tile (128), by 8 and by 1
};
PlanSizes full_sizes();
PlanSizes quick_sizes();

struct DevicePlan {
  std::vector<ProductCase> products;
  std::vector<KernelCase> kernels;
  std::vector<CopyCase> copies;
  std::vector<InterferenceCase> interference;
  std::vector<StepCase> steps{};
  std::vector<UpdateCase> updates{};
};

/// No sample twice. Products: those of `first` in bf16 as in a step; then shapes off the tile; then those of `then`;
/// then the first model's with a cold L2; then the other types, 4 sequences before others, fp32 last.
DevicePlan make_device_plan(const PlanSizes& sizes);

/// The matrix products of a table that `accosim resolve --kernels` prints, as a linear layer has them: its weight
/// stored along its inputs, so that the forward pass is TN, the input's gradient NN and the weight's NT. Without those
/// whose result is of another type than their operands, such as gradients that are summed in fp32. Throws BadInput with
/// all that is wrong, each with its place.
std::vector<ProductCase> products_of_table(const std::string& text, const std::string& name);

/// Whether a case belongs to the kind of sample "attention": the batched GEMMs of attention, and softmax.
bool is_attention(const ProductCase& one);
bool is_attention(const KernelCase& one);

}  // namespace accocal

template <>
inline constexpr const char* accosim::kNames<accocal::CopyDirection>[] = {"to_device", "to_host", "on_device", "both"};
template <>
inline constexpr const char* accosim::kNames<accocal::Beside>[] = {"hold_multiprocessors", "stream_memory",
                                                                   "copy_to_device", "copy_to_host", "adamw"};
