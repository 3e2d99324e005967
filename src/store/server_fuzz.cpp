// Clients that write any bytes to a store's socket, in pieces, and hang up when they like, by a unix socket or by TCP, where they may be
// strangers, too: the server lives, and still serves one that behaves.
#include "store/server.hpp"

#include "auth/introduction.hpp"
#include "base/fuzz_network.hpp"
#include "store/address.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace heddle::fuzz {
namespace {

const auth::Secret kSecret{};

base::Descriptor connect_by_unix(const store::Server& server) {
  base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address = store::parse_address(server.address());
  demand(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address->address), address->length) == 0,
         "a client connects");
  return socket;
}

// As far as it comes: connections may be reset.
base::Descriptor connect_by_tcp(store::Server& server) {
  const auto place = net::resolve(std::string_view(server.address()).substr(store::kByTcp.size()));
  demand(place.has_value(), "the store's address is one");
  auto socket = net::begin_connect(*place);
  return socket ? std::move(*socket) : base::Descriptor();
}

void introduce(store::Server& server, const base::Descriptor& socket) {
  if (!socket.open()) return;
  auth::Introduction introduction(auth::Introduction::Role::calls, kSecret, store::kService);
  for (int i = 0; i < 100 && introduction.advance(socket.number()) == auth::Introduction::State::goes_on; ++i)
    server.serve();
}

void write_to(const base::Descriptor& socket, std::span<const std::byte> bytes) {
  if (!bytes.empty() && socket.open())
    static_cast<void>(::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

} // namespace

void server(Input& input) {
  Network network(input);
  const bool by_tcp = input.below(2) == 1;
  store::Server::Config config{.size = 3, .job = store::new_job_id(), .log = base::Log(LogLevel::silent, kNoPeer, {})};
  if (by_tcp) config.by_tcp = {.host = net::loopback(), .secret = kSecret};
  config.ends_with_connection = input.below(2) == 1;
  auto server = store::Server::start(std::move(config));
  demand(server.has_value(), "a server starts");
  const auto connect = [&](bool proves_itself) {
    if (!by_tcp) return connect_by_unix(**server);
    base::Descriptor socket = connect_by_tcp(**server);
    if (proves_itself) introduce(**server, socket);
    return socket;
  };
  std::array<base::Descriptor, 3> clients;
  for (auto& socket : clients) socket = connect(true);
  while (!input.empty()) {
    const auto what = input.take<std::uint8_t>();
    base::Descriptor& socket = clients[what % clients.size()];
    if (what < 16) {
      socket = connect(what >= 3);
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
  const base::Descriptor good = connect(true);
  (*server)->serve();
  write_to(good, store::FrameWriter(store::Kind::put, 1).text("key").text("value").finish());
  // Of very many that hung up, one serve tells of 64.
  constexpr int kServes = 16;
  std::array<std::byte, 64> answer;
  ssize_t got = -1;
  for (int i = 0; i < kServes && got < 0; ++i) {
    (*server)->serve();
    got = ::recv(good.number(), answer.data(), answer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) got = 0;
  }
  demand(got >= 0, "a new client is answered or closed");
}

} // namespace heddle::fuzz
