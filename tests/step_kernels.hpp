// Everything that one micro-batch gives to the device, in order, line by line as the played device logs it. The price
// of a step is the price of this list: whoever predicts it is held to the list, and so is the step itself.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibration/gpt.hpp"

namespace accosim {

/// "product m x n x k (batch)" column-major, "kernel rows x columns", "set_zero bytes". `element`: bytes of a
/// parameter.
inline std::vector<std::string> step_kernels(const GptShape& g, int sequences, int element) {
  const int d = g.width, L = g.context, H = g.heads, h = d / H, V = g.vocabulary, B = sequences, t = B * L;
  std::vector<std::string> lines;
  const auto kernel = [&](const char* name, int rows, int columns) {
    lines.push_back(fmt::format("{} {} x {}", name, rows, columns));
  };
  const auto product = [&](int m, int n, int k, int batch = 1) {
    lines.push_back(fmt::format("product {} x {} x {} ({})", m, n, k, batch));
  };
  // A product with weights (rows x columns): bias, weights' gradient, inputs' gradient.
  const auto product_backward = [&](int rows, int columns) {
    kernel("bias_backward", rows, t);
    product(rows, columns, t);
    product(columns, t, rows);
  };

  kernel("embed_forward", d, t);
  for (int layer = 0; layer < g.layers; ++layer) {
    kernel("norm_forward", d, t);
    product(3 * d, t, d);
    kernel("split_heads", 3 * d, t);
    product(L, L, h, B * H);
    kernel("softmax_forward", L, B * H * L);
    product(h, L, L, B * H);
    kernel("merge_heads", d, t);
    product(d, t, d);
    kernel("norm_forward", d, t);
    product(4 * d, t, d);
    kernel("gelu_forward", 4 * d * t, 1);
    product(d, t, 4 * d);
  }
  kernel("norm_forward", d, t);
  product(V, t, d);
  kernel("cross_entropy", V, t);

  product(d, V, t);
  product(d, t, V);
  lines.push_back(fmt::format("set_zero {}", d * t * element));
  kernel("norm_backward", d, t);
  for (int layer = 0; layer < g.layers; ++layer) {
    product_backward(d, 4 * d);
    kernel("gelu_backward", 4 * d * t, 1);
    product_backward(4 * d, d);
    kernel("norm_backward", d, t);
    product_backward(d, d);
    kernel("split_heads", d, t);
    product(h, L, L, B * H);
    product(L, L, h, B * H);
    kernel("softmax_backward", L, B * H * L);
    product(h, L, L, B * H);
    product(h, L, L, B * H);
    kernel("merge_heads", 3 * d, t);
    product_backward(3 * d, d);
    kernel("norm_backward", d, t);
  }
  kernel("embed_backward", d, t);
  return lines;
}

}  // namespace accosim
