// Commands on their way out.
#include "translators/execute.hpp"
#include "translators/utofu/post.hpp"
#include "translators/utofu/utofu.hpp"

#include <cstring>

namespace heddle::translators {

using utofu::Post;

namespace {

constexpr std::size_t kBlock = 8448; // a record of 8 KiB with all that belongs to it

constexpr std::byte* block_of(std::byte* blocks, std::uint16_t number) {
  return blocks + (number - std::size_t{1}) * kBlock;
}

// Bytes [from, extent) of what the put writes.
void compose(const ir::Command& command, std::uint64_t from, std::uint64_t extent, std::byte* into) {
  const std::uint64_t content = command.head_bytes + command.bytes;
  std::memset(into + (content < extent ? content - from : extent - from), 0, content < extent ? extent - content : 0);
  std::memcpy(into, command.head.data() + from, command.head_bytes - from);
  if (command.bytes > 0) std::memcpy(into + command.head_bytes - from, command.local, command.bytes);
}

std::uint8_t chosen(std::uint8_t named, std::uint8_t for_peer, std::uint64_t otherwise, std::size_t count) {
  if (named == ir::kAnyEngine) named = for_peer;
  return static_cast<std::uint8_t>((named != ir::kAnyEngine ? named : otherwise) % count);
}

} // namespace

std::size_t Utofu::submit(std::span<const ir::Command> commands) {
  std::size_t taken = 0;
  while (taken < commands.size() && take(commands[taken])) ++taken;
  return taken;
}

void Utofu::refuse(const ir::Command& command, ir::Status status) {
  if (ir::has(command.flags, ir::Flags::signalled))
    events_.push({.kind = ir::EventKind::completed, .status = status, .peer = command.peer, .cookie = command.cookie});
}

bool Utofu::take(const ir::Command& command) {
  Peer* const peer = attached(command.peer);
  const auto end_now = [&](ir::Status status) {
    refuse(command, status);
    return true;
  };
  if (peer == nullptr) return end_now(ir::Status::peer_lost);
  const bool put = command.operation == ir::Operation::put;
  const bool get = command.operation == ir::Operation::get;
  const std::uint64_t bytes = put ? put_extent(command) : get ? command.bytes : kWord;
  const auto at = utofu::place::position(command.remote, bytes, peer->where.salt);
  const std::byte* const alignment = reinterpret_cast<const std::byte*>(at.value_or(0) % kWord);
  if (!at || (put && !put_is_sound(command, alignment)) || (!put && !get && alignment != nullptr))
    return end_now(ir::Status::refused);
  if (bytes == 0) return end_now(ir::Status::ok);
  // All that names no receiving engine arrives at the target's first: atomics of several engines need not be atomic with each other, and
  // keep their order with puts only where both go the same way.
  const bool atomic = !put && !get;
  const std::uint8_t named = atomic ? ir::kAnyEngine : command.send_engine;
  const std::size_t engine = chosen(named, peer->engine, static_cast<std::uint64_t>(command.peer), vcqs_.size());
  const std::size_t receiver = atomic ? 0 : chosen(command.receive_engine, 0, 0, peer->where.engines);
  const utofu::Target target{
      .vcq = vcqs_[engine].handle,
      .id = command.path == ir::kAnyPath ? peer->ids[receiver] : id_of(peer->where, receiver, command.path)};
  utofu_stadd_t remote = 0;
  api_.query_stadd(target.id, utofu::place::range_of(command.remote.key).tag, &remote);
  remote += *at;
  Post post(api_, target, desc_bytes_);
  Way way{.engine = engine, .remote = remote, .extent = bytes};
  const Taken done = put   ? take_put(command, way, post)
                     : get ? take_get(command, way, post)
                           : take_atomic(command, way, post);
  if (done == Taken::no) return false;
  if (done == Taken::cannot) return end_now(ir::Status::exhausted);
  Slot& slot = engines_[engine].slots[way.slot];
  slot.awaited = post.told();
  slot.to = plain(target.id);
  if (put) engines_[engine].block_users[way.block] = post.sent(); // a get's is free when it has been copied out
  const int code = post.send(put ? way.block : 0);
  if (code == UTOFU_SUCCESS) {
    engines_[engine].under_way += post.sent();
    return true;
  }
  drop(engine, way);
  if (code == UTOFU_ERR_BUSY) return false;
  return end_now(ir::Status::failed);
}

// Everything but the lead word goes first: with the command if it is short, from a staging block if it is not long, otherwise from where it is.
// A read of its last byte shows that it has arrived: whether LCL_PUT does is not known.
Utofu::Taken Utofu::take_put(const ir::Command& command, Way& way, Post& post) {
  const bool signalled = ir::has(command.flags, ir::Flags::signalled);
  const bool lead = ir::has(command.flags, ir::Flags::lead_last);
  const bool announced = ir::has(command.flags, ir::Flags::announced) && can_.announces_writes;
  const std::uint64_t from = lead ? kWord : 0;
  const bool short_one = way.extent - from <= Post::kMostPiggyback;
  const bool direct = way.extent > kBlock;
  if ((signalled || direct) && (way.slot = take_slot(way, command)) == 0) return Taken::no;
  const unsigned long kind = lead ? UTOFU_ONESIDED_FLAG_CACHE_INJECTION : 0;
  const unsigned long told = kind | (way.slot != 0 ? Post::kTold : 0);
  const unsigned long sent = way.slot != 0 ? 0 : Post::kSent; // else the read says so
  const unsigned long last = sent | (announced ? kind | Post::kTells : told);
  const std::uint64_t last_edata = announced ? command.operand & 0xffU : way.slot;
  if (direct) {
    const utofu_stadd_t local = local_of(way, command.local, command.bytes);
    if (local == 0) {
      drop(way.engine, way);
      return Taken::cannot;
    }
    for (std::uint64_t at = from; at < command.head_bytes; at += Post::kMostPiggyback)
      post.piggyback(command.head.data() + at, way.remote + at,
                     std::min<std::uint64_t>(Post::kMostPiggyback, command.head_bytes - at), way.slot, told);
    const bool ends = !lead && !ir::has(command.flags, ir::Flags::terminated);
    post.put(local, way.remote + command.head_bytes, command.bytes, ends ? last_edata : way.slot, ends ? last : told);
    const std::uint64_t zero = 0;
    if (!ends && way.extent > command.head_bytes + command.bytes)
      post.piggyback(&zero, way.remote + way.extent - kWord, kWord, lead ? way.slot : last_edata, lead ? told : last);
  } else if (way.extent > from) {
    std::array<std::byte, Post::kMostPiggyback> little; // NOLINT: filled
    if (!short_one && (way.block = take_block(way.engine)) == 0) {
      drop(way.engine, way);
      return Taken::no;
    }
    std::byte* const made = short_one ? little.data() : block_of(engines_[way.engine].blocks, way.block);
    compose(command, from, way.extent, made);
    const std::uint64_t edata = lead ? way.slot : last_edata;
    const unsigned long flags = lead ? told : last;
    if (short_one)
      post.piggyback(made, way.remote + from, way.extent - from, edata, flags);
    else
      post.put(memory_.find(made, kBlock, way.engine), way.remote + from, way.extent - from, edata,
               flags | Post::kSent);
  }
  if (lead) post.piggyback(command.head.data(), way.remote, kWord, last_edata, last);
  if (way.slot == 0) return Taken::yes;
  post.get(memory_.find(scratch_, 1, way.engine), way.remote + way.extent - 1, 1, way.slot, Post::kTold | Post::kSent);
  return Taken::yes;
}

Utofu::Taken Utofu::take_get(const ir::Command& command, Way& way, Post& post) {
  if ((way.slot = take_slot(way, command)) == 0) return Taken::no;
  Slot& slot = engines_[way.engine].slots[way.slot];
  utofu_stadd_t local = 0;
  if (command.bytes <= kBlock) {
    if ((way.block = take_block(way.engine)) == 0) {
      drop(way.engine, way);
      return Taken::no;
    }
    slot.block = way.block;
    slot.target = command.local;
    slot.bytes = command.bytes;
    local = memory_.find(block_of(engines_[way.engine].blocks, way.block), kBlock, way.engine);
  } else if ((local = local_of(way, command.local, command.bytes)) == 0) {
    drop(way.engine, way);
    return Taken::cannot;
  }
  const bool announced = ir::has(command.flags, ir::Flags::announced) && can_.announces_reads;
  post.get(local, way.remote, command.bytes, way.slot, Post::kTold | (announced ? 0 : Post::kSent));
  if (!announced) return Taken::yes;
  // A notice of the read itself need not carry edata: a word is put beside the target's identity.
  utofu_stadd_t bell = 0;
  api_.query_stadd(post.target().id, utofu::Memory::kFirstTag, &bell);
  post.piggyback(&command.cookie, bell + offsetof(Identity, bell), kWord, command.operand & 0xffU,
                 Post::kTells | Post::kSent);
  return Taken::yes;
}

Utofu::Taken Utofu::take_atomic(const ir::Command& command, Way& way, Post& post) {
  const bool signalled = ir::has(command.flags, ir::Flags::signalled);
  if (signalled && (way.slot = take_slot(way, command)) == 0) return Taken::no;
  const unsigned long flags = Post::kSent | (signalled ? Post::kTold : 0);
  if (command.operation == ir::Operation::compare_and_swap)
    post.compare_and_swap(command.expected, command.operand, way.remote, way.slot, flags);
  else
    post.add_to(command.operand, way.remote, way.slot, flags);
  return Taken::yes;
}

std::uint16_t Utofu::take_slot(const Way& way, const ir::Command& command) {
  Engine& engine = engines_[way.engine];
  std::uint16_t& held = engine.held[way.asks ? peers_.size() : static_cast<std::size_t>(command.peer)];
  if (held == kMostHeld) return 0;
  for (std::size_t tried = 1; tried < engine.slots.size(); ++tried) {
    engine.next_slot = static_cast<std::uint16_t>(engine.next_slot % (engine.slots.size() - 1) + 1);
    Slot& slot = engine.slots[engine.next_slot];
    if (slot.used) continue;
    slot = {.used = true,
            .signalled = ir::has(command.flags, ir::Flags::signalled),
            .asks = way.asks,
            .peer = command.peer,
            .cookie = command.cookie,
            .remote = way.remote,
            .extent = way.extent};
    ++held;
    return engine.next_slot;
  }
  return 0;
}

std::uint16_t Utofu::take_block(std::size_t number) {
  Engine& engine = engines_[number];
  if (engine.blocks == nullptr) {
    const auto made = memory_.allocate(kMostBlocks * kBlock);
    if (!made) return 0;
    engine.blocks = made->memory.data();
  }
  for (std::uint16_t block = 1; block <= kMostBlocks; ++block) {
    if (engine.block_users[block] != 0) continue;
    engine.block_users[block] = 1;
    return block;
  }
  return 0;
}

void Utofu::give_back(Engine& engine, Slot& slot) {
  if (slot.used) --engine.held[slot.asks ? peers_.size() : static_cast<std::size_t>(slot.peer)];
  slot = {};
}

// What a command had taken that is not posted after all.
void Utofu::drop(std::size_t engine, const Way& way) {
  Slot& slot = engines_[engine].slots[way.slot];
  if (slot.registered != 0) api_.dereg_mem(vcqs_[engine].handle, slot.registered, 0);
  give_back(engines_[engine], slot);
  engines_[engine].block_users[way.block] = 0;
}

utofu_stadd_t Utofu::local_of(const Way& way, std::byte* memory, std::uint64_t bytes) {
  if (const utofu_stadd_t found = memory_.find(memory, bytes, way.engine); found != 0) return found;
  Slot& slot = engines_[way.engine].slots[way.slot];
  if (api_.reg_mem(vcqs_[way.engine].handle, memory, bytes, 0, &slot.registered) != UTOFU_SUCCESS) slot.registered = 0;
  return slot.registered;
}

void Utofu::copy_out(const Engine& engine, const Slot& slot) {
  std::memcpy(slot.target, block_of(engine.blocks, slot.block), slot.bytes);
}

} // namespace heddle::translators
