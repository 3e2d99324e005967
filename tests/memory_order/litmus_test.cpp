// The checker itself: small programs whose outcomes under C++'s memory model are known.
#include "tests/weak_memory/explorer.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace heddle::memory_order::litmus {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

using M = ModelMemory;

std::atomic<std::uint64_t> x;
std::atomic<std::uint64_t> y;
std::atomic<std::uint64_t> z;
std::uint64_t data; // plain
std::uint64_t r[4];

std::byte* bytes_of(std::uint64_t& word) {
  return reinterpret_cast<std::byte*>(&word);
}
std::uint64_t plain(std::uint64_t& word) {
  std::uint64_t value = 0;
  M::copy_out(bytes_of(value), bytes_of(word), sizeof value);
  return value;
}

// What r holds in the end, over all executions: one digit each.
struct Outcomes {
  std::set<std::string> seen;
  Result result;
  [[nodiscard]] bool shows(const char* outcome) const { return seen.contains(outcome); }
};
Outcomes outcomes_of(std::vector<std::function<void()>> threads, std::size_t digits) {
  Outcomes outcomes;
  const Program program{.prepare = [] { r[0] = r[1] = r[2] = r[3] = 0; },
                        .threads = std::move(threads),
                        .finally =
                            [&outcomes, digits] {
                              std::string text;
                              for (std::size_t i = 0; i < digits; ++i) text += static_cast<char>('0' + r[i]);
                              outcomes.seen.insert(text);
                            }};
  outcomes.result = explore(program);
  // Merging states leaves executions out, but no outcome.
  const std::set<std::string> merged = std::exchange(outcomes.seen, {});
  EXPECT_TRUE(explore(program, {.merges_states = false}).complete);
  EXPECT_EQ(merged, outcomes.seen);
  return outcomes;
}

Outcomes message_passing(std::memory_order store, std::memory_order load) {
  return outcomes_of({[=] {
                        M::store(x, std::uint64_t{1}, kRelaxed);
                        M::store(y, std::uint64_t{1}, store);
                      },
                      [=] {
                        r[0] = M::load(y, load);
                        r[1] = M::load(x, kRelaxed);
                      }},
                     2);
}

TEST(Litmus, AMessagePassesOnlyByReleaseAndAcquire) {
  for (const auto& [store, load] : {std::pair(kRelaxed, kAcquire), {kRelease, kRelaxed}, {kRelaxed, kRelaxed}})
    EXPECT_TRUE(message_passing(store, load).shows("10"));
  const Outcomes ordered = message_passing(kRelease, kAcquire);
  EXPECT_EQ(ordered.seen, (std::set<std::string>{"00", "01", "11"}));
  EXPECT_TRUE(ordered.result.complete);
}

Outcomes message_passing_by_fences(bool release, bool acquire) {
  return outcomes_of({[=] {
                        M::store(x, std::uint64_t{1}, kRelaxed);
                        if (release) M::fence(kRelease);
                        M::store(y, std::uint64_t{1}, kRelaxed);
                      },
                      [=] {
                        r[0] = M::load(y, kRelaxed);
                        if (acquire) M::fence(kAcquire);
                        r[1] = M::load(x, kRelaxed);
                      }},
                     2);
}

TEST(Litmus, FencesPassAMessageOnlyTogether) {
  EXPECT_TRUE(message_passing_by_fences(true, false).shows("10"));
  EXPECT_TRUE(message_passing_by_fences(false, true).shows("10"));
  EXPECT_FALSE(message_passing_by_fences(true, true).shows("10"));
}

Outcomes store_buffering(std::memory_order store, std::memory_order load, bool fences) {
  const auto side = [=](std::atomic<std::uint64_t>& mine, std::atomic<std::uint64_t>& other, std::uint64_t& result) {
    return [=, &mine, &other, &result] {
      M::store(mine, std::uint64_t{1}, store);
      if (fences) M::fence(kSeqCst);
      result = M::load(other, load);
    };
  };
  return outcomes_of({side(x, y, r[0]), side(y, x, r[1])}, 2);
}

TEST(Litmus, StoresAreBufferedUnlessSequentiallyConsistent) {
  EXPECT_TRUE(store_buffering(kRelaxed, kRelaxed, false).shows("00"));
  EXPECT_TRUE(store_buffering(kRelease, kAcquire, false).shows("00"));
  EXPECT_TRUE(store_buffering(kSeqCst, kAcquire, false).shows("00"));
  EXPECT_TRUE(store_buffering(kRelease, kSeqCst, false).shows("00"));
  EXPECT_EQ(store_buffering(kSeqCst, kSeqCst, false).seen, (std::set<std::string>{"01", "10", "11"}));
  EXPECT_EQ(store_buffering(kRelaxed, kRelaxed, true).seen, (std::set<std::string>{"01", "10", "11"}));
}

