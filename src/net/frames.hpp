// Messages as bytes of a stream: length, kind, sequence number, body; numbers with the highest byte first. What they mean is their
// users' business: the store's (store/wire.hpp) and the agents' (launch/agent_wire.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::net {

using Bytes = std::vector<std::byte>;

// The body is a view into the bytes it was cut from.
struct Frame {
  std::uint8_t kind = 0;
  std::uint32_t sequence = 0;
  std::span<const std::byte> body;
};

// Builds one frame. "text" is u32 length and that many bytes.
class FrameWriter {
 public:
  FrameWriter(std::uint8_t kind, std::uint32_t sequence);
  FrameWriter& u8(std::uint8_t value);
  FrameWriter& u32(std::uint32_t value);
  FrameWriter& i64(std::int64_t value);
  FrameWriter& text(std::span<const std::byte> bytes);
  FrameWriter& text(std::string_view characters) { return text(std::as_bytes(std::span(characters))); }
  // The finished frame; the writer is empty after.
  Bytes finish();

 private:
  void number(std::uint64_t value, std::size_t bytes);
  Bytes bytes_;
};

// Reads a body from the front. After a read past the end every further one yields nothing.
class BodyReader {
 public:
  explicit BodyReader(std::span<const std::byte> body) : rest_(body) {}
  std::optional<std::uint8_t> u8();
  std::optional<std::uint32_t> u32();
  std::optional<std::int64_t> i64();
  std::optional<std::span<const std::byte>> text();
  // True when everything was read and nothing was missing.
  [[nodiscard]] bool finished() const { return rest_.empty() && !failed_; }

 private:
  std::optional<std::uint64_t> number(std::size_t bytes);
  std::span<const std::byte> rest_;
  bool failed_ = false;
};

std::string_view as_characters(std::span<const std::byte> bytes);

// The first frame of what has arrived so far.
struct Cut {
  enum class State : std::uint8_t { complete, incomplete, malformed };
  State state = State::incomplete;
  Frame frame{};
  std::size_t length = 0; // bytes the frame takes; where incomplete, how many are needed at least
};

// `largest` bounds the whole frame: a longer one is malformed, however little of it is there. So is one of a kind beyond 1 to
// `last_kind`.
Cut cut_frame(std::span<const std::byte> arrived, std::size_t largest, std::uint8_t last_kind);

} // namespace heddle::net
