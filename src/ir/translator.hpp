// The boundary to a network: the only interface that a new network implements. See docs/new-translator.md.
// A translator carries commands out and reports events; it knows nothing of messages, tags or protocols.
#pragma once

#include "ir/area_window.hpp"
#include "ir/capabilities.hpp"
#include "ir/command.hpp"
#include "ir/event.hpp"
#include "ir/resources.hpp"
#include "ir/window.hpp"

#include <heddle/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::ir {

// How a peer is found on the network: published at join, opaque to everybody but the translator that made it.
// 40 bytes hold a GID, LID, queue pair number, key and address; a peer not connected to costs little more.
using Address = std::array<std::byte, 40>;

// One side of a connection on networks that need one (a queue pair): travels inside the connection protocol.
using Endpoint = std::array<std::byte, 32>;

// Where a process is on a network on which one of several paths can be chosen for each peer: the node has the LIDs base_lid ..
// base_lid + 2^lmc - 1, and each leads to it by a path of its own.
struct Location {
  std::uint32_t base_lid = 0; // 0: this network has no such choice
  std::uint32_t lmc = 0;

  [[nodiscard]] bool known() const { return base_lid != 0; }
};

// Memory that peers can reach.
struct ExposedMemory {
  std::span<std::byte> memory;
  RemotePlace place; // names the first byte of `memory` in peers' commands
};

// One of a group, and where in its memory the group's puts begin.
struct GroupMember {
  Peer peer{};
  RemotePlace place;
};

class Translator {
 public:
  Translator() = default;
  Translator(const Translator&) = delete;
  Translator& operator=(const Translator&) = delete;
  virtual ~Translator() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  // One sentence for people on what was found out at start and cannot be read from the capabilities: what works, or why it
  // does not and what would help. Empty: nothing to say.
  [[nodiscard]] virtual std::string remark() const { return {}; }
  // Where this process is found. Constant after construction.
  [[nodiscard]] virtual Address address() const = 0;
  // Published at join, too, so that paths are chosen for the job as a whole.
  [[nodiscard]] virtual Location location() const { return {}; }
  // The connection to the peer, which is not made yet, will use the peer's LID base_lid + offset.
  virtual void choose_path(Peer, std::uint32_t /*offset*/) {}

  // Memory of this process that peers can put to, get from and do atomics on; zeroed, aligned to 64 bytes.
  // Fails with out_of_memory when the network's limit is reached.
  virtual Result<ExposedMemory> allocate(std::size_t bytes) = 0;
  // Gives memory of allocate back. Peers must not use it any more.
  virtual void deallocate(const ExposedMemory& memory) = 0;
  // Lets peers reach memory of the caller's (only with Capabilities::reads_any_memory). Costs no system call where the network allows it.
  virtual Result<RemotePlace> expose(std::span<std::byte> memory) = 0;
  virtual void withdraw(const RemotePlace& place) = 0;

  // Communication areas: memory under a key that is not to be guessed from other keys, and that every access is checked
  // against. The defaults are for networks whose ordinary keys are like that.
  virtual Result<ExposedMemory> allocate_area(std::size_t bytes) { return allocate(bytes); }
  virtual Result<RemotePlace> expose_area(std::span<std::byte> memory) { return expose(memory); }
  // Ends the key: when this returns, no command with it touches the memory, nor will. May wait for copies just being made.
  virtual void close_area(const RemotePlace& place) { withdraw(place); }
  // Gives closed memory of allocate_area back.
  virtual void release_area(const ExposedMemory& memory) { deallocate(memory); }
  // A peer's area as plain memory of this process, as window is of its rings.
  [[nodiscard]] virtual AreaWindow area_window(Peer, const RemotePlace&, std::uint64_t /*bytes*/) { return {}; }
  // Lets go of what area_window or commands have taken for a peer's area that is closed.
  virtual void leave_area(Peer, const RemotePlace&) {}

  // Makes the peer's allocated memory reachable by commands, and says where the memory is that the peer's translator
  // allocated first: its bootstrap memory. Called before the first command to the peer. Idempotent.
  virtual Result<RemotePlace> attach(Peer peer, const Address& address) = 0;
  // The peer is gone or no longer needed: lets go of what attach took. Signalled commands to it still get their event.
  virtual void detach(Peer peer) = 0;
  // With Capabilities::needs_connection: makes this side's endpoint for the peer, then connects it to the peer's.
  virtual Result<Endpoint> prepare_endpoint(Peer) { return Endpoint{}; }
  virtual Result<void> connect_endpoint(Peer, const Endpoint&) { return {}; }

  // With Capabilities::multicasts: a number for many peers at once, all attached. A put to it, at an offset with no key, writes
  // to that offset from every member's place; its event comes when all have it, with the first status that is not ok.
  // Such puts are ordered among themselves, not with puts to a member. The number is good until drop_group.
  virtual Result<Peer> make_group(std::span<const GroupMember> members);
  virtual void drop_group(Peer) {}

  // The memory there as plain memory of this process, where the processor itself carries puts out: what is stored counts as
  // put, after all commands submitted before. Valid until the peer is detached. The default offers none, and so do
  // decorators, which are to see every command.
  [[nodiscard]] virtual Window window(Peer, const RemotePlace&, std::uint64_t /*bytes*/) { return {}; }
  // After a store into a window whose word `asleep` is not 0.
  virtual void wake(Peer) {}

  // What a whole pattern of puts can be planned with, and the links that a put takes to an attached peer on one of its paths
  // (paths_to), as far as others may take them, too. The default has one engine and nothing to choose.
  [[nodiscard]] virtual Resources resources() const;
  [[nodiscard]] virtual std::uint32_t paths_to(Peer) const { return 1; }
  [[nodiscard]] virtual std::vector<PathLink> route(Peer, std::uint32_t /*path*/) const { return {}; }

  // Starts commands in order; returns how many it has taken. Fewer than given is back-pressure: try the rest later.
  virtual std::size_t submit(std::span<const Command> commands) = 0;
  // Copies up to events.size() events; returns how many.
  virtual std::size_t poll(std::span<Event> events) = 0;

  // Sleeping until a peer does something. After announce_sleep, anything that arrives ends the next sleep at once, so the
  // caller polls once more in between and misses nothing. The default does not know of arrivals and naps.
  virtual void announce_sleep() {}
  virtual void cancel_sleep() {}
  virtual void sleep(std::chrono::nanoseconds limit);
};

} // namespace heddle::ir
