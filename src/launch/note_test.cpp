#include "launch/note.hpp"

#include <gtest/gtest.h>

#include <span>

namespace heddle::launch {
namespace {

store::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Note : public testing::Test {
 protected:
  const auth::Secret secret_ = auth::Secret::draw();
  const store::Client::Target target_{.address = "tcp:10.0.0.1:4000", .job = "0123", .secret = secret_};
};

TEST_F(Note, SaysWhereTheStoreIsAndTheSecretThatRank0HasDrawn) {
  const auto read = read_note(bytes_of(note_of(target_, false)), std::nullopt);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->job, "0123");
  EXPECT_EQ(read->address, "tcp:10.0.0.1:4000");
  EXPECT_EQ(read->secret->text(), secret_.text());
}

TEST_F(Note, HoldsNoSecretThatAllAreToHaveBeenGiven) {
  const std::string note = note_of(target_, true);
  EXPECT_FALSE(note.contains(secret_.text()));
  const auto read = read_note(bytes_of(note), secret_);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->secret->text(), secret_.text());
}

TEST_F(Note, SaysWhoLacksASecret) {
  const auto here = read_note(bytes_of(note_of(target_, true)), std::nullopt);
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().fact, "HEDDLE_SECRET is set in rank 0, and not in this process");
  EXPECT_TRUE(here.error().remedy.contains("mpirun -x HEDDLE_SECRET")) << here.error().remedy;
  const auto there = read_note(bytes_of(note_of(target_, false)), secret_);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().fact, "HEDDLE_SECRET is set in this process, and not in rank 0");
  EXPECT_TRUE(there.error().remedy.contains("HEDDLE_SECRET")) << there.error().remedy;
}

TEST_F(Note, SaysWhyThereIsNoStore) {
  const Error why{.code = ErrorCode::store_failed, .fact = "no port is free"};
  const auto read = read_note(bytes_of(note_of(why)), std::nullopt);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().fact, "rank 0: no port is free");
  EXPECT_EQ(read.error().peer, 0);
}

TEST_F(Note, IsNotGuessedWhereItIsSpoilt) {
  for (const std::string text : {"", "+", "+ job", "+ job address", "+ job address 12", "? job address given"}) {
    const auto read = read_note(bytes_of(text), std::nullopt);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().fact, "what rank 0 says of the job's store is spoilt") << text;
  }
}

} // namespace
} // namespace heddle::launch
