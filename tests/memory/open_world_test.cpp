// Every allocation of every call of an open world fails once: the call says out_of_memory or does what it was asked to, throws
// nothing and keeps nothing, and both sides work on.
#include "tests/memory/failing_new.hpp"

#include "base/reserve.hpp"
#include "tests/memory/holdings.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::tests {
namespace {

constexpr std::uint64_t kMostOfACall = 2000;

Options small_world() {
  return {.ring_bytes = 4096, .ring_memory = 64 << 10};
}

class OpenMemory : public testing::Test {
 protected:
  // Makes everything that stays for good: the reserve, and the block that is kept beside it while it is drawn on.
  OpenMemory() {
    EXPECT_TRUE(base::Reserve::keep());
    no_memory = true;
    void* drawn = base::Reserve::take(8);
    no_memory = false;
    EXPECT_TRUE(base::Reserve::may_begin());
    base::Reserve::give_back(drawn);
    auto a = Context::open(small_world());
    auto b = Context::open(small_world());
    if (a && b) expect_talk(*a, *a->add_peer(*b->name()), *b);
  }

  template <typename Value>
  static void expect_sound(const Result<Value>& result) {
    if (result) return;
    EXPECT_EQ(result.error().code, ErrorCode::out_of_memory) << result.error().message();
    EXPECT_FALSE(result.error().fact.empty());
  }
  static bool until(const std::function<bool()>& done, Context& a, Context& b) {
    std::array<Event, 1> none;
    for (int round = 0; round < 200'000; ++round) {
      if (done()) return true;
      (void)a.poll(std::span(none).first(0));
      (void)b.poll(std::span(none).first(0));
    }
    return false;
  }
  // A message of each kind, to and fro.
  static void expect_talk(Context& a, Rank at_a, Context& b) {
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{100'000}}) {
      const std::vector<std::byte> out(bytes, std::byte{7});
      std::vector<std::byte> in(bytes);
      std::vector<std::byte> back(bytes);
      const auto received = b.receive({.source = kAnySource, .tag = Tag{99}}, in);
      const auto sent = a.send(at_a, Tag{99}, out);
      ASSERT_TRUE(received && sent) << (sent ? received : sent).error().message();
      std::optional<Completion> heard;
      std::optional<Completion> left;
      const auto ended = [](Context& context, Request request, std::optional<Completion>& completion) {
        if (!completion) completion = context.test(request);
        return completion.has_value();
      };
      ASSERT_TRUE(until([&] { return ended(b, *received, heard) & ended(a, *sent, left); }, a, b))
          << a.waiting_for() << b.waiting_for();
      EXPECT_EQ(heard->code, ErrorCode::ok);
      EXPECT_EQ(left->code, ErrorCode::ok);
      EXPECT_EQ(in, out);
      const auto answer = a.receive({.source = at_a, .tag = Tag{98}}, back);
      const auto answered = b.send(heard->peer, Tag{98}, in);
      ASSERT_TRUE(answer && answered);
      heard = left = {};
      ASSERT_TRUE(until([&] { return ended(a, *answer, heard) & ended(b, *answered, left); }, a, b));
      EXPECT_EQ(back, out);
    }
  }

  // Two contexts for each allocation that may fail. `prepare` runs before, undisturbed; `call` under the failure; `after` when
  // there is memory again. In the end both close, and nothing is kept.
  struct Scene {
    Context& a;
    Context& b;
    Rank at_a; // b
  };
  void run(const std::function<void(Scene&)>& prepare, const std::function<void(Scene&)>& call,
           const std::function<void(Scene&)>& after) {
    for (const bool lasting : {false, true}) run_through(lasting, prepare, call, after);
  }
  void run_through(bool lasting, const std::function<void(Scene&)>& prepare, const std::function<void(Scene&)>& call,
                   const std::function<void(Scene&)>& after) {
    for (std::uint64_t n = 1; n < kMostOfACall; ++n) {
      SCOPED_TRACE(testing::Message() << "allocation " << n << (lasting ? " and all that follow fail" : " fails"));
      const Holdings before = holdings();
      bool failed = false;
      {
        auto a = Context::open(small_world());
        auto b = Context::open(small_world());
        ASSERT_TRUE(a && b);
        Scene scene{*a, *b, Rank{0}};
        prepare(scene);
        failure_lasts = lasting;
        allocations_to_failure = n;
        bool threw = false;
        try {
          call(scene);
        } catch (const std::bad_alloc&) {
          threw = true;
        }
        failed = allocations_to_failure == 0;
        allocations_to_failure = 0;
        no_memory = failure_lasts = false;
        EXPECT_FALSE(threw);
        after(scene);
      }
      EXPECT_TRUE(base::Reserve::may_begin());
      EXPECT_EQ(holdings(), before);
      if (!failed || HasFailure()) return;
    }
    ADD_FAILURE() << "there is no end of allocations";
  }
  static void add(Scene& scene) {
    scene.at_a = Rank{0};
    const auto name = scene.b.name();
    expect_sound(name);
    if (!name) return;
    const auto added = scene.a.add_peer(*name);
    expect_sound(added);
    if (added) scene.at_a = *added;
  }
  static void add_for_sure(Scene& scene) {
    const auto added = scene.a.add_peer(*scene.b.name());
    ASSERT_TRUE(added) << added.error().message();
    scene.at_a = *added;
  }
  static void talk(Scene& scene) { expect_talk(scene.a, scene.at_a, scene.b); }
  static void poll_both(Scene& scene) {
    std::array<Event, 1> none;
    for (int i = 0; i < 300; ++i) {
      (void)scene.a.poll(std::span(none).first(0));
      (void)scene.b.poll(std::span(none).first(0));
    }
  }
  // Of the ends that a context is told of.
  static std::size_t told(Context& context, Event::Kind kind) {
    std::array<Event, 8> events;
    std::size_t count = 0;
    for (std::size_t i = context.poll(events); i > 0; --i) {
      EXPECT_EQ(events[i - 1].kind, kind);
      ++count;
    }
    return count;
  }
};

TEST_F(OpenMemory, IsAValueOfOpen) {
  for (std::uint64_t n = 1; n < 5000; ++n) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << " fails");
    const Holdings before = holdings();
    allocations_to_failure = n;
    EXPECT_NO_THROW(expect_sound(Context::open(small_world())));
    const bool failed = allocations_to_failure == 0;
    allocations_to_failure = 0;
    EXPECT_EQ(holdings(), before);
    if (!failed || HasFailure()) return;
  }
  ADD_FAILURE() << "there is no end of allocations";
}

