#include "base/free_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::base {
namespace {

class FreeMemory : public testing::Test {
 protected:
  FreeMemory() {
    std::string name = testing::TempDir() + "heddle-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~FreeMemory() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(FreeMemory, IsWhatTheMachineLeaves) {
  write("/proc/meminfo", "MemTotal:       100 kB\nMemFree:  1 kB\nMemAvailable:   40 kB\nBuffers: 2 kB\n");
  EXPECT_EQ(free_memory(root_), 40U * 1024);
}

TEST_F(FreeMemory, IsBoundedByEveryControlGroupAround) {
  write("/proc/meminfo", "MemAvailable:   40 kB\n");
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  write("/sys/fs/cgroup/job/step/memory.current", "9000\n");
  EXPECT_EQ(free_memory(root_), 40U * 1024);
  write("/sys/fs/cgroup/job/memory.max", "20000\n");
  write("/sys/fs/cgroup/job/memory.current", "9000\n");
  EXPECT_EQ(free_memory(root_), 11000U);
  write("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 4000\n");
  EXPECT_EQ(free_memory(root_), 15000U);
  write("/sys/fs/cgroup/job/memory.current", "90000\n");
  EXPECT_EQ(free_memory(root_), 0U);
}

TEST_F(FreeMemory, IsBoundedByGroupsOfTheFirstVersionToo) {
  write("/proc/meminfo", "MemAvailable:   40 kB\n");
  write("/proc/self/cgroup", "5:devices:/\n4:memory:/of/the/host\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "20000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4000\n");
  EXPECT_EQ(free_memory(root_), 16000U);
}

TEST(FreeMemoryHere, IsSomethingButNotEverything) {
  EXPECT_TRUE(memory_suffices(1 << 20));
  EXPECT_FALSE(memory_suffices(std::uint64_t{1} << 60U));
}

} // namespace
} // namespace heddle::base
