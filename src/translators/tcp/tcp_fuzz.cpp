// A peer that knows the secret, or does not, says hello and then says anything, in any cuts: it changes only memory that was exposed,
// and another peer's commands go on.
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include "base/fuzz_network.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace heddle::fuzz {

namespace {

using translators::Tcp;
using translators::tcp::Frame;
using translators::tcp::FrameKind;

void send_all(int socket, std::span<const std::byte> bytes, Tcp& reader) {
  while (!bytes.empty()) {
    iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    const std::size_t sent = net::send_some(socket, {&piece, 1});
    bytes = bytes.subspan(sent);
    reader.poll({});
    if (sent == 0) return; // it was cut off
  }
}

// Sometimes a frame that could be, with what the input wants in it; otherwise the input's bytes as they are.
std::vector<std::byte> next_bytes(Input& input, ir::MemoryKey key) {
  if (input.below(4) == 0) {
    const auto raw = input.bytes(1 + input.below(64));
    return {raw.begin(), raw.end()};
  }
  Frame frame{.kind = static_cast<FrameKind>(input.below(10)),
              .flags = static_cast<std::uint8_t>(input.below(16)),
              .head_bytes = static_cast<std::uint16_t>(input.below(72)),
              .number = input.below(4),
              .bytes = input.below(2) == 0 ? input.below(256) : input.word(),
              .key = input.below(3) == 0 ? input.word() : static_cast<std::uint64_t>(key),
              .offset = input.word(),
              .operand = input.word()};
  std::vector<std::byte> bytes(sizeof frame + frame.head_bytes + std::min<std::uint64_t>(frame.bytes, 300),
                               std::byte{0x5a});
  std::memcpy(bytes.data(), &frame, sizeof frame);
  return bytes;
}

// Most of the time it succeeds.
void introduce(int socket, Input& input, Tcp& target, const Network& network) {
  auth::Secret secret;
  if (input.below(16) == 0) secret.bytes[0] = std::byte{1};
  if (input.below(16) == 0) return send_all(socket, input.bytes(1 + input.below(64)), target);
  auth::Introduction introduction(auth::Introduction::Role::calls, secret, translators::tcp::kService);
  auto state = auth::Introduction::State::goes_on;
  for (int i = 0; i < 100 && state == auth::Introduction::State::goes_on; ++i) {
    state = introduction.advance(socket);
    target.poll({});
  }
  const bool knows = secret.bytes[0] == std::byte{0};
  const bool is_in = state == auth::Introduction::State::proven;
  demand(is_in == knows || (knows && network.has_disturbed()), "who knows the secret is let in, and nobody else");
}

} // namespace

void tcp(Input& input) {
  Network network(input);
  auto made = Tcp::create({.rank = 0, .size = 3, .log = base::Log(LogLevel::silent, kNoPeer, {})});
  demand(made.has_value(), "it can listen");
  Tcp& target = **made;
  const auto exposed = target.allocate(128);
  demand(exposed.has_value(), "there is memory");
  std::array<std::byte, 64> beside{};
  const auto withdrawn = target.expose(beside);
  target.withdraw(*withdrawn);

  const auto place = translators::tcp::Place::unpack(target.address());
  auto socket = net::begin_connect(place->endpoint);
  demand(socket.has_value(), "it can be connected to");
  while (net::connect_error(socket->number()) == EINPROGRESS) target.poll({});
  introduce(socket->number(), input, target, network);
  const translators::tcp::Hello hello{
      .id = 2, .wanted = 1 + input.below(8) / 7, .attempt = 1, .lane = input.below(16) / 15};
  send_all(socket->number(), std::as_bytes(std::span(&hello, 1)), target);
  for (int i = 0; i < 8; ++i) target.poll({});
  if (input.below(2) == 0) {
    const translators::tcp::Place peer{.endpoint = {.host = net::loopback(), .port = 1}, .id = 2};
    (void)target.attach(ir::Peer{1}, peer.pack());
  }
  while (!input.empty()) {
    const ir::MemoryKey key = input.below(4) == 0 ? withdrawn->key : exposed->place.key;
    send_all(socket->number(), next_bytes(input, key), target);
    for (std::uint32_t polls = input.below(4); polls > 0; --polls) target.poll({});
  }
  for (int i = 0; i < 16; ++i) target.poll({});
  for (const std::byte byte : beside) demand(byte == std::byte{0}, "memory that is not exposed stays as it is");

  // Somebody else still gets through.
  network.behave();
  auto other = Tcp::create({.rank = 2, .size = 3, .log = base::Log(LogLevel::silent, kNoPeer, {})});
  demand(other.has_value() && (*other)->allocate(64).has_value(), "another can listen");
  const auto there = (*other)->attach(ir::Peer{0}, target.address());
  demand(there.has_value(), "another can connect");
  ir::Command put;
  put.operation = ir::Operation::put;
  put.flags = ir::Flags::signalled;
  put.remote = *there;
  put.head.fill(std::byte{7});
  put.head_bytes = 8;
  demand((*other)->submit({&put, 1}) == 1, "it is taken");
  std::array<ir::Event, 1> event;
  int rounds = 0;
  while ((*other)->poll(event) == 0 && ++rounds < 100'000) target.poll({});
  demand(event[0].status == ir::Status::ok && exposed->memory[0] == std::byte{7}, "its command is carried out");
}

} // namespace heddle::fuzz
