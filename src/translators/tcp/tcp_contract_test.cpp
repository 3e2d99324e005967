#include "net/sockets.hpp"
#include "translators/contract/contract.hpp"
#include "translators/contract/open_world.hpp"
#include "translators/contract/polls_both.hpp"
#include "translators/decorator.hpp"
#include "translators/tcp/tcp.hpp"

#include <unistd.h>

#include <utility>

namespace heddle::translators::contract {
namespace {

tcp::Listening listening_at(std::initializer_list<const char*> hosts) {
  tcp::Listening listening;
  listening.at.clear();
  for (const char* host : hosts) listening.at.push_back({.name = "lo", .host = *net::parse_host(host), .prefix = 8});
  return listening;
}

std::unique_ptr<Tcp> tcp_of(std::uint32_t rank, const tcp::Listening& listening = {}) {
  auto made = Tcp::create({.rank = rank, .size = 4, .listening = listening});
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}

class TcpNetwork : public Network {
 public:
  explicit TcpNetwork(const tcp::Listening& listening = {}) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      networks_.push_back(tcp_of(rank, listening));
      sides_.push_back(std::make_unique<PollsBoth>(*networks_.back()));
    }
    sides_[0]->polls_too(*networks_[1]);
    sides_[1]->polls_too(*networks_[0]);
  }
  ir::Translator& at(std::uint32_t rank) override { return *sides_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{3}, .address = {}}; }
  Contact gone() override { return {.peer = ir::Peer{2}, .address = tcp_of(2)->address()}; }
  [[nodiscard]] bool threads() const override { return false; }

 private:
  std::vector<std::unique_ptr<Tcp>> networks_;
  std::vector<std::unique_ptr<PollsBoth>> sides_;
};

HEDDLE_TRANSLATOR_CONTRACT(Tcp, TcpNetwork);

// Three connections for each pair.
class TcpByLanes final : public TcpNetwork {
 public:
  TcpByLanes() : TcpNetwork(listening_at({"127.0.0.1", "127.0.0.2", "127.0.0.3"})) {}
};

HEDDLE_TRANSLATOR_CONTRACT(TcpLanes, TcpByLanes);

// By IPv6, where the system has it.
class TcpByIPv6 final : public TcpNetwork {
 public:
  TcpByIPv6() : TcpNetwork(listening_at({"::1"})) {
    EXPECT_TRUE(tcp::Place::unpack(at(0).address())->endpoint.text().starts_with("[::1]:"));
  }
};

std::vector<NetworkType> by_ipv6() {
  net::Endpoint place{.host = in6addr_loopback};
  if (!net::listen_at(place)) return {};
  return {type_of<TcpByIPv6>("TcpIPv6")};
}

HEDDLE_TRANSLATOR_CONTRACT_OF(TcpIPv6, ::testing::ValuesIn(by_ipv6()));

// One that is opened is driven by all others of its process.
class OpenTcp final : public Decorator {
 public:
  explicit OpenTcp(std::unique_ptr<Tcp> own) : Decorator(*own), own_(std::move(own)) {
    if (std::exchange(process(), ::getpid()) != ::getpid())
      all().clear(); // what a child has of its parent's is the parent's
    all().push_back(own_.get());
  }
  ~OpenTcp() override { std::erase(all(), own_.get()); }
  std::size_t poll(std::span<ir::Event> events) override {
    for (Tcp* each : all())
      if (each != own_.get()) each->poll({});
    return Decorator::poll(events);
  }

 private:
  static pid_t& process() {
    static pid_t which = 0;
    return which;
  }
  static std::vector<Tcp*>& all() {
    static std::vector<Tcp*> opened;
    return opened;
  }
  std::unique_ptr<Tcp> own_;
};

std::unique_ptr<ir::Translator> open_tcp(std::uint64_t uid) {
  auto made = Tcp::create({.uid = uid});
  EXPECT_TRUE(made) << made.error().message();
  return std::make_unique<OpenTcp>(std::move(*made));
}

HEDDLE_OPEN_WORLD_CONTRACT(Tcp, open_tcp);

} // namespace
} // namespace heddle::translators::contract
