// Shared memory between two real processes: what cannot be tested with two translators of one.
#include "translators/contract/network.hpp"
#include "translators/forked_test.hpp"
#include "translators/shm/shm.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heddle::translators {
namespace {

using contract::fetch_and_add;
using contract::get;
using contract::load_word;
using contract::pattern;
using contract::put;
using contract::put_word;
using contract::Side;

constexpr std::size_t kPrivateBytes = 3'000'000;
constexpr std::uint64_t kAdditions = 20'000;

// What a peer tells of itself.
struct Introduction {
  ir::Address address{};
  ir::RemotePlace own;  // its private memory
  ir::RemotePlace area; // of 64 bytes
};

class Member {
 public:
  explicit Member(CrossMemory wish)
      : shm_(std::move(*Shm::create({.size = 2, .ring_memory = 1U << 20U, .cross_memory = wish}))),
        side(*shm_),
        memory(shm_->allocate(4096)->memory),
        area(shm_->allocate_area(64)->place) {}

  [[nodiscard]] Introduction introduction() {
    const auto place = shm_->expose(own);
    return {.address = shm_->address(), .own = place.value_or(ir::RemotePlace{.key = ir::MemoryKey{2}}), .area = area};
  }

 private:
  std::unique_ptr<Shm> shm_;

 public:
  Side side;
  std::span<std::byte> memory;
  ir::RemotePlace area;
  std::vector<std::byte> own = pattern(kPrivateBytes, 1);
};

// The child's part: rank 1. Introduces itself, adds to the parent's counter, writes into its private memory, waits for the end.
int child(const Line& line, CrossMemory wish) {
  Member self(wish);
  line.say(self.introduction());
  const auto parent = line.hear<Introduction>();
  const auto there = self.side.translator().attach(ir::Peer{0}, parent.address);
  if (!there) return 2;
  for (std::uint64_t i = 0; i < kAdditions; ++i) self.side.run(fetch_and_add(0, there->at(64), 1));
  std::vector<std::byte> gift = pattern(1'500'000, 77);
  const ir::Status status = self.side.status_of(put(0, parent.own.at(1000), gift));
  line.say(status);
  static_cast<void>(line.hear<char>());
  return self.own == pattern(kPrivateBytes, 1) && load_word(self.memory.data()) == 0x1234 ? 0 : 3;
}

// Files of this process that are memory of a Heddle segment, open or mapped.
std::size_t segments_in_use() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored).string().find("memfd:heddle") != std::string::npos)
      ++count;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:heddle") != std::string::npos) ++count;
  return count;
}

class ShmProcesses : public ::testing::TestWithParam<CrossMemory> {
 protected:
  // Forked before this process has any segment, so that nothing is inherited.
  Child peer{[](const Line& line) { return child(line, GetParam()); }};
  Member self{GetParam()};
  Introduction other = peer.line().hear<Introduction>();
};

TEST_P(ShmProcesses, ReachEachOthersMemoryAndCountTogether) {
  const bool crosses = GetParam() != CrossMemory::off;
  const auto there = self.side.translator().attach(ir::Peer{1}, other.address);
  ASSERT_TRUE(there) << there.error().message();
  ASSERT_TRUE(self.side.translator().attach(ir::Peer{0}, self.side.translator().address()));
  peer.line().say(self.introduction());

  const auto own_place = self.side.translator().attach(ir::Peer{0}, self.side.translator().address());
  for (std::uint64_t i = 0; i < kAdditions; ++i) self.side.run(fetch_and_add(0, own_place->at(64), 1));
  EXPECT_EQ(self.side.status_of(put_word(1, *there, 0x1234)), ir::Status::ok);

  std::vector<std::byte> copy(kPrivateBytes);
  EXPECT_EQ(self.side.status_of(get(1, other.own, copy)), crosses ? ir::Status::ok : ir::Status::refused);
  if (crosses) {
    EXPECT_EQ(copy, pattern(kPrivateBytes, 1));
  }

  EXPECT_EQ(peer.line().hear<ir::Status>(), crosses ? ir::Status::ok : ir::Status::refused);
  std::vector<std::byte> expected = pattern(kPrivateBytes, 1);
  if (crosses) std::ranges::copy(pattern(1'500'000, 77), expected.begin() + 1000);
  EXPECT_EQ(self.own, expected);
  EXPECT_EQ(load_word(self.memory.data() + 64), 2 * kAdditions);
  peer.line().say('q');
  EXPECT_EQ(peer.exit_code(), 0);
}

