// One of the two vectors is in use, the other empty.
#include "calibration/train/flat_buffer.hpp"

#include <algorithm>
#include <stdexcept>

#include "calibration/ranks/bf16.hpp"

namespace accocal {

FlatBuffer::FlatBuffer(std::size_t count, ElementType type) : type_(type) {
  if (type == ElementType::kFloat32) {
    float_.resize(count);
  } else if (type == ElementType::kBf16) {
    bf16_.resize(count);
  } else {
    throw std::invalid_argument("parameters are stored in fp32 or bf16");
  }
}

std::size_t FlatBuffer::size() const { return type_ == ElementType::kFloat32 ? float_.size() : bf16_.size(); }

Buffer FlatBuffer::buffer() {
  return type_ == ElementType::kFloat32 ? buffer_of(std::span(float_)) : buffer_of(std::span(bf16_));
}

void FlatBuffer::set_zero() {
  std::ranges::fill(float_, 0.0F);
  std::ranges::fill(bf16_, Bf16{});
}

void FlatBuffer::copy_from(const FlatBuffer& other) {
  if (other.type_ != type_ || other.size() != size()) throw std::invalid_argument("buffers of different kinds");
  std::ranges::copy(other.float_, float_.begin());
  std::ranges::copy(other.bf16_, bf16_.begin());
}

std::span<const float> FlatBuffer::read(Shard shard, std::vector<float>& scratch) const {
  if (type_ == ElementType::kFloat32) return std::span(float_).subspan(shard.begin, shard.size());
  scratch.resize(shard.size());
  for (std::size_t i = 0; i < shard.size(); ++i) scratch[i] = to_float(bf16_[shard.begin + i]);
  return scratch;
}

void FlatBuffer::write(Shard shard, std::span<const float> values) {
  if (values.size() != shard.size()) throw std::invalid_argument("values of another number than the shard");
  if (type_ == ElementType::kFloat32) {
    std::ranges::copy(values, float_.begin() + static_cast<std::ptrdiff_t>(shard.begin));
  } else {
    for (std::size_t i = 0; i < shard.size(); ++i) bf16_[shard.begin + i] = to_bf16(values[i]);
  }
}

void FlatBuffer::add(std::span<const float> values) {
  if (values.size() != size()) throw std::invalid_argument("values of another number than the buffer");
  if (type_ == ElementType::kFloat32) {
    for (std::size_t i = 0; i < values.size(); ++i) float_[i] += values[i];
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) bf16_[i] = to_bf16(to_float(bf16_[i]) + values[i]);
  }
}

}  // namespace accocal