TEST(Litmus, AnUpdateThatReadsTheOtherOneOrdersStoreBuffering) {
  // Both update one word in between: whoever is second has the first one's store.
  const auto side = [](std::atomic<std::uint64_t>& mine, std::atomic<std::uint64_t>& other, std::uint64_t& result) {
    return [&mine, &other, &result] {
      M::store(mine, std::uint64_t{1}, kRelaxed);
      M::fetch_add(z, std::uint64_t{1}, kAcqRel);
      result = M::load(other, kRelaxed);
    };
  };
  EXPECT_FALSE(outcomes_of({side(x, y, r[0]), side(y, x, r[1])}, 2).shows("00"));
}

TEST(Litmus, ABarrierEverywhereOrdersTheOtherSideToo) {
  const auto run = [](bool barrier, bool compiler) {
    return outcomes_of({[=] {
                          M::store(x, std::uint64_t{1}, kRelaxed);
                          if (barrier) M::barrier_everywhere();
                          r[0] = M::load(y, kRelaxed);
                        },
                        [=] {
                          M::store(y, std::uint64_t{1}, kRelaxed);
                          if (compiler) M::compiler_fence();
                          r[1] = M::load(x, kRelaxed);
                        }},
                       2);
  };
  EXPECT_TRUE(run(false, true).shows("00"));
  EXPECT_TRUE(run(true, false).shows("00"));
  EXPECT_EQ(run(true, true).seen, (std::set<std::string>{"01", "10", "11"}));
}

Outcomes independent_reads(std::memory_order store, std::memory_order load) {
  return outcomes_of({[=] { M::store(x, std::uint64_t{1}, store); }, [=] { M::store(y, std::uint64_t{1}, store); },
                      [=] {
                        r[0] = M::load(x, load);
                        r[1] = M::load(y, load);
                      },
                      [=] {
                        r[2] = M::load(y, load);
                        r[3] = M::load(x, load);
                      }},
                     4);
}

TEST(Litmus, IndependentReadersMayDisagreeUnlessSequentiallyConsistent) {
  EXPECT_TRUE(independent_reads(kRelease, kAcquire).shows("1010"));
  EXPECT_FALSE(independent_reads(kSeqCst, kSeqCst).shows("1010"));
}

TEST(Litmus, OneLocationNeverGoesBack) {
  const Outcomes outcomes = outcomes_of({[] {
                                           M::store(x, std::uint64_t{1}, kRelaxed);
                                           M::store(x, std::uint64_t{2}, kRelaxed);
                                         },
                                         [] {
                                           r[0] = M::load(x, kRelaxed);
                                           r[1] = M::load(x, kRelaxed);
                                         }},
                                        2);
  EXPECT_EQ(outcomes.seen, (std::set<std::string>{"00", "01", "02", "11", "12", "22"}));
}

TEST(Litmus, ReadersOfOneLocationAgreeOnItsOrder) {
  const auto reader = [](std::uint64_t& first, std::uint64_t& second) {
    return [&first, &second] {
      first = M::load(x, kRelaxed);
      second = M::load(x, kRelaxed);
    };
  };
  const Outcomes outcomes =
      outcomes_of({[] { M::store(x, std::uint64_t{1}, kRelaxed); }, [] { M::store(x, std::uint64_t{2}, kRelaxed); },
                   reader(r[0], r[1]), reader(r[2], r[3])},
                  4);
  EXPECT_TRUE(outcomes.shows("1212") && outcomes.shows("2121"));
  EXPECT_FALSE(outcomes.shows("1221") || outcomes.shows("2112"));
}

TEST(Litmus, StoresToTwoLocationsMayBeOrderedEitherWay) {
  // 2+2W: each location's last value is the other thread's first store.
  const auto side = [](std::atomic<std::uint64_t>& first, std::atomic<std::uint64_t>& second) {
    return [&first, &second] {
      M::store(first, std::uint64_t{1}, kRelease);
      M::store(second, std::uint64_t{2}, kRelease);
    };
  };
  // The newest values, as a third thread sees them that comes after both.
  const auto last = [] {
    assume(M::fetch_add(z, std::uint64_t{0}, kAcqRel) == 2);
    r[0] = M::exchange(x, std::uint64_t{7}, kAcqRel);
    r[1] = M::exchange(y, std::uint64_t{7}, kAcqRel);
  };
  const auto then = [](std::function<void()> body) {
    return [body] {
      body();
      M::fetch_add(z, std::uint64_t{1}, kAcqRel);
    };
  };
  EXPECT_TRUE(outcomes_of({then(side(x, y)), then(side(y, x)), last}, 2).shows("11"));
}