TEST_P(ShmProcesses, MemoryThatThePeerDoesNotHaveIsRefusedWithTheKernelsReason) {
  if (GetParam() == CrossMemory::off) GTEST_SKIP() << "no private memory is reached";
  ASSERT_TRUE(self.side.translator().attach(ir::Peer{1}, other.address));
  std::vector<std::byte> copy(4096);
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{64}, ~std::uint64_t{0} - 4096}) {
    const ir::Event event = self.side.run(get(1, {.key = other.own.key, .offset = address}, copy));
    EXPECT_EQ(event.status, ir::Status::refused);
    EXPECT_EQ(event.vendor_code, EFAULT);
  }
}

TEST_P(ShmProcesses, AKilledPeerIsLostAndLeavesNothing) {
  ASSERT_TRUE(self.side.translator().attach(ir::Peer{1}, other.address));
  const std::size_t with_peer = segments_in_use();
  peer.kill();
  std::vector<std::byte> copy(1 << 20);
  if (GetParam() != CrossMemory::off) {
    const ir::Event event = self.side.run(get(1, other.own, copy));
    EXPECT_EQ(event.status, ir::Status::peer_lost);
    EXPECT_EQ(event.vendor_code, ESRCH);
    EXPECT_EQ(self.side.status_of(put(1, other.own, copy)), ir::Status::peer_lost);
  }
  EXPECT_EQ(self.side.status_of(put_word(1, other.area, 1)), ir::Status::peer_lost) << "never mapped";
  self.side.translator().detach(ir::Peer{1});
  EXPECT_EQ(segments_in_use(), with_peer - 1) << "its mapping is given back";
  EXPECT_EQ(self.side.status_of(get(1, other.own, copy)), ir::Status::peer_lost);
  const auto again = self.side.translator().attach(ir::Peer{1}, other.address);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::unreachable);
  EXPECT_EQ(again.error().peer, 1);
}

// A peer that leaves takes back what shows that it can be read: then nobody is to be blamed for refusing.
TEST(ShmLeaving, IsNoRefusalOfTheKernels) {
  const auto peer = std::move(*Shm::create({.rank = 1, .size = 2, .ring_memory = 1U << 20U}));
  if (!peer->capabilities().reads_any_memory) GTEST_SKIP() << "the kernel refuses it";
  const ir::Address address = peer->address();
  SegmentName name;
  std::memcpy(&name, address.data(), sizeof name);
  const auto segment = segments::map_segment(name);
  segment->header().sample.value ^= 1U; // another number stands there by now
  for (const bool leaves : {false, true}) {
    std::string said;
    const auto self = std::move(*Shm::create(
        {.size = 2, .ring_memory = 1U << 20U, .log = base::Log(LogLevel::warning, kNoPeer, [&](std::string_view line) {
                                                said += line;
                                              })}));
    if (leaves) segments::close_gate(segment->header().gate);
    ASSERT_TRUE(self->attach(ir::Peer{1}, address));
    EXPECT_EQ(said.empty(), leaves) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(CrossMemory, ShmProcesses, ::testing::Values(CrossMemory::automatic, CrossMemory::off),
                         [](const auto& tested) { return tested.param == CrossMemory::off ? "Off" : "Automatic"; });

} // namespace
} // namespace heddle::translators
