// Random traffic between engines, and a model that says whether what came out can be: every byte, MPI's order, no
// operation without an end.
#pragma once

#include "tests/engine/cluster.hpp"
#include "tests/engine/region.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace heddle::tests {

struct Mix {
  std::uint32_t size = 2;
  engine::Limits limits = usual_limits();
  Shape shape;
  int steps = 1500;
  std::uint64_t largest = 1U << 20U;
  bool kill = false;
};

class World {
 public:
  World(const Mix& mix, std::uint64_t seed)
      : mix_(mix), random_(seed), cluster_(mix.size, mix.limits, mix.shape, seed), posts_(mix.size, 0) {}

  void run() {
    const int kill_at = mix_.kill ? static_cast<int>(random_() % static_cast<std::uint64_t>(mix_.steps)) : -1;
    for (int step = 0; step < mix_.steps; ++step) {
      if (step == kill_at) kill();
      act(pick());
      for (std::uint64_t i = random_() % 4; i > 0; --i) cluster_.progress(pick());
      if (step % 8 == 0) collect_all();
      if (testing::Test::HasFatalFailure()) return;
    }
    finish();
    if (testing::Test::HasFatalFailure()) return;
    check();
  }

 private:
  struct Sent {
    std::uint32_t from, to;
    std::uint64_t number; // among those from `from` to `to`
    std::uint64_t tag, bytes;
    bool unsolicited;
    bool accepted = true; // by the engine
    int receive = -1;     // that got it
    bool arrived = false; // unsolicited
  };
  struct Op {
    std::uint32_t node;
    bool is_send, by_event, ended = false;
    int message = -1; // of a send
    std::unique_ptr<Region> region;
    Request request;
    std::uint64_t room = 0; // of a receive
    Match match;
    std::uint64_t order = 0; // of a receive: when it was posted, or its message reserved
    bool cancelled = false;
    Completion completion;
  };

