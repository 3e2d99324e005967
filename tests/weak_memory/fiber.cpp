#include "tests/weak_memory/fiber.hpp"

#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace heddle::memory_order {

namespace {

constexpr std::size_t kStackBytes = 256 << 10;

} // namespace

Fiber::Fiber() : stack_(new char[kStackBytes]) {}
Fiber::~Fiber() = default;

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  begun_ = false;
  ended_ = false;
}

// Its frame stays for good at the bottom of the stack, so that every body can begin from it.
void Fiber::run() {
  static_cast<void>(_setjmp(top_));
  begun_ = true;
  body_();
  ended_ = true;
  pause();
  std::abort(); // nobody resumes what has ended
}

void Fiber::enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>((std::uint64_t{high} << 32U) | low)->run();
}

void Fiber::resume() {
  if (_setjmp(outside_) != 0) return;
  if (entered_) _longjmp(begun_ ? inside_ : top_, 1);
  entered_ = true;
  ucontext_t context;
  if (::getcontext(&context) != 0) std::abort();
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uint64_t>(this);
  ::makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32U),
                static_cast<unsigned>(self));
  ::setcontext(&context);
  std::abort();
}

void Fiber::pause() {
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
}

} // namespace heddle::memory_order
