// The boundary to a network: the only interface that a new network implements. See docs/new-translator.md.
// A translator carries commands out and reports events; it knows nothing of messages, tags or protocols.
#pragma once

#include "ir/capabilities.hpp"
#include "ir/command.hpp"
#include "ir/event.hpp"
#include "ir/facets.hpp"

#include <heddle/error.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heddle::ir {

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
  // What only some networks have. Constant after construction.
  [[nodiscard]] virtual Facets facets() { return {}; }

  // Where this process is found. Constant after construction.
  [[nodiscard]] virtual Address address() const = 0;
  // Whether this network leads from here to who published that address; otherwise the error says why not, for people.
  // Decides by the address alone: that the peer answers is for attach and the first command to find out.
  [[nodiscard]] virtual Result<void> reaches(const Address& address) const = 0;

  // Memory of this process that peers can put to, get from and do atomics on; zeroed, aligned to 64 bytes.
  // Fails with out_of_memory when the network's limit is reached.
  virtual Result<ExposedMemory> allocate(std::size_t bytes) = 0;
  // Gives memory of allocate back. Peers must not use it any more.
  virtual void deallocate(const ExposedMemory& memory) = 0;
  // Lets peers reach memory of the caller's (only with Capabilities::reads_any_memory). Costs no system call where the network allows it.
  virtual Result<RemotePlace> expose(std::span<std::byte> memory) = 0;
  virtual void withdraw(const RemotePlace& place) = 0;

  // Makes the peer's allocated memory reachable by commands, and says where the memory is that the peer's translator
  // allocated first: its bootstrap memory. Called before the first command to the peer. Idempotent.
  virtual Result<RemotePlace> attach(Peer peer, const Address& address) = 0;
  // The peer is gone or no longer needed: lets go of what attach took. Signalled commands to it still get their event.
  virtual void detach(Peer peer) = 0;

  // Starts commands in order; returns how many it has taken. Fewer than given is back-pressure: try the rest later.
  virtual std::size_t submit(std::span<const Command> commands) = 0;
  // Copies up to events.size() events; returns how many.
  virtual std::size_t poll(std::span<Event> events) = 0;
  // Whether all that was submitted has left this process, so that nothing of it is lost when it goes. Poll in between.
  [[nodiscard]] virtual bool drained() const { return true; }
  // Whether poll() will tell of this peer's end, after all that it had sent before: who hears of its departure elsewhere, and sooner,
  // waits for that.
  [[nodiscard]] virtual bool will_tell_end(Peer) const { return false; }
};

// Where the network may have the facet or not: communication areas,
Result<ExposedMemory> allocate_area(Translator& translator, std::size_t bytes);
Result<RemotePlace> expose_area(Translator& translator, std::span<std::byte> memory);
[[nodiscard]] Result<void> close_area(Translator& translator, const RemotePlace& place);
void release_area(Translator& translator, const ExposedMemory& memory);
// and what a pattern is planned with: without the facet one path to each peer, and nothing known of links.
Resources resources_of(Translator& translator);
std::uint32_t paths_to(Translator& translator, Peer peer);
std::vector<PathLink> route_to(Translator& translator, Peer peer, std::uint32_t path);

} // namespace heddle::ir
