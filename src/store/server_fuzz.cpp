// Clients that write any bytes to a store's socket, in pieces, and hang up when they like: the server lives, and still serves one
// that behaves.
#include "store/server.hpp"

#include "base/fuzz_network.hpp"
#include "store/address.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace heddle::fuzz {
namespace {

base::Descriptor connect_to(const store::Server& server) {
  base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address = store::parse_address(server.address());
  demand(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address->address), address->length) == 0,
         "a client connects");
  return socket;
}

void write_to(const base::Descriptor& socket, std::span<const std::byte> bytes) {
  if (!bytes.empty()) static_cast<void>(::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

} // namespace

void server(Input& input) {
  Network network(input);
  auto server =
      store::Server::start({.size = 3, .job = store::new_job_id(), .log = base::Log(LogLevel::silent, kNoPeer, {})});
  demand(server.has_value(), "a server starts");
  std::array<base::Descriptor, 3> clients;
  for (auto& socket : clients) socket = connect_to(**server);
  while (!input.empty()) {
    const auto what = input.take<std::uint8_t>();
    base::Descriptor& socket = clients[what % clients.size()];
    if (what < 16) {
      socket = connect_to(**server);
    } else if (what < 32) {
      (*server)->declare_failed(what % 3U);
    } else {
      write_to(socket, input.bytes(what & 63U));
    }
    (*server)->serve();
  }
  network.behave();
  for (auto& socket : clients) socket.reset();
  (*server)->serve();
  const base::Descriptor good = connect_to(**server);
  (*server)->serve();
  write_to(good, store::FrameWriter(store::Kind::put, 1).text("key").text("value").finish());
  // Of very many that hung up, one serve tells of 64.
  constexpr int kServes = 16;
  std::array<std::byte, 64> answer;
  ssize_t got = -1;
  for (int i = 0; i < kServes && got < 0; ++i) {
    (*server)->serve();
    got = ::recv(good.number(), answer.data(), answer.size(), 0);
    if (got < 0 && errno == ECONNRESET) got = 0;
  }
  demand(got >= 0, "a new client is answered or closed");
}

} // namespace heddle::fuzz
