// Who may talk to a running job: at every port of the launcher and of the processes, strangers get a closed connection, and the job
// goes on.
#include "tests/hosts/strangers.hpp"

#include <bit>
#include <random>

namespace heddle::tests {
namespace {

class Strangers : public AroundAJob {
 protected:
  void SetUp() override { begin(); }
  void TearDown() override {
    EXPECT_EQ(finish(), Lines{});
    WithMachines::TearDown();
  }
};

// For a firewall.
class Ports : public AroundAJob {};

TEST_F(Ports, OfAJobAreThoseThatItIsGiven) {
  const int first = 20'000 + static_cast<int>(std::random_device()() % 1000) * 8;
  begin("export HEDDLE_TCP_PORTS=" + std::to_string(first) + "-" + std::to_string(first + 15) + "; ");
  for (const std::uint16_t port : ports_) {
    EXPECT_GE(port, first);
    EXPECT_LE(port, first + 15);
  }
  EXPECT_EQ(finish(), Lines{});
}

TEST_F(Strangers, GetAClosedConnectionAndNoWord) {
  for (const std::uint16_t port : ports_)
    for (const std::string& text :
         {std::string("GET / HTTP/1.1\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n"),
          std::string(5000, '\xff'), std::string("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n"),
          std::string(4096, '\0')}) {
      const Answer answer = answer_to(port, std::as_bytes(std::span(text)));
      EXPECT_TRUE(answer.closed) << port;
      EXPECT_EQ(answer.bytes, 0U) << port;
    }
}

TEST_F(Strangers, MayLookWhichPortsAreOpen) {
  for (int i = 0; i < 50; ++i)
    for (const std::uint16_t port : ports_) EXPECT_TRUE(net::begin_connect({.host = net::loopback(), .port = port}));
}

TEST_F(Strangers, WithAnotherSecretAreNotLetIn) {
  for (const std::uint16_t port : ports_)
    for (const auth::Service service : kServices)
      EXPECT_TRUE(introduce(port, auth::Secret::draw(), service).empty()) << port;
}

TEST_F(Strangers, WhoRepeatWhatAFriendSaidAreNotLetIn) {
  for (const std::uint16_t port : ports_) {
    int services = 0;
    for (const auth::Service service : kServices) {
      const std::vector<std::byte> said = introduce(port, secret_, service);
      if (said.empty()) continue;
      ++services;
      const Answer answer = answer_to(port, said);
      EXPECT_TRUE(answer.closed) << port;
      EXPECT_EQ(answer.bytes, auth::kMessageBytes) << "a challenge, and no more";
    }
    EXPECT_EQ(services, 1) << port;
  }
}

TEST_F(Strangers, WhoSayNothingKeepNobodyOut) {
  std::vector<base::Descriptor> silent;
  for (int i = 0; i < 100; ++i)
    for (const std::uint16_t port : ports_) {
      auto socket = net::begin_connect({.host = net::loopback(), .port = port});
      ASSERT_TRUE(socket);
      [[maybe_unused]] const auto sent = ::send(socket->number(), "h", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      silent.push_back(std::move(*socket));
    }
  for (const std::uint16_t port : ports_) { // friends come in
    int services = 0;
    for (const auth::Service service : kServices) services += introduce(port, secret_, service).empty() ? 0 : 1;
    EXPECT_EQ(services, 1) << port;
  }
  for (const base::Descriptor& each : silent) { // and these are closed
    pollfd entry{.fd = each.number(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 20'000), 1);
    char byte = 0;
    EXPECT_LE(::recv(each.number(), &byte, 1, 0), 0);
  }
}

TEST_F(Strangers, WhoProveThemselvesAndSayHalfAHelloKeepNobodyOut) {
  std::vector<base::Descriptor> half;
  for (const std::uint16_t port : ports_) {
    const auth::Service service = service_at(port);
    if (service.purpose != auth::Purpose::peer) continue;
    for (int i = 0; i < 60; ++i) {
      ASSERT_FALSE(introduce(port, secret_, service, &half.emplace_back()).empty());
      ASSERT_EQ(::send(half.back().number(), "a hello that ends here", 20, MSG_NOSIGNAL), 20);
    }
    base::Descriptor whole;
    ASSERT_FALSE(introduce(port, secret_, service, &whole).empty());
    const translators::tcp::Hello hello{.id = 1, .wanted = 77, .attempt = 1'000'000};
    ASSERT_EQ(::send(whole.number(), &hello, sizeof hello, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof hello));
    translators::tcp::Welcome answer{};
    pollfd entry{.fd = whole.number(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
    ASSERT_EQ(::recv(whole.number(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    EXPECT_EQ(answer.verdict, translators::tcp::Verdict::another);
  }
  EXPECT_EQ(half.size(), 4U * 60U);
}

// --- of another version ---

// What who calls says first (docs/protocols/introduction.md).
std::array<std::byte, auth::kMessageBytes> greeting_of(auth::Purpose purpose, char order, std::uint16_t version) {
  std::array<std::byte, auth::kMessageBytes> greeting{};
  std::memcpy(greeting.data(), "heddle-1", 8);
  greeting[8] = static_cast<std::byte>(purpose);
  greeting[9] = static_cast<std::byte>(order);
  greeting[10] = static_cast<std::byte>(version >> 8U);
  greeting[11] = static_cast<std::byte>(version);
  return greeting;
}

TEST_F(Strangers, OfAnotherVersionOrByteOrderAreToldSoAndNoMore) {
  constexpr std::byte kOtherVersion{3};
  constexpr std::byte kOtherOrder{4};
  const char own = std::endian::native == std::endian::little ? 'l' : 'b';
  for (const std::uint16_t port : ports_) {
    const auth::Service service = service_at(port);
    const Answer version = answer_to(port, greeting_of(service.purpose, own, service.version + 1));
    EXPECT_TRUE(version.closed);
    EXPECT_EQ(version.bytes, auth::kMessageBytes);
    EXPECT_EQ(version.first[8], kOtherVersion);
    if (!service.own_order) continue; // the store and the agents speak one order everywhere
    const Answer order = answer_to(port, greeting_of(service.purpose, own == 'l' ? 'b' : 'l', service.version));
    EXPECT_TRUE(order.closed);
    EXPECT_EQ(order.bytes, auth::kMessageBytes);
    EXPECT_EQ(order.first[8], kOtherOrder);
  }
}

} // namespace
} // namespace heddle::tests
