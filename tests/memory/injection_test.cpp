// Every allocation of every call fails once: the call says out_of_memory or does what it was asked to, throws nothing, and
// the job works on.
#include "tests/memory/failing_new.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <vector>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::tests {
namespace {

using namespace std::chrono_literals;

constexpr Rank kSelf{0};
constexpr AreaId kArea{1};
constexpr AreaId kLock{2};
constexpr std::uint64_t kMostAllocations = 500;

Options single() {
  Options options;
  options.single = true;
  return options;
}

class Memory : public testing::Test {
 protected:
  Memory() : large_(300'000, std::byte{7}), into_(300'000) {}

  // What a call ended with; never waits for ever.
  ErrorCode code_of(Context& job, const Result<Request>& request) {
    return request ? job.wait(*request, 10s).code : request.error().code;
  }
  static void expect_sound(ErrorCode code) {
    EXPECT_TRUE(code == ErrorCode::ok || code == ErrorCode::out_of_memory) << to_string(code);
  }
  // Messages of each kind go through, whole and once.
  void expect_works(Context& job) {
    for (const std::size_t bytes : {std::size_t{64}, large_.size()}) {
      std::ranges::fill(into_, std::byte{0});
      const auto received = job.receive({.source = kSelf, .tag = Tag{99}}, std::span(into_).first(bytes));
      const auto sent = job.send(kSelf, Tag{99}, std::span(large_).first(bytes), SendMode::synchronous);
      ASSERT_TRUE(received && sent);
      EXPECT_EQ(job.wait(*received, 10s).code, ErrorCode::ok) << job.waiting_for();
      EXPECT_EQ(job.wait(*sent, 10s).code, ErrorCode::ok);
      EXPECT_TRUE(std::ranges::equal(std::span(into_).first(bytes), std::span(large_).first(bytes)));
      const auto left = job.send_unsolicited(kSelf, Tag{98}, std::span(large_).first(bytes));
      ASSERT_TRUE(left);
      EXPECT_EQ(unsolicited(job, Tag{98}), 1U);
      EXPECT_EQ(job.wait(*left, 10s).code, ErrorCode::ok);
    }
    EXPECT_TRUE(job.barrier());
  }
  // Unsolicited messages of that label, once one is there; those of others are released.
  std::size_t unsolicited(Context& job, Tag label) {
    std::size_t count = 0;
    std::array<Event, 8> events;
    for (int looks = 0; looks < 1000 && count == 0; ++looks)
      for (std::size_t i = job.wait_events(events, 10ms); i > 0; --i) {
        if (events[i - 1].kind != Event::Kind::unsolicited_arrived) continue;
        count += events[i - 1].completion.tag == label ? 1 : 0;
        job.release(events[i - 1].unsolicited);
      }
    return count;
  }

  // A job for each allocation that may fail. `prepare` runs before, undisturbed; `call` under the failure.
  void run(const std::function<void(Context&)>& call, const std::function<void(Context&)>& prepare = {}) {
    for (std::uint64_t n = 1; n < kMostAllocations; ++n) {
      SCOPED_TRACE(testing::Message() << "allocation " << n << " fails");
      auto job = Context::join(single());
      ASSERT_TRUE(job) << job.error().message();
      if (prepare) prepare(*job);
      allocations_to_failure = n;
      EXPECT_NO_THROW(call(*job));
      const bool failed = allocations_to_failure == 0;
      allocations_to_failure = 0;
      expect_works(*job);
      if (!failed || HasFailure()) return;
    }
    ADD_FAILURE() << "there is no end of allocations";
  }

  std::vector<std::byte> large_;
  std::vector<std::byte> into_;
};

TEST_F(Memory, IsAValueOfJoin) {
  for (std::uint64_t n = 1; n < 5000; ++n) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << " fails");
    allocations_to_failure = n;
    bool joined = false;
    ErrorCode code = ErrorCode::ok;
    EXPECT_NO_THROW({
      auto job = Context::join(single());
      joined = job.has_value();
      if (!joined) code = job.error().code;
    });
    const bool failed = allocations_to_failure == 0;
    allocations_to_failure = 0;
    if (!joined) {
      EXPECT_EQ(code, ErrorCode::out_of_memory);
    }
    if (!failed || HasFailure()) return;
  }
}

TEST_F(Memory, IsAValueOfSend) {
  for (const std::size_t bytes : {std::size_t{8}, large_.size()})
    for (const SendMode mode : {SendMode::standard, SendMode::synchronous})
      for (const Notify notify : {Notify::request(), Notify::event(1)})
        run([&](Context& job) {
          const auto sent = job.send(kSelf, Tag{1}, std::span(large_).first(bytes), mode, notify);
          expect_sound(sent ? ErrorCode::ok : sent.error().code);
          if (!sent) return;
          const auto received = job.receive({.source = kSelf, .tag = Tag{1}}, into_);
          expect_sound(code_of(job, received));
        });
}

