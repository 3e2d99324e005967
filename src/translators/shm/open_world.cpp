// Processes that find each other without a job: who has attached here, and who has gone.
#include "base/clock.hpp"
#include "translators/shm/shm.hpp"

#include <unistd.h>

#include <array>
#include <new>
#include <string>

namespace heddle::translators {

namespace {

// The clock is looked at once in so many polls; deaths and departures as often as this.
constexpr std::uint64_t kPollsPerLook = 16;
constexpr std::uint64_t kLookInterval = 1'000'000; // ns
// And once in so many of these, hosts that have left without having been guests: seldom enough for thousands of them.
constexpr std::uint64_t kLooksPerRound = 16;

// None where the header is invalid.
GuestBook* book_in(const Mapping& segment) {
  const std::uint64_t offset = segment.header().guests;
  const bool sound = offset != 0 && offset % alignof(GuestBook) == 0 && offset <= segment.bytes() &&
                     sizeof(GuestBook) <= segment.bytes() - offset;
  return sound ? reinterpret_cast<GuestBook*>(segment.data() + offset) : nullptr;
}

} // namespace

Result<void> Shm::sign_in(Attached& peer, std::uint32_t number) {
  GuestBook* found = book_in(peer.mapping);
  if (found == nullptr)
    return std::unexpected(Error{.code = ErrorCode::unreachable,
                                 .fact = "process " + std::to_string(peer.process) + " is not in an open world",
                                 .remedy = "have it call Context::open"});
  watch_.watch(peer.process); // first, since it may throw
  GuestBook& book = *found;
  const auto line =
      book.sign({.process = ::getpid(),
                 .uid = uid_,
                 .segment = {.process = ::getpid(), .descriptor = segment_.descriptor(), .inode = segment_.inode()},
                 .number = number});
  if (!line) {
    watch_.forget(peer.process);
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "process " + std::to_string(peer.process) + " has " +
                                         std::to_string(segments::kMostGuests) + " peers on this machine",
                                 .remedy = "have it remove some"});
  }
  if (peer.mapping.header().gate.closed.load(std::memory_order_seq_cst) != 0) {
    book.strike_out(*line);
    watch_.forget(peer.process);
    return std::unexpected(Error{.code = ErrorCode::unreachable,
                                 .fact = "process " + std::to_string(peer.process) + " has closed that context",
                                 .remedy = "add the name of one that is open"});
  }
  peer.number = *line;
  peer.gate = &book.lines[*line].gate;
  peer.book = &book;
  wake_if_asleep(peer);
  return {};
}

void Shm::sign_out(Attached& peer) {
  if (peer.book == nullptr) return;
  watch_.forget(peer.process);
  peer.book->strike_out(peer.number);
  wake_if_asleep(peer);
}

// Those that this process has never attached would hear of its end only when they look for something else. They do where there is
// no memory for this.
void Shm::nudge(const segments::SegmentName& guest) try {
  const auto mapping = segments::map_segment(guest);
  GuestBook* book = mapping ? book_in(*mapping) : nullptr;
  if (book == nullptr) return;
  book->changes.fetch_add(1, std::memory_order_release);
  SegmentHeader& header = mapping->header();
  if (!ir::must_wake(header.asleep)) return;
  segments::wake_sleeper<Kernel>(header.asleep, [&] { segments::PeerBell().ring(guest.process, header.bell); });
} catch (const std::bad_alloc&) {
}

bool Shm::tell_end(ir::EventKind kind, ir::Peer peer, const segments::Guest& guest) {
  if (!events_.make_room()) return false; // once there is memory
  events_.push({.kind = kind, .peer = peer, .cookie = guest.number, .value = guest.uid});
  return true;
}

void Shm::look_for_ends() {
  if (guests_->changed()) [[unlikely]] {
    look_at_guests();
    look_at_hosts();
  }
  if (++polls_ % kPollsPerLook != 0) return;
  const std::uint64_t now = base::steady_ns();
  if (now - last_look_ns_ < kLookInterval) return;
  last_look_ns_ = now;
  look_for_deaths();
}

bool Shm::try_to_watch(std::int32_t process) try {
  watch_.watch(process);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Shm::look_at_guests() {
  guests_->look([this](std::int32_t process) { return try_to_watch(process); },
                [this](const segments::Guest& guest) {
                  if (!tell_end(ir::EventKind::peer_left, ir::kByUid, guest)) return false;
                  if (guest.process != 0) watch_.forget(guest.process);
                  return true;
                });
}

// It has closed its context, or turned this process away.
bool Shm::has_left(const Attached& peer) {
  return peer.mapping.header().gate.closed.load(std::memory_order_acquire) != 0 ||
         peer.gate->closed.load(std::memory_order_acquire) != 0;
}

void Shm::look_at_hosts() {
  for (std::uint32_t rank = 0; rank < attached_.size(); ++rank) {
    Attached* peer = attached_[rank].get();
    if (peer == nullptr || peer->gone || !has_left(*peer)) continue;
    peer->gone = tell_end(ir::EventKind::peer_left, ir::Peer{rank}, {});
  }
}

void Shm::look_for_deaths() {
  if (++looks_ % kLooksPerRound == 0) look_at_hosts();
  if (!events_.make_room(attached_.size() + segments::kMostGuests)) return;
  std::array<std::int32_t, 1> ended{};
  while (watch_.take_ended(ended) > 0) {
    for (std::uint32_t rank = 0; rank < attached_.size(); ++rank) {
      Attached* peer = attached_[rank].get();
      if (peer == nullptr || peer->gone || peer->process != ended.front()) continue;
      peer->gone =
          tell_end(has_left(*peer) ? ir::EventKind::peer_left : ir::EventKind::peer_failed, ir::Peer{rank}, {});
    }
    look_at_guests(); // a guest that had left before its process ended is reported as left
    guests_->ended(ended.front(), [this](const segments::Guest& guest) {
      if (guest.process != 0) watch_.forget(guest.process);
      if (guest.uid != 0) tell_end(ir::EventKind::peer_failed, ir::kByUid, guest);
    });
  }
}

} // namespace heddle::translators
