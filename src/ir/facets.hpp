// What only some networks have, each as a small interface of its own. A translator derives from those that it has, too, and
// names them in `facets`; everybody else writes none of this.
#pragma once

#include "ir/command.hpp"
#include "ir/direct_area.hpp"
#include "ir/direct_ring.hpp"
#include "ir/resources.hpp"

#include <heddle/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::ir {

// How a peer is found on the network: published at join, opaque to everybody but translators of the same name.
// 40 bytes hold a GID, LID, queue pair number, key and address; a peer not connected to costs little more.
using Address = std::array<std::byte, 40>;

// Memory that peers can reach.
struct ExposedMemory {
  std::span<std::byte> memory;
  RemotePlace place; // names the first byte of `memory` in peers' commands
};

// One side of a connection: travels inside the connection protocol.
using Endpoint = std::array<std::byte, 32>;

// Networks on which both sides make something before the first command (queue pairs). Without, a peer that is attached is ready.
class Endpoints {
 public:
  virtual ~Endpoints() = default;
  // Makes this side's endpoint for the peer.
  virtual Result<Endpoint> prepare_endpoint(Peer peer) = 0;
  // Connects it to the peer's.
  virtual Result<void> connect_endpoint(Peer peer, const Endpoint& endpoint) = 0;
};

// Communication areas: memory under a key that is not to be guessed from other keys, and that every access is checked against.
// Without, allocate, expose, withdraw and deallocate of the translator serve them: its ordinary keys are like that.
class Areas {
 public:
  virtual ~Areas() = default;
  virtual Result<ExposedMemory> allocate_area(std::size_t bytes) = 0;
  virtual Result<RemotePlace> expose_area(std::span<std::byte> memory) = 0;
  // Ends the key: when this returns, no command with it touches the memory, nor will. May wait for copies just being made.
  // timed_out: a process in the middle of one does not go on. Then the key has ended, but the memory is still that process's to
  // touch, until this has been called again and has succeeded.
  [[nodiscard]] virtual Result<void> close_area(const RemotePlace& place) = 0;
  // Gives closed memory of allocate_area back.
  virtual void release_area(const ExposedMemory& memory) = 0;
};

// for shm: begin
// Networks on which peers' memory is plain memory of this process, and the processor itself carries puts out. Decorators
// hide it, since they are to see every command.
class DirectMemory {
 public:
  virtual ~DirectMemory() = default;
  // The memory there: what is stored counts as put, after all commands submitted before. None where it cannot be reached so.
  // Valid until the peer is detached.
  [[nodiscard]] virtual DirectRing direct_ring(Peer peer, const RemotePlace& place, std::uint64_t bytes) = 0;
  // The same for an area, entered and left at each access.
  [[nodiscard]] virtual DirectArea direct_area(Peer peer, const RemotePlace& place, std::uint64_t bytes) = 0;
  // Lets go of what direct_area or commands have taken for a peer's area that is closed.
  virtual void leave_area(Peer peer, const RemotePlace& place) = 0;
  // After a store into a DirectRing whose word `asleep` is not 0.
  virtual void wake(Peer peer) = 0;
};
// for shm: end

// One of a group, and where in its memory the group's puts begin.
struct GroupMember {
  Peer peer{};
  RemotePlace place;
};

// Networks that copy: a put to many costs them hardly more than one.
class Groups {
 public:
  virtual ~Groups() = default;
  // A number for many peers at once, all attached. A put to it, at an offset with no key, writes to that offset from every
  // member's place; its event comes when all have it, with the first status that is not ok. Such puts are ordered among
  // themselves, not with puts to a member. The number is good until drop_group.
  virtual Result<Peer> make_group(std::span<const GroupMember> members) = 0;
  virtual void drop_group(Peer group) = 0;
};

