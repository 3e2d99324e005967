// The built-in store's messages as frames of a stream (net/frames.hpp).
// Not here: what the messages mean (ledger.hpp) and sockets (server.hpp, client.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "auth/introduction.hpp"
#include "heddle/error.hpp"
#include "net/frames.hpp"
#include "store/store.hpp"

namespace heddle::store {

inline constexpr std::uint32_t kWireVersion = 5;
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
  abort,     // i64 exit status: the whole job is to end; no answer
  // from server to client
  done,     // to hello: u32 size; to put, fence: nothing
  value,    // text value
  gathered, // one text per rank
  refused,  // u8 code, i64 peer, text fact
  notice,   // u32 rank that is gone, u8 whether it failed; sequence 0
  aborted,  // u32 rank that has ended the job, i64 exit status; sequence 0
};

// The body is a view into the bytes it was cut from.
struct Frame {
  Kind kind;
  std::uint32_t sequence;
  std::span<const std::byte> body;
};

class FrameWriter : public net::FrameWriter {
 public:
  FrameWriter(Kind kind, std::uint32_t sequence) : net::FrameWriter(static_cast<std::uint8_t>(kind), sequence) {}
};
using net::as_characters;
using net::BodyReader;

struct Cut {
  using State = net::Cut::State;
  State state = State::incomplete;
  Frame frame{};
  std::size_t length = 0;
};
// As net::cut_frame, of these kinds.
Cut cut_frame(std::span<const std::byte> arrived, std::size_t largest);

// Of a process, as systems pass it on.
inline constexpr int kHighestStatus = 255;

// The largest frame a client may send.
inline constexpr std::size_t kLargestRequest = 64 + kLargestKey + kLargestValue;

// The body of `refused`, and back. A body that is none becomes store_failed.
Bytes encode_refusal(std::uint32_t sequence, const Error& error);
Error decode_refusal(std::span<const std::byte> body);

} // namespace heddle::store
