// The emulated library against the ways in which public programs use the real one, and against what it forbids. Two queues of one process
// stand for two processes.
#include "translators/utofu/api.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr unsigned long kStrong = UTOFU_ONESIDED_FLAG_STRONG_ORDER;
constexpr unsigned long kSent = UTOFU_ONESIDED_FLAG_TCQ_NOTICE;
constexpr unsigned long kTold = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
constexpr unsigned long kTells = UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;

struct Side {
  alignas(65536) std::array<std::byte, 65536> memory{};
  utofu_vcq_hdl_t vcq = 0;
  utofu_vcq_id_t id = 0;
  utofu_stadd_t stadd = 0;

  explicit Side(utofu_tni_id_t tni = 0, unsigned long flags = 0) {
    EXPECT_EQ(utofu_create_vcq(tni, flags, &vcq), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_query_vcq_id(vcq, &id), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_reg_mem(vcq, memory.data(), memory.size(), 0, &stadd), UTOFU_SUCCESS);
  }
  ~Side() {
    utofu_dereg_mem(vcq, stadd, 0);
    utofu_free_vcq(vcq);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] std::uint64_t& word(std::size_t index) {
    return *reinterpret_cast<std::uint64_t*>(memory.data() + 8 * index);
  }
  utofu_mrq_notice notice() const {
    utofu_mrq_notice found{};
    int code = 0;
    while ((code = utofu_poll_mrq(vcq, 0, &found)) == UTOFU_ERR_NOT_FOUND) {
    }
    EXPECT_EQ(code, UTOFU_SUCCESS);
    return found;
  }
  [[nodiscard]] int sent(void** cbdata) const {
    int code = 0;
    while ((code = utofu_poll_tcq(vcq, 0, cbdata)) == UTOFU_ERR_NOT_FOUND) {
    }
    return code;
  }
};

// The vendor's ping-pong: all three notices of a put, each with what was given along.
TEST(TofuClients, PutsWithAllNotices) {
  Side left, right;
  std::memset(left.memory.data(), 7, 1000);
  int mark = 0;
  ASSERT_EQ(utofu_put(left.vcq, right.id, left.stadd, right.stadd + 4096, 1000, 42, kSent | kTold | kTells, &mark),
            UTOFU_SUCCESS);
  void* cbdata = nullptr;
  EXPECT_EQ(left.sent(&cbdata), UTOFU_SUCCESS);
  EXPECT_EQ(cbdata, &mark);
  const utofu_mrq_notice local = left.notice();
  EXPECT_EQ(local.notice_type, UTOFU_MRQ_TYPE_LCL_PUT);
  EXPECT_EQ(local.edata, 42U);
  const utofu_mrq_notice remote = right.notice();
  EXPECT_EQ(remote.notice_type, UTOFU_MRQ_TYPE_RMT_PUT);
  EXPECT_EQ(remote.edata, 42U);
  EXPECT_EQ(remote.rmt_value, right.stadd + 4096 + 1000) << "where the data ends: eager messages find their slot by it";
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data() + 4096, 1000), 0);
}

// Lattice codes: data under a tag that all know, ids that are computed, and the last word as the sign of arrival.
TEST(TofuClients, FindPeersByCoordinatesAndTagsAndWaitForTheLastWord) {
  Side left, right;
  alignas(256) static std::array<std::uint64_t, 512> slot;
  utofu_stadd_t stadd = 0;
  ASSERT_EQ(utofu_reg_mem_with_stag(right.vcq, slot.data(), sizeof slot, 12, 0, &stadd), UTOFU_SUCCESS);
  std::array<std::uint8_t, 6> coords{};
  utofu_tni_id_t tni = 0;
  utofu_cq_id_t cq = 0;
  std::uint16_t extra = 0;
  utofu_vcq_id_t id = 0;
  ASSERT_EQ(utofu_query_vcq_info(right.id, coords.data(), &tni, &cq, &extra), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_construct_vcq_id(coords.data(), tni, cq, 0, &id), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_set_vcq_id_path(&id, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(id, right.id);
  utofu_stadd_t there = 0;
  ASSERT_EQ(utofu_query_stadd(id, 12, &there), UTOFU_SUCCESS);
  there += stadd & 0xffffU;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    for (std::size_t i = 0; i < slot.size(); ++i) left.word(i) = round;
    ASSERT_EQ(utofu_put(left.vcq, id, left.stadd, there, sizeof slot, 0, kStrong | kSent, nullptr), UTOFU_SUCCESS);
    void* cbdata = nullptr;
    ASSERT_EQ(left.sent(&cbdata), UTOFU_SUCCESS);
    while (std::atomic_ref(slot.back()).load() != round) {
    }
    EXPECT_EQ(std::accumulate(slot.begin(), slot.end(), std::uint64_t{0}), round * slot.size());
  }
  EXPECT_EQ(utofu_dereg_mem(right.vcq, stadd, 0), UTOFU_SUCCESS);
}

// Several prepared descriptors, end to end, posted with one call; a small flag behind a large put.
TEST(TofuClients, PostPreparedCommandsTogether) {
  Side left, right;
  std::memset(left.memory.data(), 3, 20000);
  alignas(64) std::array<std::byte, 256> descriptors{};
  std::uint64_t flag = 99;
  std::size_t size = 64;
  ASSERT_EQ(utofu_prepare_put(left.vcq, right.id, left.stadd, right.stadd, 20000, 0, 0, descriptors.data(), &size),
            UTOFU_SUCCESS);
  std::size_t more = 64;
  ASSERT_EQ(utofu_prepare_put_piggyback(left.vcq, right.id, &flag, right.stadd + 32000, 8, 5, kStrong | kTells | kSent,
                                        descriptors.data() + size, &more),
            UTOFU_SUCCESS);
  ASSERT_EQ(utofu_post_toq(left.vcq, descriptors.data(), size + more, &flag), UTOFU_SUCCESS);
  void* cbdata = nullptr;
  ASSERT_EQ(left.sent(&cbdata), UTOFU_SUCCESS);
  EXPECT_EQ(right.notice().edata, 5U);
  EXPECT_EQ(right.word(4000), 99U);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data(), 20000), 0);
}

