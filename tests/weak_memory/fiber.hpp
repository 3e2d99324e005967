// A thread of control with a stack of its own, run by hand: switches cost some nanoseconds and no system call.
#pragma once

#include <csetjmp>
#include <functional>
#include <memory>

namespace heddle::memory_order {

class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // The next resume begins it. A body that has not ended is given up as it stands: nothing on its stack is destroyed.
  void start(std::function<void()> body);
  // Runs it until it pauses or ends.
  void resume();
  // Called inside: back to whoever has resumed it.
  void pause();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  [[noreturn]] void run();

  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
  std::jmp_buf top_;    // where bodies begin
  std::jmp_buf inside_; // where it has paused
  std::jmp_buf outside_;
  bool entered_ = false; // its first frame is there
  bool begun_ = false;
  bool ended_ = true;
};

} // namespace heddle::memory_order
