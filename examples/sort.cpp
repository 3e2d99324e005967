// Sorting numbers that lie in several processes: each keeps one part of their range, so everybody sends to everybody what is theirs.
// How much that is they tell each other by alltoall, the numbers go by alltoallv. heddle run -n 4 sort
#include <heddle/collective.hpp>
#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <vector>

namespace {

constexpr std::size_t kNumbers = 10'000; // of each process

int fail(const heddle::Error& error) {
  std::cerr << "sort: " << error.message() << '\n';
  return 1;
}

// Blocks that lie one behind the other.
struct Lengths {
  explicit Lengths(std::vector<std::uint64_t> bytes_of_each) : bytes(std::move(bytes_of_each)), offsets(bytes.size()) {
    for (std::size_t i = 1; i < bytes.size(); ++i) offsets[i] = offsets[i - 1] + bytes[i - 1];
  }
  [[nodiscard]] std::uint64_t total() const { return offsets.back() + bytes.back(); }
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> offsets;
};

// The process that keeps a number: the range of 32 bits in equal parts.
std::size_t keeper_of(std::uint32_t number, std::uint64_t processes) {
  return static_cast<std::size_t>(number * processes >> 32U);
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) return fail(job.error());
  const auto rank = static_cast<std::uint32_t>(job->rank());
  const std::uint32_t processes = job->size();

  std::mt19937 dice(rank);
  std::vector<std::uint32_t> numbers(kNumbers);
  for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(dice());
  std::ranges::sort(numbers); // what goes to one process now lies together

  std::vector<std::uint64_t> bytes_out(processes);
  for (const std::uint32_t number : numbers) bytes_out[keeper_of(number, processes)] += sizeof number;
  std::vector<std::uint64_t> bytes_in(processes);
  if (const auto told = job->alltoall(std::as_bytes(std::span(bytes_out)), std::as_writable_bytes(std::span(bytes_in)));
      !told)
    return fail(told.error());

  const Lengths out(bytes_out);
  const Lengths in(bytes_in);
  std::vector<std::uint32_t> kept(in.total() / sizeof(std::uint32_t));
  const auto moved =
      job->alltoallv({.memory = std::as_bytes(std::span(numbers)), .bytes = out.bytes, .offsets = out.offsets},
                     {.memory = std::as_writable_bytes(std::span(kept)), .bytes = in.bytes, .offsets = in.offsets});
  if (!moved) return fail(moved.error());
  std::ranges::sort(kept);

  // Everybody's part is sorted; that all of it is there, and nothing at the wrong place, rank 0 hears from each.
  const bool own =
      std::ranges::all_of(kept, [&](std::uint32_t number) { return keeper_of(number, processes) == rank; });
  const std::vector<std::uint64_t> words(processes, own ? kept.size() : 0);
  std::vector<std::uint64_t> heard(processes);
  if (const auto said = job->alltoall(std::as_bytes(std::span(words)), std::as_writable_bytes(std::span(heard))); !said)
    return fail(said.error());
  std::uint64_t sum = 0;
  for (const std::uint64_t each : heard) sum += each;
  if (rank == 0) std::cout << processes << " processes have sorted " << sum << " numbers\n";
  return sum == kNumbers * processes ? 0 : 1;
}
