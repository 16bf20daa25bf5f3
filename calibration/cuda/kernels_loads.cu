// Kernels that are only there to be in the way of others, for measurements of interference.
#include "calibration/cuda/kernel_packs.hpp"
#include "calibration/device/kernels.hpp"

namespace accocal {
namespace {

// 16 bytes each, copied by a block between two looks at the stop.
constexpr std::size_t kStretch = 32768;
constexpr int kStreamThreads = 512;

std::uint64_t ns_of(Seconds limit) { return static_cast<std::uint64_t>(limit.value * 1e9); }

ACCOSIM_KERNEL hold_kernel(const volatile std::int32_t* stop, std::uint64_t limit) {
  if (thread_index() != 0) return;
  const std::uint64_t begin = timer_ns();
  while (*stop == 0 && timer_ns() - begin < limit) pause();
}

ACCOSIM_KERNEL stream_kernel(char* to, const char* from, std::size_t words, const volatile std::int32_t* stop,
                             std::uint64_t limit, std::uint64_t* moved) {
  ACCOSIM_SHARED bool over;
  const std::uint64_t begin = thread_index() == 0 ? timer_ns() : 0;
  const std::size_t each = (words + grid_size() - 1) / grid_size(), first = each * block_index();
  const std::size_t last = first + each < words ? first + each : words;
  std::size_t at = first;
  std::uint64_t read = 0;
  while (first < last) {
    if (thread_index() == 0) over = *stop != 0 || timer_ns() - begin >= limit;
    sync_block();
    const bool ends = over;
    sync_block();
    if (ends) break;
    const std::size_t end = last - at < kStretch ? last : at + kStretch;
    for (std::size_t i = at + thread_index(); i < end; i += block_size())
      store_words(to + 16 * i, load_words(from + 16 * i));
    read += 16 * (end - at);
    at = end == last ? first : end;
  }
  if (thread_index() == 0) atomic_add(moved, read);
}

}  // namespace

void hold_multiprocessors(int blocks, const volatile std::int32_t* stop, Seconds limit, Stream& stream) {
  note_kernel("hold_multiprocessors", blocks, 1);
  if (blocks > 0) launch_alone("hold_multiprocessors", stream, blocks, kLanes, hold_kernel, stop, ns_of(limit));
}

void stream_memory(void* to, const void* from, std::size_t bytes, int blocks, const volatile std::int32_t* stop,
                   Seconds limit, std::uint64_t* moved, Stream& stream) {
  note_kernel("stream_memory", blocks, static_cast<std::int64_t>(bytes));
  if (!aligned(static_cast<const char*>(from), static_cast<char*>(to)))
    throw DeviceError("stream_memory wants memory on an alignment of 16 bytes");
  if (blocks > 0)
    launch_together("stream_memory", stream, blocks, kStreamThreads, stream_kernel, static_cast<char*>(to),
                    static_cast<const char*>(from), bytes / 16, stop, ns_of(limit), moved);
}

}  // namespace accocal
