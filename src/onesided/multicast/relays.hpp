// An mcast as a tree: its data goes to a few receivers, whose engines put it into place and hand it on to others (relay_tree.hpp).
// Each receiver answers to the origin itself, so that the origin knows of each whether it has the data, and those who hand on
// need not remember anything.
//
// Exactly once: whoever stands behind a dead receiver, or behind one that could not hand on, gets the same records from the origin
// directly; a receiver that has had one already, since it came both ways, does not put it into place again.
#pragma once

#include "base/reserve.hpp"
#include "onesided/areas/own_areas.hpp"
#include "onesided/multicast/relay_tree.hpp"
#include "onesided/transfers/transfers.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <vector>

namespace heddle::onesided {

class Relays {
 public:
  Relays(Common& common, Transfers& transfers, OwnAreaTable& own) : common_(common), transfers_(transfers), own_(own) {}

  // Whether others may hand on to this receiver: it is opened to all, so that its key is no secret, and a record with the names
  // of so many receivers fits through its ring.
  [[nodiscard]] static bool suits(const Transfer& receiver, std::size_t receivers);
  // Whether a tree to so many receivers like this one is better than as many pushes.
  [[nodiscard]] static bool worthwhile(const Transfer& like, std::size_t receivers);
  // All are prepared, of one push, and suit.
  void start(std::span<Transfer* const> receivers);

  // What has arrived. False: it is malformed.
  bool record(std::span<const std::byte> content);
  bool answered(const Connection& connection, const AreaRelayed& answer);
  void peer_lost(const Connection& connection);

  // True: it is written, or can never be, and the origin knows that. False: it waits for room or for a connection.
  bool write(const base::BackedVector<std::byte>& message);
  // Sends directly what others did not, or ends it.
  void make_up_for(const Missed& missed);

 private:
  struct Target {
    Transfer* transfer = nullptr; // null: it has ended, with an error
    RelayReceiver receiver;
    bool answered = false;
    bool directly = false; // nobody else is to hand on to it
  };
  // A push under way, batch after batch: each as many records as a word has bits, and a relay of its own for the receivers.
  struct Relay {
    AreaRelay head; // of the batch
    std::span<const std::byte> local;
    PieceCursor cursor;
    Signal signal;
    std::uint64_t most = 0;                                    // bytes of one record's runs
    base::BackedVector<Target> targets;                        // in the row of the tree
    std::size_t unanswered = 0;                                // of them
    base::BackedVector<base::BackedVector<std::byte>> records; // the batch
    base::BackedVector<std::byte> next;                        // the first record after it; empty: none
  };
  // A relay as one of its receivers sees it.
  struct Arriving {
    std::uint64_t number = 0;
    std::uint64_t seen = 0; // a bit for each record
    ErrorCode code{};
  };
  struct FromOrigin {
    std::uint64_t ended = 0; // relays with smaller numbers are of no interest any more
    base::BackedVector<Arriving> arriving;
  };
  void send_batch(Relay& relay);
  void batch_ended(base::BackedList<Relay>::iterator relay);
  base::BackedList<Relay>::iterator find(std::uint64_t number);
  void answer(base::BackedList<Relay>::iterator relay, Target& target, ErrorCode code);

  void hand_on(AreaRelay head, std::span<const RelayReceiver> receivers, std::span<const std::byte> runs);
  void hand(const AreaRelay& head, std::span<const RelayReceiver> receivers, std::span<const std::byte> runs);
  void miss(const AreaRelay& head, std::span<const RelayReceiver> receivers);
  void put_into_place(const AreaRelay& head, const RelayReceiver& self, std::span<const std::byte> runs);

  Common& common_;
  Transfers& transfers_;
  OwnAreaTable& own_;
  base::BackedList<Relay> under_way_;
  std::uint64_t next_number_ = 1;
  base::BackedMap<std::uint32_t, FromOrigin> arriving_;
};

} // namespace heddle::onesided
