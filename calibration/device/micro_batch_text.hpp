// A micro-batch's text on its way to the device, with the index by tokens that the embedding's gradient is summed by.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "calibration/device/device.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {

/// Groups the columns of a text (context + 1 tokens per sequence) by input token, as TokenIndex has them, tokens in the
/// order of their first appearance. Fills `columns` (s.tokens() of them), `first` (one more than there are unique
/// tokens) and `unique`, and returns the number of unique tokens. `number_of`: scratch with one entry per token of the
/// vocabulary, all -1 before and after.
int index_tokens(std::span<const std::int32_t> text, const TokenShape& s, std::vector<std::int32_t>& number_of,
                 std::int32_t* columns, std::int32_t* first, std::int32_t* unique);

/// The text given last, on the device. One stream at a time.
class MicroBatchText {
 public:
  MicroBatchText(const TokenShape& shape, int vocabulary);

  /// `text`: for each sequence context + 1 tokens; copied before this returns. Throws std::invalid_argument where it is
  /// not such a text. Waits for the device only where the host is kAhead micro-batches ahead of it.
  void give(std::span<const std::int32_t> text, Stream& stream);

  const std::int32_t* tokens() const { return device_.as<std::int32_t>(); }
  TokenIndex index() const;
  std::int64_t memory() const { return static_cast<std::int64_t>(device_.size()); }  ///< bytes on the device

  static constexpr std::size_t kAhead = 8;

 private:
  // On the host until the device has copied it.
  struct Staged {
    PinnedMemory memory;
    Event copied;
  };

  TokenShape shape_;
  // In elements of 32 bits, one behind the other: the text, the columns by token, where each token's begin, the tokens.
  std::size_t text_size_, columns_at_, first_at_, unique_at_, size_;
  DeviceMemory device_;
  std::array<Staged, kAhead> staged_;
  std::size_t next_ = 0;
  int unique_ = 0;
  std::vector<std::int32_t> number_of_;  // of a token among the unique ones, -1 where it is not in the text
};

}  // namespace accocal
