#include "ir/text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

namespace heddle::ir {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Command sample(Operation operation) {
  Command command;
  command.operation = operation;
  command.flags = Flags::signalled | Flags::lead_last;
  command.receive_engine = 2;
  command.peer = Peer{3};
  command.cookie = 7;
  command.remote = {.key = MemoryKey{1}, .offset = 0x40};
  command.bytes = 64;
  command.operand = 1;
  command.expected = kMost;
  command.head_bytes = 2;
  command.head[0] = std::byte{0x00};
  command.head[1] = std::byte{0xfe};
  return command;
}

TEST(Text, SaysWhatACommandAsks) {
  EXPECT_EQ(to_text(sample(Operation::put)),
            "put peer=3 remote=1+0x40 cookie=0x7 flags=signalled,lead_last engines=any/2 path=any bytes=64 head=00fe");
  EXPECT_EQ(to_text(sample(Operation::get)),
            "get peer=3 remote=1+0x40 cookie=0x7 flags=signalled,lead_last engines=any/2 path=any bytes=64");
  EXPECT_EQ(
      to_text(sample(Operation::compare_and_swap)),
      "compare_and_swap peer=3 remote=1+0x40 cookie=0x7 flags=signalled,lead_last engines=any/2 path=any operand=0x1 "
      "expected=0xffffffffffffffff");
  EXPECT_EQ(
      to_text(sample(Operation::fetch_and_add)),
      "fetch_and_add peer=3 remote=1+0x40 cookie=0x7 flags=signalled,lead_last engines=any/2 path=any operand=0x1");
}

TEST(Text, SaysWhatAnEventTells) {
  EXPECT_EQ(to_text(Event{.kind = EventKind::completed,
                          .status = Status::refused,
                          .peer = Peer{1},
                          .cookie = 9,
                          .value = 2,
                          .vendor_code = -14}),
            "completed peer=1 status=refused cookie=0x9 value=0x2 vendor=-14");
  EXPECT_EQ(to_text(Event{.kind = EventKind::peer_left, .status = Status::failed}),
            "peer_left peer=0 status=failed cookie=0x0 value=0x0 vendor=0");
}

TEST(Text, OfAnyCommandReadsBackAsTheSameText) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    Command command;
    command.operation = static_cast<Operation>(random() % 4);
    command.flags = static_cast<Flags>(random() % 8);
    command.send_engine = static_cast<std::uint8_t>(random());
    command.receive_engine = static_cast<std::uint8_t>(random());
    command.path = random() % 2 == 0 ? kAnyPath : static_cast<std::uint32_t>(random());
    command.peer = Peer{static_cast<std::uint32_t>(random())};
    command.cookie = random();
    command.remote = {.key = MemoryKey{random()}, .offset = random() >> (random() % 64)};
    command.bytes = random();
    command.operand = random();
    command.expected = random();
    command.head_bytes = static_cast<std::uint32_t>(random() % (kHeadBytes + 1));
    for (std::byte& byte : command.head) byte = static_cast<std::byte>(random());
    const std::string text = to_text(command);
    const auto parsed = parse_command(text);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(to_text(*parsed), text);
    EXPECT_EQ(parsed->remote.offset, command.remote.offset);
    if (command.operation == Operation::put) {
      ASSERT_EQ(parsed->head_bytes, command.head_bytes);
      EXPECT_EQ(std::memcmp(parsed->head.data(), command.head.data(), command.head_bytes), 0);
      EXPECT_EQ(parsed->bytes, command.bytes);
    }
    if (command.operation == Operation::compare_and_swap) {
      EXPECT_EQ(parsed->expected, command.expected);
      EXPECT_EQ(parsed->operand, command.operand);
    }
  }
}

TEST(Text, OfAnyEventReadsBackAsTheSameEvent) {
  for (unsigned kind = 0; kind <= static_cast<unsigned>(EventKind::peer_left); ++kind) {
    for (unsigned status = 0; status <= static_cast<unsigned>(Status::failed); ++status) {
      const Event event{.kind = static_cast<EventKind>(kind),
                        .status = static_cast<Status>(status),
                        .peer = Peer{kind},
                        .cookie = kMost - kind,
                        .value = kMost,
                        .vendor_code = std::numeric_limits<std::int64_t>::min()};
      const auto parsed = parse_event(to_text(event));
      ASSERT_TRUE(parsed) << parsed.error().message();
      EXPECT_EQ(to_text(*parsed), to_text(event));
      EXPECT_EQ(parsed->vendor_code, event.vendor_code);
    }
  }
}

TEST(Text, ThatIsCutOffAnywhereIsRefused) {
  const std::string command = to_text(sample(Operation::get));
  for (std::size_t length = 0; length < command.size() - 1; ++length)
    EXPECT_FALSE(parse_command(command.substr(0, length))) << command.substr(0, length);
  const std::string event = to_text(Event{.vendor_code = 1});
  for (std::size_t length = 0; length < event.size(); ++length) EXPECT_FALSE(parse_event(event.substr(0, length)));
}

std::string fact_of(std::string_view text) {
  const auto parsed = parse_command(text);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::bad_argument);
  return parsed.error().fact.substr(0, parsed.error().fact.find(" in the line"));
}

TEST(Text, ThatIsWrongIsRefusedWithItsWrongPart) {
  EXPECT_EQ(fact_of(""), "'' is not the name of a command");
  EXPECT_EQ(fact_of("push peer=1"), "'push' is not the name of a command");
  EXPECT_EQ(fact_of("get remote=1+0"), "'remote=1+0' stands where peer= belongs");
  EXPECT_EQ(fact_of("get peer=4294967296 remote=1+0"), "'peer=4294967296' cannot be read");
  EXPECT_EQ(fact_of("get peer=-1 remote=1+0"), "'peer=-1' cannot be read");
  EXPECT_EQ(fact_of("get peer=1 remote=1"), "'remote=1' cannot be read");
  EXPECT_EQ(fact_of("get peer=1 remote=1+0x"), "'remote=1+0x' cannot be read");
  const std::string start = "get peer=1 remote=1+0 cookie=1 ";
  EXPECT_EQ(fact_of(start + "flags=loud"), "'flags=loud' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=signalled,"), "'flags=signalled,' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=signalled,signalled"), "'flags=signalled,signalled' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=none engines=300/any"), "'engines=300/any' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=none engines=1/2 path=4294967295"), "'path=4294967295' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=none engines=any/any path=any bytes=99999999999999999999"),
            "'bytes=99999999999999999999' cannot be read");
  EXPECT_EQ(fact_of(start + "flags=none engines=any/any path=any bytes=1 more"), "'more' is unexpected");
  const std::string put = "put peer=1 remote=1+0 cookie=1 flags=none engines=any/any path=any bytes=1 head=";
  EXPECT_EQ(fact_of(put + "0"), "'head=0' cannot be read");
  EXPECT_EQ(fact_of(put + "0g"), "'head=0g' cannot be read");
  EXPECT_EQ(fact_of(put + std::string(130, '0')), "'head=" + std::string(130, '0') + "' cannot be read");
  EXPECT_EQ(fact_of(put + "-"), "accepted");
}

} // namespace
} // namespace heddle::ir
