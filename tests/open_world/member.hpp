// A context of a random run, and what it must see: whatever arrives is whole, from whom it says and in order; every operation ends;
// it is told once of each who has left.
#pragma once

#include "api/access.hpp"
#include "tests/open_world/ledger.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace heddle {

inline constexpr Tag kTag{77};

struct Head {
  std::uint64_t sender = 0;   // its number in the run
  std::uint64_t rank = 0;     // by which it knows the receiver
  std::uint64_t sequence = 0; // of what it has sent to that rank
};

struct Outgoing {
  Request request;
  std::vector<std::byte> data;
};
struct Incoming {
  Request request;
  std::vector<std::byte> data;
};

class Member {
 public:
  static constexpr std::size_t kLargest = 600'000;

  Member(std::uint64_t number, std::uint64_t uid, const Options& options, Ledger& ledger)
      : number_(number),
        ledger_(ledger),
        shared_rings_(*options.ring_bytes *
                      static_cast<std::uint64_t>(1 + std::ranges::count(*options.translators, ','))),
        context_(ContextAccess::make(std::move(*ContextAccess::State::open(options, uid)))) {
    ledger_.opened(number, uid);
    for (int i = 0; i < 4; ++i) post();
  }

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] Context& context() { return context_; }
  [[nodiscard]] const std::set<std::uint32_t>& peers() const { return peers_; }

  void add(Member& other) {
    const auto rank = context_.add_peer(*other.context_.name());
    ASSERT_TRUE(rank) << rank.error().message();
    peers_.insert(static_cast<std::uint32_t>(*rank));
  }
  void remove(std::uint32_t rank) {
    while (hear_of_ends()) { // of what has happened before, it is told
    }
    peers_.erase(rank);
    removed_.insert(rank); // what had arrived can still be received
    ledger_.removed(number_, rank, who_is(rank));
    ASSERT_TRUE(context_.remove_peer(Rank{rank}));
  }
  void send(std::uint32_t rank, std::size_t bytes) {
    Outgoing message{.request = {}, .data = std::vector<std::byte>(std::max(bytes, sizeof(Head)))};
    const Head head{.sender = number_, .rank = rank, .sequence = sent_[rank]};
    std::memcpy(message.data.data(), &head, sizeof head);
    for (std::size_t i = sizeof head; i < message.data.size(); ++i) message.data[i] = filling(head, i);
    const auto request = context_.send(Rank{rank}, kTag, message.data);
    if (!request) {
      EXPECT_TRUE(is_end(request.error().code)) << request.error().message();
      return;
    }
    ++sent_[rank];
    message.request = *request;
    out_.push_back(std::move(message));
  }

  // Looks at what has ended.
  void poll() {
    hear_of_ends();
    std::erase_if(out_, [this](const Outgoing& message) {
      const auto ended = context_.test(message.request);
      EXPECT_TRUE(!ended || ended->code == ErrorCode::ok || is_end(ended->code)) << to_string(ended->code);
      return ended.has_value();
    });
    // Receives match in the order posted, but a large message may end after its successor.
    for (Incoming& message : in_)
      if (!ends_.contains(message.request.name))
        if (const auto ended = context_.test(message.request)) ends_[message.request.name] = *ended;
    while (!in_.empty() && ends_.contains(in_.front().request.name)) {
      take(in_.front(), ends_.extract(in_.front().request.name).mapped());
      in_.pop_front();
      post();
    }
  }

  [[nodiscard]] bool rests() const { return out_.empty(); }
  // Ranks of which it should have been told that they have left: of all who have closed, and of those it has heard from, who have
  // removed it since.
  [[nodiscard]] std::string untold() {
    std::string ranks;
    for (std::uint32_t rank = 1; rank < context_.size(); ++rank) {
      if (left_.contains(rank) || removed_.contains(rank)) continue;
      const auto heard = heard_.find(rank);
      const bool removed = heard != heard_.end() &&
                           ledger_.has_removed(heard->second.sender, static_cast<std::uint32_t>(heard->second.rank));
      if (removed || ledger_.has_closed(who_is(rank))) ranks += " " + std::to_string(rank);
    }
    return ranks;
  }
  void expect_no_gaps() const {
    for (const std::uint32_t rank : gaps_)
      EXPECT_TRUE(left_.contains(rank) || removed_.contains(rank)) << "a message of rank " << rank << " is lost";
  }
  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    for (const auto& figure : context_.figures())
      if (figure.name == name) return figure.value;
    ADD_FAILURE() << name;
    return 0;
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  // What stays allocated once some peers have shared a ring, on each network.
  [[nodiscard]] std::uint64_t shared_rings() const { return shared_rings_; }

 private:
  std::uint64_t who_is(std::uint32_t rank) {
    return ledger_.number_of(ContextAccess::state(context_).engine().uid(rank));
  }
  bool hear_of_ends() {
    std::array<Event, 8> events;
    const std::size_t count = context_.poll(events);
    for (const Event& event : std::span(events).first(count)) {
      EXPECT_EQ(event.kind, Event::Kind::peer_left);
      const auto rank = static_cast<std::uint32_t>(event.completion.peer);
      EXPECT_TRUE(left_.insert(rank).second) << "told twice of rank " << rank;
      EXPECT_FALSE(removed_.contains(rank)) << "told of rank " << rank << ", which it had removed";
      EXPECT_TRUE(ledger_.told(number_, who_is(rank))) << "rank " << rank << " has not left";
    }
    return count > 0;
  }
  static std::byte filling(const Head& head, std::size_t i) {
    return static_cast<std::byte>(head.sender * 31 + head.sequence * 7 + i);
  }
  // How an operation may end when one of the two has gone.
  static bool is_end(ErrorCode code) {
    return code == ErrorCode::peer_left || code == ErrorCode::cancelled || code == ErrorCode::connection_lost ||
           code == ErrorCode::bad_argument;
  }
  void post() {
    Incoming message{.request = {}, .data = std::vector<std::byte>(kLargest)};
    const auto request = context_.receive({.source = kAnySource, .tag = kTag}, message.data);
    ASSERT_TRUE(request) << request.error().message();
    message.request = *request;
    in_.push_back(std::move(message));
  }
  void take(const Incoming& message, const Completion& completion) {
    if (completion.code != ErrorCode::ok) {
      EXPECT_TRUE(is_end(completion.code)) << to_string(completion.code);
      return;
    }
    ++received_;
    Head head;
    ASSERT_GE(completion.bytes, sizeof head);
    std::memcpy(&head, message.data.data(), sizeof head);
    for (std::size_t i = sizeof head; i < completion.bytes; ++i) ASSERT_EQ(message.data[i], filling(head, i)) << i;
    const auto rank = static_cast<std::uint32_t>(completion.peer);
    if (!left_.contains(rank) && !removed_.contains(rank)) peers_.insert(rank); // it can be answered
    auto [heard, first] = heard_.try_emplace(rank, head);
    EXPECT_EQ(heard->second.sender, head.sender) << "two processes under one rank";
    EXPECT_EQ(heard->second.rank, head.rank) << "two connections under one rank";
    // What was still to be fetched from one that has left is lost, and only that.
    if (first ? head.sequence != 0 : head.sequence != heard->second.sequence) gaps_.insert(rank);
    EXPECT_GE(head.sequence, heard->second.sequence) << "out of order";
    heard->second.sequence = head.sequence + 1;
  }

  std::uint64_t number_;
  Ledger& ledger_;
  std::uint64_t shared_rings_;
  std::set<std::uint32_t> peers_;
  std::set<std::uint32_t> left_;
  std::set<std::uint32_t> removed_;
  std::set<std::uint32_t> gaps_; // ranks of which a message is missing
  std::map<std::uint32_t, std::uint64_t> sent_;
  std::map<std::uint32_t, Head> heard_; // by rank; the sequence that comes next
  std::deque<Outgoing> out_;
  std::deque<Incoming> in_;
  std::map<std::uint64_t, Completion> ends_;
  std::uint64_t received_ = 0;
  Context context_; // the first to go
};

} // namespace heddle