TEST(TofuClients, TellOldValuesOfAtomics) {
  Side left, right;
  right.word(5) = 40;
  ASSERT_EQ(utofu_armw8(left.vcq, right.id, UTOFU_ARMW_OP_ADD, 2, right.stadd + 40, 1, kTold, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(left.notice().rmt_value, 40U);
  ASSERT_EQ(utofu_cswap8(left.vcq, right.id, 41, 7, right.stadd + 40, 1, kTold, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(left.notice().rmt_value, 42U);
  EXPECT_EQ(right.word(5), 42U);
}

// A queue that is full says so; whoever polls the TCQ can post again.
TEST(TofuClients, AreToldToComeAgainWhenTheQueueIsFull) {
  Side left, right;
  int code = UTOFU_SUCCESS;
  std::size_t posted = 0;
  while ((code = utofu_put_piggyback8(left.vcq, right.id, posted, right.stadd, 8, 0, kStrong | kSent, nullptr)) ==
         UTOFU_SUCCESS)
    ++posted;
  EXPECT_EQ(code, UTOFU_ERR_BUSY);
  EXPECT_EQ(posted, 512U);
  void* cbdata = nullptr;
  ASSERT_EQ(left.sent(&cbdata), UTOFU_SUCCESS);
  EXPECT_EQ(utofu_put_piggyback8(left.vcq, right.id, 0, right.stadd, 8, 0, kStrong | kSent, nullptr), UTOFU_SUCCESS);
}

TEST(TofuClients, SeeCommandsOvertakeWhereNoOrderIsAskedFor) {
  for (const bool ordered : {false, true}) {
    Side left, right;
    std::uint64_t last = 0;
    bool overtaken = false;
    for (std::uint64_t i = 1; i <= 300; ++i) {
      ASSERT_EQ(
          utofu_put_piggyback8(left.vcq, right.id, i, right.stadd, 8, 0, (ordered ? kStrong : 0) | kSent, nullptr),
          UTOFU_SUCCESS);
      const std::uint64_t now = right.word(0);
      overtaken = overtaken || now < last;
      last = now;
    }
    EXPECT_EQ(overtaken, !ordered);
  }
}

TEST(TofuClients, LearnOfWrongPlacesByTheMrq) {
  Side left, right;
  utofu_mrq_notice notice{};
  const auto outcome = [&](utofu_vcq_id_t to, utofu_stadd_t remote) {
    EXPECT_EQ(utofu_put_piggyback8(left.vcq, to, 1, remote, 8, 9, kTold, nullptr), UTOFU_SUCCESS);
    int code = 0;
    while ((code = utofu_poll_mrq(left.vcq, 0, &notice)) == UTOFU_ERR_NOT_FOUND) {
    }
    return code;
  };
  EXPECT_EQ(outcome(right.id, right.stadd + 65536 - 4), UTOFU_ERR_MRQ_RMT_LENGTH);
  EXPECT_EQ(outcome(right.id, right.stadd + (std::uint64_t{0x200} << 32U) * 700), UTOFU_ERR_MRQ_RMT_STADD);
  utofu_vcq_id_t gone = 0;
  {
    const Side third;
    gone = third.id;
  }
  EXPECT_EQ(outcome(gone, right.stadd), UTOFU_ERR_MRQ_PEER);
}

TEST(TofuClients, LearnThatEdataIsOneByte) {
  Side left, right;
  ASSERT_EQ(utofu_put_piggyback8(left.vcq, right.id, 1, right.stadd, 8, 256, kSent, nullptr), UTOFU_SUCCESS);
  void* cbdata = nullptr;
  EXPECT_EQ(left.sent(&cbdata), UTOFU_ERR_TCQ_LENGTH);
}

TEST(TofuClientsDeathTest, DieOfWhatTheApiForbids) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Side left, right(1);
  // Registered with the other queue alone.
  EXPECT_DEATH(
      utofu_put(left.vcq, right.id, right.stadd + (std::uint64_t{0x200} << 32U) * 800, right.stadd, 8, 0, 0, nullptr),
      "not registered with the VCQ");
  EXPECT_DEATH(utofu_put(left.vcq, right.id, left.stadd, right.stadd, std::size_t{1} << 24U, 0, 0, nullptr),
               "16,777,215 is the most");
  EXPECT_DEATH(utofu_put_piggyback8(left.vcq, right.id, 1, right.stadd, 8, 0, UTOFU_ONESIDED_FLAG_PADDING, nullptr),
               "no public source");
  EXPECT_DEATH(utofu_dereg_mem(left.vcq, left.stadd + 256, 0), "not registered");
  EXPECT_EQ(utofu_put_piggyback(left.vcq, right.id, left.memory.data(), right.stadd, 33, 0, 0, nullptr),
            UTOFU_ERR_INVALID_SIZE);
  const auto two_threads = [&left] {
    const auto poll = [&left] {
      for (void* cbdata = nullptr;;) utofu_poll_tcq(left.vcq, 0, &cbdata);
    };
    std::thread other(poll);
    poll();
  };
  EXPECT_DEATH(two_threads(), "two threads at once");
}

} // namespace
