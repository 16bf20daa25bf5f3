#include "models/spec/step_kernel.hpp"

#include <array>

namespace accosim {
namespace {

enum class Operand : std::uint8_t { kMatrix, kColumns, kFlat };  ///< kColumns: a matrix whose columns' length matters

/// Bytes an element of the main operand: `moved` times the element's, and `fixed` of fp32 states.
struct Row {
  const char* name;
  int launches;
  Operand operand;
  double moved;
  double fixed;
};
// r, w: the main operand read, written.
constexpr std::array<Row, kStepKernelCount> kRows = {{
    {"embed_forward", 1, Operand::kMatrix, 2, 0},       // token rows r, w; the positions' rows come from the L2
    {"embed_backward", 2, Operand::kMatrix, 4, 0},      // r for the tokens, whose rows r w; r for the positions
    {"norm_forward", 1, Operand::kMatrix, 2, 0},        // r w
    {"norm_backward", 2, Operand::kMatrix, 4, 0},       // dy r, x r, dx r w; gain's and bias's partial sums are small
    {"bias_backward", 2, Operand::kMatrix, 1, 0},       // r
    {"gelu_forward", 1, Operand::kFlat, 2, 0},          // r w
    {"gelu_backward", 1, Operand::kFlat, 3, 0},         // x r, d r w
    {"split_heads", 1, Operand::kMatrix, 2, 0},         // r w
    {"merge_heads", 1, Operand::kMatrix, 2, 0},         // r w
    {"softmax_forward", 1, Operand::kColumns, 1.5, 0},  // half r, w
    {"softmax_backward", 1, Operand::kColumns, 2, 0},   // half of the weights and of d r, d w
    {"cross_entropy", 2, Operand::kMatrix, 2, 0},       // r w: a column fits the cache
    {"add", 1, Operand::kFlat, 3, 0},                   // a r w, b r
    {"cast", 1, Operand::kFlat, 1, 4},                  // between the type and fp32
    {"adamw", 1, Operand::kFlat, 2, 24},                // gradient r, parameter w; master, m, v r w
    {"sgd", 1, Operand::kFlat, 2, 8},                   // gradient r, parameter w; master r w
    {"memset", 1, Operand::kFlat, 1, 0},                // w
    {"copy", 1, Operand::kFlat, 2, 0},                  // r w
}};

const Row& row_of(StepKernel kernel) { return kRows[static_cast<std::size_t>(kernel)]; }

}  // namespace

const char* name_of(StepKernel kernel) { return row_of(kernel).name; }

std::optional<StepKernel> step_kernel(const std::string& name) {
  for (int i = 0; i < kStepKernelCount; ++i)
    if (name == kRows[static_cast<std::size_t>(i)].name) return static_cast<StepKernel>(i);
  return std::nullopt;
}

Bytes bytes_of(StepKernel kernel, double elements, Bytes element) {
  const Row& row = row_of(kernel);
  return elements * (row.moved * element + Bytes{row.fixed});
}

std::string byte_formulas() {
  return "n = rows x columns elements of e bytes each. memset and bias_backward ne; softmax_forward 1.5ne and "
         "softmax_backward 2ne, since what lies beyond the query is written and not read; embed_forward, norm_forward, "
         "gelu_forward, split_heads, merge_heads, cross_entropy and copy 2ne; gelu_backward and add 3ne; "
         "embed_backward "
         "(the gradient for the tokens and for the positions, the tokens' rows read and written) and norm_backward "
         "4ne; "
         "cast (to fp32) n(e + 4); sgd n(8 + 2e); adamw n(24 + 2e). What is a number a token or a feature is not "
         "counted.";
}

int launches_of(StepKernel kernel) { return row_of(kernel).launches; }
bool is_flat(StepKernel kernel) { return row_of(kernel).operand == Operand::kFlat; }
bool goes_by_rows(StepKernel kernel) { return row_of(kernel).operand == Operand::kColumns; }

}  // namespace accosim
