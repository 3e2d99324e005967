// Any bytes as a ticket and as frames of an agent's connection: what is read from them is the same when it is written again.
#include "launch/agent_wire.hpp"

#include "base/fuzz_input.hpp"
#include "launch/agent.hpp"

namespace heddle::fuzz {

namespace {

// Of everything that either side reads from a frame of the other's.
template <typename Message>
void travel(const net::Frame& frame, launch::AgentKind kind) {
  if (static_cast<launch::AgentKind>(frame.kind) != kind) return;
  const auto read = Message::decode(frame.body);
  if (!read) return;
  const net::Bytes written = read->encode();
  const net::Cut cut = net::cut_frame(written, 2 * launch::kLargestOrder, frame.kind);
  demand(cut.state == net::Cut::State::complete && cut.frame.kind == frame.kind,
         "what is written is a frame of its kind");
  const auto again = Message::decode(cut.frame.body);
  demand(again && again->encode() == written, "a message is the same after its travel");
}

} // namespace

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
    using launch::AgentKind;
    travel<launch::AgentHello>(cut.frame, AgentKind::hello);
    travel<launch::AgentRefusal>(cut.frame, AgentKind::refused);
    travel<launch::AgentOutput>(cut.frame, AgentKind::output);
    travel<launch::AgentEnded>(cut.frame, AgentKind::ended);
    travel<launch::AgentTaken>(cut.frame, AgentKind::taken);
    travel<launch::StartOrder>(cut.frame, AgentKind::start);
    travel<launch::SignalOrder>(cut.frame, AgentKind::signal);
    travel<launch::InputOrder>(cut.frame, AgentKind::input);
    travel<launch::HushOrder>(cut.frame, AgentKind::hush);
    rest = rest.subspan(cut.length);
  }
}

} // namespace heddle::fuzz
