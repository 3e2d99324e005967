// Operations under way: pushes, pulls and atomics, carried out at once where the area is direct memory, by commands elsewhere. What
// needs no more than a few stores is done in one_sided_inline.hpp; a signal is told to its target in areas/own_areas.cpp.
#pragma once

#include "base/reserve.hpp"
#include "onesided/common.hpp"
#include "onesided/records.hpp"
#include "onesided/transfers/pieces.hpp"

#include <deque>
#include <vector>

namespace heddle::onesided {

struct Transfer;

// An mcast until all its receivers' keys are here (multicasts.hpp).
struct Gathering {
  std::uint32_t awaited = 0;           // receivers whose key is not here
  base::BackedVector<Transfer*> ready; // those whose key is
};

// A push, pull or atomic under way, an mcast's to one receiver among them. A call for a lock is one until the area's key is here.
struct Transfer {
  enum class Kind : std::uint8_t { push, pull, atomic, lock, try_lock, unlock };

  std::uint32_t index = 0; // in the pool
  Kind kind{};
  bool more = false; // `piece` is still to be posted
  ErrorCode code{};
  KnownArea* area = nullptr;
  Tracker* tracker = nullptr;
  Transfer* next = nullptr;       // in the list it waits in
  Gathering* gathering = nullptr; // until its key is here, where it is part of an mcast
  std::uint64_t key = 0;          // that its commands carry
  std::uint64_t offset = 0;
  std::span<std::byte> local; // a push only reads it
  std::span<std::byte> twin;
  Signal signal;
  Selection selection;
  PieceCursor cursor;
  Piece piece;
  bool scattered = false;               // goes in records that the owner puts into place
  bool held_back = false;               // one of them waits for room
  base::BackedVector<std::byte> packed; // a record's runs that wait for room
  std::uint32_t in_flight = 0;          // commands and records whose answer is not here
  std::uint32_t unsignalled = 0;        // puts since the last that asked for an event
  Atomic atomic;
  std::uint64_t word = 0; // the 8 bytes around an atomic's word as last seen
  bool word_known = false;
};

// One receiver less is waited for.
inline void release(Common& common, Gathering& gathering) {
  if (--gathering.awaited == 0) common.work_list.add(Gathered{&gathering});
}

class Transfers {
 public:
  explicit Transfers(Common& common) : common_(common) {}

  // The members that every kind has are set, the others are as new.
  Transfer& take(Transfer::Kind kind, Tracker& tracker);
  // The area is open: carries it out, or starts to.
  void run(Transfer& transfer);
  // Checks arguments and range, sets cursor and key. Anything but ok: the transfer ends with it.
  ErrorCode prepare(Transfer& transfer);
  // The event at the target, once its data is there.
  void give_signal(const Transfer& transfer);
  // Better as records than as puts.
  [[nodiscard]] static bool better_scattered(const Transfer& transfer);
  // An event of one of its commands.
  void command_ended(const ir::Event& event);
  // The owner has put a record's pieces into place, or has not.
  void scatter_answered(const Connection& connection, const AreaScattered& answer);
  // The peer is gone: transfers sent as records, which only it could have answered, end. The others end with their commands.
  void peer_lost(const Connection& connection);
  // Records that wait for room are tried again. True: all are written.
  bool scatter_again(Transfer& transfer);
  // Ends it; it is gone afterwards.
  void finish(Transfer& transfer, ErrorCode code);
  // The area's key no longer holds: closes the area here.
  void forget_area(KnownArea& area);

  [[nodiscard]] std::size_t under_way() const { return pool_.size() - free_.size(); }

 private:
  void move(Transfer& transfer);
  void move_directly(Transfer& transfer);
  bool scatter(Transfer& transfer);
  void post_pieces(Transfer& transfer);
  void post_piece(Transfer& transfer);
  void end_if_done(Transfer& transfer);
  void keep_twin(const Transfer& transfer);
  void do_atomic(Transfer& transfer);
  void post_atomic(Transfer& transfer);
  void atomic_ended(Transfer& transfer, const ir::Event& event);

  Common& common_;
  base::BackedDeque<Transfer> pool_;
  base::BackedVector<Transfer*> free_;
};

// Of a kind and width that there are, at a place aligned to it.
inline bool is_sound(const Atomic& operation, std::uint64_t offset) {
  return operation.kind <= Atomic::Kind::bit_xor && (operation.bytes == 4 || operation.bytes == 8) &&
         offset % operation.bytes == 0;
}
// The word after the operation, of the same width.
std::uint64_t apply(const Atomic& operation, std::uint64_t word);
// Does it on memory of this process; `at` is aligned to the operation's bytes. Returns what was there.
std::uint64_t apply_here(const Atomic& operation, std::byte* at);

} // namespace heddle::onesided
