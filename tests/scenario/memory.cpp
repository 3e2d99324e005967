#include "tests/scenario/memory.hpp"

#include "tests/scenario/content.hpp"
#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::tests {

namespace {

constexpr AreaId kShared{1};
constexpr AreaId kReadable{2};
constexpr AreaId kClosing{3};
constexpr AreaId kLock{10};

// The shared area: words for all, then a part for each process.
constexpr std::uint64_t kSum = 0;
constexpr std::uint64_t kBits = 8;
constexpr std::uint64_t kPair = 16;
constexpr std::uint64_t kParts = 64;
// A part: two words for atomics of its own, then pushes in order, pushes of selections, multicasts.
constexpr std::uint64_t kOwnAdd = 0;
constexpr std::uint64_t kOwnWord = 8;
constexpr std::uint64_t kRegions = 16;

constexpr std::uint64_t kReadableBytes = 8192;
constexpr std::uint64_t kClosingBytes = 2048;
constexpr std::byte kAfterClose{0x5a};
constexpr std::byte kUntouched{0xee};
constexpr std::uint32_t kWordBytes = 4;

enum : std::uint64_t { kSignal = 1, kIntoClosing = 2 }; // Action::mode of a push or pull, bits

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    put_bytes(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

std::uint64_t load(const std::byte* at) {
  std::uint64_t word = 0;
  put_bytes(&word, at, sizeof word);
  return word;
}

// What an atomic operation makes of a word of its size.
std::uint64_t applied(const Atomic& operation, std::uint64_t word) {
  const std::uint64_t mask = operation.bytes == 4 ? 0xffff'ffffU : ~std::uint64_t{0};
  switch (operation.kind) {
    case Atomic::Kind::add: return (word + operation.operand) & mask;
    case Atomic::Kind::swap: return operation.operand & mask;
    case Atomic::Kind::compare_and_swap: return word == operation.expected ? operation.operand & mask : word;
    case Atomic::Kind::bit_and: return word & operation.operand & mask;
    case Atomic::Kind::bit_or: return (word | operation.operand) & mask;
    case Atomic::Kind::bit_xor: return (word ^ operation.operand) & mask;
  }
  return word;
}

// Which word an atomic action is done on.
enum : std::uint64_t { kOnSum, kOnBits, kOnOwnAdd, kOnOwnWord, kWords };

} // namespace

bool Memory::concerns(const std::vector<Action>& actions, std::uint32_t peer) {
  return std::ranges::any_of(actions, [peer](const Action& action) {
    if (action.deed == Deed::mcast) return (action.mask >> peer & 1U) != 0;
    return action.peer == peer && (action.deed == Deed::push || action.deed == Deed::pull ||
                                   action.deed == Deed::atomic || action.deed == Deed::lock);
  });
}

Memory::Memory(Role& role)
    : role_(role),
      readable_(kReadableBytes),
      closing_(kClosingBytes),
      own_(role.scenario.peers()),
      shadows_(role.scenario.peers()),
      unique_used_(role.scenario.peers(), 0),
      accounts_(role.scenario.peers(), Account{.sure = kNone}),
      signals_(role.scenario.peers(), 0),
      atomic_under_way_(role.scenario.peers(), 0) {
  room_ = role.scenario.peers() <= 16 ? 1024 : 128;
  put_bytes(readable_.data(), pattern_bytes(role.rank + 1, kReadableBytes), kReadableBytes);
  const auto memory = calls().allocate(kShared, part_of(role.scenario.peers()));
  role.demand(memory.has_value(), "an area cannot be allocated");
  shared_ = *memory;
  role.demand(calls().expose(kReadable, readable_).has_value(), "memory cannot be exposed");
  role.demand(calls().expose(kClosing, closing_).has_value(), "memory cannot be exposed");
  role.demand(calls().create_lock(kLock).has_value(), "a lock cannot be created");
  for (std::uint32_t rank = 0; rank < role.scenario.peers(); ++rank)
    if (rank != role.rank && !concerns(role.scenario.actions[rank], role.rank)) accounts_[rank] = {};
}

std::uint64_t Memory::part_of(std::uint32_t rank) const {
  return kParts + rank * (kRegions + 3 * room_);
}

std::vector<std::byte>& Memory::shadow(std::uint32_t peer) {
  if (shadows_[peer].empty()) shadows_[peer].resize(kRegions + 3 * room_);
  return shadows_[peer];
}

void Memory::act(const Action& action) {
  if (action.deed == Deed::push) push(action);
  if (action.deed == Deed::pull) pull(action);
  if (action.deed == Deed::mcast) mcast(action);
  if (action.deed == Deed::atomic) atomic(action);
  if (action.deed == Deed::lock) lock(action);
  if (action.deed == Deed::close) close();
}

Memory::Transfer& Memory::begin(const Action& action, std::vector<std::uint32_t> peers) {
  Transfer& transfer = transfers_.emplace_back();
  transfer.action = action;
  transfer.peers = std::move(peers);
  return transfer;
}

bool Memory::busy_with(std::uint32_t peer) const {
  return std::ranges::any_of(transfers_, [peer](const Transfer& transfer) {
    return std::ranges::find(transfer.peers, peer) != transfer.peers.end();
  });
}

void Memory::push(const Action& action) {
  const std::uint32_t peer = action.peer;
  const bool closing = (action.mode & kIntoClosing) != 0;
  const bool signal = (action.mode & kSignal) != 0 && !closing;
  const std::uint64_t kind = closing ? 0 : action.form % 4; // plain, strided, by bitmap, changed words
  std::uint64_t bytes = std::min(action.bytes, room_);
  if (kind == 2 || kind == 3) bytes = std::max<std::uint64_t>(bytes / kWordBytes, 1) * kWordBytes;
  std::uint64_t offset = 0;
  if (kind != 0) { // a place of its own, since others may overtake it
    if (unique_used_[peer] + 2 * bytes > room_) {
      if (busy_with(peer) || 2 * bytes > room_) return;
      unique_used_[peer] = 0;
      for (Witness::Signal& earlier : role_.witness.signals[peer]) // not looked at yet
        if (earlier.from == role_.rank) earlier.content.clear();
    }
    offset = kRegions + room_ + unique_used_[peer];
    unique_used_[peer] += (2 * bytes + 7) / 8 * 8;
  } else {
    offset = kRegions + action.offset % (room_ - bytes + 1);
  }
  Transfer& transfer = begin(action, {peer});
  const std::byte* content = pattern_bytes(role_.rank * 7919 + transfers_.size() * 31 + action.offset, 2 * bytes);
  transfer.data.assign(content, content + bytes);
  Selection selection;
  std::vector<std::byte>& copy = shadow(peer);
  std::byte* into = copy.data() + offset;
  std::uint64_t selected = bytes;
  if (kind == 1) {
    const std::uint64_t block = 1 + action.form % 7;
    const std::uint64_t count = bytes / (block + 3);
    if (count == 0) {
      transfers_.pop_back();
      return;
    }
    selection = Selection::strided(block, count, block + 2, block + 3);
    for (std::uint64_t i = 0; i < count; ++i)
      put_bytes(into + i * (block + 3), transfer.data.data() + i * (block + 2), block);
    selected = count * block;
    // Bytes are counted from the first to the last that the selection names.
    transfer.data.resize((count - 1) * (block + 2) + block);
  } else if (kind == 2) {
    transfer.bits.assign((bytes / kWordBytes + 63) / 64, Lot::mix(action.offset + 1));
    selection = Selection::bitmap(transfer.bits, kWordBytes);
    selected = 0;
    for (std::uint64_t word = 0; word < bytes / kWordBytes; ++word)
      if ((transfer.bits[word / 64] >> (word % 64) & 1U) != 0) {
        put_bytes(into + word * kWordBytes, transfer.data.data() + word * kWordBytes, kWordBytes);
        selected += kWordBytes;
      }
  } else if (kind == 3) {
    transfer.twin = transfer.data;
    selected = 0;
    for (std::uint64_t word = action.offset % 3; word < bytes / kWordBytes; word += 1 + action.offset % 5) {
      transfer.twin[word * kWordBytes] ^= std::byte{1};
      put_bytes(into + word * kWordBytes, transfer.data.data() + word * kWordBytes, kWordBytes);
      selected += kWordBytes;
    }
    selection = Selection::changed(transfer.twin);
  } else if (!closing) {
    put_bytes(into, transfer.data.data(), bytes);
  }
  const Place to = closing ? Place{Rank{peer}, kClosing, action.offset % (kClosingBytes - room_)}
                           : Place{Rank{peer}, kShared, part_of(role_.rank) + offset};
  role_.note([&] {
    return "pushes " + std::to_string(transfer.data.size()) + " bytes to rank " + std::to_string(peer) +
           (closing ? ", to the area that is closed under way" : "") + (signal ? ", with a signal" : "");
  });
  if (signal)
    expect_signal(peer, {.from = role_.rank,
                         .label = action.tag,
                         .bytes = selected,
                         .offset = to.offset,
                         .content = kind == 0 ? std::vector<std::byte>() : std::vector(into, into + 2 * bytes)});
  if (kind == 0 && !signal)
    calls().push(to, transfer.data, transfer.tracker);
  else
    calls().push(to, transfer.data, transfer.tracker, selection, signal ? Signal::event(Tag{action.tag}) : Signal{});
}

void Memory::pull(const Action& action) {
  const bool closing = (action.mode & kIntoClosing) != 0;
  const std::uint64_t area_bytes = closing ? kClosingBytes : kReadableBytes;
  const std::uint64_t bytes = std::min(action.bytes, area_bytes);
  Transfer& transfer = begin(action, {action.peer});
  transfer.data.assign(bytes, kUntouched);
  if (action.form % 3 == 0) transfer.twin.assign(bytes, kUntouched);
  transfer.action.offset = action.offset % (area_bytes - bytes + 1);
  role_.note([&] { return "pulls " + std::to_string(bytes) + " bytes from rank " + std::to_string(action.peer); });
  calls().pull({Rank{action.peer}, closing ? kClosing : kReadable, transfer.action.offset}, transfer.data,
               transfer.tracker, Selection{}, transfer.twin);
}

void Memory::mcast(const Action& action) {
  const std::uint64_t bytes = std::min(action.bytes, room_);
  std::vector<Rank> ranks;
  std::vector<std::uint32_t> peers;
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank)
    if ((action.mask >> rank & 1U) != 0) {
      ranks.push_back(Rank{rank});
      peers.push_back(rank);
    }
  if (mcast_used_ + bytes > room_ || peers.empty()) return;
  const std::uint64_t offset = kRegions + 2 * room_ + mcast_used_;
  mcast_used_ += (bytes + 7) / 8 * 8;
  const bool signal = (action.mode & kSignal) != 0;
  Transfer& transfer = begin(action, peers);
  const std::byte* content = pattern_bytes(role_.rank * 104729 + mcast_used_, bytes);
  transfer.data.assign(content, content + bytes);
  for (const std::uint32_t peer : peers) {
    put_bytes(shadow(peer).data() + offset, content, bytes);
    if (signal)
      expect_signal(peer, {.from = role_.rank,
                           .label = 7,
                           .bytes = bytes,
                           .offset = part_of(role_.rank) + offset,
                           .content = transfer.data});
  }
  role_.note([&] { return "multicasts " + std::to_string(bytes) + " bytes to " + std::to_string(peers.size()); });
  calls().mcast(ranks, kShared, part_of(role_.rank) + offset, transfer.data, transfer.tracker, Selection{},
                signal ? Signal::event(Tag{7}) : Signal{});
}

