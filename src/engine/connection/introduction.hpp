// What both ways of opening a link have in common: command slots, this side's ring, and what one side tells the other.
#pragma once

#include "engine/core.hpp"
#include "engine/link.hpp"

namespace heddle::engine {

// What opening a link needs of the engine around it.
class LinkHost {
 public:
  virtual ~LinkHost() = default;
  // The link to a rank, made if there was none; null when the rank is unreachable or outside the job.
  virtual Link* link_for(std::uint32_t rank) = 0;
  // Messages may flow.
  virtual void established(Link& link) = 0;
  // The link cannot be used any more: every operation on it ends.
  virtual void lost(Link& link, const char* why) = 0;
};

class Introduction {
 public:
  explicit Introduction(Core& core) : core_(core) {}

  // A command slot for the peer's words, or -1 while all are taken.
  [[nodiscard]] static std::int32_t take_slot(Port& port);
  static void free_slot(Port& port, std::int32_t& slot);

  // The word that the peer reports to; false when memory is short.
  static bool prepare_word(Link& link);
  // That, ring and endpoint for this side, described in link.outgoing; false when memory is short.
  bool prepare(Link& link);
  // Reads the peer's side out of link.slot; false when it makes no sense.
  static bool hear(Link& link, SlotBody& told);
  // Readies this side for what the peer told; false when its endpoint cannot be connected to.
  bool adopt(Link& link, const SlotBody& told);
  // The words for link.peer_slot at the peer, with link.outgoing behind the verb where it has a body.
  [[nodiscard]] static ir::Command slot_command(Link& link, SlotVerb verb, bool with_body);

 private:
  // Memory that payloads are put from where the network does not take them at once.
  void stage(Link& link);

  Core& core_;
};

} // namespace heddle::engine
