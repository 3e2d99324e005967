// The built-in store's messages as bytes: length, kind, sequence number, body; numbers with the highest byte first.
// Not here: what the messages mean (ledger.hpp) and sockets (server.hpp, client.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "auth/introduction.hpp"
#include "heddle/error.hpp"
#include "store/store.hpp"

namespace heddle::store {

inline constexpr std::uint32_t kWireVersion = 4;
inline constexpr auth::Service kService{.purpose = auth::Purpose::store, .version = kWireVersion};
// A machine that does not answer for so long is gone.
inline constexpr std::chrono::seconds kSilence{7};

enum class Kind : std::uint8_t {
  // from client to server
  hello = 1, // u32 version, u32 rank, text job
  put,       // text key, text value
  get,       // text key, i64 from
  fence,     //
  allgather, // text blob
  withdraw,  // the client no longer waits; no answer
  watch,     // the client wants notices of ranks that left too; no answer
  stalled,   // u32 seconds without progress, text what is waited for; no answer
  goodbye,   // u8 whether in good order; no answer
  // from server to client
  done,     // to hello: u32 size; to put, fence: nothing
  value,    // text value
  gathered, // one text per rank
  refused,  // u8 code, i64 peer, text fact
  notice,   // u32 rank that is gone, u8 whether it failed; sequence 0
};

// The body is a view into the bytes it was cut from.
struct Frame {
  Kind kind;
  std::uint32_t sequence;
  std::span<const std::byte> body;
};

// Builds one frame. "text" is u32 length and that many bytes.
class FrameWriter {
 public:
  FrameWriter(Kind kind, std::uint32_t sequence);
  FrameWriter& u8(std::uint8_t value);
  FrameWriter& u32(std::uint32_t value);
  FrameWriter& i64(std::int64_t value);
  FrameWriter& text(std::span<const std::byte> bytes);
  FrameWriter& text(std::string_view characters) { return text(std::as_bytes(std::span(characters))); }
  // The finished frame; the writer is empty after.
  Bytes finish();

 private:
  void append(const void* from, std::size_t bytes);
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

// `largest` bounds the whole frame: a longer one is malformed, however little of it is there.
Cut cut_frame(std::span<const std::byte> arrived, std::size_t largest);

// The largest frame a client may send.
inline constexpr std::size_t kLargestRequest = 64 + kLargestKey + kLargestValue;

// The body of `refused`, and back. A body that is none becomes store_failed.
Bytes encode_refusal(std::uint32_t sequence, const Error& error);
Error decode_refusal(std::span<const std::byte> body);

} // namespace heddle::store
