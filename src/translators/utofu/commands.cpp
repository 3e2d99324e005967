// Commands on their way out.
#include "translators/execute.hpp"
#include "translators/utofu/post.hpp"
#include "translators/utofu/utofu.hpp"

#include <cstring>

namespace heddle::translators {

using utofu::Post;

namespace {

std::uint8_t chosen(std::uint8_t named, std::uint8_t for_peer, std::uint64_t otherwise, std::size_t count) {
  if (named == ir::kAnyEngine) named = for_peer;
  return static_cast<std::uint8_t>((named != ir::kAnyEngine ? named : otherwise) % count);
}

bool is_atomic(const ir::Command& command) {
  return command.operation != ir::Operation::put && command.operation != ir::Operation::get;
}

} // namespace

std::size_t Utofu::submit(std::span<const ir::Command> commands) {
  std::size_t taken = 0;
  while (taken < commands.size() && take(commands[taken])) ++taken;
  return taken;
}

bool Utofu::take(const ir::Command& command) {
  const Peer* const peer = attached(command.peer);
  ir::Status end = ir::Status::peer_lost;
  const Taken taken = peer == nullptr ? Taken::ended : carry(*peer, command, end);
  if (taken == Taken::ended) events_.complete(command, end);
  return taken != Taken::not_now;
}

Utofu::Taken Utofu::carry(const Peer& peer, const ir::Command& command, ir::Status& end, bool looks) {
  const std::uint64_t bytes = extent_of(command);
  const auto at = utofu::place::position(command.remote, bytes, peer.where.salt);
  const bool possible = at && is_sound(command, reinterpret_cast<const std::byte*>(*at));
  end = possible ? ir::Status::ok : ir::Status::refused;
  if (!possible || bytes == 0) return Taken::ended;
  // All that names no receiving engine arrives at the target's first: atomics of several engines need not be atomic with each other, and
  // keep their order with puts only where both go the same way.
  const bool atomic = is_atomic(command);
  const std::uint8_t named = atomic ? ir::kAnyEngine : command.send_engine;
  const std::size_t engine = chosen(named, peer.engine, static_cast<std::uint64_t>(command.peer), vcqs_.size());
  const std::size_t receiver = atomic ? 0 : chosen(command.receive_engine, 0, 0, peer.where.engines);
  const utofu_vcq_id_t to =
      command.path == ir::kAnyPath ? peer.ids[receiver] : id_of(peer.where, receiver, command.path);
  Post post(api_, {.vcq = vcqs_[engine].handle, .id = to}, desc_bytes_);
  Way way{.engine = engine, .extent = bytes};
  api_.query_stadd(to, utofu::place::range_of(command.remote.key).tag, &way.remote);
  way.remote += *at;
  const bool put = command.operation == ir::Operation::put;
  const Taken prepared = put      ? prepare_put(command, way, post)
                         : atomic ? prepare_atomic(command, way, post)
                                  : prepare_get(command, way, post);
  const int code = prepared == Taken::yes ? post.send(put ? way.block : 0) : UTOFU_SUCCESS;
  if (prepared != Taken::yes || code != UTOFU_SUCCESS) {
    drop(way);
    end = prepared == Taken::yes ? ir::Status::failed : ir::Status::exhausted;
    return code == UTOFU_ERR_BUSY ? Taken::not_now : prepared == Taken::yes ? Taken::ended : prepared;
  }
  Slot& slot = engines_[engine].slots[way.slot];
  slot.awaited = post.told();
  slot.to = plain(to);
  slot.looks = looks;
  if (put) engines_[engine].block_users[way.block] = post.sent(); // a get's is free when it has been copied out
  engines_[engine].under_way += post.sent();
  return Taken::yes;
}

// Everything but the lead word goes first: with the command if it is short, from a staging block if it is not long, otherwise from where it is.
// A read of its last byte shows that it has arrived: whether LCL_PUT does is not known.
Utofu::Taken Utofu::prepare_put(const ir::Command& command, Way& way, Post& post) {
  const bool lead = ir::has(command.flags, ir::Flags::lead_last);
  const bool announced = ir::has(command.flags, ir::Flags::announced) && can_.announces_writes;
  const bool direct = way.extent > kBlock;
  if ((direct || ir::has(command.flags, ir::Flags::signalled)) && !take_slot(way, command)) return Taken::not_now;
  const std::uint64_t from = lead ? kWord : 0;
  const std::uint64_t content = command.head_bytes + command.bytes;
  struct Part {
    const std::byte* data = nullptr; // goes with the command, unless it has an address
    utofu_stadd_t local = 0;
    std::uint64_t at = 0, bytes = 0;
  };
  std::array<Part, Post::kMostParts> parts{};
  std::size_t count = 0;
  std::array<std::byte, Post::kMostPiggyback + kWord> little; // NOLINT: filled
  if (direct) {
    const utofu_stadd_t local = local_of(way, command.local, command.bytes);
    if (local == 0) return Taken::ended;
    for (std::uint64_t at = from; at < command.head_bytes; at += Post::kMostPiggyback)
      parts[count++] = {.data = command.head.data() + at,
                        .at = at,
                        .bytes = std::min<std::uint64_t>(Post::kMostPiggyback, command.head_bytes - at)};
    parts[count++] = {.local = local, .at = command.head_bytes, .bytes = command.bytes};
    static constexpr std::array<std::byte, kWord> kZeros{};
    if (way.extent > content) parts[count++] = {.data = kZeros.data(), .at = way.extent - kWord, .bytes = kWord};
  } else if (way.extent <= from + Post::kMostPiggyback) {
    compose_put(command, way.extent, little.data());
    if (way.extent > from) parts[count++] = {.data = little.data() + from, .at = from, .bytes = way.extent - from};
  } else {
    std::byte* const block = take_block(way);
    if (block == nullptr) return Taken::not_now;
    compose_put(command, way.extent, block);
    parts[count++] = {
        .local = memory_.find(block + from, way.extent - from, way.engine), .at = from, .bytes = way.extent - from};
  }
  if (lead) parts[count++] = {.data = command.head.data(), .at = 0, .bytes = kWord};
  for (std::size_t i = 0; i < count; ++i) {
    const Part& part = parts[i];
    const bool tells = announced && i + 1 == count;
    const bool sent = (way.block != 0 && part.local != 0) || (way.slot == 0 && i + 1 == count); // else the read says so
    const std::uint64_t edata = tells ? command.operand & 0xffU : way.slot;
    const unsigned long flags = (lead ? UTOFU_ONESIDED_FLAG_CACHE_INJECTION : 0) | (sent ? Post::kSent : 0) |
                                (tells ? Post::kTells : 0) | (!tells && way.slot != 0 ? Post::kTold : 0);
    if (part.local != 0)
      post.add(api_.prepare_put, edata, flags, part.local, way.remote + part.at, part.bytes);
    else
      post.piggyback(part.data, way.remote + part.at, part.bytes, edata, flags);
  }
  if (way.slot != 0)
    post.add(api_.prepare_get, way.slot, Post::kTold | Post::kSent, memory_.find(scratch_, 1, way.engine),
             way.remote + way.extent - 1, std::size_t{1});
  return Taken::yes;
}

Utofu::Taken Utofu::prepare_get(const ir::Command& command, Way& way, Post& post) {
  if (!take_slot(way, command)) return Taken::not_now;
  Slot& slot = engines_[way.engine].slots[way.slot];
  utofu_stadd_t local = 0;
  if (command.bytes <= kBlock) {
    std::byte* const block = take_block(way);
    if (block == nullptr) return Taken::not_now;
    slot.block = way.block;
    slot.target = {command.local, command.bytes};
    local = memory_.find(block, command.bytes, way.engine);
  } else if ((local = local_of(way, command.local, command.bytes)) == 0) {
    return Taken::ended;
  }
  const bool announced = ir::has(command.flags, ir::Flags::announced) && can_.announces_reads;
  post.add(api_.prepare_get, way.slot, Post::kTold | (announced ? 0 : Post::kSent), local, way.remote,
           std::size_t{command.bytes});
  // A notice of the read itself need not carry edata: a word is put beside the target's identity.
  if (announced)
    post.piggyback(&command.cookie, bell_of(post.target().id), kWord, command.operand & 0xffU,
                   Post::kTells | Post::kSent);
  return Taken::yes;
}

Utofu::Taken Utofu::prepare_atomic(const ir::Command& command, Way& way, Post& post) {
  const bool signalled = ir::has(command.flags, ir::Flags::signalled);
  if (signalled && !take_slot(way, command)) return Taken::not_now;
  const unsigned long flags = Post::kSent | (signalled ? Post::kTold : 0);
  if (command.operation == ir::Operation::compare_and_swap)
    post.add(api_.prepare_cswap8, way.slot, flags, command.expected, command.operand, way.remote);
  else
    post.add(api_.prepare_armw8, way.slot, flags, UTOFU_ARMW_OP_ADD, command.operand, way.remote);
  return Taken::yes;
}

bool Utofu::take_slot(Way& way, const ir::Command& command) {
  Engine& engine = engines_[way.engine];
  std::uint16_t& held = engine.held[static_cast<std::size_t>(command.peer)];
  if (held == kMostHeld) return false;
  for (std::size_t tried = 1; tried < engine.slots.size(); ++tried) {
    engine.next_slot = static_cast<std::uint16_t>(engine.next_slot % (engine.slots.size() - 1) + 1);
    Slot& slot = engine.slots[engine.next_slot];
    if (slot.used) continue;
    slot = {.used = true,
            .signalled = ir::has(command.flags, ir::Flags::signalled),
            .end = {.kind = ir::EventKind::completed, .peer = command.peer, .cookie = command.cookie},
            .remote = way.remote,
            .extent = way.extent};
    ++held;
    way.slot = engine.next_slot;
    return true;
  }
  return false;
}

std::byte* Utofu::take_block(Way& way) {
  Engine& engine = engines_[way.engine];
  if (engine.blocks == nullptr) {
    const auto made = memory_.allocate(kMostBlocks * kBlock);
    if (!made) return nullptr;
    engine.blocks = made->memory.data();
  }
  for (std::uint16_t block = 1; block <= kMostBlocks; ++block) {
    if (engine.block_users[block] != 0) continue;
    engine.block_users[block] = 1;
    way.block = block;
    return engine.block(block);
  }
  return nullptr;
}

void Utofu::give_back(std::size_t engine, Slot& slot) {
  if (slot.registered != 0) api_.dereg_mem(vcqs_[engine].handle, slot.registered, 0);
  if (slot.used) --engines_[engine].held[static_cast<std::size_t>(slot.end.peer)];
  slot = {};
}

// What a command had taken that is not posted after all.
void Utofu::drop(const Way& way) {
  give_back(way.engine, engines_[way.engine].slots[way.slot]);
  engines_[way.engine].block_users[way.block] = 0;
}

utofu_stadd_t Utofu::local_of(const Way& way, std::byte* memory, std::uint64_t bytes) {
  if (const utofu_stadd_t found = memory_.find(memory, bytes, way.engine); found != 0) return found;
  Slot& slot = engines_[way.engine].slots[way.slot];
  if (api_.reg_mem(vcqs_[way.engine].handle, memory, bytes, 0, &slot.registered) != UTOFU_SUCCESS) slot.registered = 0;
  return slot.registered;
}

} // namespace heddle::translators
