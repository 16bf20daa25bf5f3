// The text and its index in one copy from memory that stays as it is until the device has read it.
#include "calibration/device/micro_batch_text.hpp"

#include <algorithm>
#include <stdexcept>

namespace accocal {

int index_tokens(std::span<const std::int32_t> text, const TokenShape& s, std::vector<std::int32_t>& number_of,
                 std::int32_t* columns, std::int32_t* first, std::int32_t* unique) {
  const int context = s.context, tokens = s.tokens();
  const auto token_of = [&](int column) {
    const int place = column / context * (context + 1) + column % context;
    return static_cast<std::size_t>(text[static_cast<std::size_t>(place)]);
  };
  // Tokens are numbered as they first appear. begin[u + 2] counts the columns of number u; summed up, begin[u + 1] is
  // where they begin, and runs to where they end: then begin[u] is where those of u begin.
  int count = 0;
  std::vector<std::int32_t> begin(static_cast<std::size_t>(tokens) + 2);
  for (int column = 0; column < tokens; ++column) {
    std::int32_t& number = number_of[token_of(column)];
    if (number < 0) {
      number = count;
      unique[count++] = static_cast<std::int32_t>(token_of(column));
    }
    ++begin[static_cast<std::size_t>(number) + 2];
  }
  for (std::size_t u = 2; u < begin.size(); ++u) begin[u] += begin[u - 1];
  for (int column = 0; column < tokens; ++column) {
    const auto number = static_cast<std::size_t>(number_of[token_of(column)]);
    columns[begin[number + 1]++] = column;
  }
  std::copy_n(begin.begin(), count + 1, first);
  for (int u = 0; u < count; ++u) number_of[static_cast<std::size_t>(unique[u])] = -1;
  return count;
}

MicroBatchText::MicroBatchText(const TokenShape& shape, int vocabulary)
    : shape_(shape),
      text_size_(static_cast<std::size_t>(shape.tokens() + shape.sequences)),
      columns_at_(text_size_),
      first_at_(columns_at_ + static_cast<std::size_t>(shape.tokens())),
      unique_at_(first_at_ + static_cast<std::size_t>(shape.tokens()) + 1),
      size_(unique_at_ + static_cast<std::size_t>(shape.tokens())),
      device_(size_ * sizeof(std::int32_t)),
      number_of_(static_cast<std::size_t>(vocabulary), -1) {
  for (Staged& staged : staged_) {
    staged.memory = PinnedMemory(size_ * sizeof(std::int32_t));
    std::fill_n(staged.memory.as<std::int32_t>(), size_, 0);
  }
}

void MicroBatchText::give(std::span<const std::int32_t> text, Stream& stream) {
  if (text.size() != text_size_) throw std::invalid_argument("a micro-batch has context + 1 tokens a sequence");
  for (const std::int32_t token : text) {
    if (token < 0 || static_cast<std::size_t>(token) >= number_of_.size())
      throw std::invalid_argument("a token beyond the vocabulary");
  }
  Staged& staged = staged_[next_];
  next_ = (next_ + 1) % kAhead;
  staged.copied.synchronise();
  auto* const host = staged.memory.as<std::int32_t>();
  std::ranges::copy(text, host);
  unique_ = index_tokens(text, shape_, number_of_, host + columns_at_, host + first_at_, host + unique_at_);
  stream.copy_to_device(device_.data(), host, size_ * sizeof(std::int32_t));
  stream.record(staged.copied);
}

TokenIndex MicroBatchText::index() const {
  const std::int32_t* const device = device_.as<std::int32_t>();
  return {device + unique_at_, device + first_at_, device + columns_at_, unique_};
}

}  // namespace accocal
