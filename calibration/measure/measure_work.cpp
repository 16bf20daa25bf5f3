// Kernels that change an array in place are run on their own results again and again; what the arrays hold is chosen so
// that these neither die out nor overflow.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibration/base/names.hpp"
#include "calibration/base/random.hpp"
#include "calibration/device/micro_batch_text.hpp"
#include "calibration/measure/measure_items.hpp"
#include "models/spec/accocal_step.hpp"

namespace accocal {
namespace {

std::size_t matrix(int columns, int apart) {
  return static_cast<std::size_t>(columns) * static_cast<std::size_t>(apart);
}

Content content_of(ProductType type) {
  switch (type) {
    case ProductType::kFp32:
    case ProductType::kTf32: return Content::kFloat;
    case ProductType::kFp16: return Content::kFp16;
    case ProductType::kBf16: return Content::kBf16;
    case ProductType::kFp8: return Content::kFp8;
  }
  return Content::kZeros;
}

Operand operand(std::size_t bytes, Content content, bool fresh = false, float deviation = 0.1F) {
  return {bytes, content, deviation, fresh, {}};
}

template <typename T>
Operand given(const std::vector<T>& values) {
  Operand made = operand(values.size() * sizeof(T), Content::kGiven);
  made.given.resize(made.bytes);
  std::memcpy(made.given.data(), values.data(), made.bytes);
  return made;
}

Operand zeros(std::size_t bytes) { return operand(bytes, Content::kZeros); }

/// Context + 1 tokens a sequence.
std::vector<std::int32_t> random_text(const TokenShape& s, int vocabulary) {
  std::vector<std::int32_t> text(static_cast<std::size_t>(s.sequences) * static_cast<std::size_t>(s.context + 1));
  draw_tokens(7, vocabulary, text);
  return text;
}

struct Index {
  std::vector<std::int32_t> unique, first, columns;
};

Index index_of(const std::vector<std::int32_t>& text, const TokenShape& s, int vocabulary) {
  const auto tokens = static_cast<std::size_t>(s.tokens());
  Index index{std::vector<std::int32_t>(tokens), std::vector<std::int32_t>(tokens + 1),
              std::vector<std::int32_t>(tokens)};
  std::vector<std::int32_t> number_of(static_cast<std::size_t>(vocabulary), -1);
  const int unique = index_tokens(text, s, number_of, index.columns.data(), index.first.data(), index.unique.data());
  index.unique.resize(static_cast<std::size_t>(unique));
  index.first.resize(static_cast<std::size_t>(unique) + 1);
  return index;
}

/// Arrays of Real, and the calls. What `fresh` says is as in the step (calibration/device/device_gpt.cpp).
template <typename Real>
class Maker {
 public:
  explicit Maker(const KernelCase& one) : one_(one), s_(one.shape) {}

  DeviceWork make() {
    switch (one_.kind) {
      case StepKernel::kEmbedForward: return embed_forward_work();
      case StepKernel::kEmbedBackward: return embed_backward_work();
      case StepKernel::kNormForward: return norm_forward_work();
      case StepKernel::kNormBackward: return norm_backward_work();
      case StepKernel::kBiasBackward: return bias_backward_work();
      case StepKernel::kSplitHeads:
      case StepKernel::kMergeHeads: return heads_work();
      case StepKernel::kSoftmaxForward:
      case StepKernel::kSoftmaxBackward: return softmax_work();
      case StepKernel::kCrossEntropy: return cross_entropy_work();
      case StepKernel::kAdamw:
      case StepKernel::kSgd: return optimizer_work();
      default: return flat_work();
    }
  }

 private:
  static constexpr Content kReal = sizeof(Real) == 2 ? Content::kBf16 : Content::kFloat;
  using At = std::vector<void*>;

  static Operand reals(std::size_t count, bool fresh, float deviation = 0.1F) {
    return operand(count * sizeof(Real), kReal, fresh, deviation);
  }
  static Operand floats(std::size_t count, bool fresh) {
    return operand(count * sizeof(float), Content::kFloat, fresh);
  }
  static Real* real(void* at) { return static_cast<Real*>(at); }
  static float* fp32(void* at) { return static_cast<float*>(at); }
  static const std::int32_t* ints(void* at) { return static_cast<const std::int32_t*>(at); }

  std::size_t tokens() const { return static_cast<std::size_t>(s_.tokens()); }
  std::size_t width() const { return static_cast<std::size_t>(s_.width); }
  std::size_t stream_size() const { return tokens() * width(); }

