// A connection that is reset at each step of its life, from either end, while both sides talk: everything that was asked for ends, nothing
// is done twice, what is said to be done is, and the two go on.
#include "net/sockets.hpp"
#include "translators/contract/network.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::translators {
namespace {

using contract::load_word;

constexpr std::uint32_t kMessages = 40; // of each side
constexpr std::uint32_t kMore = 4;      // that are tried until one succeeds
constexpr int kSteps = 60;              // each a poll of both: by then the pair has long been connected

tcp::Listening listening_at(std::size_t lanes) {
  tcp::Listening listening;
  listening.at.clear();
  for (const char* host : {"127.0.0.1", "127.0.0.2"})
    if (listening.at.size() < lanes)
      listening.at.push_back({.name = "lo", .host = *net::parse_host(host), .prefix = 8});
  return listening;
}

// A process of two, that adds 1 to each of the other's words.
class Adder {
 public:
  Adder(std::uint32_t rank, std::size_t lanes) : peer_{1 - rank} {
    auto made = Tcp::create({.rank = rank, .size = 2, .listening = listening_at(lanes)});
    EXPECT_TRUE(made) << made.error().message();
    tcp_ = std::move(*made);
    memory_ = *tcp_->allocate(sizeof(std::uint64_t) * (kMessages + kMore));
  }
  [[nodiscard]] std::uint64_t word(std::uint32_t i) const {
    return load_word(memory_.memory.data() + sizeof(std::uint64_t) * i);
  }
  [[nodiscard]] bool attach(Adder& other) {
    attached_ = tcp_->attach(peer_, other.tcp_->address()).has_value();
    return attached_;
  }
  // Asks for the next one, where it can.
  void add(Adder& other) {
    if (next_ == wanted_) return;
    if (!attached_ && !attach(other)) return;
    ir::Command command = contract::fetch_and_add(static_cast<std::uint32_t>(peer_),
                                                  other.memory_.place.at(sizeof(std::uint64_t) * next_), 1);
    command.flags = ir::Flags::signalled;
    command.cookie = next_;
    command.send_engine = static_cast<std::uint8_t>(next_ % 2); // by each of the lanes
    next_ += tcp_->submit({&command, 1}) == 1 ? 1 : 0;
  }
  void poll() {
    std::array<ir::Event, 8> events;
    for (std::size_t i = 0, count = tcp_->poll(events); i < count; ++i) {
      if (events[i].kind == ir::EventKind::completed) {
        const auto message = static_cast<std::uint32_t>(events[i].cookie);
        EXPECT_TRUE(ended_.emplace(message, events[i].status).second) << "message " << message << " ended twice";
      } else {
        EXPECT_EQ(events[i].kind, ir::EventKind::connection_lost) << "the other lives";
        attached_ = false;
        ++lost_;
      }
    }
  }
  void want_one_more() { ++wanted_; }
  [[nodiscard]] bool has_ended() const { return ended_.size() == wanted_; }
  [[nodiscard]] bool succeeded_last() const { return end_of(wanted_ - 1) == ir::Status::ok; }
  [[nodiscard]] std::optional<ir::Status> end_of(std::uint32_t message) const {
    const auto found = ended_.find(message);
    return found == ended_.end() ? std::nullopt : std::optional(found->second);
  }
  void expect_sound(const Adder& other) const {
    for (std::uint32_t i = 0; i < wanted_; ++i) {
      EXPECT_LE(other.word(i), 1U) << "message " << i << " was carried out twice";
      if (end_of(i) == ir::Status::ok) {
        EXPECT_EQ(other.word(i), 1U) << "message " << i;
      } else {
        EXPECT_EQ(end_of(i), ir::Status::connection_lost) << "message " << i;
        EXPECT_GT(lost_, 0);
      }
    }
  }

 private:
  ir::Peer peer_;
  std::unique_ptr<Tcp> tcp_;
  ir::ExposedMemory memory_;
  bool attached_ = false;
  std::uint32_t wanted_ = kMessages;
  std::uint32_t next_ = 0;
  int lost_ = 0;
  std::map<std::uint32_t, ir::Status> ended_;
};

// Both ends of each connection of this process.
std::vector<int> connections() {
  std::vector<int> found;
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  for (int socket = 3; socket < static_cast<int>(std::min<rlim_t>(most.rlim_cur, 256)); ++socket) {
    net::SocketAddress other;
    if (::getpeername(socket, other.get(), &other.length) == 0 && other.get()->sa_family == AF_INET)
      found.push_back(socket);
  }
  return found;
}

void reset(int socket) {
  const sockaddr none{.sa_family = AF_UNSPEC, .sa_data = {}};
  ASSERT_EQ(::connect(socket, &none, sizeof none), 0);
}

struct Moment {
  bool both_begin = false;
  int step = 0;          // after it
  std::size_t which = 0; // of the ends of connections that there are then; beyond them: the first
};

bool goes_on(Adder& one, Adder& other, const Moment& at) {
  EXPECT_TRUE(one.attach(other));
  if (at.both_begin) {
    EXPECT_TRUE(other.attach(one));
  }
  const auto limit = std::chrono::steady_clock::now() + contract::kPatience;
  bool was_reset = false;
  for (int step = 0; !one.has_ended() || !other.has_ended() || !was_reset; ++step) {
    if (!was_reset && step >= at.step) {
      const std::vector<int> ends = connections();
      if (!ends.empty()) reset(ends[at.which < ends.size() ? at.which : 0]);
      was_reset = !ends.empty();
    }
    one.add(other);
    if (at.both_begin || step >= at.step) other.add(one);
    one.poll();
    other.poll();
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  // It may be asked for before its side has seen the end.
  for (Adder* each : {&one, &other}) {
    Adder& peer = each == &one ? other : one;
    for (std::uint32_t tries = 0; tries < kMore && (tries == 0 || !each->succeeded_last()); ++tries) {
      each->want_one_more();
      while (!each->has_ended()) {
        each->add(peer);
        one.poll();
        other.poll();
        if (std::chrono::steady_clock::now() > limit) return false;
      }
    }
    EXPECT_TRUE(each->succeeded_last());
  }
  return true;
}

class TcpResets : public testing::TestWithParam<std::tuple<std::size_t, bool>> {};

TEST_P(TcpResets, AtEveryStepEndNothingButWhatWasUnderWay) {
  const auto [lanes, both_begin] = GetParam();
  for (int step = 0; step < kSteps; step += static_cast<int>(lanes))
    for (std::size_t which = 0; which < 2 * lanes; ++which) {
      SCOPED_TRACE(testing::Message() << "after step " << step << ", end " << which);
      Adder one(0, lanes);
      Adder other(1, lanes);
      ASSERT_TRUE(goes_on(one, other, {.both_begin = both_begin, .step = step, .which = which}));
      one.expect_sound(other);
      other.expect_sound(one);
      if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, TcpResets, testing::Combine(testing::Values(1, 2), testing::Bool()), [](const auto& of) {
  return std::string(std::get<0>(of.param) == 1 ? "OneLane" : "TwoLanes") +
         (std::get<1>(of.param) ? "BothBegin" : "OneBegins");
});

} // namespace
} // namespace heddle::translators
