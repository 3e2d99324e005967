#include "reproduce_parameters.hpp"

#include "sim/description.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace heddle::tool {
namespace {

std::string refusal(std::vector<std::string> changes) {
  const auto parameters = Parameters::with(changes);
  return parameters ? "taken" : parameters.error().fact;
}

// A new parameter of a fabric without a word on where its value comes from fails here.
TEST(Parameters, AllSayWhereTheyComeFrom) {
  std::set<std::string> listed;
  for (const Parameter& each : Parameters{}.list()) {
    EXPECT_TRUE(listed.insert(each.name).second) << each.name << " is listed twice";
    EXPECT_FALSE(each.value.empty()) << each.name;
    EXPECT_FALSE(each.source.empty()) << each.name;
  }
  std::size_t count = 4 + 2 + 3; // of the closed model, the scale of packets, and options of the library
  for (const std::string kind : {"infiniband", "tofu", "rhinet"})
    for (const sim::FabricParameter& each : sim::default_parameters(kind)) {
      EXPECT_TRUE(listed.contains(kind + "." + std::string(each.name))) << kind << "." << each.name;
      ++count;
    }
  EXPECT_EQ(listed.size(), count) << "a source is listed for what is no parameter";
}

TEST(Parameters, ChangeWhatTheModelsAreTold) {
  const auto changed = Parameters::with(
      std::vector<std::string>{"tofu.hop=50ns", "fat-tree.link=900", "rhinet.read_latency=9", "tofu.mtu=1024"});
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_EQ(changed->fabric("tofu:4x1x1"), "tofu:4x1x1,hop=50ns,mtu=1024");
  EXPECT_EQ(changed->fabric("infiniband:2-ary-2-tree"), "infiniband:2-ary-2-tree");
  EXPECT_EQ(changed->machine().link_mb_s, 900);
  EXPECT_EQ(changed->machine().processes, 8);
  EXPECT_EQ(changed->packets().message, 64 << 10);
  EXPECT_EQ(changed->with("packets.message", "1024")->packets().message, 1024);
  EXPECT_EQ(changed->rhinet().read_latency, 9U);
  const auto all = changed->list();
  const auto hop = std::ranges::find(all, "tofu.hop", &Parameter::name);
  ASSERT_NE(hop, all.end());
  EXPECT_EQ(hop->value, "50ns");
  EXPECT_EQ(changed->with("tofu.hop", "25ns")->fabric("tofu:1x1x1"), "tofu:1x1x1,hop=25ns,mtu=1024");
}

// What a text sets itself stays as it is, wherever the change comes from.
TEST(Parameters, LeaveWhatIsSetAlready) {
  const auto changed = Parameters::with(std::vector<std::string>{"tofu.hop=50ns", "library.chunk_bytes=64KiB"});
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_EQ(changed->fabric("tofu:1x1x1,hop=70ns"), "tofu:1x1x1,hop=50ns,hop=70ns") << "of two the later counts";
  EXPECT_EQ(changed->options({}).chunk_bytes, 64U << 10U);
  EXPECT_EQ(changed->options({.chunk_bytes = 1U << 20U}).chunk_bytes, 1U << 20U);
  EXPECT_FALSE(changed->options({}).eager_limit);
}

// As of the default, a job with small rings takes what they have room for; refused, nothing would be known of this parameter.
TEST(Parameters, TakeOfTheEagerLimitWhatRingsHaveRoomFor) {
  const auto changed = Parameters::with(std::vector<std::string>{"library.eager_limit=32KiB"});
  ASSERT_TRUE(changed) << changed.error().message();
  EXPECT_EQ(changed->options({}).eager_limit, 32U << 10U);
  EXPECT_EQ(changed->options({.ring_bytes = 16U << 10U}).eager_limit, 4U << 10U);
}

TEST(Parameters, RefuseInOneLine) {
  EXPECT_EQ(refusal({"tofu.hopp=5ns"}), "no parameter is called 'tofu.hopp', did you mean tofu.hop?");
  EXPECT_EQ(refusal({"tofu.hop"}), "'tofu.hop' has no value: expected NAME=VALUE");
  EXPECT_EQ(refusal({"tofu.hop=5"}), "parameter hop: '5' is not a time such as 80ns or 1.5us");
  EXPECT_EQ(refusal({"fat-tree.link=-3"}), "fat-tree.link cannot be '-3': expected a number above 0");
  EXPECT_EQ(refusal({"packets.processes=2.5"}), "packets.processes cannot be '2.5': expected a whole number");
  EXPECT_EQ(refusal({"library.chunk_bytes=lots"}),
            "library.chunk_bytes: 'lots' is not a size: it does not begin with a digit");
  EXPECT_EQ(refusal({"tofu.buffer=8"}), "a buffer of 8 bytes holds no packet of 2088");
}

} // namespace
} // namespace heddle::tool
