// Kernels that work token by token or query by query: a warp takes a column of a matrix, or a block where it is as long
// as a vocabulary.
#include "calibration/cuda/kernel_packs.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {
namespace {

constexpr float kNormEpsilon = 1e-5f;

// TokenShape's own functions are the host's.
ACCOSIM_DEVICE int tokens_of(const TokenShape& s) { return s.sequences * s.context; }
ACCOSIM_DEVICE int head_size_of(const TokenShape& s) { return s.width / s.heads; }

template <typename Real, int N>
ACCOSIM_KERNEL embed_forward_kernel(Real* x, const std::int32_t* text, const Real* token, const Real* position,
                                    TokenShape s) {
  const std::int64_t t = global_warp();
  if (t >= tokens_of(s)) return;
  const std::int64_t sequence = t / s.context, place = t % s.context;
  const Real* a = token + std::int64_t{text[sequence * (s.context + 1) + place]} * s.width;
  const Real* b = position + place * s.width;
  for (int i = lane() * N; i < s.width; i += kLanes * N) {
    float sum[N], other[N];
    load(sum, a + i);
    load(other, b + i);
    for (int j = 0; j < N; ++j) sum[j] += other[j];
    store(x + t * s.width + i, sum);
  }
}

template <typename Real, int N>
ACCOSIM_KERNEL norm_forward_kernel(Real* out, float* mean, float* scale, const Real* x, const Real* gain,
                                   const Real* bias, TokenShape s) {
  const std::int64_t t = global_warp();
  if (t >= tokens_of(s)) return;
  const Real* column = x + t * s.width;
  const float share = 1 / static_cast<float>(s.width);
  float sum = 0;
  for (int i = lane() * N; i < s.width; i += kLanes * N) {
    float values[N];
    load(values, column + i);
    for (const float v : values) sum += v;
  }
  const float average = warp_sum(sum) * share;
  sum = 0;
  for (int i = lane() * N; i < s.width; i += kLanes * N) {
    float values[N];
    load(values, column + i);
    for (const float v : values) sum += (v - average) * (v - average);
  }
  const float factor = 1 / sqrtf(warp_sum(sum) * share + kNormEpsilon);
  if (lane() == 0) {
    mean[t] = average;
    scale[t] = factor;
  }
  for (int i = lane() * N; i < s.width; i += kLanes * N) {
    float values[N], gains[N], biases[N];
    load(values, column + i);
    load(gains, gain + i);
    load(biases, bias + i);
    for (int j = 0; j < N; ++j) values[j] = gains[j] * ((values[j] - average) * factor) + biases[j];
    store(out + t * s.width + i, values);
  }
}

// Between a token's features and the matrices of its heads; a pack never crosses a head's end.
template <typename Real, int N, bool kSplit>
ACCOSIM_KERNEL heads_kernel(Real* out, const Real* in, int parts, TokenShape s) {
  const std::int64_t t = global_warp();
  if (t >= tokens_of(s)) return;
  const std::int64_t sequence = t / s.context, place = t % s.context;
  const int size = head_size_of(s), features = parts * s.width;
  for (int i = lane() * N; i < features; i += kLanes * N) {
    const int part = i / s.width, head = i % s.width / size;
    const std::int64_t matrix = (std::int64_t{part} * s.sequences + sequence) * s.heads + head;
    const std::int64_t beside = t * features + i, apart = (matrix * s.context + place) * size + i % size;
    float values[N];
    load(values, in + (kSplit ? beside : apart));
    store(out + (kSplit ? apart : beside), values);
  }
}

// Both softmaxes: a query's keys side by side, of which it sees the first `seen`. What lies beyond is not read but for
// the rest of a pack.
template <typename Real, int N>
ACCOSIM_KERNEL softmax_forward_kernel(Real* scores, int context, std::int64_t queries) {
  const std::int64_t query = global_warp();
  if (query >= queries) return;
  Real* column = scores + query * context;
  const int seen = static_cast<int>(query % context) + 1;
  float highest = kLowest;
  for (int i = lane() * N; i < seen; i += kLanes * N) {
    float values[N];
    load(values, column + i);
    for (int j = 0; j < N; ++j) highest = i + j < seen ? fmaxf(highest, values[j]) : highest;
  }
  highest = warp_max(highest);
  float sum = 0;
  for (int i = lane() * N; i < seen; i += kLanes * N) {
    float values[N];
    load(values, column + i);
    for (int j = 0; j < N; ++j) sum += i + j < seen ? expf(values[j] - highest) : 0;
  }
  const float share = 1 / warp_sum(sum);
  for (int i = lane() * N; i < context; i += kLanes * N) {
    float values[N] = {};
    if (i < seen) load(values, column + i);
    for (int j = 0; j < N; ++j) values[j] = i + j < seen ? expf(values[j] - highest) * share : 0;
    store(column + i, values);
  }
}

template <typename Real, int N>
ACCOSIM_KERNEL softmax_backward_kernel(Real* d, const Real* weights, float factor, int context, std::int64_t queries) {
  const std::int64_t query = global_warp();
  if (query >= queries) return;
  Real* column = d + query * context;
  const Real* weight = weights + query * context;
  const int seen = static_cast<int>(query % context) + 1;
  float sum = 0;
  for (int i = lane() * N; i < seen; i += kLanes * N) {
    float values[N], w[N];
    load(values, column + i);
    load(w, weight + i);
    for (int j = 0; j < N; ++j) sum += i + j < seen ? w[j] * values[j] : 0;
  }
  const float along = warp_sum(sum);
  for (int i = lane() * N; i < context; i += kLanes * N) {
    float values[N] = {}, w[N] = {};
    if (i < seen) {
      load(values, column + i);
      load(w, weight + i);
    }
    for (int j = 0; j < N; ++j) values[j] = i + j < seen ? factor * w[j] * (values[j] - along) : 0;
    store(column + i, values);
  }
}

// A block a token. Each thread keeps the highest logit that it has seen and the sum of exponentials below it.
template <typename Real, int N>
ACCOSIM_KERNEL cross_entropy_kernel(Real* logits, const std::int32_t* text, int vocabulary, int leading, float* losses,
                                    TokenShape s) {
  const std::int64_t t = block_index();
  const int target = text[t / s.context * (s.context + 1) + t % s.context + 1];
  Real* column = logits + t * leading;
  const int first = static_cast<int>(thread_index()) * N;
  float highest = kLowest, sum = 0;
  for (int i = first; i < vocabulary; i += kThreads * N) {
    float values[N];
    load(values, column + i);
    float most = highest;
    for (int j = 0; j < N; ++j) most = i + j < vocabulary ? fmaxf(most, values[j]) : most;
    sum *= expf(highest - most);
    for (int j = 0; j < N; ++j) sum += i + j < vocabulary ? expf(values[j] - most) : 0;
    highest = most;
  }
  const float goal = widened(column[target]);  // read by all before anybody writes: a barrier follows
  const float all = block_max(highest);
  const float total = block_sum(sum * expf(highest - all));
  if (thread_index() == 0) losses[t] = logf(total) + all - goal;
  const float share = 1 / total, mean = 1 / static_cast<float>(tokens_of(s));
  for (int i = first; i < leading; i += kThreads * N) {
    float values[N] = {};
    if (i < vocabulary) load(values, column + i);
    for (int j = 0; j < N; ++j) {
      const float p = i + j < vocabulary ? expf(values[j] - all) * share : 0;
      values[j] = (i + j == target ? p - 1 : p) * mean;
    }
    store(column + i, values);
  }
}

ACCOSIM_KERNEL mean_loss_kernel(float* loss, const float* losses, int tokens) {
  float sum = 0;
  for (int t = static_cast<int>(thread_index()); t < tokens; t += kThreads) sum += losses[t];
  sum = block_sum(sum);
  if (thread_index() == 0) *loss += sum / static_cast<float>(tokens);
}

// Blocks with a warp for each of so many columns.
std::int64_t blocks_of_warps(std::int64_t columns) { return (columns + kWarps - 1) / kWarps; }

std::int64_t queries_of(const TokenShape& s) { return std::int64_t{s.tokens()} * s.heads; }

template <typename Real, bool kSplit>
void give_heads(const char* name, Real* out, const Real* in, int parts, const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel(name, std::int64_t{parts} * s.width, s.tokens());
  const bool wide = aligned(out, in) && s.head_size() % kWide == 0;
  launch(name, stream, blocks_of_warps(s.tokens()), kThreads,
         wide ? heads_kernel<Real, kWide, kSplit> : heads_kernel<Real, 1, kSplit>, out, in, parts, s);
}

}  // namespace

