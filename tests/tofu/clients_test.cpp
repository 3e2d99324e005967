// The emulated library against the ways in which public programs use the real one, and against what it forbids. Two queues of one process
// stand for two processes.
#include "tests/tofu_emulation/utofu.hpp"

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
    void* cbdata = nullptr;
    for (int i = 0; i < 5000; ++i) utofu_poll_tcq(vcq, 0, &cbdata); // what is under way ends
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

// Who has read is found by the notice's id: it is the peer's.
TEST(TofuClients, ReadAndFindTheOwnerByTheNotice) {
  Side left, right;
  std::memset(right.memory.data() + 512, 9, 3000);
  ASSERT_EQ(utofu_get(left.vcq, right.id, left.stadd, right.stadd + 512, 3000, 17, kStrong | kTold | kSent, nullptr),
            UTOFU_SUCCESS);
  utofu_mrq_notice notice = left.notice();
  EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_GET);
  EXPECT_EQ(notice.edata, 17U);
  ASSERT_EQ(utofu_set_vcq_id_path(&notice.vcq_id, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(notice.vcq_id, right.id);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data() + 512, 3000), 0) << "at the notice the data is here";
}

// The word that an atomic has changed, not the place behind it.
TEST(TofuClients, LearnWhichWordAnAtomicHasChanged) {
  Side left, right;
  ASSERT_EQ(utofu_armw8(left.vcq, right.id, UTOFU_ARMW_OP_OR, 4, right.stadd + 80, 3, kTells | kSent, nullptr),
            UTOFU_SUCCESS);
  void* cbdata = nullptr;
  ASSERT_EQ(left.sent(&cbdata), UTOFU_SUCCESS);
  const utofu_mrq_notice notice = right.notice();
  EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_RMT_ARMW);
  EXPECT_EQ(notice.rmt_value, right.stadd + 80);
  EXPECT_EQ(right.word(10), 4U);
}

TEST(TofuClients, CannotWriteToMemoryThatIsForReading) {
  Side left, right;
  alignas(256) static std::array<std::uint64_t, 32> table{1, 2, 3};
  utofu_stadd_t stadd = 0;
  ASSERT_EQ(utofu_reg_mem(right.vcq, table.data(), sizeof table, UTOFU_REG_MEM_FLAG_READ_ONLY, &stadd), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_put_piggyback8(left.vcq, right.id, 7, stadd, 8, 0, kStrong | kTold, nullptr), UTOFU_SUCCESS);
  utofu_mrq_notice notice{};
  int code = 0;
  while ((code = utofu_poll_mrq(left.vcq, 0, &notice)) == UTOFU_ERR_NOT_FOUND) {
  }
  EXPECT_EQ(code, UTOFU_ERR_MRQ_RMT_MEMORY);
  EXPECT_EQ(table[0], 1U);
  ASSERT_EQ(utofu_get(left.vcq, right.id, left.stadd, stadd, sizeof table, 0, kStrong | kTold, nullptr), UTOFU_SUCCESS);
  EXPECT_EQ(left.notice().notice_type, UTOFU_MRQ_TYPE_LCL_GET);
  EXPECT_EQ(left.word(2), 3U);
  EXPECT_EQ(utofu_dereg_mem(right.vcq, stadd, 0), UTOFU_SUCCESS);
}

TEST(TofuClients, TellQueuesApartByComponentUntilThereAreNone) {
  utofu_vcq_hdl_t vcq = 0;
  utofu_vcq_id_t id = 0;
  utofu_vcq_id_t made = 0;
  std::array<std::uint8_t, 6> coords{};
  utofu_tni_id_t tni = 0;
  utofu_cq_id_t cq = 0;
  std::uint16_t extra = 0;
  EXPECT_EQ(utofu_create_vcq_with_cmp_id(3, 8, 0, &vcq), UTOFU_ERR_INVALID_CMP_ID);
  EXPECT_EQ(utofu_create_vcq_with_cmp_id(3, 5, 64, &vcq), UTOFU_ERR_INVALID_FLAGS);
  std::vector<utofu_vcq_hdl_t> all;
  int code = 0;
  while ((code = utofu_create_vcq_with_cmp_id(3, 5, 0, &vcq)) == UTOFU_SUCCESS) all.push_back(vcq);
  EXPECT_EQ(code, UTOFU_ERR_FULL);
  EXPECT_EQ(all.size(), 12U);
  ASSERT_EQ(utofu_query_vcq_id(all[4], &id), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_query_vcq_info(id, coords.data(), &tni, &cq, &extra), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_construct_vcq_id(coords.data(), tni, cq, 5, &made), UTOFU_SUCCESS);
  EXPECT_EQ(made, id);
  for (const utofu_vcq_hdl_t each : all) EXPECT_EQ(utofu_free_vcq(each), UTOFU_SUCCESS);
}

