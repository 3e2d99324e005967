#include "store/wire.hpp"

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

TEST(Wire, ReadsBackWhatItWrote) {
  const Bytes bytes = FrameWriter(Kind::get, 7).text("key").i64(-1).finish();
  const Cut cut = cut_frame(bytes, kLargestRequest);
  ASSERT_EQ(cut.state, Cut::State::complete);
  EXPECT_EQ(cut.length, bytes.size());
  EXPECT_EQ(cut.frame.kind, Kind::get);
  EXPECT_EQ(cut.frame.sequence, 7U);
  BodyReader reader(cut.frame.body);
  EXPECT_EQ(as_characters(reader.text().value()), "key");
  EXPECT_EQ(reader.i64(), -1);
  EXPECT_TRUE(reader.finished());
}

TEST(Wire, WaitsForTheRestAtEveryCut) {
  const Bytes bytes = FrameWriter(Kind::put, 1).text("k").text("v").finish();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(cut_frame(std::span(bytes).first(i), kLargestRequest).state, Cut::State::incomplete) << i;
  }
}

TEST(Wire, RefusesLengthsAndKindsThatCannotBe) {
  EXPECT_EQ(cut_frame(Bytes(64, std::byte{0xff}), kLargestRequest).state, Cut::State::malformed);
  EXPECT_EQ(cut_frame(Bytes(64, std::byte{0}), kLargestRequest).state, Cut::State::malformed);
  Bytes bytes = FrameWriter(Kind::fence, 1).finish();
  bytes[4] = std::byte{99};
  EXPECT_EQ(cut_frame(bytes, kLargestRequest).state, Cut::State::malformed);
}

TEST(Wire, NeverReadsPastTheBody) {
  const Bytes bytes = FrameWriter(Kind::put, 1).u32(1000).finish();
  BodyReader reader(cut_frame(bytes, kLargestRequest).frame.body);
  EXPECT_FALSE(reader.text());
  EXPECT_FALSE(reader.u8());
  EXPECT_FALSE(reader.finished());
}

TEST(Wire, CarriesErrors) {
  const Error error{.code = ErrorCode::peer_failed, .fact = "rank 3 failed", .remedy = "", .peer = 3};
  const Bytes bytes = encode_refusal(4, error);
  const Error back = decode_refusal(cut_frame(bytes, kLargestRequest).frame.body);
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.fact, error.fact);
  EXPECT_EQ(back.peer, 3);
  EXPECT_EQ(decode_refusal({}).code, ErrorCode::store_failed);
}

TEST(Wire, TakesNoRefusalWithoutAnErrorOrAReason) {
  for (const Error& error :
       {Error{.code = ErrorCode::ok, .fact = "all is well"}, Error{.code = ErrorCode::peer_failed}}) {
    const Bytes bytes = encode_refusal(4, error);
    const Error back = decode_refusal(cut_frame(bytes, kLargestRequest).frame.body);
    EXPECT_EQ(back.code, ErrorCode::store_failed);
    EXPECT_FALSE(back.fact.empty());
  }
}

} // namespace
} // namespace heddle::store
