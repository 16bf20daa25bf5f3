// Random draws that are functions of what they are for, never of a shared generator: whoever asks for the draw of
// (seed, rank, micro-batch) gets the same number, in whatever order others ask. Our own distributions, since the
// standard library's differ between implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accosim {

/// Keeps draws for different purposes apart.
enum class Stream : std::uint8_t { kLength, kMicroBatch, kGpu, kSlowBegin, kSlowFirst, kLatin };

/// Uniform in (0, 1), both ends excluded: 52 bits of splitmix64 (Steele et al. 2014) over the arguments.
double uniform_draw(std::uint64_t seed, Stream stream, std::uint64_t rank, std::uint64_t index);

/// x with P(X <= x) = p for a standard normal X, 0 < p < 1; relative error below 1e-14 (Wichura 1988, algorithm AS
/// 241, PPND16).
double normal_quantile(double p);

/// The same of an exponential distribution of mean 1: -log(1 - p).
double exponential_quantile(double p);

/// A lognormal variable of mean 1 and coefficient of variation cv: exp(s z - s^2 / 2) with s^2 = log(1 + cv^2), z
/// normal.
double lognormal_quantile(double cv, double p);

/// By index: the share of all weights that it and those before it have.
std::vector<double> cumulative_shares(const std::vector<double>& weights);

/// The index whose part of (0, 1) p is in, each part being as wide as its share. `shares` are cumulative_shares(), at
/// least one.
std::size_t index_at(const std::vector<double>& shares, double p);

}  // namespace accosim
