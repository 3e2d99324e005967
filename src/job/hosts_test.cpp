#include "job/hosts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace heddle::job {
namespace {

TEST(Hosts, NumberTheProcessesOfEachMachineByRank) {
  const std::array<std::uint64_t, 5> machines{7, 9, 7, 9, 7};
  const std::array<std::string, 5> names{"a", "b", "a", "b", "a"};
  const Hosts hosts(machines, names);
  const std::array<std::uint32_t, 5> places{0, 0, 1, 1, 2};
  for (std::uint32_t rank = 0; rank < machines.size(); ++rank) {
    EXPECT_EQ(hosts.name(rank), rank % 2 == 0 ? "a" : "b");
    EXPECT_EQ(hosts.local_rank(rank), places[rank]);
  }
}

TEST(Hosts, MakeANameOfWhateverAProcessSays) {
  const std::array<std::uint64_t, 4> machines{1, 2, 3, 4};
  const std::array<std::string, 4> names{std::string(1000, 'y'), std::string(kLongestHostName, 'x'), "a\n\x1b[1mb \xff",
                                         ""};
  const Hosts hosts(machines, names);
  EXPECT_EQ(hosts.name(0), std::string(kLongestHostName, 'y'));
  EXPECT_EQ(hosts.name(1), std::string(kLongestHostName, 'x'));
  EXPECT_EQ(hosts.name(2), "a??[1mb??");
  EXPECT_EQ(hosts.name(3), "unknown");
}

TEST(Hosts, ThisOneIsCalledAsTheSystemSays) {
  std::array<char, 256> text{};
  ASSERT_EQ(::gethostname(text.data(), text.size()), 0);
  const std::array<std::uint64_t, 1> machine{1};
  const std::array<std::string, 1> name{own_host_name("")};
  EXPECT_EQ(Hosts(machine, name).name(0), std::string(text.data()).substr(0, kLongestHostName));
}

} // namespace
} // namespace heddle::job
