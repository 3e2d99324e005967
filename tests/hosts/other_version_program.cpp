// The agent of another version of Heddle, as far as it comes: it proves itself, and says which it is.
#include "auth/call.hpp"
#include "launch/agent.hpp"
#include "launch/agent_wire.hpp"
#include "launch/link.hpp"

#include <poll.h>

#include <iostream>

int main() {
  using namespace heddle;
  std::string line;
  std::getline(std::cin, line);
  const auto ticket = launch::AgentTicket::read(line + "\n");
  if (!ticket) return 2;
  auto socket =
      auth::call(ticket->launcher, ticket->secret, launch::kAgentService, base::deadline_in(std::chrono::seconds(30)));
  if (!socket) return 3;
  launch::Link link(std::move(*socket));
  link.send(launch::agent_frame(launch::AgentKind::hello).u32(ticket->host).text(std::string_view("9.9.9")).finish());
  while (link.read()) { // until the launcher has had enough
    while (const auto order = link.next())
      if (static_cast<launch::AgentKind>(order->kind) == launch::AgentKind::finish) return 0;
    pollfd entry{.fd = link.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, -1);
  }
  return 0;
}
