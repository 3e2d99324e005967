#include "translators/tcp/inflow.hpp"

#include "net/sockets.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::translators::tcp {

namespace {

// From here on it is worth a second place to read into: less is copied quicker than that is said.
constexpr std::uint64_t kMuchPayload = 8 << 10;
// After a frame with much payload no more than this is read beyond it: the rest of the next one then goes straight to its target, too.
constexpr std::size_t kStartOfMuch = 4 << 10;

bool has_payload(FrameKind kind) {
  return kind == FrameKind::put || kind == FrameKind::answer;
}

bool is_sound(const Frame& frame) {
  const bool carries_head = frame.kind == FrameKind::put || frame.kind == FrameKind::compare_and_swap;
  return frame.kind >= FrameKind::put && frame.kind <= FrameKind::goodbye && frame.head_bytes <= ir::kHeadBytes &&
         (carries_head || frame.head_bytes == 0) && frame.bytes <= kLargestTransfer;
}

} // namespace

Inflow::State Inflow::read(int socket, std::span<std::byte> buffer, FrameTaker& taker) {
  if (much_) buffer = buffer.first(std::min(buffer.size(), kStartOfMuch));
  std::byte* direct = nullptr;
  std::uint64_t wanted = 0;
  if (in_payload_ && done_ + kMuchPayload <= body_bytes()) {
    direct = taker.payload_target(frame_, done_);
    wanted = direct == nullptr ? 0 : body_bytes() - done_;
  }
  std::array<iovec, 2> pieces{iovec{.iov_base = direct, .iov_len = wanted},
                              iovec{.iov_base = buffer.data(), .iov_len = buffer.size()}};
  const auto used = std::span(pieces).subspan(direct == nullptr ? 1 : 0);
  const std::ptrdiff_t got = net::receive_some(socket, used);
  brought_ = got > 0;
  if (got <= 0) return got == 0 ? State::rests : State::ended;
  const auto count = static_cast<std::uint64_t>(got);
  const std::uint64_t straight = std::min(count, wanted);
  done_ += straight;
  if (!take(buffer.first(count - straight), taker)) return State::ended;
  return count == wanted + buffer.size() ? State::goes_on : State::rests;
}

void Inflow::end(FrameTaker& taker) {
  in_payload_ = false;
  started_ = 0;
  much_ = has_payload(frame_.kind) && frame_.bytes >= kMuchPayload;
  taker.end(frame_, head(), std::span(tail_).first(has_payload(frame_.kind) ? frame_.bytes - body_bytes() : 0));
}

bool Inflow::take(std::span<const std::byte> bytes, FrameTaker& taker) {
  while (!bytes.empty()) {
    if (in_payload_) {
      const bool in_body = done_ < body_bytes();
      const std::uint64_t count =
          std::min<std::uint64_t>(bytes.size(), (in_body ? body_bytes() : frame_.bytes) - done_);
      std::byte* to = in_body ? taker.payload_target(frame_, done_) : tail_.data() + (done_ - body_bytes());
      if (to != nullptr) std::memcpy(to, bytes.data(), count);
      bytes = bytes.subspan(count);
      done_ += count;
      if (done_ == frame_.bytes) end(taker);
      continue;
    }
    const std::size_t wanted = sizeof(Frame) + (started_ < sizeof(Frame) ? 0 : frame_.head_bytes);
    const std::size_t count = std::min(bytes.size(), wanted - started_);
    std::memcpy(start_.data() + started_, bytes.data(), count);
    started_ += static_cast<std::uint32_t>(count);
    bytes = bytes.subspan(count);
    if (started_ < sizeof(Frame)) return true;
    if (started_ == sizeof(Frame)) {
      std::memcpy(&frame_, start_.data(), sizeof frame_);
      if (!is_sound(frame_)) return false;
    }
    if (started_ < sizeof(Frame) + frame_.head_bytes) continue;
    if (!taker.begin(frame_, head())) return false;
    done_ = 0;
    in_payload_ = has_payload(frame_.kind) && frame_.bytes > 0;
    if (!in_payload_) end(taker);
  }
  return true;
}

} // namespace heddle::translators::tcp
