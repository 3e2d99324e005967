// Where a process is found on the network, in the 40 bytes of an ir::Address; and what an address vector is made of.
#pragma once

#include "ir/translator.hpp"

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

namespace heddle::translators::verbs {

using Gid = std::array<std::byte, 16>;
inline constexpr std::uint8_t kMostLmc = 7;

struct Place {
  Gid gid{};                  // on Ethernet the first of its addresses
  std::uint32_t door = 0;     // the queue pair that hears calls; 24 bits, never 0
  std::uint16_t lid = 0;      // 0 on Ethernet
  std::uint8_t lmc = 0;       // 2^lmc LIDs from `lid` on lead to the port, each by a path of its own
  std::uint8_t addresses = 0; // on Ethernet, each a path of its own; 0: InfiniBand
  std::uint64_t uid = 0;      // of the process; drawn, so that another one behind the same numbers is noticed
  ir::MemoryKey bootstrap{};

  [[nodiscard]] std::uint32_t paths() const { return addresses != 0 ? addresses : 1U << lmc; }
  friend bool operator==(const Place&, const Place&) = default;
  [[nodiscard]] ir::Address pack() const;
  // unreachable: these bytes are no such address.
  static Result<Place> unpack(const ir::Address& address);
  // In an open world, where all else follows from the process's unique id; and the way back.
  [[nodiscard]] ir::ShortAddress shorten() const;
  static Result<Place> lengthen(std::uint64_t uid, std::span<const std::byte> shortened);
};
static_assert(sizeof(Place) == sizeof(ir::Address));

// What a process of an open world draws the upper half of its bootstrap key from.
[[nodiscard]] std::uint64_t key_base_of(std::uint64_t uid);

// One of this process's ends, as an address vector needs it.
struct Source {
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  std::uint8_t path = 0; // by which the other end sends to this one
};

// To a place by a path: on InfiniBand to one of its LIDs, from the one of this process's that the other end sends to. An adapter drops
// what a reliable connection gets from another LID than its own packets go to. On Ethernet to the place's address.
[[nodiscard]] ibv_ah_attr address_vector(const Source& from, const Place& to, std::uint32_t path);

} // namespace heddle::translators::verbs
