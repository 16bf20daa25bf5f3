// The kernels of the GPU's training step that are not matrix products, and what the optimizer and the measurements
// need. Each function gives its kernel (two where it says so) to a stream and returns. Sums are in fp32, in an order
// that depends on nothing but the sizes, so that equal inputs give equal bits; no atomics.
//
// Real is float or Bf16. Matrices are features x tokens, a token's features side by side, tokens = sequences x context,
// as in calibration/train/gpt.cpp, whose formulas these are. Pointers are to device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "calibration/device/device.hpp"
#include "calibration/ranks/transport.hpp"

namespace accocal {

/// The sizes of a micro-batch.
struct TokenShape {
  int sequences = 1, context = 1, width = 1, heads = 1;
  int tokens() const { return sequences * context; }
  int head_size() const { return width / heads; }
};

/// x = token rows + position rows. text: for each sequence context + 1 tokens; vocabulary rows of `width` each.
template <typename Real>
void embed_forward(Real* x, const std::int32_t* text, const Real* token, const Real* position, const TokenShape& s,
                   Stream& stream);

/// The input tokens of a micro-batch, grouped by token: unique token u is the input of those columns that `columns`
/// lists from first[u] to before first[u + 1]. Made on the host, so that the sums below have one order.
struct TokenIndex {
  const std::int32_t* unique = nullptr;   ///< the tokens
  const std::int32_t* first = nullptr;    ///< one more than there are unique tokens
  const std::int32_t* columns = nullptr;  ///< of dx
  int count = 0;                          ///< unique tokens
};
/// dtoken and dposition += dx. Two kernels.
template <typename Real>
void embed_backward(Real* dtoken, Real* dposition, const Real* dx, const TokenIndex& index, const TokenShape& s,
                    Stream& stream);

/// out = gain (x - mean) scale + bias, scale = 1 / sqrt(variance + 1e-5); mean and scale, one a token, are kept.
template <typename Real>
void norm_forward(Real* out, float* mean, float* scale, const Real* x, const Real* gain, const Real* bias,
                  const TokenShape& s, Stream& stream);
/// dx += the gradient of x, of dy; dgain, dbias +=. Two kernels; `workspace`: norm_workspace() floats.
template <typename Real>
void norm_backward(Real* dx, Real* dgain, Real* dbias, const Real* dy, const Real* x, const float* mean,
                   const float* scale, const Real* gain, float* workspace, const TokenShape& s, Stream& stream);
std::size_t norm_workspace(const TokenShape& s);

/// dbias += sum over tokens of dy, features x tokens. Two kernels; `workspace`: bias_workspace() floats.
template <typename Real>
void bias_backward(Real* dbias, const Real* dy, int features, int tokens, float* workspace, Stream& stream);
std::size_t bias_workspace(int features, int tokens);

/// GELU in its tanh form.
template <typename Real>
void gelu_forward(Real* out, const Real* x, std::size_t count, Stream& stream);
/// d becomes d gelu'(x).
template <typename Real>
void gelu_backward(Real* d, const Real* x, std::size_t count, Stream& stream);

/// Splits the `parts` x width features of each token (q, k, v side by side, or one alone) into a matrix of head_size x
/// context for each part, sequence and head, in this order.
template <typename Real>
void split_heads(Real* out, const Real* in, int parts, const TokenShape& s, Stream& stream);
/// The inverse.
template <typename Real>
void merge_heads(Real* out, const Real* in, int parts, const TokenShape& s, Stream& stream);

/// In place on scores (keys x queries, a matrix for each sequence and head): the softmax over the keys up to the query,
/// zeros beyond.
template <typename Real>
void softmax_forward(Real* scores, const TokenShape& s, Stream& stream);
/// d becomes factor weights (d - sum over keys of weights d).
template <typename Real>
void softmax_backward(Real* d, const Real* weights, float factor, const TokenShape& s, Stream& stream);

/// Replaces logits (the columns of the tokens are `leading` >= vocabulary elements apart) by the gradient of the mean
/// loss; the rest of each column becomes zeros. loss (one float) += the mean loss. Two kernels; `workspace`: one float
/// per token.
template <typename Real>
void cross_entropy(Real* logits, float* loss, const std::int32_t* text, int vocabulary, int leading, float* workspace,
                   const TokenShape& s, Stream& stream);

/// a += b.
template <typename Real>
void add(Real* a, const Real* b, std::size_t count, Stream& stream);
template <typename To, typename From>
void cast(To* to, const From* from, std::size_t count, Stream& stream);

/// AdamW as adamw_step() in calibration/train/adamw.hpp, on `count` elements, with the gradient a sum over *total
/// micro-batches (of the device, so that the host need not wait for it) and the new master copy written to `parameters`
/// too.
struct DeviceAdamW {
  float learning_rate = 0, beta1 = 0.9F, beta2 = 0.95F, epsilon = 1e-8F, weight_decay = 0.1F;
  float correction1 = 1, correction2 = 1;  ///< 1 - beta^step
};
template <typename Real>
void adamw(float* master, float* m, float* v, Real* parameters, const Real* gradient, const std::int64_t* total,
           const DeviceAdamW& options, std::size_t count, Stream& stream);
/// w <- w - learning_rate gradient / *total, likewise.
template <typename Real>
void sgd(float* master, Real* parameters, const Real* gradient, const std::int64_t* total, float learning_rate,
         std::size_t count, Stream& stream);

// For measurements.

/// A kernel that does nothing.
void nothing(Stream& stream);
/// Values of about a normal distribution's spread, different for each seed.
template <typename Real>
void fill_random(Real* out, std::size_t count, float deviation, std::uint64_t seed, Stream& stream);
/// `blocks` blocks, each of which keeps one multiprocessor to itself (it takes all of the shared memory) without
/// memory traffic until *stop (of pinned memory) is not 0, or for about `limit` at most.
void hold_multiprocessors(int blocks, const volatile std::int32_t* stop, Seconds limit, Stream& stream);
/// Copies `bytes` from -> to again and again with `blocks` blocks until *stop is not 0, or for about `limit`; adds what
/// was read to *moved (of the device), in bytes.
void stream_memory(void* to, const void* from, std::size_t bytes, int blocks, const volatile std::int32_t* stop,
                   Seconds limit, std::uint64_t* moved, Stream& stream);

}  // namespace accocal
