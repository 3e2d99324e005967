#include "translators/shm/areas.hpp"

#include <gtest/gtest.h>

namespace heddle::translators {
namespace {

TEST(Areas, FindsNoneWhereThePeersTableCannotBe) {
  auto segment = Segment::create(std::size_t{1} << 20U);
  ASSERT_TRUE(segment);
  OwnAreas own(*segment, 2, false);
  const auto made = own.allocate(100);
  ASSERT_TRUE(made) << made.error().message();
  std::atomic<std::uint64_t>& table = segment->mapping().header().areas;
  const std::uint64_t good = table.load();
  ASSERT_NE(PeerAreas().find(segment->mapping(), 1, made->key, false).area, nullptr);
  // Across words, outside the segment, so near its end that the table would not fit.
  for (const std::uint64_t wrong :
       {good + 8, good + 1, std::uint64_t{0}, ~std::uint64_t{63}, (std::uint64_t{1} << 20U) - 64}) {
    table.store(wrong);
    EXPECT_EQ(PeerAreas().find(segment->mapping(), 1, made->key, false).area, nullptr) << wrong;
  }
}

TEST(Areas, ThatAreTooLargeDoNotBlameTheRings) {
  auto segment = Segment::create(std::size_t{1} << 20U);
  ASSERT_TRUE(segment);
  const auto made = OwnAreas(*segment, 2, false).allocate(std::size_t{1} << 44U);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(made.error().remedy.find("ring"), std::string::npos) << made.error().remedy;
  EXPECT_NE(made.error().remedy.find("make it smaller"), std::string::npos) << made.error().remedy;
}

TEST(Areas, DoesNotBelieveAPeerWhereItsOwnTableIs) {
  auto segment = Segment::create(std::size_t{1} << 20U);
  ASSERT_TRUE(segment);
  OwnAreas own(*segment, 2, false);
  const auto first = own.allocate(100);
  ASSERT_TRUE(first) << first.error().message();
  segment->mapping().header().areas.store(~std::uint64_t{63}); // as any process that maps the segment can
  EXPECT_TRUE(own.close(first->key));
  own.release(first->key);
  const auto second = own.allocate(100);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE(own.close(second->key));
}

} // namespace
} // namespace heddle::translators