TEST_F(OpenMemory, IsAValueOfNamingAndAdding) {
  run([](Scene&) {}, add,
      [](Scene& scene) {
        EXPECT_EQ(scene.a.size(), scene.at_a == Rank{0} ? 1U : 2U) << "who was not added has no rank";
        add_for_sure(scene);
        talk(scene);
      });
}

TEST_F(OpenMemory, IsAValueOfTalkingToItself) {
  run([](Scene&) {},
      [](Scene& scene) {
        expect_sound(scene.a.send(Rank{0}, Tag{1}, {}));
        poll_both(scene);
      },
      [](Scene& scene) { expect_talk(scene.a, Rank{0}, scene.a); });
}

TEST_F(OpenMemory, IsShortWhileTwoConnect) {
  run(
      add_for_sure,
      [](Scene& scene) {
        const auto sent = scene.a.send(scene.at_a, Tag{1}, {});
        expect_sound(sent);
        poll_both(scene);
      },
      talk);
}

TEST_F(OpenMemory, IsAValueOfRemoving) {
  run(
      [](Scene& scene) {
        add_for_sure(scene);
        talk(scene);
      },
      [](Scene& scene) {
        expect_sound(scene.a.remove_peer(scene.at_a));
        poll_both(scene);
      },
      [](Scene& scene) {
        EXPECT_TRUE(scene.a.remove_peer(scene.at_a)) << "as often as one likes";
        std::size_t departures = 0;
        EXPECT_TRUE(until([&] { return (departures += told(scene.b, Event::Kind::peer_left)) > 0; }, scene.a, scene.b));
        EXPECT_EQ(departures, 1U);
        add_for_sure(scene);
        talk(scene);
      });
}

// It waits until it has parted from its first stay, and is attached in the middle of something else.
TEST_F(OpenMemory, IsShortWhereAPeerComesAgain) {
  run(
      [](Scene& scene) {
        add_for_sure(scene);
        talk(scene);
      },
      [](Scene& scene) {
        expect_sound(scene.a.remove_peer(scene.at_a));
        add(scene);
        if (scene.at_a != Rank{0}) expect_sound(scene.a.send(scene.at_a, Tag{1}, {}));
        poll_both(scene);
      },
      [](Scene& scene) {
        std::array<Event, 8> events;
        poll_both(scene);
        // Where there was no memory to attach it, that is told once, and it can be added again.
        for (std::size_t i = scene.a.poll(events); i > 0; --i) {
          EXPECT_EQ(events[i - 1].kind, Event::Kind::connection_lost);
          EXPECT_EQ(events[i - 1].completion.peer, scene.at_a);
        }
        add_for_sure(scene);
        talk(scene);
      });
}

TEST_F(OpenMemory, IsShortWhenOneCloses) {
  for (const bool connected : {true, false})
    run([](Scene&) {},
        [connected](Scene& scene) {
          std::optional<Context> c;
          {
            const std::uint64_t n = std::exchange(allocations_to_failure, 0);
            auto made = Context::open(small_world());
            ASSERT_TRUE(made);
            c = std::move(*made);
            const auto at_c = c->add_peer(*scene.a.name());
            ASSERT_TRUE(at_c);
            ASSERT_TRUE(scene.a.add_peer(*c->name()));
            if (connected) expect_talk(*c, *at_c, scene.a);
            allocations_to_failure = n;
          }
          c.reset();
          poll_both(scene);
        },
        [](Scene& scene) {
          std::size_t departures = 0;
          EXPECT_TRUE(
              until([&] { return (departures += told(scene.a, Event::Kind::peer_left)) > 0; }, scene.a, scene.b));
          EXPECT_EQ(departures, 1U);
          add_for_sure(scene);
          talk(scene);
        });
}

} // namespace
} // namespace heddle::tests

#endif