TEST(TofuClients, ShareAQueueThatIsMadeForThreads) {
  Side left(0, UTOFU_VCQ_FLAG_THREAD_SAFE);
  Side right(1);
  constexpr std::uint64_t kEach = 300;
  const auto add = [&](std::uint64_t& done) {
    while (done < kEach)
      done += utofu_armw8(left.vcq, right.id, UTOFU_ARMW_OP_ADD, 1, right.stadd, 0, kStrong, nullptr) == UTOFU_SUCCESS
                  ? 1U
                  : 0U;
  };
  std::uint64_t ours = 0;
  std::uint64_t theirs = 0;
  std::thread other([&] { add(theirs); });
  add(ours);
  other.join();
  void* cbdata = nullptr;
  for (int i = 0; i < 5000; ++i) utofu_poll_tcq(left.vcq, 0, &cbdata);
  EXPECT_EQ(right.word(0), 2 * kEach);
}

// Two gates that wait for each other: neither barrier ends before both have begun, and several follow each other.
TEST(TofuClients, PassBarriersByGates) {
  std::array<utofu_vbg_id_t, 1> left{}, right{};
  ASSERT_EQ(utofu_alloc_vbg(0, 1, 0, left.data()), UTOFU_SUCCESS);
  ASSERT_EQ(utofu_alloc_vbg(1, 1, 0, right.data()), UTOFU_SUCCESS);
  const auto set = [](utofu_vbg_id_t own, utofu_vbg_id_t other) {
    utofu_vbg_setting setting{.vbg_id = own,
                              .src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
                              .src_rmt_vbg_id = other,
                              .dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
                              .dst_rmt_vbg_id = other,
                              .dst_path_coords = {UTOFU_PATH_COORD_NULL, 0, 0}};
    return utofu_set_vbg(&setting, 1);
  };
  ASSERT_EQ(set(left[0], right[0]), UTOFU_SUCCESS);
  ASSERT_EQ(set(right[0], left[0]), UTOFU_SUCCESS);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(utofu_barrier(left[0], 0), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_barrier(left[0], 0), UTOFU_ERR_BUSY) << "one of a gate at a time";
    EXPECT_EQ(utofu_poll_barrier(left[0], 0), UTOFU_ERR_NOT_COMPLETED);
    ASSERT_EQ(utofu_barrier(right[0], 0), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_poll_barrier(right[0], 0), UTOFU_SUCCESS);
    EXPECT_EQ(utofu_poll_barrier(left[0], 0), UTOFU_SUCCESS);
  }
  EXPECT_EQ(utofu_free_vbg(left.data(), 1), UTOFU_SUCCESS);
  EXPECT_EQ(utofu_free_vbg(right.data(), 1), UTOFU_SUCCESS);
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
  EXPECT_DEATH(utofu_put_piggyback8(left.vcq, right.id, 1, right.stadd, 8, 0, UTOFU_ONESIDED_FLAG_PATH(3), nullptr),
               "no public source");
  EXPECT_DEATH(utofu_dereg_mem(left.vcq, left.stadd + 256, 0), "not registered");
  EXPECT_EQ(utofu_put_piggyback(left.vcq, right.id, left.memory.data(), right.stadd, 33, 0, 0, nullptr),
            UTOFU_ERR_INVALID_SIZE);
  alignas(64) std::array<std::byte, 64> descriptor{};
  std::size_t size = descriptor.size();
  std::uint64_t word = 0;
  ASSERT_EQ(
      utofu_prepare_put_piggyback(left.vcq, right.id, &word, right.stadd, 8, 0, kStrong, descriptor.data(), &size),
      UTOFU_SUCCESS);
  EXPECT_DEATH(utofu_post_toq(right.vcq, descriptor.data(), size, nullptr), "prepared for another VCQ");
  EXPECT_DEATH(utofu_free_vcq(left.vcq), "has memory registered");
  const auto free_too_soon = [&] { // one of so many that keep their order is late
    alignas(64) std::array<std::byte, 16 * 64> all{};
    for (std::size_t at = 0; at < all.size(); at += size)
      utofu_prepare_put_piggyback(left.vcq, right.id, &word, right.stadd, 8, 0, kStrong, all.data() + at, &size);
    utofu_post_toq(left.vcq, all.data(), all.size(), nullptr);
    utofu_free_vcq(left.vcq);
  };
  EXPECT_DEATH(free_too_soon(), "under commands of its own");
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
