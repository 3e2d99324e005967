// What one command is on the network: parts that are prepared as descriptors and posted together or not at all, so that a queue that is full
// never leaves a command half sent.
#pragma once

#include "translators/utofu/library.hpp"

#include <array>
#include <cstddef>

namespace heddle::translators::utofu {

struct Target {
  utofu_vcq_hdl_t vcq = 0;
  utofu_vcq_id_t id = 0;
};

class Post {
 public:
  static constexpr unsigned long kTold = UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE;
  static constexpr unsigned long kTells = UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;
  static constexpr unsigned long kSent = UTOFU_ONESIDED_FLAG_TCQ_NOTICE;
  static constexpr std::size_t kMostPiggyback = 32;
  static constexpr std::size_t kMostParts = 8;
  static constexpr std::size_t kMostDescriptor = 128;

  Post(const Library& api, const Target& target, std::size_t descriptor)
      : api_(api), target_(target), descriptor_(descriptor) {}

  [[nodiscard]] const Target& target() const { return target_; }

  // One more, in strong order; `arguments` are what the API's call wants between whom it goes to and its edata.
  template <typename Prepare, typename... Arguments>
  void add(Prepare prepare, std::uint64_t edata, unsigned long flags, Arguments... arguments) {
    if (code_ != UTOFU_SUCCESS) return;
    told_ += (flags & kTold) != 0 ? 1 : 0;
    sent_ += (flags & kSent) != 0 ? 1 : 0;
    std::size_t size = descriptor_; // what there is room for, and then what was used
    code_ = prepare(target_.vcq, target_.id, arguments..., edata, UTOFU_ONESIDED_FLAG_STRONG_ORDER | flags,
                    buffer_.data() + used_, &size);
    if (code_ == UTOFU_SUCCESS) used_ += size;
  }
  // At most kMostPiggyback bytes.
  void piggyback(const void* data, utofu_stadd_t remote, std::size_t bytes, std::uint64_t edata, unsigned long flags) {
    add(api_.prepare_put_piggyback, edata, flags, const_cast<void*>(data), remote, bytes);
  }

  // Notices that will come back: on the MRQ, on the TCQ.
  [[nodiscard]] std::uint16_t told() const { return told_; }
  [[nodiscard]] std::uint8_t sent() const { return sent_; }
  // UTOFU_SUCCESS, UTOFU_ERR_BUSY, or what was wrong with the first part that could not be prepared.
  int send(std::uintptr_t cbdata) {
    return code_ != UTOFU_SUCCESS ? code_
                                  : api_.post_toq(target_.vcq, buffer_.data(), used_, reinterpret_cast<void*>(cbdata));
  }

 private:
  const Library& api_;
  const Target target_;
  const std::size_t descriptor_;
  alignas(64) std::array<std::byte, kMostParts * kMostDescriptor> buffer_; // NOLINT: written before it is read
  std::size_t used_ = 0;
  std::uint16_t told_ = 0;
  std::uint8_t sent_ = 0;
  int code_ = UTOFU_SUCCESS;
};

} // namespace heddle::translators::utofu
