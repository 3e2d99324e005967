// After a death nobody can know which of the others still take part in what. Each then receives, into nothing, whatever still comes
// of collectives and patterns of one sort: whoever has sent it may wait for that.
#pragma once

#include "engine/engine.hpp"

#include <cstddef>
#include <cstdint>

namespace heddle::engine {

class Swallower {
 public:
  // Messages on that channel whose tag is `tag` where `mask` has bits.
  Swallower(Engine& engine, Channel channel, Tag tag, std::uint64_t mask)
      : engine_(&engine), channel_(channel), tag_(tag), mask_(mask) {}

  // Takes what is there, and waits for more. Returns how many.
  std::size_t swallow() {
    std::size_t swallowed = 0;
    while (engine_->ended(receive_)) {
      if (receive_.name != 0) {
        engine_->take_completion(receive_);
        ++swallowed;
      }
      const auto next = engine_->receive({.source = kAnySource, .tag = tag_, .mask = mask_}, {}, {}, channel_);
      receive_ = next.value_or(Request{});
      if (!next) break; // no memory for it now: tried again
    }
    return swallowed;
  }

 private:
  Engine* engine_;
  Channel channel_;
  Tag tag_;
  std::uint64_t mask_;
  Request receive_;
};

} // namespace heddle::engine
