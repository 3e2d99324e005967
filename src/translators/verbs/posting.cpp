// Commands as work requests.
#include "translators/execute.hpp"
#include "translators/verbs/records.hpp"
#include "translators/verbs/verbs.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace heddle::translators {

using verbs::Lane;
using verbs::Record;
using verbs::Slot;

namespace {

// In the image of a command whose contents the adapter takes from elsewhere.
constexpr std::size_t kHeadAt = sizeof(Record) + kWord;
constexpr std::size_t kZerosAt = kHeadAt + ir::kHeadBytes;
constexpr std::size_t kMostZeros = ir::kTerminatorAlignment + kWord;
static_assert(kZerosAt + kMostZeros <= Slot::kImageBytes);

// A put of so little wakes its target, announced or not: somebody may sleep until it comes.
constexpr std::uint64_t kWakes = 256;
// The adapter tells of every so many at least.
constexpr std::uint32_t kUnconfirmed = 16;

bool is_record(const ir::Command& command) {
  return command.operation == ir::Operation::put && ir::has(command.flags, ir::Flags::lead_last) &&
         !ir::has(command.flags, ir::Flags::signalled);
}
std::uint64_t content_of(const ir::Command& command) {
  return command.head_bytes + command.bytes;
}
bool fits_room(const ir::Command& command) {
  return sizeof(Record) + content_of(command) <= verbs::kRoomBytes;
}

void write_record(const ir::Command& command, std::uint32_t bytes, bool terminated, std::byte* to) {
  const Record record{.key = static_cast<std::uint64_t>(command.remote.key),
                      .offset = command.remote.offset,
                      .bytes = bytes,
                      .terminated = terminated ? std::uint8_t{1} : std::uint8_t{0},
                      .announced = ir::has(command.flags, ir::Flags::announced) ? std::uint8_t{1} : std::uint8_t{0},
                      .notice = static_cast<std::uint8_t>(command.operand)};
  std::memcpy(to, &record, sizeof record);
}

std::uint32_t immediate_of(const ir::Command& command) {
  return ir::has(command.flags, ir::Flags::announced) ? verbs::kAnnounced | (command.operand & 0xffU) : 0;
}

void aim(ibv_send_wr& request, const ir::RemotePlace& place) {
  request.wr.rdma.remote_addr = verbs::adapter_address(place);
  request.wr.rdma.rkey = verbs::adapter_key(place.key);
}

ibv_sge piece(const std::byte* data, std::uint64_t bytes, std::uint32_t key) {
  return {.addr = reinterpret_cast<std::uintptr_t>(data), .length = static_cast<std::uint32_t>(bytes), .lkey = key};
}
ibv_sge local_piece(const Slot& slot) {
  return {.addr = slot.local, .length = static_cast<std::uint32_t>(slot.command.bytes), .lkey = slot.local_key};
}

} // namespace

bool Verbs::sound(const ir::Command& command) const {
  if (command.remote.offset > verbs::kMostOffset) return false;
  // Memory begins for the adapter at the same place within a page as for the processor.
  const std::uint64_t at = command.remote.offset;
  switch (command.operation) {
    case ir::Operation::put: {
      const std::uint64_t extent = put_extent(command);
      return extent <= capabilities_.largest_transfer + 2 * ir::kHeadBytes &&
             put_is_sound(command, reinterpret_cast<const std::byte*>(at));
    }
    case ir::Operation::get: return command.bytes <= capabilities_.largest_transfer;
    case ir::Operation::compare_and_swap:
    case ir::Operation::fetch_and_add: return at % kWord == 0;
  }
  return false;
}

// Copies what may change once the command is taken, and sees to it that the adapter may touch the rest.
Verbs::Filled Verbs::place_contents(Slot& slot) {
  const ir::Command& command = slot.command;
  const bool put = command.operation == ir::Operation::put;
  if (!put && command.operation != ir::Operation::get) return Filled::taken;
  const bool record = is_record(command);
  const bool whole = record && fits_room(command);
  const std::uint64_t extent = whole ? sizeof(Record) + content_of(command) : put ? put_extent(command) : command.bytes;
  std::byte* to = slot.image.data();
  if (extent > Slot::kImageBytes || (record && !whole)) {
    if (extent <= large_.piece_bytes()) {
      slot.large = large_.take();
      if (slot.large.data == nullptr) return lacks_memory(extent);
      to = slot.large.data;
    } else {
      const auto pinned = memory_.pin(command.local, command.bytes, !put);
      if (!pinned) return lacks_memory(command.bytes);
      slot.pinned = pinned->own;
      slot.local = pinned->address;
      slot.local_key = pinned->key;
      slot.direct = true;
    }
  }
  if (!put) return Filled::taken;
  const bool terminated = ir::has(command.flags, ir::Flags::terminated);
  if (whole) {
    write_record(command, static_cast<std::uint32_t>(content_of(command)), terminated, to);
    compose_put(command, content_of(command), to + sizeof(Record));
    return Filled::taken;
  }
  if (record) {
    write_record(command, kWord, false, slot.image.data());
    std::memcpy(slot.image.data() + sizeof(Record), command.head.data(), kWord);
  }
  if (slot.direct) {
    std::memcpy(slot.image.data() + kHeadAt, command.head.data(), command.head_bytes);
    std::memset(slot.image.data() + kZerosAt, 0, kMostZeros);
    return Filled::taken;
  }
  compose_put(command, extent, to);
  return Filled::taken;
}

