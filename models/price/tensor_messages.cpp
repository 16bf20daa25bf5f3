#include "models/price/tensor_messages.hpp"

namespace accosim {
namespace {

constexpr auto kReduce = CollectiveKind::kAllReduce;
constexpr auto kScatter = CollectiveKind::kReduceScatter;
constexpr auto kGather = CollectiveKind::kAllGather;

TensorMessage forward(CollectiveKind kind, Bytes bytes) { return {kind, bytes, false, Beside::kNothing}; }
TensorMessage backward(CollectiveKind kind, Bytes bytes, Beside beside) { return {kind, bytes, true, beside}; }

}  // namespace

std::vector<TensorMessage> messages_of_columns(const SplitRanks& split, Bytes input, Bytes kept) {
  if (split.ranks == 1) return {};
  if (!split.sequence) return {backward(kReduce, input, Beside::kWeightGradient)};
  return {forward(kGather, input), backward(kGather, kept, Beside::kInputGradient),
          backward(kScatter, input, Beside::kWeightGradient)};
}

std::vector<TensorMessage> messages_of_inner(const SplitRanks& split, Bytes output) {
  if (split.ranks == 1) return {};
  if (!split.sequence) return {forward(kReduce, output)};
  return {forward(kScatter, output), backward(kGather, output, Beside::kNothing)};
}

std::vector<TensorMessage> messages_of_embedding(const SplitRanks& split, Bytes output, bool whole_sequences) {
  std::vector<TensorMessage> messages = messages_of_inner(split, output);
  if (whole_sequences && !messages.empty()) messages.front().kind = kReduce;
  return messages;
}

std::vector<TensorMessage> messages_of_loss(const SplitRanks& split, double tokens) {
  if (split.ranks == 1) return {};
  return std::vector<TensorMessage>(3, forward(kReduce, tokens * bytes_of(Dtype::kFp32)));
}

}  // namespace accosim
