// Kernels that work element by element: GELU, sums, casts, the optimizer, random data.
#include "calibration/cuda/kernel_packs.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {
namespace {

// Beyond them each thread takes several packs.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;

// Enough of them for `count` elements, N a thread.
std::int64_t blocks_of(std::size_t count, int pack) {
  const std::int64_t blocks = blocks_for((static_cast<std::int64_t>(count) + pack - 1) / pack);
  return blocks < kMostBlocks ? blocks : kMostBlocks;
}

// Of GELU(x) = x/2 (1 + tanh(c (x + k x^3))).
constexpr float kGeluScale = 0.7978845608f;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;

ACCOSIM_DEVICE float gelu_gate(float x) { return tanhf(kGeluScale * x * (1 + kGeluCube * x * x)); }

template <typename Real, int N>
ACCOSIM_KERNEL gelu_forward_kernel(Real* out, const Real* x, std::size_t count) {
  each_pack<N>(count, [&](auto n, std::size_t i) {
    float values[decltype(n)::value];
    load(values, x + i);
    for (float& v : values) v = 0.5f * v * (1 + gelu_gate(v));
    store(out + i, values);
  });
}

template <typename Real, int N>
ACCOSIM_KERNEL gelu_backward_kernel(Real* d, const Real* x, std::size_t count) {
  each_pack<N>(count, [&](auto n, std::size_t i) {
    constexpr int kCount = decltype(n)::value;
    float values[kCount], inputs[kCount];
    load(values, d + i);
    load(inputs, x + i);
    for (int j = 0; j < kCount; ++j) {
      const float v = inputs[j], gate = gelu_gate(v);
      values[j] *= 0.5f * (1 + gate) + 0.5f * kGeluScale * v * (1 - gate * gate) * (1 + 3 * kGeluCube * v * v);
    }
    store(d + i, values);
  });
}

template <typename Real, int N>
ACCOSIM_KERNEL add_kernel(Real* a, const Real* b, std::size_t count) {
  each_pack<N>(count, [&](auto n, std::size_t i) {
    constexpr int kCount = decltype(n)::value;
    float to[kCount], from[kCount];
    load(to, a + i);
    load(from, b + i);
    for (int j = 0; j < kCount; ++j) to[j] += from[j];
    store(a + i, to);
  });
}

template <typename To, typename From, int N>
ACCOSIM_KERNEL cast_kernel(To* to, const From* from, std::size_t count) {
  each_pack<N>(count, [&](auto n, std::size_t i) {
    float values[decltype(n)::value];
    load(values, from + i);
    store(to + i, values);
  });
}

// Of DeviceAdamW, as adamw_step() takes them.
struct AdamWFactors {
  float beta1, rest1, beta2, rest2, kept, rate, correction, epsilon;
};

template <typename Real, int N>
ACCOSIM_KERNEL adamw_kernel(float* master, float* m, float* v, Real* parameters, const Real* gradient,
                            const std::int64_t* total, AdamWFactors by, std::size_t count) {
  const float scale = 1 / static_cast<float>(*total);
  each_pack<N>(count, [&](auto n, std::size_t i) {
    constexpr int kCount = decltype(n)::value;
    float w[kCount], first[kCount], second[kCount], g[kCount];
    load(w, master + i);
    load(first, m + i);
    load(second, v + i);
    load(g, gradient + i);
    for (int j = 0; j < kCount; ++j) {
      const float mean = scale * g[j];
      first[j] = by.beta1 * first[j] + by.rest1 * mean;
      second[j] = by.beta2 * second[j] + by.rest2 * mean * mean;
      w[j] = by.kept * w[j] - by.rate * first[j] / (sqrtf(second[j]) * by.correction + by.epsilon);
    }
    store(master + i, w);
    store(m + i, first);
    store(v + i, second);
    store(parameters + i, w);
  });
}

template <typename Real, int N>
ACCOSIM_KERNEL sgd_kernel(float* master, Real* parameters, const Real* gradient, const std::int64_t* total,
                          float learning_rate, std::size_t count) {
  const float scale = 1 / static_cast<float>(*total);
  each_pack<N>(count, [&](auto n, std::size_t i) {
    constexpr int kCount = decltype(n)::value;
    float w[kCount], g[kCount];
    load(w, master + i);
    load(g, gradient + i);
    for (int j = 0; j < kCount; ++j) w[j] -= learning_rate * (scale * g[j]);
    store(master + i, w);
    store(parameters + i, w);
  });
}

// SplitMix64's finaliser.
ACCOSIM_DEVICE std::uint64_t scrambled(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The sum of four uniform numbers of variance 1/12 each, as wide as a normal one of deviation 1.
ACCOSIM_DEVICE float about_normal(std::uint64_t bits) {
  float sum = -2;
  for (int part = 0; part < 4; ++part)
    sum += (static_cast<float>((bits >> (16 * part)) & 0xffffu) + 0.5f) * (1.0f / 65536);
  return 1.7320508f * sum;
}

template <typename Real, int N>
ACCOSIM_KERNEL fill_random_kernel(Real* out, std::size_t count, float deviation, std::uint64_t seed) {
  each_pack<N>(count, [&](auto n, std::size_t i) {
    constexpr int kCount = decltype(n)::value;
    float values[kCount];
    for (int j = 0; j < kCount; ++j)
      values[j] = deviation * about_normal(scrambled(seed + i + static_cast<std::size_t>(j)));
    store(out + i, values);
  });
}

ACCOSIM_KERNEL nothing_kernel() {}

// Launches `packs`, in which a thread takes `pack` elements, where all arrays are `wide`, and else `singles`.
template <typename... Parameters, typename... Arguments>
void launch_elements(const char* name, Stream& stream, std::size_t count, bool wide, int pack,
                     void (*packs)(Parameters...), void (*singles)(Parameters...), Arguments... arguments) {
  note_kernel(name, static_cast<std::int64_t>(count), 1);
  if (count == 0) return;
  launch(name, stream, blocks_of(count, wide ? pack : 1), kThreads, wide ? packs : singles, arguments...);
}

}  // namespace

template <typename Real>
void gelu_forward(Real* out, const Real* x, std::size_t count, Stream& stream) {
  launch_elements("gelu_forward", stream, count, aligned(out, x), kPack<Real>, gelu_forward_kernel<Real, kPack<Real>>,
                  gelu_forward_kernel<Real, 1>, out, x, count);
}

template <typename Real>
void gelu_backward(Real* d, const Real* x, std::size_t count, Stream& stream) {
  launch_elements("gelu_backward", stream, count, aligned(d, x), kPack<Real>, gelu_backward_kernel<Real, kPack<Real>>,
                  gelu_backward_kernel<Real, 1>, d, x, count);
}

template <typename Real>
void add(Real* a, const Real* b, std::size_t count, Stream& stream) {
  launch_elements("add", stream, count, aligned(a, b), kPack<Real>, add_kernel<Real, kPack<Real>>, add_kernel<Real, 1>,
                  a, b, count);
}

template <typename To, typename From>
void cast(To* to, const From* from, std::size_t count, Stream& stream) {
  constexpr int kWide = kPack < To >> kPack<From> ? kPack<To> : kPack<From>;
  launch_elements("cast", stream, count, aligned(to, from), kWide, cast_kernel<To, From, kWide>,
                  cast_kernel<To, From, 1>, to, from, count);
}

template <typename Real>
void adamw(float* master, float* m, float* v, Real* parameters, const Real* gradient, const std::int64_t* total,
           const DeviceAdamW& options, std::size_t count, Stream& stream) {
  const double rate = options.learning_rate;
  AdamWFactors by;
  by.beta1 = options.beta1;
  by.rest1 = 1 - options.beta1;
  by.beta2 = options.beta2;
  by.rest2 = 1 - options.beta2;
  by.kept = static_cast<float>(1 - rate * options.weight_decay);
  by.rate = static_cast<float>(rate / options.correction1);
  by.correction = static_cast<float>(1 / std::sqrt(static_cast<double>(options.correction2)));
  by.epsilon = options.epsilon;
  launch_elements("adamw", stream, count, aligned(master, m, v, parameters, gradient), kPack<Real>,
                  adamw_kernel<Real, kPack<Real>>, adamw_kernel<Real, 1>, master, m, v, parameters, gradient, total, by,
                  count);
}

template <typename Real>
void sgd(float* master, Real* parameters, const Real* gradient, const std::int64_t* total, float learning_rate,
         std::size_t count, Stream& stream) {
  launch_elements("sgd", stream, count, aligned(master, parameters, gradient), kPack<Real>,
                  sgd_kernel<Real, kPack<Real>>, sgd_kernel<Real, 1>, master, parameters, gradient, total,
                  learning_rate, count);
}

template <typename Real>
void fill_random(Real* out, std::size_t count, float deviation, std::uint64_t seed, Stream& stream) {
  // Seeds apart by more than there are elements.
  launch_elements("fill_random", stream, count, aligned(out), kPack<Real>, fill_random_kernel<Real, kPack<Real>>,
                  fill_random_kernel<Real, 1>, out, count, deviation, seed << 40);
}

void nothing(Stream& stream) {
  note_kernel("nothing", 0, 0);
  launch("nothing", stream, 1, kLanes, nothing_kernel);
}

template void gelu_forward(float*, const float*, std::size_t, Stream&);
template void gelu_backward(float*, const float*, std::size_t, Stream&);
template void add(float*, const float*, std::size_t, Stream&);
template void cast(float*, const float*, std::size_t, Stream&);
template void cast(float*, const Bf16*, std::size_t, Stream&);
template void adamw(float*, float*, float*, float*, const float*, const std::int64_t*, const DeviceAdamW&, std::size_t,
                    Stream&);
template void sgd(float*, float*, const float*, const std::int64_t*, float, std::size_t, Stream&);
template void fill_random(float*, std::size_t, float, std::uint64_t, Stream&);

template void gelu_forward(Bf16*, const Bf16*, std::size_t, Stream&);
template void gelu_backward(Bf16*, const Bf16*, std::size_t, Stream&);
template void add(Bf16*, const Bf16*, std::size_t, Stream&);
template void cast(Bf16*, const float*, std::size_t, Stream&);
template void cast(Bf16*, const Bf16*, std::size_t, Stream&);
template void adamw(float*, float*, float*, Bf16*, const Bf16*, const std::int64_t*, const DeviceAdamW&, std::size_t,
                    Stream&);
template void sgd(float*, Bf16*, const Bf16*, const std::int64_t*, float, std::size_t, Stream&);
template void fill_random(Bf16*, std::size_t, float, std::uint64_t, Stream&);

}  // namespace accocal
