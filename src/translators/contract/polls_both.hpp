// For networks on which a command is carried out when its target polls: one side's polls drive the other's, too.
#pragma once

#include "translators/decorator.hpp"

#include <span>

namespace heddle::translators::contract {

class PollsBoth final : public Decorator {
 public:
  explicit PollsBoth(ir::Translator& own) : Decorator(own) {}
  void polls_too(ir::Translator& other) { other_ = &other; }
  std::size_t poll(std::span<ir::Event> events) override {
    if (other_ != nullptr) other_->poll({});
    return Decorator::poll(events);
  }

 private:
  ir::Translator* other_ = nullptr;
};

} // namespace heddle::translators::contract
