// Kernels that sum over tokens: the gradients of biases, of norms and of embeddings. A block takes 32 packs of
// features, its warps take turns at the tokens, and what several blocks have found is summed by a second kernel in
// their order.
#include "calibration/cuda/kernel_packs.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {
namespace {

// Packs of 32 lanes side by side in a token's features.
template <int N>
ACCOSIM_DEVICE int tiles_of(int features) {
  return (features + kLanes * N - 1) / (kLanes * N);
}
std::int64_t tiles_for(int features, int pack) { return (features + kLanes * pack - 1) / (kLanes * pack); }

// sum += the columns column_of(first), ... column_of(last - 1) of `data`, from feature `at` on; of the block, for its
// first warp.
template <int N, typename Real, typename ColumnOf>
ACCOSIM_DEVICE void sum_columns(float (&sum)[N], const Real* data, int features, int at, std::int64_t first,
                                std::int64_t last, ColumnOf column_of) {
  if (at < features) {
    for (std::int64_t i = first + warp(); i < last; i += kWarps) {
      float values[N];
      load(values, data + column_of(i) * features + at);
      for (int j = 0; j < N; ++j) sum[j] += values[j];
    }
  }
  sum_over_warps(sum);
}

// The same, added to a column of `out` that no other block has.
template <int N, typename Real, typename ColumnOf>
ACCOSIM_DEVICE void add_columns(Real* out, const Real* data, int features, int at, std::int64_t first,
                                std::int64_t last, ColumnOf column_of) {
  float sum[N] = {};
  sum_columns(sum, data, features, at, first, last, column_of);
  if (warp() != 0 || at >= features) return;
  float before[N];
  load(before, out + at);
  for (int j = 0; j < N; ++j) sum[j] += before[j];
  store(out + at, sum);
}

template <typename Real, int N>
ACCOSIM_KERNEL bias_parts_kernel(float* parts, const Real* dy, int features, int tokens, int tokens_a_block) {
  const int tiles = tiles_of<N>(features), tile = static_cast<int>(block_index()) % tiles;
  const std::int64_t part = static_cast<int>(block_index()) / tiles;
  const int at = (tile * kLanes + lane()) * N;
  const std::int64_t first = part * tokens_a_block, end = first + tokens_a_block;
  float sum[N] = {};
  sum_columns(sum, dy, features, at, first, end < tokens ? end : tokens, [](std::int64_t i) { return i; });
  if (warp() == 0 && at < features) {
    for (int j = 0; j < N; ++j) parts[part * features + at + j] = sum[j];
  }
}

// Of a matrix of `columns` x `count` parts: column sums, the first `split` added to a, the others to b.
template <typename Real>
ACCOSIM_KERNEL sum_parts_kernel(Real* a, Real* b, const float* parts, int columns, int split, int count) {
  const int at = static_cast<int>(block_index()) * kLanes + lane();
  float sum[1] = {};
  sum_columns(sum, parts, columns, at, 0, count, [](std::int64_t i) { return i; });
  if (warp() != 0 || at >= columns) return;
  Real* out = at < split ? a + at : b + (at - split);
  *out = narrowed<Real>(widened(*out) + sum[0]);
}

// The most tokens that a block takes, and how many it takes: of many tokens more, so that there are always enough
// blocks and never too many parts. Multiples of the warps, and a function of the number of tokens alone.
constexpr int kMostNormTokens = 64;
int norm_tokens_a_block(int tokens) {
  const int each = (tokens + 256 * kWarps - 1) / (256 * kWarps) * kWarps;
  return each < kMostNormTokens ? each : kMostNormTokens;
}
int bias_tokens_a_block(int tokens) { return 2 * kWarps * ((tokens + 128 * kWarps - 1) / (128 * kWarps)); }
int parts_of(int tokens, int each) { return (tokens + each - 1) / each; }

// dy' = dy gain, n = (x - mean) scale: dx += scale (dy' - mean(dy') - n mean(dy' n)), dgain = sum dy n, dbias = sum dy.
// The means first, then a tile of features after the other for all of the block's tokens.
template <typename Real, int N>
ACCOSIM_KERNEL norm_backward_kernel(Real* dx, float* parts, const Real* dy, const Real* x, const float* mean,
                                    const float* scale, const Real* gain, int width, int tokens, int tokens_a_block) {
  ACCOSIM_SHARED float means[kMostNormTokens], alongs[kMostNormTokens];
  const std::int64_t part = block_index(), first = part * tokens_a_block;
  const int count = static_cast<int>(tokens - first < tokens_a_block ? tokens - first : tokens_a_block);
  const float share = 1 / static_cast<float>(width);
  for (int t = warp(); t < count; t += kWarps) {
    const std::int64_t token = first + t;
    const float average = mean[token], factor = scale[token];
    float sum = 0, along = 0;
    for (int i = lane() * N; i < width; i += kLanes * N) {
      float d[N], values[N], gains[N];
      load(d, dy + token * width + i);
      load(values, x + token * width + i);
      load(gains, gain + i);
      for (int j = 0; j < N; ++j) {
        sum += d[j] * gains[j];
        along += d[j] * gains[j] * ((values[j] - average) * factor);
      }
    }
    sum = warp_sum(sum);
    along = warp_sum(along);
    if (lane() == 0) {
      means[t] = sum * share;
      alongs[t] = along * share;
    }
  }
  sync_block();
  for (int tile = 0; tile < tiles_of<N>(width); ++tile) {
    const int at = (tile * kLanes + lane()) * N;
    float dgain[N] = {}, dbias[N] = {};
    if (at < width) {
      float gains[N];
      load(gains, gain + at);
      for (int t = warp(); t < count; t += kWarps) {
        const std::int64_t token = first + t;
        const float average = mean[token], factor = scale[token];
        float d[N], values[N], into[N];
        load(d, dy + token * width + at);
        load(values, x + token * width + at);
        load(into, dx + token * width + at);
        for (int j = 0; j < N; ++j) {
          const float normalised = (values[j] - average) * factor;
          dgain[j] += d[j] * normalised;
          dbias[j] += d[j];
          into[j] += (d[j] * gains[j] - means[t] - normalised * alongs[t]) * factor;
        }
        store(dx + token * width + at, into);
      }
    }
    sum_over_warps(dgain);
    sum_over_warps(dbias);
    if (warp() == 0 && at < width) {
      for (int j = 0; j < N; ++j) {
        parts[2 * part * width + at + j] = dgain[j];
        parts[(2 * part + 1) * width + at + j] = dbias[j];
      }
    }
  }
}

template <typename Real, int N>
ACCOSIM_KERNEL token_gradient_kernel(Real* dtoken, const Real* dx, TokenIndex index, int width) {
  const int tiles = tiles_of<N>(width), tile = static_cast<int>(block_index()) % tiles;
  const int unique = static_cast<int>(block_index()) / tiles;
  const std::int32_t* columns = index.columns;
  add_columns<N>(dtoken + std::int64_t{index.unique[unique]} * width, dx, width, (tile * kLanes + lane()) * N,
                 index.first[unique], index.first[unique + 1],
                 [columns](std::int64_t i) { return std::int64_t{columns[i]}; });
}

template <typename Real, int N>
ACCOSIM_KERNEL position_gradient_kernel(Real* dposition, const Real* dx, TokenShape s) {
  const int tiles = tiles_of<N>(s.width), tile = static_cast<int>(block_index()) % tiles;
  const std::int64_t place = static_cast<int>(block_index()) / tiles, context = s.context;
  add_columns<N>(dposition + place * s.width, dx, s.width, (tile * kLanes + lane()) * N, 0, s.sequences,
                 [=](std::int64_t i) { return i * context + place; });
}

}  // namespace

