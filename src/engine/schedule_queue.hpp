// The schedule queue: every command of the engine passes here on its way to a translator. A command goes down as soon as it comes, and
// back-pressure goes straight up. Where the network has several engines and is told to plan, the queue says which of them is whose:
// small messages to a peer keep one, so that they stay in order; large messages get theirs in turn (engine_turns.hpp).
#pragma once

#include "base/reserve.hpp"
#include "engine/engine_turns.hpp"
#include "ir/translator.hpp"

#include <cstddef>
#include <deque>
#include <span>

namespace heddle::engine {

class ScheduleQueue {
 public:
  explicit ScheduleQueue(ir::Translator& translator)
      : translator_(translator), facets_(translator.facets()), capabilities_(translator.capabilities()) {}

  // From now on engines are planned, if the network has several and leaves the choice to whoever submits.
  void plan_engines();
  // The peer has just been attached: what names no engine takes the one that it is given, at both ends.
  void attached(ir::Peer peer);
  // Engines by which large messages leave this process, and by which they arrive.
  [[nodiscard]] EngineTurns& sending() { return sending_; }
  [[nodiscard]] EngineTurns& receiving() { return receiving_; }

  // Passes the command on if the translator takes it now; otherwise false, and nothing has happened.
  // For puts whose memory is the caller's to reuse, so that nobody holds them.
  [[nodiscard]] bool try_post(const ir::Command& command) {
    if (held_count_ != 0 || translator_.submit({&command, 1}) == 0) [[unlikely]]
      return false;
    outstanding_ += ir::has(command.flags, ir::Flags::signalled) ? 1U : 0U;
    return true;
  }

  // The same for a record that direct memory of the peer's takes at `at`: its place there is known to be large enough.
  [[nodiscard, gnu::always_inline]] bool try_store(const ir::DirectRing& direct, std::uint64_t at,
                                                   const ir::StoredRecord& record) {
    if (held_count_ != 0) [[unlikely]]
      return false;
    ir::store_record(record, direct.memory + at);
    wake_if_asleep(direct);
    return true;
  }

  // Stores one word into direct memory, after everything stored there before.
  [[nodiscard]] bool try_store_word(const ir::DirectRing& direct, std::uint64_t at, std::uint64_t word) {
    if (held_count_ != 0) [[unlikely]]
      return false;
    ir::store_word(word, direct.memory + at);
    wake_if_asleep(direct);
    return true;
  }

  // Passes the command on now or, under back-pressure, later and in order. Its memory must live until its event comes.
  void post(const ir::Command& command) {
    if (!try_post(command)) hold(command);
  }

  // Tries again what back-pressure had held.
  void flush();

  // Events of the translator; counts those of signalled commands.
  std::size_t poll(std::span<ir::Event> events) {
    const std::size_t count = translator_.poll(events);
    for (std::size_t i = 0; i < count; ++i)
      if (events[i].kind == ir::EventKind::completed) --outstanding_;
    return count;
  }

  // Signalled commands whose event has not come yet, and all commands that are held.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_ + held_count_; }
  // Commands that back-pressure keeps here.
  [[nodiscard]] std::size_t held() const { return held_count_; }
  [[nodiscard]] ir::Translator& translator() { return translator_; }
  [[nodiscard]] const ir::Facets& facets() const { return facets_; }
  [[nodiscard]] const ir::Capabilities& capabilities() const { return capabilities_; }

 private:
  void hold(const ir::Command& command);
  // After a store.
  [[gnu::always_inline]] void wake_if_asleep(const ir::DirectRing& direct) {
    if (ir::must_wake(*direct.asleep)) [[unlikely]]
      facets_.direct_memory->wake(direct.peer);
  }

  ir::Translator& translator_;
  const ir::Facets facets_;
  const ir::Capabilities capabilities_; // a copy: asked on the hot path, without a virtual call
  std::size_t outstanding_ = 0;
  std::size_t held_count_ = 0; // of held_: asked on the hot path
  base::BackedDeque<ir::Command> held_;
  EngineTurns sending_;
  EngineTurns receiving_;
  EngineTurns peers_;
};

} // namespace heddle::engine