  DeviceWork embed_forward_work() const {
    return {{reals(stream_size(), false), given(random_text(s_, one_.vocabulary)),
             reals(width() * static_cast<std::size_t>(one_.vocabulary), false),
             reals(width() * static_cast<std::size_t>(s_.context), false)},
            [s = s_](const At& at, Stream& stream) {
              embed_forward(real(at[0]), ints(at[1]), real(at[2]), real(at[3]), s, stream);
            }};
  }

  DeviceWork embed_backward_work() const {
    const Index index = index_of(random_text(s_, one_.vocabulary), s_, one_.vocabulary);
    const int unique = static_cast<int>(index.unique.size());
    return {{reals(width() * static_cast<std::size_t>(one_.vocabulary), false),
             reals(width() * static_cast<std::size_t>(s_.context), false), reals(stream_size(), true),
             given(index.unique), given(index.first), given(index.columns)},
            [s = s_, unique](const At& at, Stream& stream) {
              embed_backward(real(at[0]), real(at[1]), real(at[2]), {ints(at[3]), ints(at[4]), ints(at[5]), unique}, s,
                             stream);
            }};
  }

  DeviceWork norm_forward_work() const {
    return {{reals(stream_size(), false), floats(tokens(), false), floats(tokens(), false), reals(stream_size(), true),
             reals(width(), true), reals(width(), true)},
            [s = s_](const At& at, Stream& stream) {
              norm_forward(real(at[0]), fp32(at[1]), fp32(at[2]), real(at[3]), real(at[4]), real(at[5]), s, stream);
            }};
  }

  DeviceWork norm_backward_work() const {
    return {{reals(stream_size(), true), reals(width(), false), reals(width(), false), reals(stream_size(), true),
             reals(stream_size(), false), floats(tokens(), false), floats(tokens(), false), reals(width(), false),
             floats(norm_workspace(s_), true)},
            [s = s_](const At& at, Stream& stream) {
              norm_backward(real(at[0]), real(at[1]), real(at[2]), real(at[3]), real(at[4]), fp32(at[5]), fp32(at[6]),
                            real(at[7]), fp32(at[8]), s, stream);
            }};
  }

  DeviceWork bias_backward_work() const {
    const int features = one_.parts * s_.width, count = s_.tokens();
    return {{reals(static_cast<std::size_t>(features), false), reals(matrix(count, features), true),
             floats(bias_workspace(features, count), true)},
            [features, count](const At& at, Stream& stream) {
              bias_backward(real(at[0]), real(at[1]), features, count, fp32(at[2]), stream);
            }};
  }

  DeviceWork heads_work() const {
    const auto call = one_.kind == StepKernel::kSplitHeads ? split_heads<Real> : merge_heads<Real>;
    const std::size_t size = stream_size() * static_cast<std::size_t>(one_.parts);
    return {{reals(size, false), reals(size, true)}, [s = s_, parts = one_.parts, call](const At& at, Stream& stream) {
              call(real(at[0]), real(at[1]), parts, s, stream);
            }};
  }

  DeviceWork softmax_work() const {
    const std::size_t size = tokens() * static_cast<std::size_t>(s_.heads) * static_cast<std::size_t>(s_.context);
    if (one_.kind == StepKernel::kSoftmaxForward)
      return {{reals(size, true)}, [s = s_](const At& at, Stream& stream) { softmax_forward(real(at[0]), s, stream); }};
    // d <- w (d - sum of w d) keeps its size where the weights' deviation is the context to the power of -1/4.
    const float deviation = std::pow(static_cast<float>(s_.context), -0.25F);
    return {{reals(size, true), reals(size, false, deviation)},
            [s = s_](const At& at, Stream& stream) { softmax_backward(real(at[0]), real(at[1]), 1.0F, s, stream); }};
  }

  DeviceWork cross_entropy_work() const {
    const int vocabulary = one_.vocabulary, leading = static_cast<int>(padded_vocabulary(vocabulary));
    return {{reals(matrix(s_.tokens(), leading), true), zeros(sizeof(float)), given(random_text(s_, vocabulary)),
             floats(tokens(), true)},
            [s = s_, vocabulary, leading](const At& at, Stream& stream) {
              cross_entropy(real(at[0]), fp32(at[1]), ints(at[2]), vocabulary, leading, fp32(at[3]), s, stream);
            }};
  }