TEST_F(Memory, IsAValueOfSendsInPieces) {
  run([&](Context& job) {
    const auto sent = job.send(kSelf, Tag{1}, ConstLayout::strided(large_.data(), 100, 8, 16));
    expect_sound(sent ? ErrorCode::ok : sent.error().code);
    if (!sent) return;
    const auto received = job.receive({.source = kSelf, .tag = Tag{1}}, into_);
    if (received) {
      EXPECT_EQ(job.wait(*received, 10s).bytes, 800U);
    }
  });
}

TEST_F(Memory, IsAValueOfReceive) {
  for (const std::size_t bytes : {std::size_t{8}, large_.size()})
    run(
        [&](Context& job) {
          for (int looks = 0; looks < 10; ++looks) {
            const auto seen = job.probe({.tag = Tag{1}});
            expect_sound(seen ? ErrorCode::ok : seen.error().code);
          }
          const auto received = job.receive({.source = kSelf, .tag = Tag{1}}, into_);
          expect_sound(code_of(job, received));
        },
        [&](Context& job) { ASSERT_TRUE(job.send(kSelf, Tag{1}, std::span(large_).first(bytes))); });
}

TEST_F(Memory, IsAValueOfMatchedProbeAndCancel) {
  run([&](Context& job) {
    const auto posted = job.receive({.source = kSelf, .tag = Tag{77}}, into_);
    if (posted) {
      EXPECT_TRUE(job.cancel(*posted));
    }
    const auto sent = job.send(kSelf, Tag{1}, std::span(large_).first(100));
    expect_sound(sent ? ErrorCode::ok : sent.error().code);
    if (!sent) return;
    for (int looks = 0; looks < 100; ++looks) {
      const auto message = job.matched_probe({.tag = Tag{1}});
      expect_sound(message ? ErrorCode::ok : message.error().code);
      if (!message || !*message) continue;
      expect_sound(code_of(job, job.receive_matched(**message, into_)));
      return;
    }
    ADD_FAILURE() << "the message never came";
  });
}

TEST_F(Memory, IsAValueOfUnsolicitedMessages) {
  for (const std::size_t bytes : {std::size_t{8}, large_.size()})
    run([&](Context& job) {
      const auto sent = job.send_unsolicited(kSelf, Tag{5}, std::span(large_).first(bytes));
      expect_sound(sent ? ErrorCode::ok : sent.error().code);
      if (!sent) return;
      std::size_t count = 0;
      std::array<Event, 8> events;
      for (int looks = 0; looks < 1000 && count == 0; ++looks)
        for (std::size_t i = job.poll(events); i > 0; --i) {
          ++count;
          job.release(events[i - 1].unsolicited);
        }
      const ErrorCode code = job.wait(*sent, 10s).code;
      expect_sound(code);
      EXPECT_EQ(count, code == ErrorCode::ok ? 1U : 0U); // a large one that finds no memory ends at its sender
    });
}

TEST_F(Memory, IsAValueOfCollectives) {
  run([&](Context& job) {
    const auto passed = job.barrier();
    expect_sound(passed ? ErrorCode::ok : passed.error().code);
    const auto exchanged = job.alltoall(std::span(large_).first(100), std::span(into_).first(100));
    expect_sound(exchanged ? ErrorCode::ok : exchanged.error().code);
  });
}

TEST_F(Memory, IsAValueOfOneSidedOperations) {
  run([&](Context& job) {
    OneSided& one = job.one_sided();
    const auto made = one.allocate(kArea, 4096);
    expect_sound(made ? ErrorCode::ok : made.error().code);
    if (!made) return;
    const Place place{kSelf, kArea, 0};
    expect_sound(one.push(place, std::span(large_).first(100)));
    expect_sound(one.pull(place, std::span(into_).first(100)));
    const auto added = one.atomic(place, Atomic::add(1));
    expect_sound(added ? ErrorCode::ok : added.error().code);
    const std::array peers{kSelf};
    expect_sound(one.mcast(peers, kArea, 0, std::span(large_).first(100), {}, Signal::event(Tag{1})));
    const auto lock = one.create_lock(kLock);
    expect_sound(lock ? ErrorCode::ok : lock.error().code);
    if (lock) {
      const ErrorCode taken = one.lock(kSelf, kLock);
      expect_sound(taken);
      if (taken == ErrorCode::ok) expect_sound(one.unlock(kSelf, kLock));
    }
    const auto closed = one.close(kArea);
    expect_sound(closed ? ErrorCode::ok : closed.error().code);
  });
}

TEST_F(Memory, IsNoExceptionWhereOneLooksInside) {
  run([&](Context& job) {
    static_cast<void>(job.figures());
    static_cast<void>(job.waiting_for());
    const auto why = job.why(kSelf, 8);
    expect_sound(why ? ErrorCode::ok : why.error().code);
  });
}

} // namespace
} // namespace heddle::tests

#endif