// The adapter has just refused memory, for the reason in errno. What is under way may hold what is lacking; otherwise it stays so.
Verbs::Filled Verbs::lacks_memory(std::uint64_t bytes) {
  refusal_ = errno;
  if (refusal_ != EFAULT && refusal_ != EACCES && under_way_ != 0) return Filled::not_now;
  if (!std::exchange(refusal_told_, true))
    log_.error("verbs: " + memory_.refusal("cannot lock", bytes, refusal_).message());
  return Filled::never;
}

// It cannot be sent. Nobody would hear of one that is not to be confirmed, so contact ends.
void Verbs::give_up(Party& party, const ir::Command& command) {
  complete(command, refusal_ == EFAULT || refusal_ == EACCES ? ir::Status::failed : ir::Status::exhausted, 0, refusal_);
  if (!ir::has(command.flags, ir::Flags::signalled)) break_off(party);
}

Verbs::Filled Verbs::fill(Party& party, const ir::Command& command) {
  Lane* const found = lane_to(party, command);
  if (found == nullptr) {
    refusal_ = ENOBUFS;
    return Filled::never;
  }
  Lane& lane = *found;
  if (lane.filled - lane.done == Lane::kDepth || posted_ + 2 > most_posted_) return Filled::not_now;
  if (lane.memory.data == nullptr) {
    lane.memory = slots_.take();
    if (lane.memory.data == nullptr) return lacks_memory(slots_.piece_bytes());
  }
  Slot& slot = lane.slot(lane.filled);
  slot.command = command;
  slot.pinned = nullptr;
  slot.large = {};
  slot.direct = slot.told = false;
  if (const Filled filled = place_contents(slot); filled != Filled::taken) return filled;
  ++lane.filled;
  ++under_way_;
  lane.last_used = ++uses_;
  want(lane);
  return Filled::taken;
}

void Verbs::send_waiting(Lane& lane) {
  while (lane.state == Lane::State::open && !lane.make_room && lane.sent != lane.filled && post(lane, lane.sent)) {
  }
}

bool Verbs::post(Lane& lane, std::uint32_t number) {
  Slot& slot = lane.slot(number);
  const ir::Command& command = slot.command;
  const bool put = command.operation == ir::Operation::put;
  ibv_send_wr request{};
  request.wr_id = std::uint64_t{lane.index} << 48U | (lane.attempt & 0xffffULL) << 32U | number;
  const bool wanted = ir::has(command.flags, ir::Flags::signalled) || !put || slot.large.data != nullptr || slot.direct;
  if (wanted || lane.unconfirmed + 1 >= kUnconfirmed) request.send_flags = IBV_SEND_SIGNALED;
  bool posted = false;
  if (is_record(command)) {
    posted = post_record(lane, slot, request);
  } else if (put) {
    posted = post_put(lane, slot, request);
  } else {
    ibv_sge into = slot.direct                  ? local_piece(slot)
                   : slot.large.data != nullptr ? piece(slot.large.data, command.bytes, slot.large.key)
                                                : piece(slot.image.data(), command.bytes, lane.memory.key);
    request.sg_list = &into;
    request.num_sge = 1;
    if (command.operation == ir::Operation::get) {
      request.opcode = command.bytes == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ; // nothing can be read of nothing
      request.num_sge = command.bytes == 0 ? 0 : 1;
      aim(request, command.remote);
    } else {
      const bool swaps = command.operation == ir::Operation::compare_and_swap;
      into.length = kWord;
      request.opcode = swaps ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
      request.wr.atomic = {.remote_addr = verbs::adapter_address(command.remote),
                           .compare_add = swaps ? command.expected : command.operand,
                           .swap = command.operand,
                           .rkey = verbs::adapter_key(command.remote.key)};
    }
    ibv_send_wr* bad = nullptr;
    posted = ::ibv_post_send(lane.pair, &request, &bad) == 0;
  }
  if (!posted) return false;
  lane.unconfirmed = (request.send_flags & IBV_SEND_SIGNALED) != 0 ? 0 : lane.unconfirmed + 1;
  ++lane.sent;
  ++posted_;
  return true;
}

