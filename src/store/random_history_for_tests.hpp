// A ledger under any history of sound and unsound requests, lost connections and words of the launcher, and what must hold of
// its answers whatever that was.
#pragma once

#include "store/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace heddle::store {

class RandomHistory {
 public:
  explicit RandomHistory(std::uint64_t seed) : random_(seed) {}

  // Mostly what a sound process does, so that a rank lives long enough to wait; now and then anything.
  void step() {
    Answers answers;
    const ClientId client = 1 + below(4);
    const std::uint32_t chance = below(60);
    if (chance == 0) {
      ledger_.disconnected(client);
      waits_.erase(client);
    } else if (chance == 1) {
      ledger_.declare(below(4), below(2) == 0 ? Presence::left : Presence::failed, answers);
    } else if (chance == 2) {
      request(client, garbage(), Manner::any, answers);
    } else if (!waits_.contains(client)) {
      request(client, sound_request(client), Manner::sound, answers);
    } else if (chance < 10) { // it waits, and may only withdraw
      const bool soundly = chance > 3;
      request(client, soundly ? FrameWriter(Kind::withdraw, ++sequence_).finish() : sound_request(client),
              soundly ? Manner::sound : Manner::any, answers);
    }
    judge(answers);
  }

  // Nobody waits for one that is gone: when all others have failed, whoever still waits is told so.
  void end() {
    for (const auto& [client, waiting] : std::map(waits_)) {
      Answers answers;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank)
        if (ledger_.client_of(rank) != client) ledger_.declare(rank, Presence::failed, answers);
      judge(answers);
      EXPECT_TRUE(!waits_.contains(client) || waiting.for_itself) << "client " << client << " waits for nobody";
    }
  }

 private:
  static constexpr std::uint32_t kRanks = 3;
  enum class Manner : std::uint8_t { sound, any };
  struct Waiting {
    std::uint32_t sequence = 0;
    bool for_itself = false; // for a key that only it could put
  };

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  std::string key() { return std::string(1 + below(2), static_cast<char>('a' + below(6))); }

  Bytes sound_request(ClientId client) {
    const std::uint32_t sequence = ++sequence_;
    if (!is_connected(client))
      return FrameWriter(Kind::hello, sequence).u32(kWireVersion).u32(below(4)).text("job").finish();
    switch (below(6)) {
      case 0: return FrameWriter(Kind::put, sequence).text(key()).text("v").finish();
      case 1: return FrameWriter(Kind::get, sequence).text(key()).i64(std::int64_t{below(4)} - 1).finish();
      case 2: return FrameWriter(Kind::fence, sequence).finish();
      case 3: return FrameWriter(Kind::allgather, sequence).text(key()).finish();
      case 4: return FrameWriter(Kind::watch, sequence).finish();
      default: return FrameWriter(below(8) == 0 ? Kind::goodbye : Kind::withdraw, sequence).u8(1).finish();
    }
  }
  Bytes garbage() {
    FrameWriter writer(static_cast<Kind>(1 + below(14)), ++sequence_);
    for (std::uint32_t left = below(24); left > 0; --left) writer.u8(static_cast<std::uint8_t>(below(4)));
    return writer.finish();
  }

  void request(ClientId client, const Bytes& bytes, Manner manner, Answers& answers) {
    const Frame frame = cut_frame(bytes, kLargestRequest).frame;
    const bool asks = frame.kind <= Kind::allgather;
    const bool may_wait = asks && frame.kind != Kind::hello && frame.kind != Kind::put;
    const bool waited = waits_.contains(client);
    if (frame.kind == Kind::withdraw) waits_.erase(client);
    const auto taken = ledger_.receive(client, frame, answers);
    if (!taken) {
      EXPECT_EQ(manner, Manner::any) << "a sound request was not taken: " << taken.error().fact;
      ledger_.expel(client, answers);
      ledger_.disconnected(client);
      waits_.erase(client);
      return;
    }
    EXPECT_FALSE(waited && asks) << "a second request was taken while one waits";
    if (!asks) return;
    asked_[{client, frame.sequence}] = frame.kind;
    const bool answered = std::ranges::any_of(answers, [&](const Answer& answer) {
      return answer.to == client && cut_frame(*answer.frame, std::size_t{1} << 30U).frame.sequence == frame.sequence;
    });
    EXPECT_TRUE(answered || may_wait) << "kind " << static_cast<int>(frame.kind) << " was not answered at once";
    if (!answered) waits_[client] = {.sequence = frame.sequence, .for_itself = is_for_itself(client, frame)};
  }
  bool is_for_itself(ClientId client, const Frame& frame) {
    if (frame.kind != Kind::get) return false;
    BodyReader reader(frame.body);
    reader.text();
    const std::int64_t from = reader.i64().value_or(kNoPeer);
    return from >= 0 && ledger_.client_of(static_cast<std::uint32_t>(from)) == client;
  }

  void judge(const Answers& answers) {
    std::uint32_t met = 0;
    for (const Answer& answer : answers) {
      const Cut cut = cut_frame(*answer.frame, std::size_t{1} << 30U);
      ASSERT_EQ(cut.state, Cut::State::complete);
      EXPECT_EQ(cut.length, answer.frame->size());
      if (cut.frame.kind == Kind::notice) {
        const std::uint32_t rank = BodyReader(cut.frame.body).u32().value_or(kRanks);
        ASSERT_LT(rank, kRanks);
        EXPECT_GE(ledger_.presence(rank), Presence::left) << "told of rank " << rank << ", which is there";
        continue;
      }
      EXPECT_GE(cut.frame.kind, Kind::done);
      const Kind asked = asked_[{answer.to, cut.frame.sequence}];
      met += cut.frame.kind != Kind::refused && (asked == Kind::fence || asked == Kind::allgather) ? 1 : 0;
      EXPECT_NE(asked, Kind{}) << "an answer that nobody asked for, or a second one";
      asked_.erase({answer.to, cut.frame.sequence});
      const auto waiting = waits_.find(answer.to);
      if (waiting != waits_.end() && waiting->second.sequence == cut.frame.sequence) waits_.erase(waiting);
    }
    EXPECT_TRUE(met == 0 || met == kRanks) << met << " ranks were told that all have met";
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_GE(ledger_.presence(rank), seen_[rank]) << "rank " << rank << " came back";
      seen_[rank] = ledger_.presence(rank);
      EXPECT_TRUE(seen_[rank] < Presence::left || ledger_.client_of(rank) == 0) << "rank " << rank << " is gone";
    }
    for (auto waiting = waits_.begin(); waiting != waits_.end();) // who is gone by another's word waits no more
      waiting = is_connected(waiting->first) ? std::next(waiting) : waits_.erase(waiting);
  }
  [[nodiscard]] bool is_connected(ClientId client) const {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (ledger_.client_of(rank) == client) return true;
    return false;
  }

  Ledger ledger_{kRanks, "job"};
  std::mt19937_64 random_;
  std::uint32_t sequence_ = 0;
  std::map<std::pair<ClientId, std::uint32_t>, Kind> asked_; // and not answered
  std::map<ClientId, Waiting> waits_;
  std::array<Presence, kRanks> seen_{};
};

} // namespace heddle::store
