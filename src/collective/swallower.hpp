// After a death nobody can know which of the others still take part in what. Each then receives, into nothing, whatever still comes
// of collectives of one sort: whoever has sent it may wait for that.
#pragma once

#include "engine/engine.hpp"

#include <cstddef>
#include <cstdint>

namespace heddle::collective {

// Barriers and exchanges share a channel: this bit of the tag tells the messages of exchanges from those of barriers.
inline constexpr std::uint64_t kExchangeMark = std::uint64_t{1} << 63U;

class Swallower {
 public:
  // `mark`: kExchangeMark, or 0 for barriers.
  Swallower(engine::Engine& engine, std::uint64_t mark) : engine_(engine), mark_(mark) {}

  // Takes what is there, and waits for more. Returns how many.
  std::size_t swallow() {
    std::size_t swallowed = 0;
    while (engine_.ended(receive_)) {
      if (receive_.name != 0) {
        engine_.take_completion(receive_);
        ++swallowed;
      }
      const auto next = engine_.receive({.source = kAnySource, .tag = Tag{mark_}, .mask = kExchangeMark}, {}, {},
                                        engine::Channel::collective);
      receive_ = next.value_or(Request{});
      if (!next) break; // no memory for it now: tried again
    }
    return swallowed;
  }

 private:
  engine::Engine& engine_;
  std::uint64_t mark_;
  Request receive_;
};

} // namespace heddle::collective
