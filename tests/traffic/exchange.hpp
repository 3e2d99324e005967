// One all-to-all of one process, everything about it from the seed and the number of the round: the sizes of all blocks, what
// they hold, and so what must have arrived. Even rounds have blocks of one size, odd ones of any, zero included.
#pragma once

#include "tests/traffic/dice.hpp"

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tests {

struct ExchangeModel {
  std::uint64_t seed = 1;
  std::uint32_t size = 1;
  std::uint64_t largest = 20'000;

  [[nodiscard]] static bool uniform(std::uint64_t round) { return round % 2 == 0; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t round, std::uint32_t from, std::uint32_t to) const {
    const std::uint64_t pair = uniform(round) ? 0 : 1 + std::uint64_t{from} * size + to;
    return Dice((seed * 1'000'003 + round) * 1'000'003 + pair).bytes(0, largest);
  }
  [[nodiscard]] std::byte content(std::uint64_t round, std::uint32_t from, std::uint32_t to, std::uint64_t at) const {
    return static_cast<std::byte>((seed + round * 7 + from * 31 + to * 101 + at * 13 + at / 256) & 0xffU);
  }
};

class ExchangeRound {
 public:
  ExchangeRound(const ExchangeModel& model, std::uint64_t round, std::uint32_t rank)
      : model_(model), round_(round), rank_(rank) {
    for (std::uint32_t peer = 0; peer < model.size; ++peer) {
      lay(sent_, model.bytes(round, rank, peer));
      lay(received_, model.bytes(round, peer, rank));
    }
    out_.resize(sent_.total);
    in_.resize(received_.total);
    for (std::uint32_t peer = 0; peer < model.size; ++peer)
      for (std::uint64_t i = 0; i < sent_.bytes[peer]; ++i)
        out_[sent_.offsets[peer] + i] = model.content(round, rank, peer, i);
  }

  // By any that has calls as of collective::Exchanges.
  template <typename Starter>
  Result<Request> start_by(Starter& starter, Notify notify = {}) {
    if (ExchangeModel::uniform(round_)) return starter.start(std::span<const std::byte>(out_), std::span(in_), notify);
    return starter.start(ConstBlocks{out_, sent_.bytes, sent_.offsets}, Blocks{in_, received_.bytes, received_.offsets},
                         notify);
  }
  Result<Request> start(Context& context, Notify notify = {}) {
    struct Calls {
      Context& context;
      Result<Request> start(std::span<const std::byte> out, std::span<std::byte> in, Notify how) {
        return context.start_alltoall(out, in, how);
      }
      Result<Request> start(const ConstBlocks& out, const Blocks& in, Notify how) {
        return context.start_alltoallv(out, in, how);
      }
    } calls{context};
    return start_by(calls, notify);
  }

  [[nodiscard]] std::uint64_t expected_bytes() const { return received_.total; }
  // Empty when everything has arrived as it must.
  [[nodiscard]] std::string verdict() const {
    for (std::uint32_t peer = 0; peer < model_.size; ++peer)
      for (std::uint64_t i = 0; i < received_.bytes[peer]; ++i)
        if (in_[received_.offsets[peer] + i] != model_.content(round_, peer, rank_, i))
          return "round " + std::to_string(round_) + ": rank " + std::to_string(rank_) + " got wrong bytes from rank " +
                 std::to_string(peer) + " at " + std::to_string(i) + " of " + std::to_string(received_.bytes[peer]);
    return "";
  }

 private:
  struct Lists {
    std::vector<std::uint64_t> bytes;
    std::vector<std::uint64_t> offsets;
    std::uint64_t total = 0;
  };
  static void lay(Lists& lists, std::uint64_t bytes) {
    lists.bytes.push_back(bytes);
    lists.offsets.push_back(lists.total);
    lists.total += bytes;
  }

  ExchangeModel model_;
  std::uint64_t round_;
  std::uint32_t rank_;
  Lists sent_;
  Lists received_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

} // namespace heddle::tests
