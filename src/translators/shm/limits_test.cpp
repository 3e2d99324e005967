// What shared memory says where the system's limits are too small. Each in a child, since limits cannot be taken back.
#include "translators/contract/network.hpp"
#include "translators/forked_test.hpp"
#include "translators/shm/shm.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>

namespace heddle::translators {
namespace {

struct Complaint {
  ErrorCode code{};
  int system_code = 0;
  std::array<char, 200> fact{};
  std::array<char, 200> remedy{};
};

Complaint complaint_of(const std::optional<Error>& error) {
  Complaint complaint;
  if (!error) return complaint;
  complaint.code = error->code;
  complaint.system_code = error->system_code;
  std::strncpy(complaint.fact.data(), error->fact.c_str(), complaint.fact.size() - 1);
  std::strncpy(complaint.remedy.data(), error->remedy.c_str(), complaint.remedy.size() - 1);
  return complaint;
}

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit wanted{.rlim_cur = value, .rlim_max = value};
  if (::setrlimit(resource, &wanted) != 0) std::abort();
}

// No descriptor can be opened while this lives. Taken back, because the sanitizers need one to look at a destroyed object.
class NoDescriptors {
 public:
  NoDescriptors() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) std::abort();
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) std::abort();
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// At most 16 MiB can be mapped while this lives.
class LittleMemory {
 public:
  LittleMemory() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    if (::getrlimit(RLIMIT_AS, &before_) != 0) std::abort();
    const rlimit little{.rlim_cur = pages * 4096 + (16U << 20U), .rlim_max = before_.rlim_max};
    if (::setrlimit(RLIMIT_AS, &little) != 0) std::abort();
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

std::optional<Error> error_of_creation(std::uint64_t ring_memory) {
  auto made = Shm::create({.size = 2, .ring_memory = ring_memory});
  if (made) return std::nullopt;
  return made.error();
}

Complaint in_child(const std::function<std::optional<Error>()>& body) {
  Child child([&](const Line& line) {
    line.say(complaint_of(body()));
    return 0;
  });
  const auto complaint = child.line().hear<Complaint>();
  EXPECT_EQ(child.exit_code(), 0);
  return complaint;
}

TEST(ShmLimits, NoDescriptorForTheSegmentIsSaidWithTheRemedy) {
  const Complaint complaint = in_child([] {
    const NoDescriptors none;
    return error_of_creation(1U << 20U);
  });
  EXPECT_EQ(complaint.code, ErrorCode::out_of_descriptors);
  EXPECT_EQ(complaint.system_code, EMFILE);
  EXPECT_STREQ(complaint.remedy.data(), "raise the limit on open files (ulimit -n)");
}

TEST(ShmLimits, NoDescriptorForAPeersSegmentIsSaidWithTheRemedy) {
  const Complaint complaint = in_child([]() -> std::optional<Error> {
    auto made = Shm::create({.size = 2, .ring_memory = 1U << 20U});
    const ir::Address address = (*made)->address();
    const NoDescriptors none;
    const auto place = (*made)->attach(ir::Peer{1}, address);
    if (place) return std::nullopt;
    return place.error();
  });
  EXPECT_EQ(complaint.code, ErrorCode::out_of_descriptors);
  EXPECT_STREQ(complaint.remedy.data(), "raise the limit on open files (ulimit -n)");
}

TEST(ShmLimits, ATooSmallAddressSpaceIsSaidWithTheRemedy) {
  const Complaint complaint = in_child([] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit(RLIMIT_AS, pages * 4096 + (64U << 20U));
    return error_of_creation(std::uint64_t{1} << 30U);
  });
  EXPECT_EQ(complaint.code, ErrorCode::out_of_memory);
  EXPECT_EQ(complaint.system_code, ENOMEM);
  EXPECT_NE(std::strstr(complaint.fact.data(), "bytes of shared memory"), nullptr);
  EXPECT_NE(std::strstr(complaint.remedy.data(), "ring_memory"), nullptr);
  EXPECT_NE(std::strstr(complaint.remedy.data(), "ulimit -v"), nullptr);
}

