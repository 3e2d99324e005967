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

// Reads a message from its own bytes, which must be whole.
template <typename Message>
std::optional<Message> travelled(const Message& message, net::Bytes& bytes) {
  bytes = message.encode();
  const auto body = frame_in(bytes).body;
  for (std::size_t length = 0; length < body.size(); ++length) EXPECT_FALSE(Message::decode(body.first(length)));
  return Message::decode(body);
}

TEST(AgentMessages, AreTheSameAfterTheirTravel) {
  net::Bytes bytes;
  const std::string text = "some text";
  const auto hello = travelled(AgentHello{.host = 5, .version = "1.2.3"}, bytes);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->host, 5U);
  EXPECT_EQ(hello->version, "1.2.3");
  const auto refusal = travelled(AgentRefusal{.code = 2, .fact = text}, bytes);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, 2);
  EXPECT_EQ(refusal->fact, text);
  const auto output = travelled(AgentOutput{.rank = 7, .stream = 2, .bytes = std::as_bytes(std::span(text))}, bytes);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->rank, 7U);
  EXPECT_EQ(output->stream, 2);
  EXPECT_EQ(net::as_characters(output->bytes), text);
  const auto ended = travelled(AgentEnded{.rank = 7, .ending = {.killed = true, .number = 9}}, bytes);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->rank, 7U);
  EXPECT_EQ(describe(ended->ending), describe({.killed = true, .number = 9}));
  EXPECT_EQ(travelled(AgentTaken{.bytes = 70'000}, bytes).value_or(AgentTaken{}).bytes, 70'000U);
  EXPECT_EQ(travelled(SignalOrder{.number = 15}, bytes).value_or(SignalOrder{}).number, 15);
  EXPECT_EQ(travelled(HushOrder{.stream = 2}, bytes).value_or(HushOrder{}).stream, 2);
  const auto input = travelled(InputOrder{.bytes = std::as_bytes(std::span(text))}, bytes);
  ASSERT_TRUE(input);
  EXPECT_EQ(net::as_characters(input->bytes), text);
}

// What no process of this library says, and what would otherwise be believed.
TEST(AgentMessages, AreNotReadFromWhatCannotBe) {
  const auto read = [](auto message) {
    const net::Bytes bytes = message.encode();
    return decltype(message)::decode(frame_in(bytes).body).has_value();
  };
  EXPECT_FALSE(read(AgentOutput{.stream = 0}));
  EXPECT_FALSE(read(AgentOutput{.stream = 3}));
  EXPECT_FALSE(read(HushOrder{.stream = 3}));
  EXPECT_FALSE(read(SignalOrder{.number = 0}));
  EXPECT_FALSE(read(SignalOrder{.number = 1000}));
  EXPECT_FALSE(read(AgentEnded{.ending = {.killed = true, .number = 0}}));
  EXPECT_FALSE(read(AgentEnded{.ending = {.killed = false, .number = -1}}));
  EXPECT_FALSE(read(AgentEnded{.ending = {.killed = false, .number = 256}}));
  EXPECT_TRUE(read(AgentEnded{.ending = {.killed = false, .number = 255}}));
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