  DeviceWork optimizer_work() const {
    const std::size_t count = one_.count;
    const std::vector<std::int64_t> total = {4};
    if (one_.kind == StepKernel::kSgd)
      return {{floats(count, false), reals(count, false), reals(count, false), given(total)},
              [count](const At& at, Stream& stream) {
                sgd(fp32(at[0]), real(at[1]), real(at[2]), static_cast<const std::int64_t*>(at[3]), 1e-3F, count,
                    stream);
              }};
    // The second moment begins at zero, since it has a root; the first launch fills it.
    return {{floats(count, false), floats(count, false), zeros(count * sizeof(float)), reals(count, false),
             reals(count, false), given(total)},
            [count](const At& at, Stream& stream) {
              adamw(fp32(at[0]), fp32(at[1]), fp32(at[2]), real(at[3]), real(at[4]),
                    static_cast<const std::int64_t*>(at[5]), {.learning_rate = 1e-3F}, count, stream);
            }};
  }

  DeviceWork flat_work() const {
    const std::size_t count = one_.count, bytes = count * sizeof(Real);
    switch (one_.kind) {
      case StepKernel::kGeluForward:
        return {{reals(count, false), reals(count, true)},
                [count](const At& at, Stream& stream) { gelu_forward(real(at[0]), real(at[1]), count, stream); }};
      case StepKernel::kGeluBackward:
        // Far from zero GELU's slope is 1 or 0, so half of the values stay for ever.
        return {{reals(count, true), reals(count, false, 8.0F)},
                [count](const At& at, Stream& stream) { gelu_backward(real(at[0]), real(at[1]), count, stream); }};
      case StepKernel::kAdd:
        return {{reals(count, false), reals(count, true)}, [count](const At& at, Stream& stream) {
                  add(real(at[0]), static_cast<const Real*>(at[1]), count, stream);
                }};
      case StepKernel::kCast:
        return {{floats(count, false), reals(count, true)}, [count](const At& at, Stream& stream) {
                  cast(fp32(at[0]), static_cast<const Real*>(at[1]), count, stream);
                }};
      case StepKernel::kMemset:
        return {{reals(count, false)}, [bytes](const At& at, Stream& stream) { stream.set_zero(at[0], bytes); }};
      default:
        return {{reals(count, false), reals(count, true)},
                [bytes](const At& at, Stream& stream) { stream.copy_on_device(at[0], at[1], bytes); }};
    }
  }

  KernelCase one_;
  TokenShape s_;
};

}  // namespace

DeviceWork work_of(const ProductCase& one, Products& products) {
  const Product p = one.product;
  const auto in = static_cast<std::size_t>(bytes_of(p.type).value);
  const std::size_t out = std::max<std::size_t>(in, 2);  // a product of fp8 writes bf16
  const auto batch = static_cast<std::size_t>(p.batch);
  // Rows and columns as stored, each column `ld` elements after the last.
  const auto size = [](int rows, int columns, int ld) { return matrix(columns, ld == 0 ? rows : ld); };
  const Content result = p.type == ProductType::kFp8 ? Content::kBf16 : content_of(p.type);
  DeviceWork work;
  const std::size_t a = p.transpose_a ? size(p.k, p.m, p.lda) : size(p.m, p.k, p.lda);
  const std::size_t b = p.transpose_b ? size(p.n, p.k, p.ldb) : size(p.k, p.n, p.ldb);
  const std::size_t c = size(p.m, p.n, p.ldc);
  work.operands = {operand(c * batch * out, result), operand(a * batch * in, content_of(p.type), one.fresh_a),
                   operand(b * batch * in, content_of(p.type), one.fresh_b),
                   operand(static_cast<std::size_t>(p.m) * out, result)};
  const bool apart = p.beta != 0 && !one.in_place;
  if (apart) work.operands.push_back(operand(c * batch * out, result));
  work.launch = [p, apart, bias = one.bias, &products](const std::vector<void*>& at, Stream& stream) {
    const void* added = apart ? at[4] : p.beta != 0 ? at[0] : nullptr;
    products.multiply(p, at[0], at[1], at[2], bias ? at[3] : nullptr, added, stream);
  };
  return work;
}

DeviceWork work_of(const KernelCase& one) {
  return one.type == ElementType::kBf16 ? Maker<Bf16>(one).make() : Maker<float>(one).make();
}

}  // namespace accocal
