// A switch between two stacks is written out for x86-64, since ucontext's makes two system calls and kernels switch a
// hundred thousand times a test.
#include "tests/on_host/fibers.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/base/random.hpp"
#include "calibration/cuda/kernel_language.hpp"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ACCOSIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACCOSIM_ASAN 1
#endif
#endif
#if defined(ACCOSIM_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" void accosim_fiber_begin();

#if defined(__x86_64__)
// Leaves the stack pointer in *from and goes on where `to` was left.
extern "C" void accosim_switch_stack(void** from, void* to);
asm(R"(
.text
.globl accosim_switch_stack
.type accosim_switch_stack, @function
accosim_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size accosim_switch_stack, .-accosim_switch_stack
)");
#endif

namespace accocal {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kStack = std::size_t{64} << 10;

// Where the kernel's thread that runs is.
struct KernelPlace {
  unsigned block = 0, thread = 0;
  KernelShape shape;
};
thread_local KernelPlace here;

// A stack and where its work was left.
struct Context {
#if defined(__x86_64__)
  void* left = nullptr;
#else
  ucontext_t left;
#endif
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake = nullptr;  // AddressSanitizer's second stack
};

// `last`: nobody comes back to `from`.
void switch_to(Context& from, Context& to, [[maybe_unused]] bool last = false) {
#if defined(ACCOSIM_ASAN)
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake, to.bottom, to.size);
#endif
#if defined(__x86_64__)
  accosim_switch_stack(&from.left, to.left);
#else
  swapcontext(&from.left, &to.left);
#endif
#if defined(ACCOSIM_ASAN)
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

enum class Where : std::uint8_t { kReady, kAtBlock, kAtWarp, kReturned };

struct Fiber {
  Context context;
  std::unique_ptr<std::byte[]> stack;
  Where where = Where::kReturned;
  unsigned exchanges = 0;  // over the warp, so far
};

// What a warp's threads give each other; of two exchanges in a row, since slow threads may still read the last one.
struct Warp {
  unsigned waiting = 0;
  std::array<std::array<float, kWarp>, 2> values{};
};

// The fibers of an operating system's thread, used again for block after block.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    quit_ = true;
    for (current_ = 0; current_ < fibers_.size(); ++current_) resume();
  }

  void run_block(const std::function<void()>& thread, std::uint64_t seed) {
    thread_ = &thread;
    const unsigned threads = here.shape.threads;
    while (fibers_.size() < threads) add();
    warps_.assign(threads / kWarp, Warp{});
    for (unsigned i = 0; i < threads; ++i) {
      fibers_[i]->where = Where::kReady;
      fibers_[i]->exchanges = 0;
    }
    while (run_ready(threads, seed)) seed = mixed(seed);
    if (!failure_ && count(threads, Where::kReturned) != threads)
      failure_ = std::make_exception_ptr(
          std::logic_error("the threads of a block wait at different barriers, or some have returned before one"));
    if (failure_) abandon();
  }

  void wait_for_block() {
    fibers_[current_]->where = Where::kAtBlock;
    leave();
  }

  // All 32 values of the warp, when all are there.
  const std::array<float, kWarp>& exchange(float value) {
    Fiber& fiber = *fibers_[current_];
    const unsigned first = current_ / kWarp * kWarp;
    Warp& warp = warps_[current_ / kWarp];
    auto& values = warp.values[fiber.exchanges++ % 2];
    values[current_ - first] = value;
    fiber.where = Where::kAtWarp;
    if (++warp.waiting == kWarp) {
      warp.waiting = 0;
      for (unsigned i = first; i < first + kWarp; ++i) fibers_[i]->where = Where::kReady;
    }
    leave();
    return values;
  }

  // What each fiber does for ever: one thread of one block after the other.
  void work() {
#if defined(ACCOSIM_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &main_.bottom, &main_.size);
#endif
    while (!quit_) {
      try {
        (*thread_)();
      } catch (...) {
        failure_ = std::current_exception();
      }
      fibers_[current_]->where = Where::kReturned;
      leave();
    }
    switch_to(fibers_[current_]->context, main_, true);
  }

 private:
  void resume() { switch_to(main_, fibers_[current_]->context); }
  void leave() { switch_to(fibers_[current_]->context, main_); }

  unsigned count(unsigned threads, Where where) const {
    unsigned there = 0;
    for (unsigned i = 0; i < threads; ++i) there += fibers_[i]->where == where ? 1 : 0;
    return there;
  }

  // Runs each thread that is ready until it waits or returns. False when none can go on.
  bool run_ready(unsigned threads, std::uint64_t seed) {
    // Not in any order, but in many: round the block in steps of a number without a common factor.
    unsigned step = 1 + static_cast<unsigned>(seed % threads);
    while (std::gcd(step, threads) != 1) ++step;
    unsigned at = static_cast<unsigned>((seed >> 32) % threads);
    bool ran = false;
    for (unsigned i = 0; i < threads && !failure_; ++i, at = (at + step) % threads) {
      if (fibers_[at]->where != Where::kReady) continue;
      current_ = here.thread = at;
      resume();
      ran = true;
    }
    if (failure_) return false;
    if (count(threads, Where::kAtBlock) != threads) return ran;
    for (unsigned i = 0; i < threads; ++i) fibers_[i]->where = Where::kReady;
    return true;
  }

  // Fibers in the middle of a thread cannot be used again.
  [[noreturn]] void abandon() {
    fibers_.clear();
    const std::exception_ptr failure = failure_;
    failure_ = nullptr;
    std::rethrow_exception(failure);
  }

  void add() {
    auto fiber = std::make_unique<Fiber>();
    fiber->stack.reset(new std::byte[kStack]);
    fiber->context.bottom = fiber->stack.get();
    fiber->context.size = kStack;
#if defined(__x86_64__)
    // As accosim_switch_stack leaves a stack: six registers and where to return to, aligned as at a function's entry.
    void** top = reinterpret_cast<void**>(fiber->stack.get() + kStack);
    if (reinterpret_cast<std::uintptr_t>(top) % 16 != 0) --top;
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&accosim_fiber_begin);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    fiber->context.left = top;
#else
    getcontext(&fiber->context.left);
    fiber->context.left.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.left.uc_stack.ss_size = kStack;
    fiber->context.left.uc_link = nullptr;
    makecontext(&fiber->context.left, &accosim_fiber_begin, 0);
