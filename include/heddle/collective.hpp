// What a collective of the job is given beside memory: for alltoallv, a block for every process.
#pragma once

#include <heddle/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#pragma GCC visibility push(default)
namespace heddle {

// Block r is the `bytes[r]` bytes of `memory` from `offsets[r]` on; one for every rank. Describes memory, owns none; the lists
// of bytes and offsets are needed only during the call that takes them.
template <typename Byte>
struct BasicBlocks {
  BasicMemory<Byte> memory;
  std::span<const std::uint64_t> bytes;
  std::span<const std::uint64_t> offsets;
};
using Blocks = BasicBlocks<std::byte>;            // to receive into
using ConstBlocks = BasicBlocks<const std::byte>; // to send from

} // namespace heddle
#pragma GCC visibility pop
