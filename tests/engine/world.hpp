// Random traffic between engines of one thread: what came out is judged (tests/traffic), and no operation is without an end.
#pragma once

#include "tests/engine/cluster.hpp"
#include "tests/traffic/dice.hpp"
#include "tests/traffic/judge.hpp"
#include "tests/traffic/region.hpp"
#include "tests/traffic/slowdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
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
      : mix_(shortened(mix)), dice_(seed), cluster_(mix.size, mix.limits, mix.shape, seed), posts_(mix.size, 0) {}

  void run() {
    const int kill_at = mix_.kill ? static_cast<int>(dice_.below(static_cast<std::uint64_t>(mix_.steps))) : -1;
    for (int step = 0; step < mix_.steps; ++step) {
      if (step == kill_at) kill();
      act(pick());
      for (std::uint64_t i = dice_.below(4); i > 0; --i) cluster_.progress(pick());
      if (step % 8 == 0) collect_all();
      if (testing::Test::HasFatalFailure()) return;
    }
    finish();
    if (testing::Test::HasFatalFailure()) return;
    check();
  }

 private:
  static Mix shortened(Mix mix) {
    if (kSlowdown > 1) mix.steps /= 4;
    return mix;
  }
  std::uint32_t pick() { return dice_.rank(mix_.size); }
  bool chance(unsigned percent) { return dice_.chance(percent); }
  // In a kill the number is read back where the order alone does not tell.
  std::uint64_t random_bytes() { return dice_.bytes(mix_.kill ? 8 : 0, mix_.largest); }
  Match random_match() { return dice_.match(mix_.size); }

  void act(std::uint32_t node) {
    if (!cluster_.alive(node)) return;
    const std::uint64_t choice = dice_.below(100);
    if (choice < 40)
      send(node, false);
    else if (choice < 48)
      send(node, true);
    else if (choice < 85)
      post_random(node);
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
              .tag = dice_.tag(),
              .bytes = random_bytes(),
              .unsolicited = unsolicited};
    if (unsolicited) sent.tag = sent.number;
    auto region = std::make_unique<Region>(sent.bytes, dice_.source());
    region->write(sent.content());
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
  void post_random(std::uint32_t node) {
    const Match match = random_match(); // before the size: compilers differ in which argument they see to first
    post(node, match, random_bytes());
  }
  void post(std::uint32_t node, const Match& match, std::uint64_t room) {
    auto region = std::make_unique<Region>(room, dice_.source());
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
    const auto seen = cluster_[node].probe(random_match());
    ASSERT_TRUE(!seen || !*seen || static_cast<std::uint32_t>((*seen)->source) < mix_.size);
  }
  void matched_probe(std::uint32_t node) {
    const Match match = random_match();
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
    auto region = std::make_unique<Region>(room, dice_.source());
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
      Operation& op = ops_[dice_.below(ops_.size())];
      if (op.node != node || op.ended) continue;
      if (cluster_[node].cancel(op.request)) op.cancelled = true;
      return;
    }
  }
  void kill() {
    killed_ = static_cast<int>(pick());
    cluster_.kill(static_cast<std::uint32_t>(killed_));
    for (std::uint32_t node = 0; node < mix_.size; ++node)
      if (cluster_.alive(node) && chance(50)) cluster_[node].peer_failed(static_cast<std::uint32_t>(killed_));
  }

  void end(Operation& op, const Completion& completion) {
    ASSERT_FALSE(op.ended);
    op.end(completion);
  }
  void collect_all() {
    for (std::uint32_t node = 0; node < mix_.size; ++node)
      if (cluster_.alive(node)) collect_events(node);
    for (Operation& op : ops_)
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
      ASSERT_EQ(event.unsolicited.bytes, sent.bytes);
      ASSERT_TRUE(sent.begins_with({event.unsolicited.data, event.unsolicited.bytes}));
      held_.push_back({node, event.unsolicited.handle});
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
    for (Operation& op : ops_)
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
      EXPECT_EQ(cluster_.node(node).figure("bytes of unexpected messages"), 0U) << "node " << node;
      EXPECT_EQ(cluster_.node(node).figure("messages not received"), 0U);
      EXPECT_EQ(cluster_.node(node).translator->exposed(), 0) << "node " << node;
      EXPECT_LE(cluster_.node(node).figure("ring memory bytes"), mix_.limits.ring_memory);
      EXPECT_EQ(failures_[node], killed_ >= 0 ? 1 : 0) << "peer_failed events at node " << node;
    }
    check_sends();
    if (testing::Test::HasFatalFailure()) return;
    for (std::uint32_t node = 0; node < mix_.size; ++node) {
      if (!cluster_.alive(node)) continue;
      ASSERT_EQ(judge(node), "");
    }
  }
  void check_sends() {
    for (const Operation& op : ops_) {
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
  std::string judge(std::uint32_t node) {
    std::vector<Sent*> messages;
    std::vector<const Operation*> receives;
    for (Sent& sent : messages_)
      if (sent.to == node) messages.push_back(&sent);
    for (const Operation& op : ops_)
      if (op.node == node && !op.is_send) receives.push_back(&op);
    std::vector<bool> dead(cluster_.size(), false);
    if (killed_ >= 0) dead[static_cast<std::size_t>(killed_)] = true;
    return Judge(std::move(messages), std::move(receives), dead, dead).verdict();
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
  Dice dice_;
  std::vector<Sent> messages_;
  std::vector<Operation> ops_; // before the cluster: its memory outlives the engines
  Cluster cluster_;
  std::vector<std::uint64_t> posts_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t> numbers_;
  std::vector<Reserved> reserved_;
  std::vector<Held> held_;
  std::map<std::uint32_t, int> failures_;
  int killed_ = -1;
};

} // namespace heddle::tests
