// The blocks of an all-to-all, of one size or of many: where block r lies. Copies of the caller's lists, not of its memory.
#pragma once

#include <heddle/collective.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::collective {

template <typename Byte>
class BasicBlockView {
 public:
  // One after the other, all of the same size.
  BasicBlockView(std::span<Byte> memory, std::uint64_t each) : memory_(memory), each_(each) {}
  explicit BasicBlockView(const BasicBlocks<Byte>& blocks)
      : memory_(blocks.memory),
        bytes_(blocks.bytes.begin(), blocks.bytes.end()),
        offsets_(blocks.offsets.begin(), blocks.offsets.end()) {}

  [[nodiscard]] std::span<Byte> block(std::uint32_t rank) const {
    return bytes_.empty() ? memory_.subspan(rank * each_, each_) : memory_.subspan(offsets_[rank], bytes_[rank]);
  }
  [[nodiscard]] std::uint64_t each() const { return each_; } // only of the first kind

 private:
  std::span<Byte> memory_;
  std::uint64_t each_ = 0;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> offsets_;
};
using BlockView = BasicBlockView<std::byte>;
using ConstBlockView = BasicBlockView<const std::byte>;

} // namespace heddle::collective
