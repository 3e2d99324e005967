// A name is of one context, whoever comes to its place later.
#include "job/contact_name.hpp"
#include "segments/segment.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <utility>

namespace heddle {
namespace {

// A process with the number of the one that is gone, whose segment has the same descriptor: here it is the same process.
TEST(OpenProcesses, AreTakenForTheirSegmentNotForItsDescriptor) {
  auto client = Context::open();
  ASSERT_TRUE(client);
  const auto segment_of = [](const Name& name) {
    segments::SegmentName segment; // with which an address of shared memory begins
    std::memcpy(&segment, job::ContactName::decode(name).find('s')->address.bytes.data(), sizeof segment);
    return segment;
  };
  std::optional<Context> first = std::move(*Context::open());
  const Name gone = *first->name();
  first.reset();
  const auto second = Context::open();
  ASSERT_TRUE(second);
  ASSERT_EQ(segment_of(*second->name()).process, segment_of(gone).process);
  ASSERT_EQ(segment_of(*second->name()).descriptor, segment_of(gone).descriptor);
  const auto added = client->add_peer(gone);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::unreachable) << added.error().message();
}

} // namespace
} // namespace heddle