  std::uint32_t pick() { return static_cast<std::uint32_t>(random_() % mix_.size); }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  static std::byte content(const Sent& sent, std::uint64_t index) {
    const std::uint64_t number = sent.number;
    if (index < 8) return static_cast<std::byte>(number >> (8 * index));
    const std::uint64_t mixed = (number * 31 + sent.from * 7 + sent.to * 3 + 1) * (index + 11);
    return static_cast<std::byte>(mixed ^ (mixed >> 11U));
  }
  std::uint64_t random_bytes() {
    const std::uint64_t least = mix_.kill ? 8 : 0; // the number is read back where the order alone does not tell
    const std::uint64_t classes[] = {1, 9, 65, 1025, 5000, 40'000, mix_.largest + 1};
    const std::uint64_t choice = random_() % 100;
    const std::size_t index = choice < 8    ? 0
                              : choice < 25 ? 1
                              : choice < 50 ? 2
                              : choice < 75 ? 3
                              : choice < 88 ? 4
                              : choice < 97 ? 5
                                            : 6;
    return std::min(mix_.largest, least + random_() % classes[index]);
  }
  static std::uint64_t random_tag(std::mt19937_64& random) { return (random() % 3) | ((random() % 3) << 60U); }
  Match random_match(std::uint32_t node) {
    static_cast<void>(node);
    Match match;
    if (!chance(30)) match.source = Rank{pick()};
    constexpr std::uint64_t kMasks[] = {
        ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0xff, 0xfULL << 60U, 0};
    match.mask = kMasks[random_() % 6];
    match.tag = Tag{random_tag(random_) & match.mask};
    return match;
  }

  void act(std::uint32_t node) {
    if (!cluster_.alive(node)) return;
    const std::uint64_t choice = random_() % 100;
    if (choice < 40)
      send(node, false);
    else if (choice < 48)
      send(node, true);
    else if (choice < 85)
      post(node, random_match(node), random_bytes());
    else if (choice < 90)
      probe(node);
    else if (choice < 95)
      matched_probe(node);
    else
      cancel(node);
  }
  void send(std::uint32_t node, bool unsolicited) {
    const std::uint32_t to = pick();
    Sent sent{.from = node,
              .to = to,
              .number = numbers_[{node, to, unsolicited}],
              .tag = random_tag(random_),
              .bytes = random_bytes(),
              .unsolicited = unsolicited};
    if (unsolicited) sent.tag = sent.number;
    auto region = std::make_unique<Region>(sent.bytes, random_);
    for (std::uint64_t i = 0; i < sent.bytes; ++i) region->at(i) = content(sent, i);
    const bool by_event = chance(50);
    const engine::Engine::SendArguments arguments{
        .to = Rank{to},
        .tag = Tag{sent.tag},
        .mode = !unsolicited && chance(25) ? SendMode::synchronous : SendMode::standard,
        .notify = by_event ? Notify::event(ops_.size()) : Notify::request()};
    auto request = unsolicited ? cluster_[node].send_unsolicited(arguments, region->layout())
                               : cluster_[node].send(arguments, region->layout());
    if (!request) {
      ASSERT_FALSE(cluster_.alive(to)) << request.error().message();
      ASSERT_EQ(request.error().code, ErrorCode::peer_failed);
      return;
    }
    ++numbers_[{node, to, unsolicited}];
    messages_.push_back(sent);
    ops_.push_back({.node = node,
                    .is_send = true,
                    .by_event = by_event,
                    .message = static_cast<int>(messages_.size()) - 1,
                    .region = std::move(region),
                    .request = *request});
  }
  void post(std::uint32_t node, const Match& match, std::uint64_t room) {
    auto region = std::make_unique<Region>(room, random_);
    const bool by_event = chance(50);
    auto request =
        cluster_[node].receive(match, region->layout(), by_event ? Notify::event(ops_.size()) : Notify::request());
    if (!request) {
      ASSERT_TRUE(match.source != kAnySource && !cluster_.alive(static_cast<std::uint32_t>(match.source)))
          << request.error().message();
      return;
    }
    ops_.push_back({.node = node,
                    .is_send = false,
                    .by_event = by_event,
                    .region = std::move(region),
                    .request = *request,
                    .room = room,
                    .match = match,
                    .order = ++posts_[node]});
  }
  void probe(std::uint32_t node) {
    const auto seen = cluster_[node].probe(random_match(node));
    ASSERT_TRUE(!seen || !*seen || static_cast<std::uint32_t>((*seen)->source) < mix_.size);
  }
  void matched_probe(std::uint32_t node) {
    const Match match = random_match(node);
    const auto message = cluster_[node].matched_probe(match);
    if (!message || !*message) return;
    // Reserved now, received later: the order is that of the reservation.
    reserved_.push_back({node, **message, match, ++posts_[node]});
    if (chance(50)) receive_reserved(reserved_.size() - 1);
  }
  void receive_reserved(std::size_t index) {
    const Reserved reserved = reserved_[index];
    reserved_.erase(reserved_.begin() + static_cast<std::ptrdiff_t>(index));
    const std::uint64_t room = chance(80) ? reserved.message.envelope.bytes : random_bytes();
    auto region = std::make_unique<Region>(room, random_);
    const bool by_event = chance(50);
    auto request = cluster_[reserved.node].receive_matched(reserved.message, region->layout(),
                                                           by_event ? Notify::event(ops_.size()) : Notify::request());
    ASSERT_TRUE(request.has_value()) << request.error().message();
    EXPECT_FALSE(cluster_[reserved.node].receive_matched(reserved.message, Layout(), {}).has_value());
    ops_.push_back({.node = reserved.node,
                    .is_send = false,
                    .by_event = by_event,
                    .region = std::move(region),
                    .request = *request,
                    .room = room,
                    .match = reserved.match,
                    .order = reserved.order});
  }
  void cancel(std::uint32_t node) {
    for (int tries = 0; tries < 10 && !ops_.empty(); ++tries) {
      Op& op = ops_[random_() % ops_.size()];
      if (op.node != node || op.ended) continue;
      if (cluster_[node].cancel(op.request)) op.cancelled = true;
      return;
    }
  }
  void kill() {
    killed_ = pick();
    cluster_.kill(static_cast<std::uint32_t>(killed_));
    for (std::uint32_t node = 0; node < mix_.size; ++node)
      if (cluster_.alive(node) && chance(50)) cluster_[node].peer_failed(static_cast<std::uint32_t>(killed_));
  }

  void end(Op& op, const Completion& completion) {
    ASSERT_FALSE(op.ended);
    op.ended = true;
    op.completion = completion;
    if (op.is_send) op.region->scribble();
  }
  void collect_all() {
    for (std::uint32_t node = 0; node < mix_.size; ++node)
      if (cluster_.alive(node)) collect_events(node);
    for (Op& op : ops_)
      if (!op.ended && !op.by_event && cluster_.alive(op.node))
        if (const auto completion = cluster_[op.node].take_completion(op.request)) end(op, *completion);
  }
  void collect_events(std::uint32_t node) {
    std::array<Event, 16> events;
    while (const std::size_t count = cluster_[node].take_events(events))
      for (std::size_t i = 0; i < count; ++i) {
        const Event& event = events[i];
        if (event.kind == Event::Kind::peer_failed) {
          ASSERT_EQ(static_cast<int>(event.completion.peer), killed_) << "node " << node;
          ++failures_[node];
        } else if (event.kind == Event::Kind::unsolicited_arrived) {
          arrived(node, event);
        } else {
          ASSERT_LT(event.cookie, ops_.size());
          ASSERT_EQ(ops_[event.cookie].node, node);
          end(ops_[event.cookie], event.completion);
        }
      }
  }
  void arrived(std::uint32_t node, const Event& event) {
    for (Sent& sent : messages_) {
      if (!sent.unsolicited || sent.to != node || Rank{sent.from} != event.completion.peer ||
          Tag{sent.number} != event.completion.tag)
        continue;
      ASSERT_FALSE(sent.arrived) << "twice";
      sent.arrived = true;
      ASSERT_EQ(event.arrival.bytes, sent.bytes);
      for (std::uint64_t i = 0; i < sent.bytes; ++i) ASSERT_EQ(event.arrival.data[i], content(sent, i)) << "byte " << i;
      held_.push_back({node, event.arrival.handle});
      if (chance(70)) release(held_.size() - 1);
      return;
    }
    FAIL() << "an unsolicited message that nobody sent";
  }
  void release(std::size_t index) {
    cluster_[held_[index].node].release(held_[index].handle);
    cluster_[held_[index].node].release(held_[index].handle); // ignored
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void finish() {
    for (int round = 0; round < 2000; ++round) {
      cluster_.settle();
      collect_all();
      if (testing::Test::HasFatalFailure()) return;
      for (std::size_t i = reserved_.size(); i-- > 0;) {
        if (cluster_.alive(reserved_[i].node))
          receive_reserved(i);
        else
          reserved_.erase(reserved_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      bool more = false;
      for (std::uint32_t node = 0; node < mix_.size; ++node) {
        if (!cluster_.alive(node)) continue;
        for (std::uint64_t i = cluster_.node(node).figure("messages not received"); i > 0; --i) {
          post(node, {.mask = 0}, chance(80) ? mix_.largest : random_bytes());
          more = true;
        }
      }
      if (!more && reserved_.empty()) break;
    }
    cluster_.settle();
    collect_all();
    for (Op& op : ops_)
      if (!op.ended && !op.is_send && cluster_.alive(op.node)) {
        ASSERT_TRUE(cluster_[op.node].cancel(op.request)) << "a receive hangs: " << cluster_[op.node].waiting_for();
        op.cancelled = true;
      }
    collect_all();
    while (!held_.empty()) release(held_.size() - 1);
  }

  [[nodiscard]] bool concerns_dead(const Sent& sent) const {
    return static_cast<int>(sent.from) == killed_ || static_cast<int>(sent.to) == killed_;
  }

  void check() {
    for (std::uint32_t node = 0; node < mix_.size; ++node) {
      if (!cluster_.alive(node)) continue;
      EXPECT_EQ(cluster_.node(node).figure("operations under way"), 0U) << cluster_[node].waiting_for();
      EXPECT_EQ(cluster_.node(node).figure("bytes of messages not received"), 0U) << "node " << node;
      EXPECT_EQ(cluster_.node(node).figure("messages not received"), 0U);
      EXPECT_EQ(cluster_.node(node).translator->exposed(), 0) << "node " << node;
      EXPECT_LE(cluster_.node(node).figure("ring memory bytes"), mix_.limits.ring_memory);
      EXPECT_EQ(failures_[node], killed_ >= 0 ? 1 : 0) << "peer_failed events at node " << node;
    }
    check_sends();
    assign();
    if (testing::Test::HasFatalFailure()) return;
    check_order();
  }
  void check_sends() {
    for (const Op& op : ops_) {
      if (!op.is_send || !cluster_.alive(op.node)) continue;
      const Sent& sent = messages_[static_cast<std::size_t>(op.message)];
      ASSERT_TRUE(op.ended);
      if (op.completion.code == ErrorCode::peer_failed)
        ASSERT_TRUE(concerns_dead(sent));
      else
        ASSERT_EQ(op.completion.code, ErrorCode::ok);
      ASSERT_EQ(op.completion.message_bytes, sent.bytes);
    }
  }
  // Which receive got which message: of equal sender and tag the first posted gets the first sent. With a dead sender some
  // may have failed, and the number at the start of the message tells.
  void assign() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<std::size_t>> sent_by;
    for (std::size_t i = 0; i < messages_.size(); ++i)
      if (!messages_[i].unsolicited) sent_by[{messages_[i].from, messages_[i].to, messages_[i].tag}].push_back(i);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<std::size_t>> got_by;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = ops_[i];
      if (op.is_send || !cluster_.alive(op.node)) continue;
      ASSERT_TRUE(op.ended);
      ASSERT_EQ(op.cancelled, op.completion.code == ErrorCode::cancelled);
      if (op.cancelled) continue;
      if (op.completion.code == ErrorCode::peer_failed) {
        ASSERT_EQ(static_cast<int>(op.completion.peer), killed_);
        continue;
      }
      got_by[{static_cast<std::uint32_t>(op.completion.peer), op.node, static_cast<std::uint64_t>(op.completion.tag)}]
          .push_back(i);
    }
    for (auto& [key, receives] : got_by) {
      std::sort(receives.begin(), receives.end(),
                [this](std::size_t a, std::size_t b) { return ops_[a].order < ops_[b].order; });
      auto& sends = sent_by[key];
      ASSERT_LE(receives.size(), sends.size());
      for (std::size_t i = 0; i < receives.size(); ++i) {
        std::size_t message = sends[i];
        if (static_cast<int>(std::get<0>(key)) == killed_) {
          std::uint64_t number = 0;
          for (std::uint64_t byte = 0; byte < 8; ++byte)
            number |= static_cast<std::uint64_t>(ops_[receives[i]].region->at(byte)) << (8 * byte);
          const auto found =
              std::find_if(sends.begin(), sends.end(), [&](std::size_t at) { return messages_[at].number == number; });
          ASSERT_NE(found, sends.end());
          message = *found;
        }
        ASSERT_NO_FATAL_FAILURE(check_content(ops_[receives[i]], messages_[message]));
        ASSERT_EQ(messages_[message].receive, -1) << "received twice";
        messages_[message].receive = static_cast<int>(receives[i]);
      }
    }
    for (const Sent& sent : messages_) {
      if (concerns_dead(sent)) continue;
      if (sent.unsolicited)
        ASSERT_TRUE(sent.arrived);
      else
        ASSERT_GE(sent.receive, 0) << "a message got lost";
    }
  }
  void check_content(Op& op, const Sent& sent) {
    SCOPED_TRACE(testing::Message() << "message " << sent.number << " from " << sent.from << " to " << sent.to << " of "
                                    << sent.bytes << " bytes, tag " << sent.tag);
    const std::uint64_t taken = std::min(sent.bytes, op.room);
    ASSERT_EQ(op.completion.message_bytes, sent.bytes);
    ASSERT_EQ(op.completion.bytes, taken);
    ASSERT_EQ(op.completion.code, sent.bytes > op.room ? ErrorCode::truncated : ErrorCode::ok);
    for (std::uint64_t i = 0; i < taken; ++i) ASSERT_EQ(op.region->at(i), content(sent, i)) << "byte " << i;
    ASSERT_TRUE(op.region->rest_untouched(taken));
    ASSERT_TRUE(engine::accepts(op.match, sent.from, sent.tag));
  }
  // MPI's rules. A receive does not get a message while an earlier one of that sender that it accepts is left or goes to a
  // later receive; and no earlier receive that accepts the message is left, or gets a later message of that sender.
  void check_order() {
    for (const Sent& sent : messages_) {
      if (sent.unsolicited || sent.receive < 0) continue;
      const Op& op = ops_[static_cast<std::size_t>(sent.receive)];
      for (const Sent& earlier : messages_) {
        if (earlier.unsolicited || earlier.from != sent.from || earlier.to != sent.to ||
            earlier.number >= sent.number || static_cast<int>(sent.from) == killed_ ||
            !engine::accepts(op.match, earlier.from, earlier.tag))
          continue;
        ASSERT_LT(ops_[static_cast<std::size_t>(earlier.receive)].order, op.order) << "a message was overtaken";
      }
    }
    std::map<int, const Sent*> message_of;
    for (const Sent& sent : messages_)
      if (sent.receive >= 0) message_of[sent.receive] = &sent;
    for (const auto& [receive, sent] : message_of) {
      const Op& op = ops_[static_cast<std::size_t>(receive)];
      for (std::size_t i = 0; i < ops_.size(); ++i) {
        const Op& earlier = ops_[i];
        if (earlier.is_send || earlier.node != op.node || earlier.order >= op.order || earlier.cancelled ||
            !engine::accepts(earlier.match, sent->from, sent->tag))
          continue;
        const auto got = message_of.find(static_cast<int>(i));
        if (got == message_of.end()) {
          ASSERT_EQ(earlier.completion.code, ErrorCode::peer_failed) << "a receive was passed over";
          continue;
        }
        ASSERT_TRUE(got->second->from != sent->from || got->second->number < sent->number) << "a receive was overtaken";
      }
    }
  }

  struct Reserved {
    std::uint32_t node;
    Message message;
    Match match;
    std::uint64_t order;
  };
  struct Held {
    std::uint32_t node;
    std::uint64_t handle;
  };

  Mix mix_;
  std::mt19937_64 random_;
  std::vector<Sent> messages_;
  std::vector<Op> ops_; // before the cluster: its memory outlives the engines
  Cluster cluster_;
  std::vector<std::uint64_t> posts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t> numbers_;
  std::vector<Reserved> reserved_;
  std::vector<Held> held_;
  std::map<std::uint32_t, int> failures_;
  int killed_ = -1;
};

} // namespace heddle::tests
