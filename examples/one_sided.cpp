// Counting without messages: every process opens a few counters to the others, and all add to all of them at once. Nobody receives
// anything; the owner of a counter need not even look. heddle run -n 4 one_sided
#include <heddle/heddle.hpp>
#include <heddle/onesided.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr heddle::AreaId kCounters{1};
constexpr std::uint64_t kCountersEach = 4;
constexpr std::uint64_t kNumbers = 10'000; // that each process counts

int fail(const std::string& what) {
  std::cerr << "one_sided: " << what << '\n';
  return 1;
}

// Where the counter of a number is: the counters of all processes together are one table.
heddle::Place counter_of(std::uint64_t number, std::uint32_t processes) {
  const std::uint64_t index = number % (kCountersEach * processes);
  return {.peer = heddle::Rank{static_cast<std::uint32_t>(index / kCountersEach)},
          .area = kCounters,
          .offset = index % kCountersEach * sizeof(std::uint64_t)};
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) return fail(job.error().message());
  auto& one_sided = job->one_sided();
  const auto own = one_sided.allocate(kCounters, kCountersEach * sizeof(std::uint64_t)); // zeroed
  if (!own) return fail(own.error().message());
  if (const auto everybody_has = job->barrier(); !everybody_has) return fail(everybody_has.error().message());

  // One tracker for many operations under way: it has ended when all have, and keeps the first error.
  heddle::Tracker counted;
  for (std::uint64_t number = 0; number < kNumbers; ++number)
    one_sided.atomic(counter_of(number, job->size()), heddle::Atomic::add(1), counted);
  if (const heddle::ErrorCode code = one_sided.wait(counted); code != heddle::ErrorCode::ok)
    return fail("counting ended with " + std::string(to_string(code)));
  if (const auto all_have_counted = job->barrier(); !all_have_counted) return fail(all_have_counted.error().message());

  std::uint64_t sum = 0;
  if (job->rank() == heddle::Rank{0}) {
    std::vector<std::uint64_t> counters(kCountersEach);
    for (std::uint32_t rank = 0; rank < job->size(); ++rank) {
      const heddle::Place from{.peer = heddle::Rank{rank}, .area = kCounters, .offset = 0};
      const heddle::ErrorCode code = one_sided.pull(from, std::as_writable_bytes(std::span(counters)));
      if (code != heddle::ErrorCode::ok) return fail("pull ended with " + std::string(to_string(code)));
      for (const std::uint64_t counter : counters) sum += counter;
    }
    std::cout << job->size() << " processes counted " << sum << " numbers\n";
  }
  // Whoever leaves takes its counters along.
  if (const auto done = job->barrier(); !done) return fail(done.error().message());
  return job->rank() != heddle::Rank{0} || sum == kNumbers * job->size() ? 0 : 1;
}