// Its first word, where that is to be seen last, in a request of its own behind the rest: an adapter writes them in that order.
bool Verbs::post_put(Lane& lane, const Slot& slot, ibv_send_wr& request) {
  const ir::Command& command = slot.command;
  const std::uint64_t extent = put_extent(command);
  const std::uint64_t lead = ir::has(command.flags, ir::Flags::lead_last) ? kWord : 0;
  const bool image = slot.large.data == nullptr && !slot.direct;
  const std::byte* contents = image ? slot.image.data() : slot.large.data;
  std::array<ibv_sge, 3> pieces{};
  int count = 0;
  const auto add = [&](const std::byte* data, std::uint64_t bytes, std::uint32_t key) {
    if (bytes > 0) pieces.at(static_cast<std::size_t>(count++)) = piece(data, bytes, key);
  };
  const std::byte* first = contents;
  if (slot.direct) {
    first = slot.image.data() + kHeadAt;
    add(first + lead, command.head_bytes - lead, lane.memory.key);
    pieces.at(static_cast<std::size_t>(count++)) = local_piece(slot);
    add(slot.image.data() + kZerosAt, extent - content_of(command), lane.memory.key);
  } else {
    add(contents + lead, extent - lead, image ? lane.memory.key : slot.large.key);
  }
  const bool in_line = !slot.direct && extent - lead <= lane.inline_bytes;
  const bool notices = lead != 0 || extent <= kWakes || ir::has(command.flags, ir::Flags::announced);
  ibv_sge word = piece(first, kWord, image || slot.direct ? lane.memory.key : slot.large.key);
  ibv_send_wr second{};
  second.wr_id = request.wr_id;
  second.sg_list = &word;
  second.num_sge = 1;
  second.send_flags = request.send_flags;
  if (kWord <= lane.inline_bytes) second.send_flags |= IBV_SEND_INLINE;
  second.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  second.imm_data = immediate_of(command);
  aim(second, command.remote);
  request.sg_list = pieces.data();
  request.num_sge = count;
  request.opcode = lead == 0 && notices ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request.imm_data = second.imm_data;
  aim(request, command.remote.at(lead));
  const unsigned asked = request.send_flags;
  if (in_line) request.send_flags |= IBV_SEND_INLINE;
  if (lead != 0) {
    request.send_flags &= ~unsigned{IBV_SEND_SIGNALED};
    request.next = &second;
  }
  ibv_send_wr* bad = nullptr;
  const bool posted = ::ibv_post_send(lane.pair, &request, &bad) == 0;
  request.send_flags = asked;
  return posted;
}

bool Verbs::post_record(Lane& lane, const Slot& slot, ibv_send_wr& request) {
  const ir::Command& command = slot.command;
  const bool whole = fits_room(command);
  ibv_send_wr rest{};
  std::array<ibv_sge, 3> pieces{};
  if (!whole) { // all but the first word
    const std::uint64_t extent = put_extent(command);
    if (slot.direct) {
      pieces[0] = piece(slot.image.data() + kHeadAt + kWord, command.head_bytes - kWord, lane.memory.key);
      pieces[1] = local_piece(slot);
      pieces[2] = piece(slot.image.data() + kZerosAt, extent - content_of(command), lane.memory.key);
    } else {
      pieces[0] = piece(slot.large.data + kWord, extent - kWord, slot.large.key);
    }
    rest.wr_id = request.wr_id;
    rest.sg_list = pieces.data();
    rest.num_sge = slot.direct ? (pieces[2].length > 0 ? 3 : 2) : 1;
    rest.opcode = IBV_WR_RDMA_WRITE;
    aim(rest, command.remote.at(kWord));
    rest.next = &request;
  }
  const std::uint64_t bytes = sizeof(Record) + (whole ? content_of(command) : kWord);
  const bool large = whole && slot.large.data != nullptr;
  ibv_sge message =
      large ? piece(slot.large.data, bytes, slot.large.key) : piece(slot.image.data(), bytes, lane.memory.key);
  const unsigned asked = request.send_flags;
  request.sg_list = &message;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  if (bytes <= lane.inline_bytes) request.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  const bool posted = ::ibv_post_send(lane.pair, whole ? &request : &rest, &bad) == 0;
  request.send_flags = asked;
  return posted;
}

void Verbs::confirm(Lane& lane) {
  if (lane.state != Lane::State::open || lane.unconfirmed == 0) return;
  ibv_send_wr nothing{};
  nothing.wr_id = std::uint64_t{lane.index} << 48U | (lane.attempt & 0xffffULL) << 32U | (lane.sent - 1);
  nothing.opcode = IBV_WR_RDMA_WRITE;
  nothing.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (::ibv_post_send(lane.pair, &nothing, &bad) == 0) lane.unconfirmed = 0;
}

void Verbs::confirm_all() {
  for (Lane* lane : lanes_)
    if (lane != nullptr) confirm(*lane);
}

} // namespace heddle::translators