TEST(Litmus, UpdatesLoseNothingAndHandOnWhatWasReleased) {
  const auto add = [] { M::fetch_add(x, std::uint64_t{1}, kRelaxed); };
  const Outcomes sum = outcomes_of({add, add, [] { r[0] = M::load(x, kRelaxed); }}, 1);
  EXPECT_EQ(sum.seen, (std::set<std::string>{"0", "1", "2"}));
  // Release sequence: the reader of the update sees what the store before it released; of a later plain store, not.
  const auto run = [](bool update) {
    return outcomes_of({[] {
                          M::store(x, std::uint64_t{1}, kRelaxed);
                          M::store(y, std::uint64_t{1}, kRelease);
                        },
                        [update] {
                          assume(M::load(y, kRelaxed) == 1);
                          if (update)
                            M::fetch_add(y, std::uint64_t{1}, kRelaxed);
                          else
                            M::store(y, std::uint64_t{2}, kRelaxed);
                        },
                        [] {
                          r[0] = M::load(y, kAcquire);
                          r[1] = M::load(x, kRelaxed);
                        }},
                       2);
  };
  EXPECT_FALSE(run(true).shows("20"));
  EXPECT_TRUE(run(false).shows("20"));
}

TEST(Litmus, WhatIsSeenThroughAThirdThreadIsSeen) {
  const Outcomes outcomes = outcomes_of({[] { M::store(x, std::uint64_t{1}, kRelaxed); },
                                         [] {
                                           if (M::load(x, kRelaxed) == 1) M::store(y, std::uint64_t{1}, kRelease);
                                         },
                                         [] {
                                           r[0] = M::load(y, kAcquire);
                                           r[1] = M::load(x, kRelaxed);
                                         }},
                                        2);
  EXPECT_TRUE(outcomes.shows("11"));
  EXPECT_FALSE(outcomes.shows("10"));
}

// Loads are done in order: this memory lacks load buffering between atomics, and must not pretend otherwise.
TEST(Litmus, LoadsAreNotBuffered) {
  const auto side = [](std::atomic<std::uint64_t>& from, std::atomic<std::uint64_t>& to, std::uint64_t& result) {
    return [&from, &to, &result] {
      result = M::load(from, kRelaxed);
      M::store(to, std::uint64_t{1}, kRelaxed);
    };
  };
  EXPECT_FALSE(outcomes_of({side(x, y, r[0]), side(y, x, r[1])}, 2).shows("11"));
}

Result handing_over(std::memory_order store, std::memory_order load) {
  return explore({.prepare = [] {},
                  .threads = {[=] {
                                M::plain_store(bytes_of(data), 5);
                                M::store(x, std::uint64_t{1}, store);
                              },
                              [=] {
                                if (M::load(x, load) == 1) check(plain(data) == 5, "wrong data");
                              }}});
}

TEST(Litmus, PlainAccessesRaceUnlessOrdered) {
  EXPECT_FALSE(handing_over(kRelease, kAcquire).violated);
  EXPECT_TRUE(handing_over(kRelaxed, kAcquire).violated);
  EXPECT_TRUE(handing_over(kRelease, kRelaxed).violated);
}

// The load that a weak processor may do after a later store: a race here.
TEST(Litmus, APlainLoadBeforeARelaxedStoreRaces) {
  const auto run = [](std::memory_order store) {
    return explore({.prepare = [] {},
                    .threads = {[=] {
                                  static_cast<void>(plain(data));
                                  M::store(x, std::uint64_t{1}, store);
                                },
                                [] {
                                  if (M::load(x, kAcquire) == 1) M::plain_store(bytes_of(data), 5);
                                }}});
  };
  EXPECT_TRUE(run(kRelaxed).violated);
  EXPECT_FALSE(run(kRelease).violated);
}

// Each waits for the other, whoever is started first, at a word that was never stored when it first looks.
TEST(Litmus, WaitingForAWordThatNobodyHasStoredYetEnds) {
  static std::atomic<std::uint64_t> there{0};
  static std::atomic<std::uint64_t> back{0};
  const Result result = explore({.prepare = [] {},
                                 .threads = {[] {
                                               assume(ModelMemory::load(there, std::memory_order_acquire) == 1);
                                               ModelMemory::store(back, std::uint64_t{1}, std::memory_order_release);
                                             },
                                             [] {
                                               ModelMemory::store(there, std::uint64_t{1}, std::memory_order_release);
                                               assume(ModelMemory::load(back, std::memory_order_acquire) == 1);
                                             }}});
  EXPECT_TRUE(result.complete && !result.violated) << result.what;
  EXPECT_TRUE(result.unending.empty());
}

TEST(Litmus, AMissedWakeIsFoundAndItsChoicesRepeatIt) {
  static std::atomic<std::uint32_t> asleep;
  const Program program{.prepare = [] {},
                        .threads = {[] {
                                      M::store(asleep, 1U, kRelaxed);
                                      if (M::load(x, kRelaxed) == 0) M::wait_while(asleep, 1, {});
                                    },
                                    [] {
                                      M::store(x, std::uint64_t{1}, kRelaxed);
                                      if (M::load(asleep, kRelaxed) == 1) {
                                        M::store(asleep, 0U, kRelaxed);
                                        M::wake(asleep);
                                      }
                                    }}};
  const Result first = explore(program);
  EXPECT_TRUE(first.violated);
  EXPECT_EQ(first.what, "all who are left sleep for ever");
  EXPECT_EQ(explore(program).choices, first.choices);
}

} // namespace
} // namespace heddle::memory_order::litmus
