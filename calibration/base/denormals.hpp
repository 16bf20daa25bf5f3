// Numbers below the smallest normal one cost a processor a hundred times as much as others, and a training step has
// them (small probabilities, second moments): the time of a micro-batch would depend on what has been learnt. GPUs have
// no such penalty.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace accocal {

/// From now on this thread reads and writes denormal numbers as 0; where the processor cannot, nothing happens.
inline void flush_denormals() {
#if defined(__SSE__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  unsigned long control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | (1UL << 24)));
#endif
}

}  // namespace accocal
