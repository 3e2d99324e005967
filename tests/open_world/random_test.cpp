// Contexts that are opened and closed, peers that are added, removed, and added again, while messages of all sizes are under way: in
// any order. Whatever arrives is whole, from whom it says and in order; every operation ends; who has left is told once, to those who
// had it as a peer; nothing is kept at the end.
// TEST_SEED=N runs one seed, LONG_TESTS=1 many.
#include "api/access.hpp"
#include "tests/open_world/ledger.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace heddle {
namespace {

constexpr Tag kTag{77};

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
        ring_bytes_(*options.ring_bytes),
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
  // What stays allocated once some peers have shared a ring.
  [[nodiscard]] std::uint64_t shared_ring() const { return ring_bytes_; }

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
  std::uint64_t ring_bytes_;
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

class OpenRun {
 public:
  explicit OpenRun(std::uint64_t seed) : dice_(seed) {
    options_.ring_bytes = 4096U << below(3);
    options_.ring_memory = *options_.ring_bytes * (2 + below(6));
    options_.translator_options = {{"shm.cross_memory", below(3) == 0 ? "off" : "automatic"}};
  }

  void play() {
    const std::size_t most = 2 + below(5);
    const std::size_t steps = 50 + below(400);
    for (std::size_t i = 0; i < 2; ++i) open();
    for (std::size_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      Member& one = pick();
      switch (below(16)) {
        case 0:
          if (members_.size() < most) open();
          break;
        case 1:
          if (members_.size() > 2 && below(3) == 0) close();
          break;
        case 2:
        case 3:
        case 4:
          if (Member& other = pick(); &other != &one) one.add(other);
          break;
        case 5:
          if (!one.peers().empty() && below(2) == 0) one.remove(peer_of(one));
          break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
          if (!one.peers().empty()) one.send(peer_of(one), below(4) == 0 ? below(Member::kLargest) : below(200));
          break;
        default: one.poll(); break;
      }
      for (std::uint64_t polls = below(40); polls > 0; --polls) pick().poll();
    }
    wind_up();
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  std::uint64_t below(std::uint64_t limit) { return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(dice_); }
  Member& pick() { return *members_[below(members_.size())]; }
  std::uint32_t peer_of(const Member& member) {
    return *std::next(member.peers().begin(), static_cast<std::ptrdiff_t>(below(member.peers().size())));
  }
  void open() {
    std::uint64_t uid = 0;
    do uid = 1 + below(1U << 30U);
    while (!ledger_.is_free(uid));
    members_.push_back(std::make_unique<Member>(next_++, uid, options_, ledger_));
  }
  void close() {
    const auto at = members_.begin() + static_cast<std::ptrdiff_t>(below(members_.size()));
    received_ += (*at)->received();
    ledger_.closed((*at)->number());
    members_.erase(at);
  }
  // All sends end while everybody polls; then all peers are removed, and nothing is kept.
  void wind_up() {
    const auto all = [this](auto&& done) {
      for (int round = 0; round < 100'000; ++round) {
        for (const auto& member : members_) member->poll();
        if (std::ranges::all_of(members_, done)) return true;
      }
      return false;
    };
    EXPECT_TRUE(all([](const auto& member) { return member->rests(); })) << waiting();
    EXPECT_TRUE(all([](const auto& member) { return member->untold().empty(); })) << waiting();
    for (const auto& member : members_) member->expect_no_gaps();
    for (const auto& member : members_)
      while (!member->peers().empty()) member->remove(*member->peers().begin());
    EXPECT_TRUE(all([](const auto& member) { return member->figure("ring memory bytes") <= member->shared_ring(); }))
        << waiting();
    for (const auto& member : members_) received_ += member->received();
  }
  std::string waiting() {
    std::string text;
    for (const auto& member : members_)
      text += std::to_string(member->number()) + ": " + member->context().waiting_for() + " rings " +
              std::to_string(member->figure("ring memory bytes")) + " untold" + member->untold() + "\n";
    return text;
  }

  std::mt19937_64 dice_;
  Options options_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Member>> members_;
  std::uint64_t next_ = 1;
  std::uint64_t received_ = 0;
};

TEST(OpenWorld, KeepsItsPromisesInAnyOrder) {
  const char* one = std::getenv("TEST_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t runs = one != nullptr ? 1 : std::getenv("LONG_TESTS") != nullptr ? 5000 : 60;
  std::uint64_t received = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("repeat with TEST_SEED=" + std::to_string(seed));
    OpenRun run(seed);
    run.play();
    received += run.received();
    if (HasFailure()) return;
  }
  EXPECT_GT(received, runs * 5) << "too little has happened";
}

} // namespace
} // namespace heddle