template <typename Real>
void embed_forward(Real* x, const std::int32_t* text, const Real* token, const Real* position, const TokenShape& s,
                   Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("embed_forward", s.width, s.tokens());
  const bool wide = aligned(x, token, position) && s.width % kWide == 0;
  launch("embed_forward", stream, blocks_of_warps(s.tokens()), kThreads,
         wide ? embed_forward_kernel<Real, kWide> : embed_forward_kernel<Real, 1>, x, text, token, position, s);
}

template <typename Real>
void norm_forward(Real* out, float* mean, float* scale, const Real* x, const Real* gain, const Real* bias,
                  const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("norm_forward", s.width, s.tokens());
  const bool wide = aligned(out, x, gain, bias) && s.width % kWide == 0;
  launch_together("norm_forward", stream, blocks_of_warps(s.tokens()), kThreads,
                  wide ? norm_forward_kernel<Real, kWide> : norm_forward_kernel<Real, 1>, out, mean, scale, x, gain,
                  bias, s);
}

template <typename Real>
void split_heads(Real* out, const Real* in, int parts, const TokenShape& s, Stream& stream) {
  give_heads<Real, true>("split_heads", out, in, parts, s, stream);
}

template <typename Real>
void merge_heads(Real* out, const Real* in, int parts, const TokenShape& s, Stream& stream) {
  give_heads<Real, false>("merge_heads", out, in, parts, s, stream);
}

