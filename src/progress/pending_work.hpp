// What a process still has to do, as far as waiting needs to know it: implemented by the context, over its engine, and by tests. Asked only
// when nothing was done, or now and then; rounds of the hot path do not pass here.
#pragma once

#include "base/ages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::progress {

class PendingWork {
 public:
  PendingWork() = default;
  PendingWork(const PendingWork&) = delete;
  PendingWork& operator=(const PendingWork&) = delete;

  // One round; how much was done.
  virtual std::size_t one_round() = 0;
  // Before a sleep: asks every network, then looks at what they have brought; how much was done.
  virtual std::size_t last_look() = 0;
  // An answer to an own command is under way: asleep until it comes, this process might hold what others wait for.
  [[nodiscard]] virtual bool awaits_answers() const = 0;
  // Something that a third process holds has to be tried again, and no event will say when.
  [[nodiscard]] virtual bool must_try_again() const = 0;
  virtual void try_again_now() = 0;
  [[nodiscard]] virtual bool has_events() const = 0;

  // How far it has come, and whether anything waits that began before the count stood there.
  [[nodiscard]] virtual std::uint64_t count() const = 0;
  [[nodiscard]] virtual bool waits_since(std::uint64_t count) = 0;
  // What is waited for, a line each, with its age. Empty: nothing.
  [[nodiscard]] virtual std::string waiting_for(const base::Ages& ages, std::uint64_t now_ns) = 0;
  // Unsolicited messages that were refused for lack of memory, so far.
  [[nodiscard]] virtual std::uint64_t refused() const = 0;

  virtual void peer_failed(std::uint32_t rank) = 0;
  // False: what it said last may still be on its way; to be told again.
  [[nodiscard]] virtual bool peer_left(std::uint32_t rank) = 0;
  // Whether a peer is not there and nobody has said yet what has become of it; and that nobody will.
  [[nodiscard]] virtual bool awaits_news() const = 0;
  virtual void give_up_news() = 0;

 protected:
  ~PendingWork() = default; // nobody owns it by this name
};

} // namespace heddle::progress