// Networks with several engines or paths to choose from. A path is a number that only the network, and whoever plans for
// networks of its kind, can read; a command names one in `Command::path`.
class Paths {
 public:
  virtual ~Paths() = default;
  // What a whole pattern of puts can be planned with.
  [[nodiscard]] virtual Resources resources() const = 0;
  // How many paths lead to an attached peer: 0, 1 and so on.
  [[nodiscard]] virtual std::uint32_t paths_to(Peer peer) const = 0;
  // The links that a put takes to an attached peer on one of them, as far as others may take them, too.
  [[nodiscard]] virtual std::vector<PathLink> route(Peer peer, std::uint32_t path) const = 0;
  // The same between two others, by the only path there is; nothing where this process cannot tell.
  [[nodiscard]] virtual std::optional<std::vector<PathLink>> route_between(Peer, Peer) const { return std::nullopt; }
  // Where this process is on the fabric; published at join, so that paths are planned for a job as a whole. The low 32 bits
  // order nodes as the network does; planners that know networks of this kind read the rest. 0: nothing is known.
  [[nodiscard]] virtual std::uint64_t location() const = 0;
  // Commands to the peer, with which no connection is made yet, take this path unless they name another.
  virtual void choose_path(Peer peer, std::uint32_t path) = 0;
  // The same for the engine at both ends; of a peer that has just been attached, so that nothing is under way by another.
  virtual void choose_engine(Peer, std::uint8_t) {}
};

// for utofu: begin
// A step of a barrier by dissemination: whom this process tells, and who tells it.
struct GateRound {
  Peer to{}, from{};
  Address to_address{}, from_address{};
};

// Networks that carry out barriers themselves.
class BarrierGates {
 public:
  virtual ~BarrierGates() = default;
  // Sets the network up for barriers in these steps, once; every process does the same before the first begins one. Error: it cannot,
  // and then nobody may begin one.
  virtual Result<void> set_gates(std::span<const GateRound> rounds) = 0;
  // Begins the next barrier; the one before has ended. False: not now.
  [[nodiscard]] virtual bool begin_barrier() = 0;
  // Whether all processes have begun the one under way.
  [[nodiscard]] virtual bool barrier_ended() = 0;
};
// for utofu: end

// Networks on which what arrives does not say from which peer, but from which address.
class Senders {
 public:
  virtual ~Senders() = default;
  // This peer may write here from now on, attached or not: the engine names each that the network leads to, before it polls.
  virtual void expect(Peer peer, const Address& address) = 0;
};

// Networks that know when something arrives. Without, a sleeper naps.
class Sleeping {
 public:
  virtual ~Sleeping() = default;
  // After announce_sleep, anything that arrives ends the next sleep at once, and makes the descriptor readable where that is asked
  // for: the caller polls once more in between, and misses nothing.
  enum class By : std::uint8_t { sleep, descriptor };
  // False: the system cannot promise that, so the sleep must be short.
  virtual bool announce_sleep(By by) = 0;
  // The caller is awake, whatever has woken it.
  virtual void cancel_sleep() = 0;
  // Sleeps as announced, no longer than the limit, and is awake then.
  virtual void sleep(std::chrono::nanoseconds limit) = 0;
  // For sleeping on several networks at once, and for a program's own event loop: readable when something has arrived since
  // announce_sleep(By::descriptor). Constant. Error: the process has no descriptor left for it.
  [[nodiscard]] virtual Result<int> descriptor() = 0;
  // How soon the network has to be polled although nothing arrives and nothing of the caller's is under way; nothing: no matter when.
  // Asked when a program is about to sleep in a loop of its own, which may be for ever.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> due() { return std::nullopt; }
};

// for tcp: begin
// How a process is found on the network by who knows its unique id already.
struct ShortAddress {
  std::array<std::byte, 24> bytes{};
  std::uint8_t size = 0;

  [[nodiscard]] std::span<const std::byte> used() const { return std::span(bytes).first(size); }
};

// Networks on which processes may find each other by name alone (open worlds). A name has little room: it holds short addresses.
class Naming {
 public:
  virtual ~Naming() = default;
  // By which names tell networks apart; the same in every version, and no other network's.
  [[nodiscard]] virtual char letter() const = 0;
  [[nodiscard]] virtual ShortAddress short_address() const = 0;
  // What the process of that id has as its address. `shortened` comes from anybody. unreachable where it is no short address.
  [[nodiscard]] virtual Result<Address> whole_address(std::uint64_t uid,
                                                      std::span<const std::byte> shortened) const = 0;
};
// for tcp: end

// Null: this network has none.
struct Facets {
  Endpoints* endpoints = nullptr;
  Areas* areas = nullptr;
  DirectMemory* direct_memory = nullptr; // for shm
  Groups* groups = nullptr;
  Paths* paths = nullptr;
  Senders* senders = nullptr;
  Sleeping* sleeping = nullptr;
  Naming* naming = nullptr;      // for tcp
  BarrierGates* gates = nullptr; // for utofu
};

} // namespace heddle::ir
