#include "launch/agent_wire.hpp"

#include <gtest/gtest.h>

#include "launch/agent.hpp"

namespace heddle::launch {
namespace {

net::Frame frame_in(const net::Bytes& bytes) {
  return net::cut_frame(bytes, kLargestOrder, static_cast<std::uint8_t>(AgentKind::finish)).frame;
}

TEST(StartOrder, IsTheSameAfterItsTravel) {
  const StartOrder order{.first = 3,
                         .count = 2,
                         .bind = Binding::never,
                         .gets_input = true,
                         .directory = "/somewhere",
                         .command = {"program", "", "an argument"},
                         .variables = {{"A", "b=c"}, {"EMPTY", ""}}};
  const net::Bytes bytes = order.encode();
  const auto read = StartOrder::decode(frame_in(bytes).body);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->encode(), bytes);
  EXPECT_EQ(read->command, order.command);
}

TEST(StartOrder, IsNotReadFromLess) {
  const StartOrder order{.directory = "/", .command = {"program"}, .variables = {{"A", "b"}}};
  const net::Bytes bytes = order.encode();
  const auto body = frame_in(bytes).body;
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_FALSE(StartOrder::decode(body.first(length))) << length;
  StartOrder without = order;
  without.command.clear();
  EXPECT_FALSE(StartOrder::decode(frame_in(without.encode()).body));
}

TEST(AgentTicket, IsTheSameAfterItsTravel) {
  const AgentTicket ticket{
      .secret = auth::Secret::draw(), .launcher = {.host = net::loopback(), .port = 4000}, .host = 7};
  const auto read = AgentTicket::read(ticket.line());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->line(), ticket.line());
}

TEST(AgentTicket, IsNotReadFromRubbish) {
  const std::string line =
      AgentTicket{.secret = auth::Secret::draw(), .launcher = {.host = net::loopback(), .port = 4000}}.line();
  for (const std::string& text : {std::string(), std::string("\n"), line.substr(0, 40), line.substr(0, line.size() - 1),
                                  "x" + line, line + line, line.substr(0, line.size() - 1) + " more\n"})
    EXPECT_FALSE(AgentTicket::read(text)) << text;
}

} // namespace
} // namespace heddle::launch
