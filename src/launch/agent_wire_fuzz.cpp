// Any bytes as a ticket and as frames of an agent's connection: what is read from them is the same when it is written again.
#include "launch/agent_wire.hpp"

#include "base/fuzz_input.hpp"
#include "launch/agent.hpp"

namespace heddle::fuzz {

void agent_wire(Input& input) {
  if (input.below(4) == 0) {
    const auto bytes = input.bytes(input.left());
    std::string line(net::as_characters(bytes));
    line += '\n';
    // A name would be looked up, which takes as long as it likes.
    for (char& c : line)
      if (c >= 'g' && c <= 'z' && line.find("heddle-agent-1 ") != 0) c = '0';
    if (const auto ticket = launch::AgentTicket::read(line)) {
      const auto again = launch::AgentTicket::read(ticket->line());
      demand(again && again->line() == ticket->line(), "a ticket is the same after its travel");
    }
    return;
  }
  const auto bytes = input.bytes(input.left());
  std::span<const std::byte> rest = bytes;
  while (true) {
    const net::Cut cut =
        net::cut_frame(rest, launch::kLargestOrder, static_cast<std::uint8_t>(launch::AgentKind::finish));
    if (cut.state != net::Cut::State::complete) break;
    if (const auto order = launch::StartOrder::decode(cut.frame.body)) {
      const net::Bytes written = order->encode();
      const auto again = launch::StartOrder::decode(
          net::cut_frame(written, 2 * launch::kLargestOrder, static_cast<std::uint8_t>(launch::AgentKind::finish))
              .frame.body);
      demand(again && again->encode() == written, "an order is the same after its travel");
    }
    rest = rest.subspan(cut.length);
  }
}

} // namespace heddle::fuzz
