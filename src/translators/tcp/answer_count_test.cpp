#include "translators/tcp/answer_count.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace heddle::translators::tcp {
namespace {

constexpr std::uint64_t kAnswer = sizeof(Frame);

// Whatever leaves when, a peer that waits for its answers is never found to break the rules.
TEST(AnswerCount, NeverAccusesAPeerThatWaitsForItsAnswers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    AnswerCount count;
    std::uint64_t taken = 0;
    std::uint64_t left = 0;
    std::deque<std::uint64_t> ends; // of answers that have not left
    for (int step = 0; step < 100'000; ++step) {
      if (random() % 2 == 0) left += random() % (taken - left + 1) / (1 + random() % 50);
      while (!ends.empty() && ends.front() <= left) ends.pop_front();
      if (random() % 3 == 0) taken += random() % 5000; // another frame
      if (ends.size() == kMostAsked) continue;         // it has no command left to send
      ASSERT_TRUE(count.add(taken, left));
      taken += kAnswer;
      ends.push_back(taken);
    }
  }
}

TEST(AnswerCount, FindsAPeerThatTakesNone) {
  AnswerCount count;
  std::size_t taken = 0;
  while (count.add(taken * kAnswer, 0)) ASSERT_LE(++taken, 2 * kMostAsked);
}

} // namespace
} // namespace heddle::translators::tcp
