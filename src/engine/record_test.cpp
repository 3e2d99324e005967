#include "engine/record.hpp"

#include <gtest/gtest.h>

#include <random>

namespace heddle::engine {
namespace {

TEST(Record, LeadWordSurvivesPacking) {
  for (unsigned kind = 1; kind < kRecordKinds; ++kind)
    for (unsigned channel = 0; channel < kChannels; ++channel)
      for (const std::uint32_t bytes : {0U, 1U, 4096U, 0xffff'ffffU}) {
        const std::uint64_t word =
            Lead{.kind = static_cast<RecordKind>(kind), .channel = static_cast<Channel>(channel), .bytes = bytes}
                .pack();
        EXPECT_TRUE(Lead::plausible(word));
        const Lead lead = Lead::unpack(word);
        EXPECT_EQ(static_cast<unsigned>(lead.kind), kind);
        EXPECT_EQ(static_cast<unsigned>(lead.channel), channel);
        EXPECT_EQ(lead.bytes, bytes);
      }
}

TEST(Record, ImplausibleLeadWordsAreSeen) {
  EXPECT_FALSE(Lead::plausible(0));
  EXPECT_FALSE(Lead::plausible(~std::uint64_t{0}));
  EXPECT_FALSE(Lead::plausible(Lead{.kind = RecordKind::none}.pack()));
  EXPECT_FALSE(Lead::plausible(Lead{.kind = static_cast<RecordKind>(kRecordKinds)}.pack()));
  EXPECT_FALSE(Lead::plausible(Lead{.kind = RecordKind::eager, .channel = static_cast<Channel>(kChannels)}.pack()));
  const std::uint64_t good = Lead{.kind = RecordKind::eager, .bytes = 8}.pack();
  for (unsigned bit = 48; bit < 64; ++bit) EXPECT_FALSE(Lead::plausible(good ^ (std::uint64_t{1} << bit)));
}

// A plausible one, too: what is taken for a message is not looked at again.
TEST(Record, OnlyWholeMessagesOfKnownChannelsAreTakenForSuch) {
  for (unsigned kind = 0; kind < 256; ++kind)
    for (unsigned channel = 0; channel < 128; ++channel)
      for (const bool has_data : {false, true}) {
        const std::uint64_t word = Lead{.kind = static_cast<RecordKind>(kind),
                                        .channel = static_cast<Channel>(channel),
                                        .has_data = has_data,
                                        .bytes = 8}
                                       .pack();
        const bool is = static_cast<RecordKind>(kind) == RecordKind::eager && channel < kChannels;
        ASSERT_EQ(Lead::is_message(word), is) << kind << " " << channel;
        for (unsigned bit = 48; bit < 64; ++bit) ASSERT_FALSE(Lead::is_message(word ^ (std::uint64_t{1} << bit)));
      }
}

TEST(Record, SpanReachesToTheTerminator) {
  for (std::uint64_t payload = 0; payload < 200; ++payload) {
    const std::uint64_t span = record_span(payload);
    EXPECT_EQ(span % ir::kTerminatorAlignment, 0U);
    EXPECT_GE(span, kRecordHeadBytes + payload);
    EXPECT_LT(span, kRecordHeadBytes + payload + ir::kTerminatorAlignment);
  }
  EXPECT_GT(record_span(0xffff'ffffU), 0xffff'ffffULL); // the largest that a lead word can claim does not wrap round
}

} // namespace
} // namespace heddle::engine
