// Two processes write interleaved words of every cache line of a region, again and again: every write survives in both copies.
// Further processes only read. Arguments: rounds.
#include "tests/job/member.hpp"

#include <heddle/shared_region.hpp>

#include <span>

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: rounds");
  heddle::Context context = demand(heddle::Context::join(), "join");
  constexpr std::size_t kWords = 3 * 4096 / 4 + 5; // the last page is not whole
  constexpr std::size_t kBytes = kWords * 4 + 2;   // nor is the last word
  const std::uint64_t rounds = number(argv[1]);
  auto region = demand(heddle::SharedRegion::create(context, heddle::AreaId{5}, kBytes), "region");
  const std::span words(reinterpret_cast<std::uint32_t*>(region.memory().data()), kWords);
  const auto rank = static_cast<std::uint32_t>(context.rank());
  const auto value = [](std::uint64_t round, std::size_t i) {
    return static_cast<std::uint32_t>(round * 7919 + i * 31);
  };
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::size_t i = rank; rank < 2 && i < kWords; i += 2) words[i] = value(round, i);
    if (rank == 1) region.memory().back() = static_cast<std::byte>(round);
    demand(region.barrier() == heddle::ErrorCode::ok, "barrier");
    for (std::size_t i = 0; i < kWords; ++i)
      demand(words[i] == value(round, i),
             "word " + std::to_string(i) + " of round " + std::to_string(round) + " is lost");
    demand(region.memory().back() == static_cast<std::byte>(round), "the last byte is lost");
    demand(region.barrier() == heddle::ErrorCode::ok, "barrier");
  }
  // Every word that it writes changes, though not every byte of it does; one word has only two bytes.
  const std::uint64_t changed[] = {(kWords + 1) / 2 * 4, kWords / 2 * 4 + 2};
  demand(region.traffic().pushed == (rank < 2 ? rounds * changed[rank] : 0),
         "it sent home " + std::to_string(region.traffic().pushed) + " bytes");
  demand(region.traffic().pulled == rounds * 2 * kBytes,
         "it brought " + std::to_string(region.traffic().pulled) + " bytes");
  return 0;
}
