// Memory of a message with a random layout, and where the message lies in it.
#pragma once

#include <heddle/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace heddle::tests {

class Region {
 public:
  Region(std::uint64_t bytes, std::mt19937_64& random, bool only_contiguous = false);
  // The layout from a number.
  Region(std::uint64_t bytes, std::uint64_t form);
  Region(const Region&) = delete;

  [[nodiscard]] Layout layout();
  // Puts the whole message into the memory.
  void write(std::span<const std::byte> message);
  // The first bytes of the message, as they stand in the memory.
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t bytes) const;
  // Whether every byte outside the first `bytes` of the message is as it was. The message is gone then.
  [[nodiscard]] bool rest_untouched(std::uint64_t bytes);
  // Overwrites everything, as a program may once the operation has ended.
  void scribble();

 private:
  struct Run { // of the message, in memory
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  template <typename Random>
  void make(Random& random, bool only_contiguous);
  void make_contiguous(std::uint64_t start);
  template <typename Random>
  void make_strided(Random& random);
  template <typename Random>
  void make_pieces(Random& random);

  std::uint64_t bytes_;
  std::vector<std::byte> memory_;
  std::vector<Run> runs_;     // in the order of the message
  std::uint64_t block_ = 0;   // strided
  std::int64_t stride_ = 0;   // strided
  std::vector<Piece> pieces_; // in pieces
};

} // namespace heddle::tests
