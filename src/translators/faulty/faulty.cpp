#include "translators/faulty/faulty.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace heddle::translators {

Faulty::Faulty(ir::Translator& inner, FaultPlan plan)
    : Decorator(inner),
      inner_sleeping_(inner.facets().sleeping),
      plan_(std::move(plan)),
      dice_(plan_.seed),
      commands_(!plan_.reorder_commands || inner.capabilities().orders_puts) {}

Result<ir::ExposedMemory> Faulty::allocate(std::size_t bytes) {
  if (allocated_ >= plan_.allocations)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "no memory for " + std::to_string(bytes) + " bytes: the fault plan allows " +
                                         std::to_string(plan_.allocations) + " allocations"});
  auto memory = inner().allocate(bytes);
  allocated_ += memory ? 1U : 0U;
  return memory;
}

Result<ir::RemotePlace> Faulty::attach(ir::Peer peer, const ir::Address& address) {
  if (lost(peer))
    return std::unexpected(
        Error{.code = ErrorCode::unreachable,
              .fact = "the fault plan has cut off peer " + std::to_string(static_cast<std::uint32_t>(peer)),
              .peer = static_cast<std::int64_t>(peer)});
  return inner().attach(peer, address);
}

void Faulty::detach(ir::Peer peer) {
  commands_.release_all(peer, [this](const HeldCommand& held) { return pass_on(held); });
  inner().detach(peer);
}

std::uint64_t Faulty::delay(double probability) {
  return dice_.chance(probability) ? 1 + dice_.below(std::max(plan_.longest_delay, 1U)) : 0;
}

std::size_t Faulty::submit(std::span<const ir::Command> commands) {
  std::size_t limit = commands.size();
  if (limit > 0 && dice_.chance(plan_.short_count)) limit = dice_.below(limit);
  for (std::size_t i = 0; i < limit; ++i) {
    for (const FaultPlan::Cut& planned : plan_.cuts)
      if (planned.at_command == taken_ + 1) cut(planned.peer);
    if (plan_.kill_at_command == taken_ + 1) kill();
    if (!take(commands[i])) return i;
    ++taken_;
  }
  return limit;
}

bool Faulty::take(const ir::Command& command) {
  const bool signalled = ir::has(command.flags, ir::Flags::signalled);
  const std::uint64_t wait = delay(plan_.delay_command);
  constexpr std::uint64_t kWords = 2048; // reads up to here may be of the protocols' own words
  const bool refused_read = plan_.refuse_reads && command.operation == ir::Operation::get && command.bytes > kWords;
  const bool refused = signalled && (refused_read || dice_.chance(plan_.refuse));
  const bool behind = commands_.keeps_order() && commands_.any_for(command.peer);
  if (lost(command.peer)) {
    end(command, ir::Status::peer_lost);
  } else if (wait > 0 || behind) {
    const std::uint64_t inline_bytes = capabilities().inline_bytes;
    const bool small = command.bytes <= inline_bytes && command.head_bytes <= inline_bytes - command.bytes;
    const bool memory_is_free_now = command.operation == ir::Operation::put && !signalled && small;
    commands_.push(command, now_ + wait, refused, memory_is_free_now);
  } else if (refused) {
    end(command, ir::Status::refused);
  } else {
    return inner().submit({&command, 1}) == 1;
  }
  return true;
}

bool Faulty::pass_on(const HeldCommand& held) {
  if (lost(held.command.peer))
    end(held.command, ir::Status::peer_lost);
  else if (held.refused)
    end(held.command, ir::Status::refused);
  else
    return inner().submit({&held.command, 1}) == 1;
  return true;
}

void Faulty::end(const ir::Command& command, ir::Status status) {
  if (!ir::has(command.flags, ir::Flags::signalled)) return;
  hold({.kind = ir::EventKind::completed, .status = status, .peer = command.peer, .cookie = command.cookie});
}

void Faulty::hold(const ir::Event& event) {
  if (event.kind != ir::EventKind::completed && killed_) return;
  const bool announcement = event.kind == ir::EventKind::remote_written || event.kind == ir::EventKind::remote_read;
  if (announcement && lost(event.peer)) return;
  if (event.kind == ir::EventKind::peer_failed && !told_.insert(event.peer).second) return;
  events_.push(event, now_ + delay(plan_.delay_event));
  events_.shuffle(dice_, plan_.reorder_events);
}

void Faulty::collect() {
  std::array<ir::Event, 32> batch;
  std::size_t count = 0;
  do {
    count = inner().poll(batch);
    for (std::size_t i = 0; i < count; ++i) hold(batch[i]);
  } while (count == batch.size());
}

std::size_t Faulty::poll(std::span<ir::Event> events) {
  ++now_;
  commands_.release(now_, [this](const HeldCommand& held) { return pass_on(held); });
  collect();
  const std::size_t count = events_.pop(events, now_);
  // What was under way to a peer when it was cut off has no result any more.
  for (ir::Event& event : events.first(count))
    if (event.kind == ir::EventKind::completed && lost(event.peer))
      event = {.kind = event.kind, .status = ir::Status::peer_lost, .peer = event.peer, .cookie = event.cookie};
  return count;
}

ir::Facets Faulty::facets() {
  ir::Facets facets = Decorator::facets();
  if (inner_sleeping_ != nullptr) facets.sleeping = this;
  return facets;
}

void Faulty::sleep(std::chrono::nanoseconds limit) {
  if (held() == 0)
    inner_sleeping_->sleep(limit);
  else
    inner_sleeping_->cancel_sleep();
}

void Faulty::cut(ir::Peer peer) {
  if (!cut_.insert(peer).second) return;
  commands_.release_all(peer, [this](const HeldCommand& held) { return pass_on(held); });
  hold({.kind = ir::EventKind::peer_failed, .status = ir::Status::peer_lost, .peer = peer});
}

void Faulty::kill() {
  if (std::exchange(killed_, true)) return;
  commands_.release(kNever, [this](const HeldCommand& held) { return pass_on(held); });
  if (plan_.on_kill) plan_.on_kill();
}

} // namespace heddle::translators
