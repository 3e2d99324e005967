#include "store/in_memory.hpp"

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

TEST(InMemoryStore, KeepsWhatItIsGivenAndNeverWaits) {
  InMemoryStore store(std::make_shared<Board>(1), 0);
  const base::Deadline never = base::Deadline::max();
  const Bytes value(3, std::byte{7});
  EXPECT_TRUE(store.put("k", value, never));
  EXPECT_EQ(store.get("k", kNoPeer, never), value);
  EXPECT_EQ(store.get("absent", kNoPeer, never).error().code, ErrorCode::timed_out);
  EXPECT_TRUE(store.fence(never));
  EXPECT_EQ(store.allgather(value, never), std::vector<Bytes>{value});
  EXPECT_EQ(store.take_notices({}), 0U);
  EXPECT_FALSE(store.put("", value, never));
  EXPECT_FALSE(store.contribute(Bytes(kLargestBlob + 1), never));
}

TEST(InMemoryStore, GathersWhatAllHaveContributed) {
  const auto board = std::make_shared<Board>(2);
  InMemoryStore first(board, 0);
  InMemoryStore second(board, 1);
  const base::Deadline never = base::Deadline::max();
  EXPECT_TRUE(first.contribute(Bytes(1, std::byte{1}), never));
  EXPECT_EQ(first.gather(never).error().code, ErrorCode::timed_out);
  EXPECT_TRUE(second.contribute(Bytes(2, std::byte{2}), never));
  const std::vector<Bytes> all{Bytes(1, std::byte{1}), Bytes(2, std::byte{2})};
  EXPECT_EQ(first.gather(never), all);
  EXPECT_EQ(second.gather(never), all);
}

} // namespace
} // namespace heddle::store
