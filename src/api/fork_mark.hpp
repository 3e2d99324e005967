// Knows whether this process is a child of fork of the one that made the mark. A child has a copy of the parent's context and
// shares its rings, so that any call it made would disturb the parent: calls look at the mark first, which is one load.
#pragma once

namespace heddle::api {

class ForkMark {
 public:
  ForkMark() = default;
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;
  ~ForkMark();

  // From now on fork(3) is noticed; a raw clone(2) is not. Contexts that share nothing with others need not care.
  void watch();
  [[nodiscard]] bool in_child() const { return in_child_; }
  // Marks a context that refuses every call, in any process.
  void set() { in_child_ = true; }

 private:
  static void prepare();
  static void go_on();
  static void mark_all();

  bool in_child_ = false;
  bool watched_ = false;
  ForkMark* next_ = nullptr;
  ForkMark* before_ = nullptr;
};

} // namespace heddle::api