#endif
    fibers_.push_back(std::move(fiber));
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  Context main_;
  const std::function<void()>* thread_ = nullptr;
  std::exception_ptr failure_;
  unsigned current_ = 0;
  bool quit_ = false;
};

Team& team() {
  thread_local Team mine;
  return mine;
}

void only_together(const char* what) {
  if (!here.shape.together) throw std::logic_error(std::string(what) + " in a kernel whose threads do not meet");
}

}  // namespace

void run_kernel(const KernelShape& shape, const std::function<void()>& thread, std::uint64_t seed) {
  if (shape.together && shape.threads % kWarp != 0)
    throw std::logic_error("a block of threads that meet has whole warps");
  here.shape = shape;
  const unsigned first = static_cast<unsigned>((seed >> 32) % shape.blocks);
  for (unsigned i = 0; i < shape.blocks; ++i) {
    // Forwards or backwards, from anywhere.
    const unsigned step = seed % 2 == 0 ? i : shape.blocks - 1 - i;
    here.block = (first + step) % shape.blocks;
    if (shape.together) {
      team().run_block(thread, mixed({seed, i}));
    } else {
      for (here.thread = 0; here.thread < shape.threads; ++here.thread) thread();
    }
  }
}

unsigned thread_index() { return here.thread; }
unsigned block_index() { return here.block; }
unsigned block_size() { return here.shape.threads; }
unsigned grid_size() { return here.shape.blocks; }

void sync_block() {
  only_together("a barrier");
  team().wait_for_block();
}

// In the order of a butterfly of shuffles, which gives every lane the same bits.
float warp_sum(float value) {
  only_together("a sum over a warp");
  std::array<float, kWarp> values = team().exchange(value);
  for (unsigned step = kWarp / 2; step > 0; step /= 2) {
    for (unsigned i = 0; i < step; ++i) values[i] += values[i + step];
  }
  return values[0];
}

float warp_max(float value) {
  only_together("a maximum over a warp");
  float most = value;
  for (const float other : team().exchange(value)) most = std::fmax(most, other);
  return most;
}

}  // namespace accocal

extern "C" void accosim_fiber_begin() { accocal::team().work(); }
