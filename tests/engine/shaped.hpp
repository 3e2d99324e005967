// A translator over another, for tests: capabilities changed at will, back-pressure and late arrival from a random source.
// Commands arrive in the order submitted. Not here: faults (the faulty decorator).
#pragma once

#include "ir/translator.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace heddle::tests {

struct Shape {
  bool reads_any_memory = true;
  bool processor_copies = true;
  std::uint64_t inline_bytes = ~std::uint64_t{0} >> 32U;
  std::uint64_t largest_transfer = ~std::uint64_t{0};
  unsigned refuse_percent = 0; // of submits that are refused
  bool announcing = false;     // no connections; writes and reads are announced
  unsigned late_percent = 0;   // chance that what waits waits longer, at each submit and poll; 0: nothing waits
};

class Shaped final : public ir::Translator {
 public:
  Shaped(std::unique_ptr<ir::Translator> inner, const Shape& shape, std::uint64_t seed)
      : inner_(std::move(inner)), shape_(shape), random_(seed), capabilities_(inner_->capabilities()) {
    capabilities_.reads_any_memory = shape.reads_any_memory;
    capabilities_.processor_copies = shape.processor_copies;
    capabilities_.inline_bytes = shape.inline_bytes;
    capabilities_.largest_transfer = shape.largest_transfer;
  }

  [[nodiscard]] std::string_view name() const override { return "shaped"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Address address() const override { return inner_->address(); }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override {
    auto memory = inner_->allocate(bytes);
    if (memory) given_.push_back(memory->memory);
    return memory;
  }
  void deallocate(const ir::ExposedMemory& memory) override { inner_->deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override {
    ++exposed_;
    return inner_->expose(memory);
  }
  void withdraw(const ir::RemotePlace& place) override {
    --exposed_;
    inner_->withdraw(place);
  }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    return inner_->attach(peer, address);
  }
  void detach(ir::Peer peer) override { inner_->detach(peer); }

  std::size_t submit(std::span<const ir::Command> commands) override {
    if (shape_.late_percent == 0 && shape_.refuse_percent == 0) return inner_->submit(commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (chance(shape_.refuse_percent)) return i;
      Waiting& waiting = waiting_.emplace_back(Waiting{commands[i], {}});
      const bool taken_at_once = commands[i].head_bytes + commands[i].bytes <= shape_.inline_bytes;
      if (!ir::has(commands[i].flags, ir::Flags::signalled) && commands[i].bytes > 0 && taken_at_once) {
        // The memory is the caller's again.
        waiting.copy.assign(commands[i].local, commands[i].local + commands[i].bytes);
        waiting.command.local = waiting.copy.data();
      }
    }
    arrive();
    return commands.size();
  }
  std::size_t poll(std::span<ir::Event> events) override {
    arrive();
    return inner_->poll(events);
  }
  // Lets what waits arrive.
  void arrive() {
    while (!waiting_.empty() && !chance(shape_.late_percent)) {
      inner_->submit({&waiting_.front().command, 1});
      waiting_.pop_front();
    }
  }
  [[nodiscard]] bool idle() const { return waiting_.empty(); }
  // All memory that it has ever given.
  [[nodiscard]] const std::vector<std::span<std::byte>>& given() const { return given_; }
  // Memory exposed and not withdrawn.
  [[nodiscard]] std::int64_t exposed() const { return exposed_; }

 private:
  struct Waiting {
    ir::Command command;
    std::vector<std::byte> copy;
  };
  bool chance(unsigned percent) { return percent > 0 && random_() % 100 < percent; }

  std::unique_ptr<ir::Translator> inner_;
  Shape shape_;
  std::mt19937_64 random_;
  ir::Capabilities capabilities_;
  std::deque<Waiting> waiting_;
  std::int64_t exposed_ = 0;
  std::vector<std::span<std::byte>> given_;
};

} // namespace heddle::tests
