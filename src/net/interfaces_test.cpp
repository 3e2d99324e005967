#include "net/interfaces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::net {
namespace {

Interface interface_at(const char* name, const char* host) {
  return {.name = name, .host = *parse_host(host), .prefix = 24};
}

const std::vector<Interface> kSome{interface_at("lo", "127.0.0.1"), interface_at("eth0", "10.1.0.3"),
                                   interface_at("eth1", "10.2.0.3"), interface_at("eth0", "fd00::3")};

std::vector<std::string> hosts_of(std::string_view wanted) {
  std::vector<std::string> hosts;
  const auto chosen = choose(wanted, kSome);
  if (!chosen) return {chosen.error().fact};
  for (const Interface& each : *chosen) hosts.push_back(host_text(each.host));
  return hosts;
}

using Hosts = std::vector<std::string>;

TEST(Interfaces, AreChosenByNameAddressOrNetwork) {
  EXPECT_EQ(hosts_of("eth0"), (Hosts{"10.1.0.3"}));
  EXPECT_EQ(hosts_of("eth1,eth0"), (Hosts{"10.2.0.3", "10.1.0.3"}));
  EXPECT_EQ(hosts_of("10.2.0.0/16"), (Hosts{"10.2.0.3"}));
  EXPECT_EQ(hosts_of("10.0.0.0/8"), (Hosts{"10.1.0.3", "10.2.0.3"}));
  EXPECT_EQ(hosts_of("fd00::/8"), (Hosts{"fd00::3"}));
  EXPECT_EQ(hosts_of("10.1.0.3"), (Hosts{"10.1.0.3"}));
  EXPECT_EQ(hosts_of("eth0,10.1.0.3"), (Hosts{"10.1.0.3"})) << "each counts once";
}

TEST(Interfaces, ThatAreNotThereAreRefused) {
  for (const char* wanted : {"eth7", "10.3.0.0/16", "10.1.0.0/33", "", "eth0,", "10.1.0.4"}) {
    const auto chosen = choose(wanted, kSome);
    ASSERT_FALSE(chosen) << wanted;
    EXPECT_EQ(chosen.error().code, ErrorCode::bad_option);
    EXPECT_NE(chosen.error().fact.find("eth1 10.2.0.3"), std::string::npos) << "it says which there are";
  }
}

TEST(Interfaces, OfThisMachineHaveLoopback) {
  const auto all = interfaces();
  EXPECT_TRUE(
      std::ranges::any_of(all, [](const Interface& each) { return Endpoint{.host = each.host}.is_loopback(); }));
  EXPECT_EQ(source_towards({.host = loopback()}).transform(host_text), "127.0.0.1");
}

TEST(Endpoint, IsReadAsItIsWritten) {
  for (const char* text : {"10.1.0.3:4000", "[fd00::1]:65535"}) {
    const auto read = resolve(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
  EXPECT_EQ(resolve("localhost:80")->port, 80);
}

TEST(Endpoint, RefusesWhatIsNone) {
  for (const char* text :
       {"", ":", "host", "host:", ":80", "host:0", "host:65536", "host:x", "fd00::1:80", "[fd00::1]"})
    EXPECT_FALSE(resolve(text)) << text;
}

} // namespace
} // namespace heddle::net
