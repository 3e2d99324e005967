#include "launch/hosts.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace heddle::launch {
namespace {

std::string shown(const Result<std::vector<Host>>& hosts) {
  if (!hosts) return hosts.error().fact;
  std::string text;
  for (const Host& host : *hosts) text += host.name + "=" + std::to_string(host.processes) + " ";
  return text;
}

TEST(Hosts, AreReadFromAList) {
  EXPECT_EQ(shown(parse_hosts("a:2,b:3,c")), "a=2 b=3 c=1 ");
  EXPECT_EQ(shown(parse_hosts("user@node-1.example:4")), "user@node-1.example=4 ");
  EXPECT_EQ(shown(parse_hosts("[fd00::1]:4,[fd00::2],10.1.0.3:2")), "fd00::1=4 fd00::2=1 10.1.0.3=2 ");
}

TEST(Hosts, ThatAreNoneAreRefused) {
  for (const char* text :
       {"", "a,", "a:0", "a:x", "a:99999", ":2", "-oProxyCommand=x", "a b", "[fd00::1", "[fd00::1]x", "a;b"})
    EXPECT_FALSE(parse_hosts(text)) << text;
}

class HostFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    path_ = testing::TempDir() + "hosts_" + std::to_string(::getpid());
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;
};

TEST_F(HostFile, HasAHostToALine) {
  EXPECT_EQ(shown(read_host_file(write("# machines\na:2\n\n  b slots=3 # fast\nc\n"))), "a=2 b=3 c=1 ");
}

TEST_F(HostFile, NamesTheLineThatIsWrong) {
  const std::string path = write("a\nb cpus=3\n");
  EXPECT_EQ(shown(read_host_file(path)), path + ", line 2: 'b cpus=3' names no host");
  write("# none\n");
  EXPECT_EQ(shown(read_host_file(path)), path + " names no host");
  EXPECT_FALSE(read_host_file("/nonexistent/hosts"));
}

} // namespace
} // namespace heddle::launch
