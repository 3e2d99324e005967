// Takes the bytes of one connection apart into frames. Payload goes where the taker of the frames wants it, straight from
// the socket where there is much of it; only the start of a frame is ever kept here.
#pragma once

#include "translators/tcp/frames.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::translators::tcp {

// Who takes the frames of a connection.
class FrameTaker {
 public:
  virtual ~FrameTaker() = default;
  // The start of a frame is there: header and head. False: it is malformed, and the connection is to end.
  virtual bool begin(const Frame& frame, std::span<const std::byte> head) = 0;
  // Where the frame's payload from byte `done` on goes; null: nowhere, it is dropped. Asked again for each part, since the memory
  // may have gone meanwhile.
  virtual std::byte* payload_target(const Frame& frame, std::uint64_t done) = 0;
  // All of it is there. The last bytes of the payload, kTailBytes at most, are given here and are not at their target yet: so what
  // somebody may wait for is stored in one piece, after all the rest.
  virtual void end(const Frame& frame, std::span<const std::byte> head, std::span<const std::byte> tail) = 0;
};

inline constexpr std::uint64_t kTailBytes = 64;

class Inflow {
 public:
  enum class State : std::uint8_t { rests, goes_on, ended };
  // Reads once from the socket, through `buffer`. rests: there was nothing, or less than asked for; goes_on: there may be
  // more; ended: the other side has closed the connection, or what it sent is malformed.
  State read(int socket, std::span<std::byte> buffer, FrameTaker& taker);
  // Whether the last read brought anything.
  [[nodiscard]] bool has_brought() const { return brought_; }
  // What has been read already. False: malformed.
  bool take(std::span<const std::byte> bytes, FrameTaker& taker);

 private:
  [[nodiscard]] std::span<const std::byte> head() const {
    return std::span(start_).subspan(sizeof(Frame), frame_.head_bytes);
  }
  [[nodiscard]] std::uint64_t body_bytes() const {
    return frame_.bytes - std::min<std::uint64_t>(frame_.bytes, kTailBytes);
  }
  void end(FrameTaker& taker);

  std::array<std::byte, kLongestStart> start_{}; // of the frame under way
  std::uint32_t started_ = 0;                    // bytes of it
  bool in_payload_ = false;
  Frame frame_;
  std::uint64_t done_ = 0; // bytes of its payload
  std::array<std::byte, kTailBytes> tail_{};
  bool brought_ = false;
  bool much_ = false; // the last frame had much payload: the next is likely to, too
};

} // namespace heddle::translators::tcp