void Memory::expect_signal(std::uint32_t peer, Witness::Signal signal) {
  ++own_[peer].signals;
  role_.witness.signals[peer].push_back(std::move(signal));
}

void Memory::atomic(const Action& action) {
  const std::uint32_t peer = action.peer;
  const std::uint64_t word = action.form % kWords;
  // One after the other, so that the old value is known.
  if (word != kOnSum && (atomic_under_way_[peer] >> word & 1U) != 0) return;
  atomic_under_way_[peer] |= std::uint64_t{1} << word;
  Transfer& transfer = begin(action, {peer});
  const std::uint64_t choice = action.form / kWords;
  const std::uint32_t width = choice % 2 == 0 ? 8 : 4;
  Atomic operation = Atomic::add(action.tag);
  std::uint64_t at = kSum;
  if (word == kOnSum) {
    transfer.least = role_.witness.sums[peer].ended;
    role_.witness.sums[peer].begun += action.tag;
  } else if (word == kOnBits) {
    const std::uint64_t bit = std::uint64_t{1} << (width == 4 ? role_.rank % 32 : role_.rank);
    at = kBits + (width == 4 ? role_.rank / 32 * 4 : 0);
    const Atomic choices[] = {Atomic::bit_or(bit, width), Atomic::bit_xor(bit, width), Atomic::bit_and(~bit, width)};
    operation = choices[choice / 2 % 3];
  } else if (word == kOnOwnAdd) {
    at = part_of(role_.rank) + kOwnAdd;
  } else {
    const std::uint64_t half = width == 4 ? choice / 2 % 2 * 4 : 0;
    const std::uint64_t old = width == 4 ? own_[peer].own_word >> (8 * half) & 0xffff'ffffU : own_[peer].own_word;
    at = part_of(role_.rank) + kOwnWord + half;
    const std::uint64_t value = Lot::mix(action.tag + action.form);
    const Atomic choices[] = {Atomic::swap(value, width),
                              Atomic::compare_and_swap(old, width == 4 ? value & 0xffff'ffffU : value, width),
                              Atomic::compare_and_swap(old ^ 1U, width == 4 ? value & 0xffff'ffffU : value, width),
                              Atomic::bit_and(value, width),
                              Atomic::bit_or(value, width),
                              Atomic::bit_xor(value, width),
                              Atomic::add(value, width)};
    operation = choices[choice / 4 % std::size(choices)];
  }
  transfer.atomic = operation;
  transfer.action.offset = at;
  role_.note([&] {
    constexpr const char* kKinds[] = {"add", "swap", "compare-and-swap", "and", "or", "xor"};
    return std::string("does an atomic ") + kKinds[static_cast<std::size_t>(operation.kind)] + " of " +
           std::to_string(operation.bytes) + " bytes at rank " + std::to_string(peer);
  });
  calls().atomic({Rank{peer}, kShared, at}, operation, transfer.tracker);
}

void Memory::close() {
  if (closed_) return;
  closed_ = true;
  role_.note([] { return "closes an area"; });
  role_.demand(calls().close(kClosing).has_value(), "an area cannot be closed");
  std::ranges::fill(closing_, kAfterClose);
}

void Memory::signalled(const Event& event) {
  const auto from = static_cast<std::uint32_t>(event.completion.peer);
  role_.demand(event.cookie == static_cast<std::uint64_t>(kShared), "a signal names another area");
  ++signals_[from];
  ++role_.witness.happened.signals;
  // Where several are alike, any of them may be meant.
  std::vector<Witness::Signal>& expected = role_.witness.signals[role_.rank];
  bool known = false;
  for (auto signal = expected.begin(); signal != expected.end(); ++signal) {
    if (signal->from != from || Tag{signal->label} != event.completion.tag || signal->bytes != event.completion.bytes)
      continue;
    known = true;
    const bool here = shared_.empty() || signal->content.empty() ||
                      same_bytes(shared_.data() + signal->offset, signal->content.data(), signal->content.size());
    if (!here) continue;
    expected.erase(signal);
    return;
  }
  role_.demand(known,
               [&] { return "a signal of rank " + std::to_string(from) + " tells of a push that was not made"; });
  role_.complain("a signal of rank " + std::to_string(from) + " came before its data");
}

void Memory::collect() {
  for (auto transfer = transfers_.begin(); transfer != transfers_.end();) {
    if (transfer->tracker.ended()) {
      end(*transfer);
      transfer = transfers_.erase(transfer);
    } else {
      ++transfer;
    }
  }
  step_lock();
}

void Memory::end(Transfer& transfer) {
  const ErrorCode code = transfer.tracker.code();
  const Action& action = transfer.action;
  role_.note([&] {
    return "sees a one-sided operation on rank " + std::to_string(transfer.peers.front()) + " end: " + text_of(code);
  });
  bool allowed = code == ErrorCode::ok;
  for (const std::uint32_t peer : transfer.peers) {
    const bool goes = role_.scenario.goes(peer);
    const bool closes = (action.deed == Deed::push || action.deed == Deed::pull) && (action.mode & kIntoClosing) != 0;
    const bool ends_with_area = code == ErrorCode::revoked_area || code == ErrorCode::unknown_area;
    // A process that leaves closes its areas.
    allowed = allowed || role_.may_end(peer, code) || ((closes || goes) && ends_with_area);
    const bool refuses = role_.scenario.setup.faults.refuse_reads > 0 && action.deed == Deed::pull;
    allowed = allowed || (refuses && code == ErrorCode::revoked_area);
    if (code != ErrorCode::ok && goes) own_[peer].sure = 0;
  }
  role_.demand(allowed, [&] {
    return "a one-sided operation on rank " + std::to_string(transfer.peers.front()) + " ended with " + text_of(code);
  });
  if (action.deed == Deed::atomic) end_atomic(transfer);
  if (action.deed == Deed::pull && code == ErrorCode::ok && (action.mode & kIntoClosing) == 0) end_pull(transfer);
}

void Memory::end_pull(const Transfer& transfer) {
  const std::byte* right = pattern_bytes(transfer.action.peer + 1, kReadableBytes) + transfer.action.offset;
  role_.demand(same_bytes(transfer.data.data(), right, transfer.data.size()), "a pull brought other bytes");
  role_.demand(transfer.twin.empty() || transfer.twin == transfer.data, "a pull's twin differs");
}

void Memory::end_atomic(const Transfer& transfer) {
  const std::uint32_t peer = transfer.action.peer;
  const std::uint64_t word = transfer.action.form % kWords;
  const Atomic& operation = transfer.atomic;
  atomic_under_way_[peer] &= ~(std::uint64_t{1} << word);
  if (transfer.tracker.code() != ErrorCode::ok) return;
  ++role_.witness.happened.atomics;
  Account& account = own_[peer];
  const std::uint64_t old = transfer.tracker.value();
  const auto wrong = [&] {
    return "an atomic operation at rank " + std::to_string(peer) + " saw another value: " + std::to_string(old);
  };
  if (word == kOnSum) {
    Witness::Sum& sum = role_.witness.sums[peer];
    role_.demand(old >= transfer.least && old + transfer.action.tag <= sum.begun, wrong);
    sum.ended += transfer.action.tag;
    account.added += transfer.action.tag;
  } else if (word == kOnBits) {
    const std::uint64_t at = operation.bytes == 4 ? role_.rank % 32 : role_.rank;
    role_.demand((old >> at & 1U) == account.bit, wrong);
    account.bit = applied(operation, old) >> at & 1U;
  } else if (word == kOnOwnAdd) {
    role_.demand(old == account.own_adds, wrong);
    account.own_adds += transfer.action.tag;
  } else {
    const std::uint64_t shift = 8 * ((transfer.action.offset - part_of(role_.rank)) - kOwnWord);
    const std::uint64_t mask = (operation.bytes == 4 ? 0xffff'ffffU : ~std::uint64_t{0}) << shift;
    role_.demand(old == (account.own_word & mask) >> shift, wrong);
    account.own_word = (account.own_word & ~mask) | applied(operation, old) << shift;
  }
}

// --- the lock ---

void Memory::lock(const Action& action) {
  if (lock_.step != LockStep::idle) return;
  lock_.step = LockStep::locking;
  lock_.home = action.peer;
  lock_.repairs = false;
  lock_.tracker.reset();
  Witness::Lock& others = book();
  others.uses.resize(role_.scenario.peers());
  others.death_told.resize(role_.scenario.peers());
  lock_.alone = std::ranges::all_of(others.uses, [](auto use) { return use == Witness::Lock::Use::none; });
  lock_.begun = ++others.begun;
  lock_.tries = action.form % 4 == 0;
  others.uses[role_.rank] = Witness::Lock::Use::wants;
  role_.note([&] { return "wants the lock of rank " + std::to_string(action.peer); });
  if (lock_.tries)
    calls().try_lock(Rank{action.peer}, kLock, lock_.tracker);
  else
    calls().lock(Rank{action.peer}, kLock, lock_.tracker);
}

void Memory::release_lock() {
  lock_.step = LockStep::unlocking;
  book().uses[role_.rank] = Witness::Lock::Use::had;
  calls().unlock(Rank{lock_.home}, kLock, lock_.tracker);
}

void Memory::finish_lock(const char* how) {
  role_.note([&] { return "is done with the lock of rank " + std::to_string(lock_.home) + ": " + how; });
  lock_.step = LockStep::idle;
  book().uses[role_.rank] = Witness::Lock::Use::none;
}

// Somebody living uses it: not where all that began before have ended, and nobody has begun since.
void Memory::busy() {
  role_.demand(!lock_.alone || book().begun != lock_.begun, [&] {
    return "the lock of rank " + std::to_string(lock_.home) + " is said to be busy, and nobody uses it";
  });
  ++role_.witness.happened.try_locks_busy;
  finish_lock("busy");
}

// Nobody else has it, but for those that died with it, which the first after them is told.
void Memory::acquired(bool holder_died) {
  using Use = Witness::Lock::Use;
  Witness::Lock& others = book();
  ++role_.witness.happened.locks_had;
  role_.witness.happened.try_locks_had += lock_.tries ? 1U : 0U;
  role_.witness.happened.holders_died += holder_died ? 1U : 0U;
  bool may_have_died = false;
  const auto whose = [&] { return "the lock of rank " + std::to_string(lock_.home); };
  for (std::uint32_t rank = 0; rank < others.uses.size(); ++rank) {
    if (rank == role_.rank || others.uses[rank] == Use::none) continue;
    const auto death = std::ranges::find(role_.scenario.setup.deaths, Rank{rank}, &simulation::Setup::Death::rank);
    const bool dead = death != role_.scenario.setup.deaths.end() && death->at <= role_.witness.now();
    may_have_died = may_have_died || dead;
    if (others.uses[rank] != Use::has) continue;
    role_.demand(dead, [&] { return whose() + " is given to two: rank " + std::to_string(rank) + " has it"; });
    role_.demand(holder_died || others.death_told[rank],
                 [&] { return whose() + ": nobody is told that rank " + std::to_string(rank) + " died with it"; });
    others.death_told[rank] = true;
  }
  role_.demand(!holder_died || may_have_died, [&] { return whose() + ": a holder is said to have died and none has"; });
  others.uses[role_.rank] = Use::has;
}

void Memory::step_lock() {
  while (lock_.step != LockStep::idle && lock_.tracker.ended()) {
    const ErrorCode code = lock_.tracker.code();
    lock_.tracker.reset();
    if (code == ErrorCode::lock_busy && lock_.step == LockStep::locking) return busy();
    const bool died = code == ErrorCode::holder_died && lock_.step == LockStep::locking;
    if (code != ErrorCode::ok && !died) {
      const bool allowed =
          role_.may_end(lock_.home, code) ||
          (role_.scenario.goes(lock_.home) && (code == ErrorCode::revoked_area || code == ErrorCode::unknown_area));
      role_.demand(allowed,
                   [&] { return "the lock of rank " + std::to_string(lock_.home) + " ended with " + text_of(code); });
      own_[lock_.home].sure = 0;
      const bool holds = lock_.step != LockStep::locking && lock_.step != LockStep::unlocking;
      if (!holds) return finish_lock("its home is gone");
      // The memory under it is gone; the lock itself may still be there, and is this process's until it is given back.
      release_lock();
      continue;
    }
    const Place pair{Rank{lock_.home}, kShared, kPair};
    const auto bytes = std::as_writable_bytes(std::span(lock_.words));
    switch (lock_.step) {
      case LockStep::idle: return;
      case LockStep::locking:
        lock_.repairs = died;
        role_.note(
            [&] { return "has the lock of rank " + std::to_string(lock_.home) + (died ? ", a holder died" : ""); });
        acquired(died);
        lock_.step = LockStep::reading;
        calls().pull(pair, bytes, lock_.tracker);
        break;
      case LockStep::reading:
        role_.demand(lock_.repairs || lock_.words[0] == lock_.words[1], "words under a lock are torn");
        lock_.words[0] = lock_.words[1] = std::max(lock_.words[0], lock_.words[1]) + 1;
        lock_.step = LockStep::writing_first;
        calls().push(pair, bytes.first(8), lock_.tracker);
        break;
      case LockStep::writing_first:
        lock_.step = LockStep::writing_second;
        calls().push({pair.peer, kShared, kPair + 8}, bytes.last(8), lock_.tracker);
        break;
      case LockStep::writing_second:
        ++own_[lock_.home].locked;
        release_lock();
        break;
      case LockStep::unlocking: return finish_lock("free");
    }
  }
}

// --- the end ---

Account Memory::account_for(std::uint32_t peer) const {
  Account account = own_[peer];
  const auto& copy = shadows_[peer];
  account.content = copy.empty() ? 0 : hash_of(std::span(copy).subspan(kRegions));
  return account;
}

bool Memory::signals_complete() const {
  for (std::uint32_t peer = 0; peer < accounts_.size(); ++peer) {
    if (!has_account(peer) || accounts_[peer].sure == 0) continue;
    role_.demand(signals_[peer] <= accounts_[peer].signals, "a signal came twice");
    if (signals_[peer] < accounts_[peer].signals) return false;
  }
  return true;
}

void Memory::check() const {
  bool all_sure = true;
  bool anyone_dies = false;
  std::uint64_t added = 0;
  std::uint64_t locked = 0;
  for (std::uint32_t peer = 0; peer < accounts_.size(); ++peer) {
    const Account& account = accounts_[peer];
    anyone_dies = anyone_dies || role_.scenario.dies(peer);
    const bool sure = has_account(peer) && account.sure == 1;
    all_sure = all_sure && sure;
    if (!sure) continue;
    const auto whose = [&](const char* what) { return "rank " + std::to_string(peer) + what; };
    const std::span<const std::byte> part = shared_.subspan(part_of(peer), kRegions + 3 * room_);
    role_.demand(load(part.data() + kOwnAdd) == account.own_adds, [&] { return whose("'s additions are not here"); });
    role_.demand(load(part.data() + kOwnWord) == account.own_word, [&] { return whose("'s word is another"); });
    role_.demand((load(shared_.data() + kBits) >> peer & 1U) == account.bit, [&] { return whose("'s bit is lost"); });
    if (account.content != 0)
      role_.demand(hash_of(part.subspan(kRegions)) == account.content, [&] { return whose("'s pushes are not here"); });
    added += account.added;
    locked += account.locked;
  }
  const std::uint64_t sum = load(shared_.data() + kSum);
  role_.demand(sum == added || (!all_sure && sum > added), "additions were lost");
  const std::uint64_t first = load(shared_.data() + kPair);
  const std::uint64_t second = load(shared_.data() + kPair + 8);
  role_.demand(first == second || anyone_dies, "words under the lock are torn");
  role_.demand(second >= locked && (second == locked || !all_sure), "changes under the lock were lost");
  if (closed_)
    role_.demand(std::ranges::all_of(closing_, [](std::byte byte) { return byte == kAfterClose; }),
                 "memory was written after its area was closed");
}

void Memory::close_all() {
  close();
  role_.demand(calls().close(kShared) && calls().close(kReadable) && calls().close(kLock), "an area cannot be closed");
  shared_ = {};
}

} // namespace heddle::tests
