#include "store/single.hpp"

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

TEST(SingleStore, KeepsWhatItIsGivenAndNeverWaits) {
  SingleStore store;
  const base::Deadline never = base::Deadline::max();
  const Bytes value(3, std::byte{7});
  EXPECT_TRUE(store.put("k", value, never));
  EXPECT_EQ(store.get("k", kNoPeer, never), value);
  EXPECT_EQ(store.get("absent", kNoPeer, never).error().code, ErrorCode::timed_out);
  EXPECT_TRUE(store.fence(never));
  EXPECT_EQ(store.allgather(value, never), std::vector<Bytes>{value});
  EXPECT_EQ(store.take_notices({}), 0U);
  EXPECT_FALSE(store.put("", value, never));
}

} // namespace
} // namespace heddle::store