template <typename Real>
void bias_backward(Real* dbias, const Real* dy, int features, int tokens, float* workspace, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("bias_backward", features, tokens);
  const bool wide = aligned(dy) && features % kWide == 0;
  const int each = bias_tokens_a_block(tokens), parts = parts_of(tokens, each);
  launch_together("bias_backward", stream, tiles_for(features, wide ? kWide : 1) * parts, kThreads,
                  wide ? bias_parts_kernel<Real, kWide> : bias_parts_kernel<Real, 1>, workspace, dy, features, tokens,
                  each);
  launch_together("bias_backward", stream, tiles_for(features, 1), kThreads, sum_parts_kernel<Real>, dbias, dbias,
                  static_cast<const float*>(workspace), features, features, parts);
}

std::size_t bias_workspace(int features, int tokens) {
  return static_cast<std::size_t>(features) * static_cast<std::size_t>(parts_of(tokens, bias_tokens_a_block(tokens)));
}

template <typename Real>
void norm_backward(Real* dx, Real* dgain, Real* dbias, const Real* dy, const Real* x, const float* mean,
                   const float* scale, const Real* gain, float* workspace, const TokenShape& s, Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("norm_backward", s.width, s.tokens());
  const bool wide = aligned(dx, dy, x, gain) && s.width % kWide == 0;
  const int each = norm_tokens_a_block(s.tokens()), parts = parts_of(s.tokens(), each);
  launch_together("norm_backward", stream, parts, kThreads,
                  wide ? norm_backward_kernel<Real, kWide> : norm_backward_kernel<Real, 1>, dx, workspace, dy, x, mean,
                  scale, gain, s.width, s.tokens(), each);
  launch_together("norm_backward", stream, tiles_for(2 * s.width, 1), kThreads, sum_parts_kernel<Real>, dgain, dbias,
                  static_cast<const float*>(workspace), 2 * s.width, s.width, parts);
}

std::size_t norm_workspace(const TokenShape& s) {
  return 2 * static_cast<std::size_t>(s.width) *
         static_cast<std::size_t>(parts_of(s.tokens(), norm_tokens_a_block(s.tokens())));
}

template <typename Real>
void embed_backward(Real* dtoken, Real* dposition, const Real* dx, const TokenIndex& index, const TokenShape& s,
                    Stream& stream) {
  constexpr int kWide = kPack<Real>;
  note_kernel("embed_backward", s.width, s.tokens());
  const bool wide = aligned(dtoken, dposition, dx) && s.width % kWide == 0;
  const std::int64_t tiles = tiles_for(s.width, wide ? kWide : 1);
  if (index.count > 0)
    launch_together("embed_backward", stream, index.count * tiles, kThreads,
                    wide ? token_gradient_kernel<Real, kWide> : token_gradient_kernel<Real, 1>, dtoken, dx, index,
                    s.width);
  launch_together("embed_backward", stream, s.context * tiles, kThreads,
                  wide ? position_gradient_kernel<Real, kWide> : position_gradient_kernel<Real, 1>, dposition, dx, s);
}

template void bias_backward(float*, const float*, int, int, float*, Stream&);
template void norm_backward(float*, float*, float*, const float*, const float*, const float*, const float*,
                            const float*, float*, const TokenShape&, Stream&);
template void embed_backward(float*, float*, const float*, const TokenIndex&, const TokenShape&, Stream&);

template void bias_backward(Bf16*, const Bf16*, int, int, float*, Stream&);
template void norm_backward(Bf16*, Bf16*, Bf16*, const Bf16*, const Bf16*, const float*, const float*, const Bf16*,
                            float*, const TokenShape&, Stream&);
template void embed_backward(Bf16*, Bf16*, const Bf16*, const TokenIndex&, const TokenShape&, Stream&);

}  // namespace accocal
