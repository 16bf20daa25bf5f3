// The lengths first, then all texts in slots of the longest one's size: a shard each.
#include "calibration/ranks/gather.hpp"

#include <algorithm>
#include <cstring>

namespace accocal {

std::vector<std::string> gather_texts(Transport& transport, const std::string& text) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  const auto own = static_cast<std::size_t>(transport.rank());
  std::vector<std::int64_t> lengths(ranks);
  lengths[own] = static_cast<std::int64_t>(text.size());
  transport.all_reduce(buffer_of(std::span(lengths)));
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(lengths));
  const std::size_t slot = (longest + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
  std::vector<std::int64_t> slots(slot * ranks);
  if (!text.empty()) std::memcpy(slots.data() + slot * own, text.data(), text.size());
  if (slot > 0) transport.all_gather(buffer_of(std::span(slots)));
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto* begin = reinterpret_cast<const char*>(slots.data() + slot * rank);
    texts.emplace_back(begin, begin + lengths[rank]);
  }
  return texts;
}

}  // namespace accocal