template <typename Real>
void softmax_forward(Real* scores, const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  const std::int64_t queries = queries_of(s);
  note_kernel("softmax_forward", s.context, queries);
  const bool wide = aligned(scores) && s.context % kWide == 0;
  launch_together("softmax_forward", stream, blocks_of_warps(queries), kThreads,
                  wide ? softmax_forward_kernel<Real, kWide> : softmax_forward_kernel<Real, 1>, scores, s.context,
                  queries);
}

template <typename Real>
void softmax_backward(Real* d, const Real* weights, float factor, const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  const std::int64_t queries = queries_of(s);
  note_kernel("softmax_backward", s.context, queries);
  const bool wide = aligned(d, weights) && s.context % kWide == 0;
  launch_together("softmax_backward", stream, blocks_of_warps(queries), kThreads,
                  wide ? softmax_backward_kernel<Real, kWide> : softmax_backward_kernel<Real, 1>, d, weights, factor,
                  s.context, queries);
}

template <typename Real>
void cross_entropy(Real* logits, float* loss, const std::int32_t* text, int vocabulary, int leading, float* workspace,
                   const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("cross_entropy", vocabulary, s.tokens());
  const bool wide = aligned(logits) && leading % kWide == 0;
  launch_together("cross_entropy", stream, s.tokens(), kThreads,
                  wide ? cross_entropy_kernel<Real, kWide> : cross_entropy_kernel<Real, 1>, logits, text, vocabulary,
                  leading, workspace, s);
  launch_together("mean_loss", stream, 1, kThreads, mean_loss_kernel, loss, static_cast<const float*>(workspace),
                  s.tokens());
}

template void embed_forward(float*, const std::int32_t*, const float*, const float*, const TokenShape&, Stream&);
template void norm_forward(float*, float*, float*, const float*, const float*, const float*, const TokenShape&,
                           Stream&);
template void split_heads(float*, const float*, int, const TokenShape&, Stream&);
template void merge_heads(float*, const float*, int, const TokenShape&, Stream&);
template void softmax_forward(float*, const TokenShape&, Stream&);
template void softmax_backward(float*, const float*, float, const TokenShape&, Stream&);
template void cross_entropy(float*, float*, const std::int32_t*, int, int, float*, const TokenShape&, Stream&);

template void embed_forward(Bf16*, const std::int32_t*, const Bf16*, const Bf16*, const TokenShape&, Stream&);
template void norm_forward(Bf16*, float*, float*, const Bf16*, const Bf16*, const Bf16*, const TokenShape&, Stream&);
template void split_heads(Bf16*, const Bf16*, int, const TokenShape&, Stream&);
template void merge_heads(Bf16*, const Bf16*, int, const TokenShape&, Stream&);
template void softmax_forward(Bf16*, const TokenShape&, Stream&);
template void softmax_backward(Bf16*, const Bf16*, float, const TokenShape&, Stream&);
template void cross_entropy(Bf16*, float*, const std::int32_t*, int, int, float*, const TokenShape&, Stream&);

}  // namespace accocal
