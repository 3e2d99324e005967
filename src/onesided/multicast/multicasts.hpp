// mcast: one push to many. First the keys of all receivers are gathered; then each is served in the way that suits it:
//
//   in direct memory, or where the processor copies anyway      a push of its own: nobody else has to do anything
//   on a network whose switches copy                            one put to a group of the network's
//   elsewhere, many of them and more than a few bytes           a tree, handed on from receiver to receiver (relays.hpp)
//   otherwise                                                   a push of its own
#pragma once

#include "base/reserve.hpp"
#include "onesided/multicast/relays.hpp"
#include "onesided/transfers/transfers.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace heddle::onesided {

class Multicasts {
 public:
  Multicasts(Common& common, Transfers& transfers, Relays& relays)
      : common_(common), transfers_(transfers), relays_(relays) {}

  // For the transfers of one mcast, which are then admitted one by one.
  Gathering& gather(std::size_t receivers);
  // The key of one of them is here.
  void joined(Transfer& transfer);
  // It waits for no key any more: starts it.
  void launch(Gathering& gathering);
  // The event of a put to a group.
  void command_ended(const ir::Event& event);

 private:
  // A group of a network's, kept for the next mcast to the same areas.
  struct Group {
    ScheduleQueue* queue = nullptr; // null: unused
    ir::Peer number{};
    base::BackedVector<ir::GroupMember> members;
    std::uint32_t in_use = 0; // puts to it that have not ended
    std::uint64_t last_use = 0;
  };
  struct GroupPut {
    std::size_t index = 0; // among the puts, in its commands' cookies
    Group* group = nullptr;
    base::BackedVector<Transfer*> receivers;
    std::uint32_t in_flight = 0;
    ErrorCode code{};
  };

  // Takes out of the list those that a group's put serves, or a tree.
  void put_to_group(base::BackedVector<Transfer*>& receivers);
  void relay(base::BackedVector<Transfer*>& receivers);
  Group* group_of(std::span<Transfer* const> receivers);
  void post(GroupPut& put);
  void end(GroupPut& put);

  Common& common_;
  Transfers& transfers_;
  Relays& relays_;
  base::BackedDeque<Gathering> gatherings_;
  base::BackedVector<Gathering*> idle_;
  base::BackedVector<Transfer*> chosen_;
  base::BackedVector<Transfer*> shared_;
  base::BackedDeque<Group> groups_;
  base::BackedDeque<GroupPut> puts_;
  base::BackedVector<GroupPut*> free_puts_;
  std::uint64_t launches_ = 0;
};

} // namespace heddle::onesided