// A put to an area that this process has not mapped yet, under the limit.
template <typename Limit>
ir::Event put_under_limit() {
  Child child([](const Line& line) {
    auto made = Shm::create({.size = 2, .ring_memory = 1U << 20U});
    contract::Side side(**made);
    const auto area = ir::allocate_area(side.translator(), 64U << 20U);
    if (!area || !side.translator().attach(ir::Peer{1}, side.translator().address())) return 2;
    {
      const Limit under;
      line.say(side.run(contract::put_word(1, area->place, 1)));
    }
    return side.status_of(contract::put_word(1, area->place, 1)) == ir::Status::ok ? 0 : 3;
  });
  const auto event = child.line().hear<ir::Event>();
  EXPECT_EQ(child.exit_code(), 0) << "it can be reached afterwards";
  return event;
}

TEST(ShmLimits, NoDescriptorForAPeersAreaIsThisProcesssLack) {
  const ir::Event event = put_under_limit<NoDescriptors>();
  EXPECT_EQ(event.status, ir::Status::exhausted);
  EXPECT_EQ(event.vendor_code, EMFILE);
}

TEST(ShmLimits, NoMemoryForAPeersAreaIsThisProcesssLack) {
  const ir::Event event = put_under_limit<LittleMemory>();
  EXPECT_EQ(event.status, ir::Status::exhausted);
  EXPECT_EQ(event.vendor_code, ENOMEM);
}

TEST(ShmLimits, ATooSmallFileSizeIsSaidWithTheRemedyAndDoesNotEndTheProcess) {
  const Complaint complaint = in_child([] {
    limit(RLIMIT_FSIZE, 4096);
    return error_of_creation(1U << 20U);
  });
  EXPECT_EQ(complaint.code, ErrorCode::out_of_memory);
  EXPECT_EQ(complaint.system_code, EFBIG);
  EXPECT_NE(std::strstr(complaint.remedy.data(), "-f"), nullptr);
}

TEST(ShmLimits, AFileSizeThatIsJustEnoughServes) {
  const Complaint complaint = in_child([]() -> std::optional<Error> {
    limit(RLIMIT_FSIZE, 4U << 20U);
    auto made = Shm::create({.size = 2, .ring_memory = 1U << 20U});
    if (!made) return made.error();
    const auto memory = (*made)->allocate(1U << 20U);
    if (!memory) return memory.error();
    return std::nullopt;
  });
  EXPECT_EQ(complaint.code, ErrorCode::ok) << complaint.fact.data();
}

// As a program that forbids itself system calls it does not know of, after it has begun.
bool forbid_membarrier() {
  std::array<sock_filter, 4> steps{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{.len = steps.size(), .filter = steps.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A writer may have missed that it sleeps, so that nobody wakes it.
TEST(ShmLimits, ASleepThatNoBarrierOrdersIsShort) {
  constexpr int kSkipped = 77;
  Child child([](const Line&) {
    auto made = Shm::create({.size = 2, .ring_memory = 1U << 20U});
    if (!made || !Kernel::take_part_in_barriers() || !forbid_membarrier()) return kSkipped;
    const auto before = std::chrono::steady_clock::now();
    (*made)->announce_sleep(ir::Sleeping::By::sleep);
    (*made)->sleep(std::chrono::seconds(20));
    const auto area = (*made)->allocate_area(64);
    if (!area) return 1;
    if (!(*made)->close_area(area->place)) return 3; // ends, too
    return std::chrono::steady_clock::now() - before < std::chrono::seconds(10) ? 0 : 2;
  });
  const int outcome = child.exit_code();
  if (outcome == kSkipped) GTEST_SKIP() << "the kernel has no barrier for all processes, or no filter of system calls";
  EXPECT_EQ(outcome, 0);
}

} // namespace
} // namespace heddle::translators
