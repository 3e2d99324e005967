// Packets that wait for each other in a cycle. A buffer's head waits for room in one buffer only, the one at the end of the
// link and lane it wants, so following these from any blocked buffer either ends or comes round.
#include <algorithm>

#include "sim/packet_network.hpp"

namespace heddle::sim {

// The buffer whose lack of room keeps this one's head from moving; kNone if nothing does.
std::uint32_t PacketNetwork::waits_for(std::uint32_t buffer) const {
  const Buffer& here = buffers_[buffer];
  if (here.first == kNone || (here.reader != kNone && is_busy(links_[here.reader]))) return kNone;
  const Packet& head = packets_[here.first];
  const Channel& wanted = channels_[head.channel];
  const bool room = wanted.credit >= head.bytes || wanted.first_return != kNone;
  if (room || is_busy(links_[head.channel / lanes_])) return kNone;
  return head.channel; // buffers and channels of links share their numbers
}

std::string PacketNetwork::name_of_buffer(std::uint32_t buffer) const {
  const Link& link = fabric_.links[buffer / lanes_];
  std::string text = fabric_.name_of(link.to) + " lane " + std::to_string(buffer % lanes_);
  return text + " (from " + fabric_.name_of(link.from) + ")";
}

std::string PacketNetwork::find_deadlock() const {
  std::vector<std::uint32_t> met(buffers_.size(), 0);
  for (std::uint32_t start = 0; start < buffers_.size(); ++start) {
    std::uint32_t at = start;
    while (at != kNone && met[at] == 0) {
      met[at] = start + 1;
      at = waits_for(at);
    }
    if (at == kNone || met[at] != start + 1) continue;
    std::string text = name_of_buffer(at);
    for (std::uint32_t next = waits_for(at); next != at; next = waits_for(next)) {
      text += " waits for " + name_of_buffer(next);
    }
    return text + " waits for the first";
  }
  return "";
}

} // namespace heddle::sim
