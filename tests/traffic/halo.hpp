// Memory for a halo exchange with all eight neighbours on a grid of two dimensions, and what each byte of it is to be.
#pragma once

#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace heddle::tests {

inline std::byte halo_content(std::uint64_t from, std::uint64_t exchange, std::uint64_t round, std::uint64_t at) {
  return static_cast<std::byte>((from * 31 + exchange * 7 + round * 13 + at) & 0xffU);
}

// As many bytes of it from its beginning. It repeats after 256, so that whole blocks are copied: tests are not optimised.
inline std::vector<std::byte> halo_block(std::uint64_t from, std::uint64_t exchange, std::uint64_t round,
                                         std::uint64_t bytes) {
  constexpr std::uint64_t kPeriod = 256;
  std::vector<std::byte> block(bytes);
  for (std::uint64_t at = 0; at < std::min(bytes, kPeriod); ++at) block[at] = halo_content(from, exchange, round, at);
  for (std::uint64_t at = kPeriod; at < bytes; at += kPeriod)
    std::memcpy(block.data() + at, block.data(), std::min(kPeriod, bytes - at));
  return block;
}

struct HaloMemory {
  std::vector<std::vector<std::byte>> out;
  std::vector<std::vector<std::byte>> in;
  std::vector<NeighbourExchange> exchanges; // exchange i of one process meets exchange size - 1 - i of its neighbour

  // With `strided`, what is received lies in every other block of 8 bytes, of which `bytes` is a multiple.
  explicit HaloMemory(std::uint64_t bytes, bool strided = false) : strided_(strided) {
    for (int row = -1; row <= 1; ++row)
      for (int column = -1; column <= 1; ++column) {
        if (row == 0 && column == 0) continue;
        out.emplace_back(bytes);
        in.emplace_back(strided ? 2 * bytes : bytes);
        const Layout into =
            strided ? Layout::strided(in.back().data(), bytes / kBlock, kBlock, 2 * kBlock) : Layout(in.back());
        exchanges.push_back({.offset = {row, column}, .out = ConstLayout(out.back()), .in = into});
      }
  }

  [[nodiscard]] std::vector<std::byte> received(std::size_t exchange) const {
    if (!strided_) return in[exchange];
    std::vector<std::byte> whole(in[exchange].size() / 2);
    for (std::size_t at = 0; at < whole.size(); ++at) whole[at] = in[exchange][at / kBlock * 2 * kBlock + at % kBlock];
    return whole;
  }

  void fill(std::uint64_t own, std::uint64_t round) {
    for (std::size_t i = 0; i < out.size(); ++i)
      std::ranges::copy(halo_block(own, i, round, out[i].size()), out[i].begin());
  }

 private:
  static constexpr std::uint64_t kBlock = 8;
  bool strided_ = false;
};

} // namespace heddle::tests
