// The shortest complete translator, under the whole contract suite. docs/new-translator.md shows it word for word.
#include "translators/area_keys.hpp"
#include "translators/contract/contract.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"

namespace heddle::translators::contract {
namespace {

// --- shown from here ---
class Smallest;
using Wires = std::array<Smallest*, 3>; // what a real network has between its processes

class Smallest final : public ir::Translator {
 public:
  Smallest(Wires& wires, std::uint32_t self) : wires_(wires), self_(self) { wires_[self] = this; }
  ~Smallest() override { wires_[self_] = nullptr; }

  [[nodiscard]] std::string_view name() const override { return "smallest"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return kCan; }
  // Who learns of it finds this process, and its bootstrap memory.
  [[nodiscard]] ir::Address address() const override {
    ir::Address address{};
    std::memcpy(address.data(), &first_key_, sizeof first_key_);
    return address;
  }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }

  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return memory_.allocate(next_key(), bytes); }
  void deallocate(const ir::ExposedMemory& memory) override { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(next_key(), memory); }
  void withdraw(const ir::RemotePlace& place) override { memory_.withdraw(place.key); }

  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    const auto number = static_cast<std::uint32_t>(peer);
    if (number >= wires_.size() || wires_[number] == nullptr)
      return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "nobody is there", .peer = number});
    attached_[number] = true;
    ir::RemotePlace bootstrap;
    std::memcpy(&bootstrap.key, address.data(), sizeof bootstrap.key);
    return bootstrap;
  }
  void detach(ir::Peer peer) override {
    if (static_cast<std::uint32_t>(peer) < attached_.size()) attached_[static_cast<std::uint32_t>(peer)] = false;
  }

  std::size_t submit(std::span<const ir::Command> commands) override {
    for (const ir::Command& command : commands) {
      const auto number = static_cast<std::uint32_t>(command.peer);
      const bool there = number < wires_.size() && attached_[number] && wires_[number] != nullptr;
      ir::Event event{.kind = ir::EventKind::completed, .peer = command.peer, .cookie = command.cookie};
      event.status = there ? wires_[number]->memory_.execute(command, event.value) : ir::Status::peer_lost;
      if (ir::has(command.flags, ir::Flags::signalled)) events_.push(event);
    }
    return commands.size();
  }
  std::size_t poll(std::span<ir::Event> events) override { return events_.pop(events); }

 private:
  static constexpr ir::Capabilities kCan = {.orders_puts = true,
                                            .atomics = true,
                                            .atomics_with_processor = true,
                                            .atomics_on_any_memory = true,
                                            .reads_any_memory = true,
                                            .inline_bytes = kLargest,
                                            .largest_transfer = kLargest};
  // The first is the bootstrap memory's; none can be guessed from another.
  ir::MemoryKey next_key() { return std::exchange(next_key_, ir::MemoryKey{keys_.draw()}); }

  Wires& wires_;
  std::uint32_t self_;
  std::array<bool, 3> attached_{};
  AreaKeys keys_ = AreaKeys::secret();
  const ir::MemoryKey first_key_{keys_.draw()};
  ir::MemoryKey next_key_ = first_key_;
  MemoryTable memory_;
  EventList events_;
};
// --- to here ---

class SmallestNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return rank == 0 ? left_ : right_; }
  Contact nobody() override { return {.peer = ir::Peer{2}, .address = {}}; }
  Contact gone() override { return {.peer = ir::Peer{2}, .address = Smallest(wires_, 2).address()}; }

 private:
  Wires wires_{};
  Smallest left_{wires_, 0};
  Smallest right_{wires_, 1};
};

HEDDLE_TRANSLATOR_CONTRACT(Smallest, SmallestNetwork);

} // namespace
} // namespace heddle::translators::contract
